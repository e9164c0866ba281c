//! Who is told of each event of a handoff, and who is not. Every row plays an event on a real
//! engine, and then looks into the inbox of every role: that of the sender, the target, the owner
//! of the task, an approver, a verifier, a coordinator, a stranger of the teamspace, an operator,
//! and an agent of another teamspace.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use engine::Engine;
use engine::ports::adapter::{Adapter, Taken, WakeCall};
use engine::ports::clock::{Clock as _, ManualClock};
use engine::ports::store::{InboxStatus, Store};
use engine::read::notices::About;
use protocol::agent::{Command as OfAgent, Kind, Profile};
use protocol::caller::{Caller, Role};
use protocol::handoff::artifact::{Finding, Seen};
use protocol::handoff::check::Delegation;
use protocol::handoff::command::{Command as Action, Reassign};
use protocol::handoff::package::Artifact;
use protocol::handoff::workq::{Answer, Answered, Degradation, Transfer};
use protocol::ledger::Stream;
use protocol::step::Command;
use protocol::time::Span;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::server;
use crate::support::{
    accept, activate, agent, agent_stream, all_after, close, engine_on, handoff_stream, id,
    operator, register, reject,
};

/// In this order they are asked what they were told.
const CAST: [&str; 9] =
    ["alice", "bob", "olaf", "hana", "rita", "cora", "mia", "root", "bob of another teamspace"];

/// An event, the steps before it, the step that causes it, and who is told what by then. All others
/// of the cast are told nothing. A step is a person of the cast, an action, and what is special
/// about it. `outside` says what is found outside the server, and `time` passes.
const ROWS: &str = r"
    handoff.drafted                  |                                              | alice draft           |
    handoff.proposed                 |                                              | alice initiate        | bob: proposed
    handoff.proposed                 |                                              | alice initiate gated  | bob: proposed; hana: approval_wanted
    handoff.proposed                 | task of olaf                                 | cora initiate         | bob: proposed; olaf: proposed
    handoff.countered                | alice initiate, bob reject                   | alice counter         | bob: countered
    handoff.countered                | alice initiate gated, bob reject             | alice counter         | bob: countered; hana: approval_wanted
    handoff.countered                | task of olaf, cora initiate, bob reject      | cora counter          | bob: countered; olaf: countered
    handoff.approved                 | alice initiate gated                         | hana approve          | alice: approved; bob: approved
    handoff.refused                  | alice initiate gated                         | hana refuse           | alice: message system.error; bob: rejected
    handoff.validation_started       | alice initiate artifact                      | bob accept            |
    handoff.verification_unavailable | alice initiate artifact, bob accept          | outside unavailable   | alice: verification_unavailable; bob: verification_unavailable
    handoff.checked                  | alice initiate gated artifact, bob accept    | outside verified      |
    handoff.accepted                 | alice initiate                               | bob accept            | alice: accepted
    handoff.accepted                 | alice initiate artifact, bob accept          | outside verified      | alice: accepted; bob: accepted
    handoff.accepted                 | task of olaf, cora initiate                  | bob accept            | olaf: accepted; cora: accepted
    handoff.rejected                 | alice initiate                               | bob reject            | alice: message system.error
    handoff.rejected                 | alice initiate artifact, bob accept          | outside missing       | alice: message system.error; bob: rejected
    handoff.rejected                 | task of olaf, cora initiate                  | bob reject            | olaf: rejected; cora: message system.error
    handoff.activated                | alice initiate, bob accept                   | bob activate          | alice: activated
    handoff.activated                | task of olaf, cora initiate, bob accept      | bob activate          | olaf: activated; cora: activated
    handoff.progressed               | at work                                      | bob progress          | alice: progressed
    handoff.recalled                 | at work                                      | alice recall          | bob: recalled
    handoff.completion_started       | verified work                                | bob complete          | alice: message status.update; rita: confirmation_wanted; cora: confirmation_wanted
    handoff.completion_started       | at work                                      | bob complete artifact |
    handoff.completion_checked       | verified work, bob complete artifact         | outside verified      | alice: message status.update; rita: confirmation_wanted; cora: confirmation_wanted
    handoff.completion_failed        | at work, bob complete artifact               | outside missing       | bob: message system.error
    handoff.disputed                 | verified work, bob complete                  | alice dispute         | bob: message system.error
    handoff.disputed                 | verified work, bob complete                  | rita dispute          | alice: disputed; bob: message system.error
    handoff.confirmed                | verified work, bob complete                  | rita confirm          | alice: completed; bob: completed
    handoff.completed                | at work                                      | bob complete          | alice: completed
    handoff.closed                   | at work, bob complete                        | alice close           | bob: closed
    handoff.closed                   | at work                                      | cora close            | alice: closed; bob: closed
    handoff.closed                   | alice initiate                               | alice withdraw        | bob: withdrawn
    handoff.closed                   | alice draft                                  | alice discard         |
    handoff.closed                   | alice draft                                  | cora close            | alice: closed
    handoff.closed                   | at work                                      | cora reassign olaf    | alice: reassigned; bob: reassigned; olaf: proposed
    handoff.delegated                | at work                                      | bob delegate olaf     | alice: delegated; olaf: proposed
    handoff.delegation_ended         | at work, bob delegate olaf                   | olaf reject part      | bob: part_ended, message system.error
    handoff.delegation_recalled      | at work, bob delegate olaf, olaf accept part | bob recall part       | olaf: recalled
    handoff.delegation_reopened      | at work, bob delegate olaf, olaf reject part | bob counter part      | olaf: countered
    handoff.sla_warned               | alice initiate warned                        | time 4                | bob: message status.update
    handoff.escalated                | alice initiate                               | time 5                | cora: message status.blocked; root: message status.blocked
    handoff.escalated                | alice initiate, cora resign                  | time 5                | alice: escalated; root: message status.blocked
    handoff.sla_extended             | at work                                      | cora extend           | alice: sla_extended; bob: sla_extended
    handoff.workq_settled            | queued work                                  | outside transferred   |
    handoff.workq_degraded           | queued work                                  | outside orphaned      | alice: workq_degraded; bob: workq_degraded
