//! Stores to test, and commits to test them with. The states are plausible and the events are not:
//! a store must not look into them, but for those of transfers, which it folds into records.

use std::sync::Arc;

use engine::ports::store::{
    Commit, KeyScope, KeyedOutcome, RecordedOutcome, Sequenced, Store, StoreReads,
};
use protocol::agent::{Agent, Kind, Profile};
use protocol::canonical::Hash;
use protocol::fork::{Forked, Forks};
use protocol::handoff::state::{
    Approval, Checks, Draft, Handoff, Made, Stage, Terms, Validating, Waiting,
};
use protocol::handoff::{RejectReason, Status};
use protocol::ids::{HandoffId, TeamspaceId, TokenId};
use protocol::ledger::{Body, Entry, GENESIS, Stream, Subject};
use protocol::step::{Deadline, Effect, HoldState, HoldWrite, State};
use protocol::time::{Span, Time};
use protocol::token::{BearerKind, Grant, Token};
use store::{Memory, Sqlite};
use tempfile::TempDir;

use crate::support::{id, start};

/// An empty store, and the folder it may live in.
pub struct Place {
    pub store: Arc<dyn Store>,
    _folder: Option<TempDir>,
}

impl Place {
    pub fn memory() -> Self {
        Self { store: Arc::new(Memory::default()), _folder: None }
    }

    pub fn sqlite() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let store = Sqlite::open(folder.path()).expect("a new database");
        Self { store: Arc::new(store), _folder: Some(folder) }
    }

    /// All of the ledger.
    pub async fn ledger(&self) -> Vec<Sequenced> {
        self.store.entries(0, usize::MAX).await.expect("the ledger can be read")
    }
}

pub fn teamspace(name: &str) -> TeamspaceId {
    name.parse().expect("a teamspace")
}

pub fn handoff_id(number: u32) -> HandoffId {
    format!("01938c2e-0000-7000-8000-{number:012}").parse().expect("a UUID")
}

pub fn later(minutes: i64) -> Time {
    start().plus(Span::from_minutes(minutes))
}

/// A stream as its writer knows it.
#[derive(Debug, Clone)]
pub struct Track {
    pub stream: Stream,
    pub position: u64,
    pub head: Hash,
}

impl Track {
    pub fn new(in_teamspace: &str, subject: Subject) -> Self {
        let stream = Stream { teamspace: teamspace(in_teamspace), subject };
        Self { stream, position: 0, head: GENESIS }
    }

    pub fn handoff(number: u32) -> Self {
        Self::new("default", Subject::Handoff(handoff_id(number)))
    }

    /// Gives the only entry of the newest commit another body.
    pub fn replace_body(&mut self, commit: &mut Commit, text: String) {
        let entry = commit.entries.pop().expect("one entry");
        let body = Body::Kept { salt: [7; 16], text };
        let entry = Entry { body, ..entry }.chained(&commit.expected_head);
        self.head = entry.hash;
        commit.entries.push(entry);
    }

    /// A commit of `n_entries` that continues the stream; the track moves on to its end.
    pub fn next(&mut self, state: State, n_entries: usize) -> Commit {
        let (expected_position, expected_head) = (self.position, self.head);
        let mut entries = Vec::new();
        for _ in 0..n_entries {
            self.position += 1;
            let entry = Entry {
                stream: self.stream.clone(),
                position: self.position,
                name: "test.happened".into(),
                version: 1,
                actor: "agent:barry".into(),
                at: later(i64::try_from(self.position).expect("a small number")),
                body: Body::Kept {
                    salt: [7; 16],
                    text: format!("{{\"at\":\"{}/{}\"}}", self.stream.subject, self.position),
                },
                hash: GENESIS,
            };
            let entry = entry.chained(&self.head);
            self.head = entry.hash;
            entries.push(entry);
        }
        Commit {
            stream: self.stream.clone(),
            expected_position,
            expected_head,
            entries,
            state_text: serde_json::to_string(&state).expect("a state is plain data"),
            state: Arc::new(state),
            mac: Some([5; 16]),
            disarm: Vec::new(),
            arm: Vec::new(),
            end: Vec::new(),
            begin: Vec::new(),
            holds: Vec::new(),
            document: None,
            erase: None,
            transcript: Vec::new(),
            key: None,
        }
    }

    /// The next commit of a stream of handoffs, with one entry.
    pub fn step(&mut self, status: Status) -> Commit {
        let Subject::Handoff(id) = self.stream.subject else { panic!("not a handoff") };
        self.next(handoff(id, "t1", status), 1)
    }
}

