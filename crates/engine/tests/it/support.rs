//! Scenarios: the participants, their commands, and an engine to run them. Knows no test.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::Engine;
use engine::ports::clock::ManualClock;
use engine::ports::ids::{Ids, SeededIds};
use engine::ports::store::{Sequenced, Store, StoreError, StoreReads as _};
use engine::road::submit::{Done, Key, SubmitError};
use protocol::agent::{self, Kind, Profile};
use protocol::caller::{Caller, Principal, Role};
use protocol::handoff::command::Reject;
use protocol::handoff::completion::Completion;
use protocol::handoff::package::{OfferedContext, OfferedTask, OfferedWorkState};
use protocol::handoff::{self, Offer, RejectReason};
use protocol::ids::{AgentId, HandoffId, TeamspaceId};
use protocol::ledger::{Stream, Subject};
use protocol::step::Command;
use protocol::time::Time;
use protocol::{canonical, message};

/// The moment at which every scenario starts.
pub fn start() -> Time {
    "2026-02-21T14:00:00Z".parse().expect("a time")
}

/// All entries after a sequence number, however large they are.
pub async fn all_after(store: &dyn Store, after: u64) -> Result<Vec<Sequenced>, StoreError> {
    let mut all: Vec<Sequenced> = Vec::new();
    loop {
        let after = all.last().map_or(after, |last| last.seq);
        let page = store.entries(after, usize::MAX).await?;
        if page.is_empty() {
            return Ok(all);
        }
        all.extend(page);
    }
}

/// An engine without loops on a store, with a clock that only the test moves.
pub fn engine_on(store: Arc<dyn Store>) -> (Engine, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::starting_at(start()));
    let ids = Arc::new(SeededIds::new(7));
    (Engine::new(store, clock.clone(), ids), clock)
}

pub fn default_teamspace() -> TeamspaceId {
    TeamspaceId::default_teamspace()
}

pub fn agent(name: &str) -> Caller {
    caller(Principal::Agent(id(name)), BTreeSet::new())
}

pub fn coordinator(name: &str) -> Caller {
    caller(Principal::Agent(id(name)), BTreeSet::from([Role::Coordinator]))
}

pub fn operator() -> Caller {
    caller(Principal::Operator(id("root")), BTreeSet::new())
}

fn caller(principal: Principal, roles: BTreeSet<Role>) -> Caller {
    Caller { teamspace: default_teamspace(), principal, roles, session: "test".to_owned() }
}

pub fn id(name: &str) -> AgentId {
    name.parse().expect("an agent id")
}

pub fn agent_stream(name: &str) -> Stream {
    Stream { teamspace: default_teamspace(), subject: Subject::Agent(id(name)) }
}

pub fn handoff_stream(id: HandoffId) -> Stream {
    Stream { teamspace: default_teamspace(), subject: Subject::Handoff(id) }
}

pub async fn register(engine: &Engine, names: &[&str]) {
    for name in names {
        let done = engine.submit(&operator(), agent_stream(name), register_as(name), None).await;
        done.expect("an operator may register an agent");
    }
}

pub fn register_as(name: &str) -> Command {
    let profile = Profile { name: name.to_owned(), ..Profile::default() };
    Command::Agent(agent::Command::Register { kind: Kind::Worker, profile })
}

/// An offer that may leave `draft`.
pub fn offer<P: Default>(to: &str, task: &str) -> Offer<P> {
    Offer {
        to_agent: Some(id(to)),
        task: Some(OfferedTask {
            task_id: Some(task.parse().expect("a task id")),
            title: Some("Mend the build".to_owned()),
            success_criteria: vec!["CI is green".to_owned()],
            ..OfferedTask::default()
        }),
        context: Some(OfferedContext {
            summary: Some("The linker fails since Tuesday".to_owned()),
            ..OfferedContext::default()
        }),
        work_state: Some(OfferedWorkState {
            next_step: Some("Bisect the lock file".to_owned()),
            ..OfferedWorkState::default()
        }),
        ..Offer::default()
    }
}

pub fn initiate(to: &str, task: &str) -> Command {
    let offer = Some(Box::new(offer(to, task)));
    Command::Handoff(handoff::Command::Initiate { offer })
}

pub fn accept() -> Command {
    Command::Handoff(handoff::Command::Accept(handoff::command::Accept::default()))
}

pub fn activate() -> Command {
    Command::Handoff(handoff::Command::Activate { work_state_update: None })
}

pub fn complete() -> Command {
    Command::Handoff(handoff::Command::Complete(Completion::default()))
}

pub fn close() -> Command {
    Command::Handoff(handoff::Command::Close { closure_notes: None })
}

pub fn reject(detail: &str) -> Command {
    let detail = detail.to_owned();
    let reason = RejectReason::Other;
    Command::Handoff(handoff::Command::Reject(Reject { reason, detail, suggested_fix: None }))
}

/// A key whose fingerprint is that of `body`.
pub fn key(text: &str, body: &str) -> Option<Key> {
    Some(Key { text: text.to_owned(), fingerprint: canonical::sha256(&[body.as_bytes()]) })
}

/// The stable code of an answer; `ok` for a success.
pub fn code(result: &Result<Done, SubmitError>) -> &'static str {
    match result {
        Ok(_) => "ok",
        Err(SubmitError::Rejected(rejection)) => rejection.code(),
        Err(SubmitError::KeyReused) => "key_reused",
        Err(SubmitError::Contended) => "contended",
        Err(SubmitError::Behind(_)) => "ledger_behind_checkpoint",
        Err(SubmitError::Store(_)) => "store",
    }
}

/// A handoff from `sender` to `target`, proposed. Both must be registered.
pub async fn proposed(engine: &Engine, sender: &str, target: &str, task: &str) -> Stream {
    let stream = handoff_stream(engine.new_handoff_id());
    let command = initiate(target, task);
    let done = engine.submit(&agent(sender), stream.clone(), command, None).await;
    done.expect("the task is free");
    stream
}

/// A message that was sent.
pub async fn sent(engine: &Engine, caller: &Caller, body: serde_json::Value) -> Stream {
    let subject = Subject::Message(engine.new_message_id());
    let stream = Stream { teamspace: caller.teamspace.clone(), subject };
    let outgoing = serde_json::from_value(body).expect("a message");
    let command = Command::Message(message::Command::Send(Box::new(outgoing)));
    engine.submit_new(caller, stream.clone(), command, None).await.expect("it may be sent");
    stream
}

/// A message to bob under an id that may be in use.
pub async fn send_to(
    engine: &Engine,
    caller: &Caller,
    stream: Stream,
) -> Result<Done, SubmitError> {
    let body = serde_json::json!({ "to": ["bob"], "type": "status.update" });
    let outgoing = serde_json::from_value(body).expect("a message");
    let command = Command::Message(message::Command::Send(Box::new(outgoing)));
    engine.submit(caller, stream, command, None).await
}

/// Random numbers that repeat with the seed.
#[derive(Debug)]
pub struct Random(SeededIds);

impl Random {
    pub fn from_seed(seed: u64) -> Self {
        Self(SeededIds::new(seed))
    }

    pub fn draw(&mut self) -> u64 {
        let mut word = [0; 8];
        word.copy_from_slice(&self.0.bytes()[..8]);
        u64::from_le_bytes(word)
    }

    /// A number in `0..limit`. The bias of the modulo does not matter here.
    pub fn below(&mut self, limit: usize) -> usize {
        assert!(limit > 0, "there is no number below zero");
        (self.draw() % limit as u64) as usize
    }

    pub fn happens(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}