";

/// Steps that many rows begin with.
const SCENES: [(&str, &[&str]); 4] = [
    ("task of olaf", &["olaf initiate", "olaf withdraw"]),
    ("at work", &["alice initiate", "bob accept", "bob activate"]),
    ("verified work", &["alice initiate verified", "bob accept", "bob activate"]),
    ("queued work", &["alice initiate queued", "bob accept", "bob activate"]),
];

#[tokio::test]
async fn every_event_is_told_to_those_it_concerns_and_to_no_one_else() {
    let mut wrong = Vec::new();
    for [event, before, step, expected] in rows() {
        let mut play = Play::begin().await;
        for earlier in steps(before) {
            play.step(earlier).await;
        }
        let heard = play.heard().await;
        let newest = play.newest().await;
        play.step(step).await;
        let told = play.told(&heard, newest).await;
        if told != expected {
            wrong.push(format!("{event}, {step}: {told:?}, expected {expected:?}"));
        }
        let entries = all_after(play.store.as_ref(), newest).await.expect("the store works");
        let is_recorded = entries.iter().any(|it| it.entry.name == event);
        assert!(is_recorded, "{event} is not recorded by {step}");
    }
    assert!(wrong.is_empty(), "{} rows:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_event_of_the_page_has_a_row() {
    let played: BTreeSet<_> = rows().map(|[event, ..]| event).collect();
    let of_questions = listed("question.");
    assert_eq!(played, listed("").difference(&of_questions).copied().collect());
}

/// The events that the page lists, of those whose names begin like this.
pub fn listed(beginning: &str) -> BTreeSet<&'static str> {
    let page = include_str!("../../../../../docs/transitions.md");
    let (_, section) = page.split_once("## Who is told").expect("the page has the section");
    let event = |line: &'static str| line.strip_prefix("| `")?.split('`').next();
    let listed = section.lines().filter_map(event);
    listed.filter(|event| event.starts_with(beginning)).collect()
}

fn rows() -> impl Iterator<Item = [&'static str; 4]> {
    let columns = |row: &'static str| row.split('|').map(str::trim).collect::<Vec<_>>();
    ROWS.trim().lines().map(move |row| columns(row).try_into().expect("four columns"))
}

fn steps(before: &'static str) -> impl Iterator<Item = &'static str> {
    let of_step = |step| match SCENES.iter().find(|(name, _)| *name == step) {
        Some((_, steps)) => steps.to_vec(),
        None => vec![step],
    };
    before.split(", ").filter(|step| !step.is_empty()).flat_map(of_step)
}

/// A teamspace in which one handoff is under way.
struct Play {
    engine: Engine,
    store: Arc<dyn Store>,
    clock: Arc<ManualClock>,
    /// Made last.
    handoff: Option<Stream>,
    part: Option<Stream>,
    has_coordinator: bool,
}

impl Play {
    async fn begin() -> Self {
        let store: Arc<dyn Store> = Arc::new(store::Memory::default());
        let (engine, clock) = engine_on(store.clone());
        register(&engine, &["alice", "bob", "olaf", "rita", "cora", "mia"]).await;
        let play = Self { engine, store, clock, handoff: None, part: None, has_coordinator: true };
        let human = OfAgent::Register { kind: Kind::Human, profile: Profile::default() };
        play.manage("hana", human).await;
        play.manage("cora", OfAgent::SetRoles { roles: [Role::Coordinator].into() }).await;
        play
    }

    fn caller(&self, name: &str) -> Caller {
        let with = |role| Caller { roles: [role].into(), ..agent(name) };
        match name {
            "root" => operator(),
            "rita" => with(Role::Reviewer),
            "cora" if self.has_coordinator => with(Role::Coordinator),
            "bob of another teamspace" => {
                let teamspace = "other".parse().expect("a teamspace");
                Caller { teamspace, ..agent("bob") }
            }
            _ => agent(name),
        }
    }

    async fn manage(&self, name: &str, command: OfAgent) {
        let stream = agent_stream(name);
        let done = self.engine.submit(&operator(), stream, Command::Agent(command), None).await;
        done.expect("an operator may do this");
    }

    async fn step(&mut self, step: &str) {
        let words: Vec<_> = step.split(' ').collect();
        let [who, action, more @ ..] = &words[..] else { panic!("{step}") };
        match (*who, *action) {
            ("time", minutes) => {
                self.clock.advance(Span::from_minutes(minutes.parse().expect("a number")));
                self.engine.fire_due_deadlines().await.expect("the store works");
            }
            ("outside", finds) => {
                let outside = Outside(finds.to_owned());
                let done = self.engine.outbox().carry_out_due(&outside).await;
                assert_eq!(done.expect("the store works"), 1, "{step}");
            }
            ("cora", "resign") => {
                self.manage("cora", OfAgent::SetRoles { roles: BTreeSet::new() }).await;
                self.has_coordinator = false;
            }
            (who, action) => self.act(who, action, more).await,
        }
        self.engine.send_due_notices().await.expect("messages are sent");
    }

    async fn act(&mut self, who: &str, action: &str, more: &[&str]) {
        let has = |word: &str| more.contains(&word);
        if let "draft" | "initiate" = action {
            self.handoff = Some(handoff_stream(self.engine.new_handoff_id()));
        }
        let on = if has("part") { &self.part } else { &self.handoff };
        let on = on.clone().expect("it was made before");
        let new = self.engine.new_handoff_id();
        let action = match action {
            "draft" => Action::Draft { offer: from_json(offer(has)) },
            "initiate" => Action::Initiate { offer: Some(from_json(offer(has))) },
            "counter" => Action::Counter { edit: from_json(json!({ "reason": "once more" })) },
            "approve" => Action::Approve { revision: None, why: None },
            "refuse" => Action::Refuse { revision: None, why: "not this week".to_owned() },
            "withdraw" => Action::Withdraw { why: None },
            "discard" => Action::Discard { why: None },
            "progress" => Action::Progress(from_json(json!({ "percent": 40 }))),
            "recall" => Action::Recall { reason: "plans changed".to_owned() },
            "complete" => {
                let artifacts = if has("artifact") { json!([artifact()]) } else { json!([]) };
                Action::Complete(from_json(
                    json!({ "notes": null, "final_artifacts": artifacts, "evidence": [] }),
                ))
            }
            "confirm" => Action::Confirm { why: None },
            "dispute" => Action::Dispute { why: "where is it?".to_owned() },
            "extend" => {
                let due = self.clock.now().plus(Span::from_hours(48));
                Action::ExtendSla { due, why: "it is hard".to_owned() }
            }
            "delegate" => {
                self.part = Some(handoff_stream(new));
                let part = server::offer("T-1.part", more[0]);
                let Delegation(offer) = from_json(part);
                Action::Delegate { child: new, offer: Box::new(offer) }
            }
            "reassign" => Action::Reassign(Box::new(Reassign {
                successor: new,
                to: id(more[0]),
                why: "bob is away".to_owned(),
                work_state: None,
                deadline: None,
            })),
            other => return self.submit(who, on, of_support(other)).await,
        };
        self.submit(who, on, Command::Handoff(action)).await;
    }

    async fn submit(&self, who: &str, on: Stream, command: Command) {
        let done = self.engine.submit(&self.caller(who), on, command, None).await;
        assert!(done.is_ok(), "{who}: {done:?}");
    }

    async fn newest(&self) -> u64 {
        self.engine.ledger().newest().await.expect("the store works")
    }

    /// The messages that each of the cast has.
    async fn heard(&self) -> Vec<Vec<(Stream, String)>> {
        let mut all = Vec::new();
        for name in CAST {
            let open = InboxStatus::Open;
            let page = self.engine.read().inbox(&self.caller(name), open, None, 200).await;
            let items = page.expect("the store works").items.into_iter();
            let kind_of = |item: engine::read::query::Item| {
                let kind = item.state.as_message().expect("a message").sent.kind.to_string();
                (item.stream, kind)
            };
            all.push(items.map(kind_of).collect());
        }
        all
    }

    /// What each of the cast is told, besides the messages that they heard before, and the notices
    /// up to a place.
    async fn told(&self, heard: &[Vec<(Stream, String)>], after: u64) -> String {
        let mut all = Vec::new();
        for ((name, before), messages) in CAST.iter().zip(heard).zip(self.heard().await) {
            let caller = self.caller(name);
            let page = self.engine.read().notices(&caller, Some(after), 200).await;
            let page = page.expect("the store works");
            assert!(!page.has_more);
            let mut told = Vec::new();
            for notice in page.about {
                let About::Handoff(handoff) = notice.about else { panic!("{notice:?}") };
                let on = handoff_stream(handoff);
                // As the gateway does: what a caller may not read, it is not told.
                let may_read = self.engine.access().may_read_stream(&caller, &on).await;
                if may_read.expect("the store works") {
                    told.extend(notice.kinds.iter().map(|kind| kind.as_str().to_owned()));
                }
            }
            let new = messages.into_iter().filter(|message| !before.contains(message));
            told.extend(new.map(|(_, kind)| format!("message {kind}")));
            if !told.is_empty() {
                all.push(format!("{name}: {}", told.join(", ")));
            }
        }
        all.join("; ")
    }
}

fn of_support(action: &str) -> Command {
    match action {
        "accept" => accept(),
        "activate" => activate(),
        "reject" => reject("not like this"),
        "close" => close(),
        other => panic!("{other}"),
    }
}

fn offer(has: impl Fn(&str) -> bool) -> Value {
    let mut offer = server::offer("T-1", "bob");
    let mut policy = json!({});
    if has("gated") {
        policy["human_gate"] = json!("required");
    }
    if has("verified") {
        policy["requires_verifier"] = json!(true);
    }
    offer["policy"] = policy;
    if has("artifact") {
        offer["artifacts"] = json!([artifact()]);
    }
    if has("queued") {
        let item = json!({ "type": "workq_item", "value": "item-1" });
        offer["task"]["external_refs"] = json!([item]);
    }
    if has("warned") {
        offer["sla"] = json!({ "warn_percent": 80 });
    }
    offer
}

fn artifact() -> Value {
    json!({ "artifact_id": "log", "ref": { "type": "file", "path": "/work/log" } })
}

fn from_json<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("it has this form")
}

/// What is found outside the server, by a word.
struct Outside(String);

impl Adapter for Outside {
    fn look(&self, artifacts: Vec<Artifact>) -> Pin<Box<dyn Future<Output = Vec<Seen>> + Send>> {
        let detail = "as the row says".to_owned();
        let finding = match self.0.as_str() {
            "verified" => Finding::Verified { sha256: "ab".repeat(32), size_bytes: 7 },
            "missing" => Finding::Missing { detail },
            "unavailable" => Finding::Unavailable { detail },
            other => panic!("{other}"),
        };
        let seen = artifacts.into_iter().map(move |it| Seen {
            artifact_id: it.artifact_id,
            path: None,
            finding: finding.clone(),
        });
        Box::pin(std::future::ready(seen.collect()))
    }

    fn transfer(&self, transfer: Transfer) -> Pin<Box<dyn Future<Output = Vec<Answered>> + Send>> {
        let detail = "as the row says".to_owned();
        let answer = match self.0.as_str() {
            "transferred" => Answer::Transferred,
            "orphaned" => Answer::Degraded { reason: Degradation::Refused, detail },
            other => panic!("{other}"),
        };
        let items = transfer.items.into_iter();
        let answered = items.map(move |item| Answered { item, answer: answer.clone() });
        Box::pin(std::future::ready(answered.collect()))
    }

    fn wake(&self, _: WakeCall) -> Taken {
        Box::pin(std::future::ready(Ok(())))
    }
}