pub fn handoff(id: HandoffId, task: &str, status: Status) -> State {
    handoff_between("sender", "target", id, task, status)
}

pub fn handoff_between(from: &str, to: &str, id: HandoffId, task: &str, status: Status) -> State {
    let (from, to) = (self::id(from), self::id(to));
    let thread_id = "thread-1".parse().expect("a thread");
    let task_id = task.parse().expect("a task");
    let waiting = Waiting::from(start());
    let stage = match status {
        Status::Draft => {
            return State::Handoff(Box::new(Handoff::Draft(Draft {
                id,
                from,
                thread_id,
                drafted_at: start(),
                offer_hash: "offer".to_owned(),
                to: None,
                task_id: None,
                title: None,
            })));
        }
        Status::Proposed => Stage::Proposed(waiting),
        Status::Validating => Stage::Validating(Validating {
            waiting,
            checks: Checks::Running,
            passed: Vec::new(),
            artifacts: None,
        }),
        Status::Accepted => Stage::Accepted(waiting),
        Status::Rejected => Stage::Rejected { reason: RejectReason::Other, at: start() },
        Status::Activated => Stage::Activated(waiting),
        Status::Completed => Stage::Completed { at: start() },
        Status::Closed => Stage::Closed { at: start(), forced: false, was_activated: true },
    };
    let terms = Terms {
        id,
        thread_id,
        task_id,
        from: from.clone(),
        to,
        title: "Mend the build".to_owned(),
        reason: String::new(),
        is_return: false,
        needs_human: false,
        has_artifacts: false,
        has_remote_artifacts: false,
        has_workq_items: false,
        is_guarded: false,
        task_kind: Default::default(),
        requires_evidence: false,
        requires_verifier: false,
        deadline: None,
        slas: Default::default(),
        chain: vec![from],
        parts: 0,
        origin_session: "test".to_owned(),
        package_hash: "package".to_owned(),
        proposed_at: start(),
        parent: None,
        replaces: None,
        readers: None,
        gated: None,
        loosens: None,
    };
    State::Handoff(Box::new(Handoff::Made(made(terms, stage))))
}

fn made(terms: Terms, stage: Stage) -> Made {
    Made {
        terms: terms.into(),
        stage,
        approval: Approval::NotNeeded,
        revision: 1,
        completions: 0,
        verifier_asked: false,
        shown: None,
        notes: Vec::new(),
        delegations: Default::default(),
        workq: Default::default(),
        work_state: None,
        differences: Vec::new(),
        progress: None,
        n_reports: 0,
        recall: None,
    }
}

pub fn agent(name: &str) -> State {
    State::Agent(Agent::new(id(name), Kind::Worker, Profile::default()))
}

pub fn token(token_id: TokenId, secret_hash: &str) -> State {
    let grant = Grant {
        bearer: id("barry"),
        bearer_kind: BearerKind::Agent,
        roles: Default::default(),
        expires_at: None,
    };
    let secret_hash = secret_hash.to_owned();
    let (issued_at, revoked_at) = (start(), None);
    State::Token(Token { id: token_id, grant, secret_hash, issued_at, revoked_at })
}

pub fn forks(n_declared: u64) -> State {
    let (lost_root, reason) = ("ab".repeat(32), "a disk".to_owned());
    State::Ledger(Forks { n_declared, last: Forked { lost_size: 9, lost_root, reason } })
}

pub fn free() -> HoldState {
    HoldState::default()
}

pub fn held(holder: Option<&str>, value: &str) -> HoldState {
    HoldState { holder: holder.map(str::to_owned), value: Some(value.to_owned()) }
}

pub fn hold(key: &str, expected: HoldState, next: HoldState) -> HoldWrite {
    HoldWrite { key: key.to_owned(), expected, next }
}

pub fn deadline(name: &str, minutes: i64) -> Deadline {
    Deadline { name: name.to_owned().into(), due: later(minutes) }
}

pub fn effect(name: &str) -> Effect {
    Effect { name: name.to_owned().into() }
}

pub fn scope(in_teamspace: &str, caller: &str, key: &str) -> KeyScope {
    let (caller, key) = (caller.to_owned(), key.to_owned());
    KeyScope { teamspace: teamspace(in_teamspace), caller, key }
}

pub fn recorded(outcome: &str) -> RecordedOutcome {
    RecordedOutcome { fingerprint: [3; 32], outcome: outcome.to_owned(), mac: Some([6; 16]) }
}

pub fn keyed(key: &str, outcome: &str) -> Option<KeyedOutcome> {
    let scope = scope("default", "agent:barry", key);
    Some(KeyedOutcome { scope, recorded: recorded(outcome), at: start() })
}
