//! Who is told of each event of a question, and who is not. Every row plays an event on a real
//! engine, and then asks the asker, a worker, the humans of the queue, another agent of the
//! teamspace and an operator what they were told.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::Engine;
use engine::ports::clock::ManualClock;
use engine::ports::store::Store;
use engine::read::notices::About;
use protocol::agent::{Command as OfAgent, Kind, Profile};
use protocol::caller::Caller;
use protocol::ledger::{Stream, Subject};
use protocol::question::command::{Answer, Ask, Command as Action};
use protocol::step::Command;
use protocol::time::Span;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::every_event::listed;
use crate::support::{
    agent, agent_stream, all_after, default_teamspace, engine_on, id, operator, register,
};

/// In this order they are asked what they were told.
const CAST: [&str; 6] = ["bot", "w1", "hana", "dana", "mia", "root"];

/// An event, the steps before it, the step that causes it, and who is told what by then. All others
/// of the cast are told nothing. A step is a name, an action, and what is special about it; `time`
/// passes until something is due.
const ROWS: &str = r"
    question.asked         |                    | bot ask       | hana: question_asked; dana: question_asked
    question.asked         |                    | bot ask hana  | hana: question_asked
    question.asked         |                    | hana ask      | dana: question_asked
    question.answered      | bot ask            | hana answer   | bot: question_answered; w1: question_answered
    question.withdrawn     | bot ask            | bot withdraw  | hana: question_withdrawn; dana: question_withdrawn
    question.withdrawn     | bot ask hana       | bot withdraw  | hana: question_withdrawn
    question.unanswered    | bot ask            | time 61       | bot: question_unanswered; w1: question_unanswered
    question.defaulted     | bot ask or decline | time 61       | bot: question_unanswered; w1: question_unanswered
    question.claimed       | answered           | w1 claim      |
    question.claim_renewed | answered, w1 claim | w1 renew      |
    question.claim_lapsed  | answered, w1 claim | time 2        |
    question.finished      | answered, w1 claim | w1 finish     |
";

#[tokio::test]
async fn every_event_of_a_question_is_told_to_those_it_concerns() {
    let mut wrong = Vec::new();
    for [event, before, step, expected] in rows() {
        let play = Play::begin().await;
        let before = before.replace("answered", "bot ask, hana answer");
        for earlier in before.split(", ").filter(|step| !step.is_empty()) {
            play.step(earlier).await;
        }
        let newest = play.engine.ledger().newest().await.expect("the store works");
        play.step(step).await;
        let told = play.told(newest).await;
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
fn every_event_of_a_question_on_the_page_has_a_row() {
    let played: BTreeSet<_> = rows().map(|[event, ..]| event).collect();
    assert_eq!(played, listed("question."));
}

fn rows() -> impl Iterator<Item = [&'static str; 4]> {
    let columns = |row: &'static str| row.split('|').map(str::trim).collect::<Vec<_>>();
    ROWS.trim().lines().map(move |row| columns(row).try_into().expect("four columns"))
}

/// A teamspace in which one question is under way.
struct Play {
    engine: Engine,
    store: Arc<dyn Store>,
    clock: Arc<ManualClock>,
    question: Stream,
}

impl Play {
    async fn begin() -> Self {
        let store: Arc<dyn Store> = Arc::new(store::Memory::default());
        let (engine, clock) = engine_on(store.clone());
        register(&engine, &["bot", "w1", "mia"]).await;
        for (name, kind) in [("hana", Kind::Human), ("dana", Kind::Human), ("desk", Kind::Queue)] {
            let register = OfAgent::Register { kind, profile: Profile::default() };
            let command = Command::Agent(register);
            let done = engine.submit(&operator(), agent_stream(name), command, None).await;
            done.expect("an operator may register an agent");
        }
        let subject = Subject::Question(engine.new_question_id());
        let question = Stream { teamspace: default_teamspace(), subject };
        Self { engine, store, clock, question }
    }

    async fn step(&self, step: &str) {
        let words: Vec<_> = step.split(' ').collect();
        let [who, action, more @ ..] = &words[..] else { panic!("{step}") };
        if *who == "time" {
            self.clock.advance(Span::from_minutes(action.parse().expect("a number")));
            self.engine.fire_due_deadlines().await.expect("the store works");
            return;
        }
        let action = match *action {
            "ask" => Action::Ask(Box::new(ask(more))),
            "answer" => Action::Answer(self.approval().await),
            "withdraw" => Action::Withdraw(from_json(json!({}))),
            "claim" => Action::Claim(from_json(json!({ "lease": "1m" }))),
            "renew" => Action::Renew { epoch: 1, lease: None },
            "finish" => Action::Finish(from_json(json!({ "epoch": 1 }))),
            other => panic!("{other}"),
        };
        let (on, command) = (self.question.clone(), Command::Question(action));
        let done = self.engine.submit(&caller(who), on, command, None).await;
        assert!(done.is_ok(), "{step}: {done:?}");
    }

    async fn approval(&self) -> Answer {
        let item = self.engine.read().item(&self.question).await.expect("the store works");
        let state = item.expect("it was asked").state;
        let hash = state.as_question().expect("a question").asked.hash.clone();
        let given = from_json(json!({ "decision": "approve" }));
        Answer { hash, given, note: None, operator: None }
    }

    /// What each of the cast is told after a place.
    async fn told(&self, after: u64) -> String {
        let mut all = Vec::new();
        for name in CAST {
            let caller = caller(name);
            let page = self.engine.read().notices(&caller, Some(after), 200).await;
            for notice in page.expect("the store works").about {
                let About::Question(_) = notice.about else { panic!("{notice:?}") };
                let kinds: Vec<_> = notice.kinds.iter().map(|kind| kind.as_str()).collect();
                all.push(format!("{name}: {}", kinds.join(", ")));
            }
        }
        all.join("; ")
    }
}

fn caller(name: &str) -> Caller {
    if name == "root" { operator() } else { agent(name) }
}

/// Of the queue, unless a name follows. With `or`, a decision that counts when time is up.
fn ask(more: &[&str]) -> Ask {
    let (to, default) = match more {
        [] => ("desk", Value::Null),
        ["or", decision] => ("desk", json!({ "decision": decision })),
        [name] => (*name, Value::Null),
        _ => panic!("{more:?}"),
    };
    let asked = json!({
        "to": id(to), "text": "Refund order 7?", "workers": ["w1", "bot"], "timeout": "1h",
        "default": default,
    });
    from_json(asked)
}

fn from_json<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("it has this form")
}
