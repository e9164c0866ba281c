//! A producer with an endpoint is told there the results of its questions: signed, in the shape of
//! AAEP's replies, with retries until it accepts, and then no more.

use std::sync::Arc;

use aaep::event::Decision;
use aaep::handshake::read_handshake;
use adapters::artifacts::{Artifacts, Settings};
use adapters::effect_runner::EffectRunner;
use adapters::webhook::Webhook;
use engine::Engine;
use engine::ports::clock::ManualClock;
use engine::ports::outbox::OutboxList;
use protocol::agent::{self as agents, Kind, Profile};
use protocol::ids::SessionId;
use protocol::session::event::Said;
use protocol::session::{Answer, Given};
use protocol::step::Command;
use protocol::time::{Span, Time};
use protocol::wake::WakeKey;
use serde_json::json;
use store::Sqlite;
use tempfile::TempDir;

use super::{SESSION, TOKEN, asks, event};
use crate::receiver::{self, Receiver, Seen};
use crate::support::{self, agent, agent_stream, default_teamspace, id, operator};

const SEED: [u8; 32] = [7; 32];

/// A teller with an endpoint, which has asked, and dana, who may answer.
struct Bank {
    engine: Engine,
    clock: Arc<ManualClock>,
    outside: EffectRunner,
    _folder: TempDir,
}

impl Bank {
    async fn new(url: Option<&str>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Sqlite::open(folder.path()).expect("a new database");
        let (engine, clock) = support::engine_on(Arc::new(store));
        support::register(&engine, &["teller"]).await;
        let human = agents::Command::Register { kind: Kind::Human, profile: Profile::default() };
        let endpoint = agents::Command::SetEndpoint { url: url.map(str::to_owned), history: None };
        for (name, command) in [("dana", human), ("teller", endpoint)] {
            let command = Command::Agent(command);
            let done = engine.submit(&operator(), agent_stream(name), command, None).await;
            done.expect("they may");
        }
        let artifacts = Artifacts::new(Settings::default()).expect("no roots, no trouble");
        let webhook = Webhook::new(WakeKey::from_seed(&SEED), true).taking_at_most(300);
        let outside = EffectRunner::new(artifacts, None, webhook);
        let events = [event(1, "session.started", json!({})), asks(2)];
        let events = events.iter().map(|event| Said::new(event.to_string()).expect("JSON"));
        let done = engine.sessions().announce(&agent("teller"), &session(), events.collect()).await;
        done.expect("it may");
        Self { engine, clock, outside, _folder: folder }
    }

    async fn dana_answers(&self) {
        let answer = Answer {
            reply_token: TOKEN.to_owned(),
            given: Given::Decision(Decision::Accept),
            decided_by: Some("user:dana".to_owned()),
            rationale: None,
            modified_action: None,
            confidence: None,
            subscription_id: None,
        };
        self.engine.sessions().answer(&agent("dana"), &session(), answer).await.expect("she may");
    }

    async fn carry_out(&self) -> usize {
        self.engine.outbox().carry_out_due(&self.outside).await.expect("the store works")
    }

    /// Repeats until nothing is left, a minute at a time.
    async fn carry_out_all(&self) {
        loop {
            let left =
                self.engine.outbox().outstanding(&default_teamspace(), OutboxList::All).await;
            if left.expect("the store works").is_empty() {
                return;
            }
            self.carry_out().await;
            self.clock.advance(Span::from_minutes(1));
        }
    }
}

fn session() -> SessionId {
    SESSION.parse().expect("an id")
}

/// Whether it is signed with the secret of the teller.
fn is_signed(seen: &Seen) -> bool {
    let secret = WakeKey::from_seed(&SEED).secret(&default_teamspace(), &id("teller"));
    let seconds: i64 = seen.headers["webhook-timestamp"].parse().expect("a number");
    let at = Time::from_millis(seconds * 1_000);
    let signature = secret.signature(&seen.headers["webhook-id"], at, seen.body.as_bytes());
    signature == seen.headers["webhook-signature"]
}

#[tokio::test]
async fn a_producer_is_told_once_what_somebody_decided() {
    let receiver = Receiver::answering(&[receiver::Answer::Status(204)]).await;
    let bank = Bank::new(Some(&receiver.url)).await;
    assert_eq!(bank.carry_out().await, 0, "nothing is decided");
    bank.dana_answers().await;
    assert_eq!(bank.carry_out().await, 1);
    assert_eq!(bank.carry_out().await, 0);
    let seen = receiver.seen();
    let [seen] = seen.as_slice() else { panic!("{seen:?}") };
    assert!(is_signed(seen));
    let data = seen.data();
    let reply = &data["reply"];
    assert_eq!(
        (&reply["type"], &reply["reply_token"], &reply["decision"], &reply["decided_by"]),
        (&json!("confirmation.reply"), &json!(TOKEN), &json!("accept"), &json!("agent:dana"))
    );
    assert_eq!(
        (&data["session_id"], &data["answered_by"], &data["status"]),
        (&json!(SESSION), &json!("agent:dana"), &json!("answered"))
    );
    assert_eq!(data["decided_by"], "user:dana", "what they say of themselves is beside it");
    read_handshake(&reply.to_string()).expect("a reply of the protocol");
}

#[tokio::test]
async fn an_endpoint_that_is_down_is_told_when_it_is_up() {
    let down = receiver::Answer::Status(503);
    let receiver = Receiver::answering(&[down.clone(), down, receiver::Answer::Status(200)]).await;
    let bank = Bank::new(Some(&receiver.url)).await;
    // No listener answers, so the default counts.
    bank.clock.advance(Span::from_minutes(6));
    bank.engine.fire_due_deadlines().await.expect("the store works");
    bank.carry_out_all().await;
    let seen = receiver.seen();
    assert_eq!(seen.len(), 3);
    assert!(seen.iter().all(|one| one.headers["webhook-id"] == seen[0].headers["webhook-id"]));
    assert!(seen.iter().all(is_signed));
    let data = seen[2].data();
    assert_eq!(
        (&data["status"], &data["reply"]["decision"], &data["reply_token"]),
        (&json!("timed_out"), &json!("reject"), &json!(TOKEN))
    );
}

#[tokio::test]
async fn whoever_has_no_endpoint_asks_for_itself() {
    let bank = Bank::new(None).await;
    bank.dana_answers().await;
    assert_eq!(bank.carry_out().await, 0);
}
