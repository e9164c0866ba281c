//! Calling agents that have a critical message, over real sockets: accepted, refused, too slow,
//! redirected, and unreachable.

use std::path::Path;
use std::sync::Arc;

use adapters::artifacts::{Artifacts, Settings};
use adapters::effect_runner::EffectRunner;
use adapters::webhook::Webhook;
use engine::Engine;
use engine::ports::clock::ManualClock;
use engine::ports::outbox::OutboxList;
use engine::ports::store::InboxStatus;
use protocol::agent::Command as AgentCommand;
use protocol::canonical;
use protocol::ledger::Stream;
use protocol::message::{self, Delivery, Message};
use protocol::step::{Command, State};
use protocol::time::{Span, Time};
use protocol::wake::WakeKey;
use serde_json::{Value, json};
use store::Sqlite;
use tasuki::client::Call;
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::receiver::{Answer, Receiver, Seen};
use crate::server::{Server, ok, refused};
use crate::sse::{self, whole_ledger};
use crate::support::{self, agent, default_teamspace, id};

const SEED: [u8; 32] = [7; 32];

/// An engine on a clock of its own, with the real adapter.
struct World {
    engine: Engine,
    clock: Arc<ManualClock>,
    outside: EffectRunner,
    _folder: TempDir,
}

impl World {
    async fn new(allow_private_addresses: bool) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Sqlite::open(folder.path()).expect("a new database");
        let (engine, clock) = support::engine_on(Arc::new(store));
        support::register(&engine, &["alice", "bob"]).await;
        let artifacts = Artifacts::new(Settings::default()).expect("no roots, no trouble");
        let key = WakeKey::from_seed(&SEED);
        let webhook = Webhook::new(key, allow_private_addresses).taking_at_most(300);
        Self {
            engine,
            clock,
            outside: EffectRunner::new(artifacts, None, webhook),
            _folder: folder,
        }
    }

    async fn bob_is_called_at(&self, url: &str) {
        let command = Command::Agent(AgentCommand::SetWake { url: Some(url.to_owned()) });
        let stream = support::agent_stream("bob");
        let set = self.engine.submit(&support::operator(), stream, command, None).await;
        set.expect("an operator may say so");
    }

    async fn critical(&self) -> Stream {
        let body = json!({ "to": ["bob"], "type": "status.blocked", "priority": "critical",
                           "payload": { "text": "the vault is open" } });
        support::sent(&self.engine, &agent("alice"), body).await
    }

    /// Carries out what is due until nothing is left; returns the number of attempts.
    async fn carry_out(&self) -> usize {
        let mut n_tried = 0;
        loop {
            let left =
                self.engine.outbox().outstanding(&default_teamspace(), OutboxList::All).await;
            if left.expect("the store works").is_empty() {
                return n_tried;
            }
            n_tried +=
                self.engine.outbox().carry_out_due(&self.outside).await.expect("the store works");
            self.clock.advance(Span::from_minutes(6));
        }
    }

    async fn message(&self, stream: &Stream) -> Message {
        let state = self.engine.read().current(stream).await.expect("a state").expect("a message");
        let State::Message(message) = state.as_ref() else { panic!("not a message: {state:?}") };
        message.clone()
    }

    /// The newest event of a stream: its name and what it says.
    async fn last(&self, stream: &Stream) -> (String, Value) {
        let newest = self.engine.read().history(stream, u64::MAX, 1).await;
        let last = newest.expect("the store works").remove(0);
        let body = last.entry.body.text().expect("it was not erased");
        (last.entry.name.into_owned(), serde_json::from_str(body).expect("a body is JSON"))
    }
}

#[tokio::test]
async fn an_agent_that_takes_the_call_is_woken_once() {
    for (answers, n_expected) in [
        (vec![Answer::Status(204)], 1),
        (vec![Answer::Status(500), Answer::Status(200)], 2),
        (vec![Answer::Silence, Answer::Status(429), Answer::Status(202)], 3),
    ] {
        let world = World::new(true).await;
        let receiver = Receiver::answering(&answers).await;
        world.bob_is_called_at(&receiver.url).await;
        let stream = world.critical().await;
        assert_eq!(world.carry_out().await, n_expected, "{answers:?}");
        assert_eq!(world.last(&stream).await.0, "message.woken");
        assert_eq!(world.message(&stream).await.status(), Delivery::Pending, "it was not shown");
        let seen = receiver.seen();
        assert_eq!(seen.len(), n_expected);
        for one in &seen {
            check_call(one, &stream);
        }
        let ids = seen.iter().map(|one| one.headers["webhook-id"].clone());
        assert_eq!(ids.collect::<std::collections::BTreeSet<_>>().len(), 1, "one id for all tries");
    }
}

/// The body of the call, and the signature that proves its sender.
fn check_call(seen: &Seen, stream: &Stream) {
    assert_eq!(seen.line, "POST /wake?of=bob HTTP/1.1");
    assert!(!seen.body.contains("vault"), "what it says is not told: {}", seen.body);
    let body: Value = serde_json::from_str(&seen.body).expect("JSON");
    let at: Time = body["timestamp"].as_str().expect("a time").parse().expect("a time");
    let expected = json!({
        "type": "message.wake", "timestamp": at.to_string(),
        "data": { "teamspace": "default", "agent": "bob", "message_id": stream.subject.id(),
                  "priority": "critical", "kind": "status.blocked" },
    });
    assert_eq!(body, expected);
    let seconds = at.as_millis().div_euclid(1_000).to_string();
    assert_eq!(seen.headers["webhook-timestamp"], seconds);
    let secret = WakeKey::from_seed(&SEED).secret(&default_teamspace(), &id("bob"));
    let signature = secret.signature(&seen.headers["webhook-id"], at, seen.body.as_bytes());
    assert_eq!(seen.headers["webhook-signature"], signature);
}

#[tokio::test]
async fn who_cannot_be_reached_finds_it_in_the_inbox() {
    let elsewhere = Receiver::answering(&[Answer::Status(200)]).await;
    let redirecting = Answer::Redirect(elsewhere.url.clone());
    let nobody = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let down = format!("http://{}/", nobody.local_addr().expect("an address"));
    drop(nobody);
    for (answer, is_private_allowed, expected) in [
        (Some(Answer::Status(500)), true, "the endpoint answered 500"),
        (Some(Answer::Status(404)), true, "the endpoint answered 404"),
        (Some(Answer::Silence), true, "the endpoint does not answer in time"),
        (Some(redirecting), true, "the endpoint redirects, which is not followed"),
        (Some(Answer::Status(200)), false, "its URL leads to an address that is not public"),
        (None, true, "the endpoint cannot be reached"),
    ] {
        let world = World::new(is_private_allowed).await;
        let receiver = match &answer {
            Some(answer) => Some(Receiver::answering(std::slice::from_ref(answer)).await),
            None => None,
        };
        world.bob_is_called_at(receiver.as_ref().map_or(&down, |receiver| &receiver.url)).await;
        let stream = world.critical().await;
        assert_eq!(
            world.carry_out().await,
            engine::loops::wake::ATTEMPTS_MAX as usize,
            "{expected}"
        );
        let said = json!({ "from": "alice", "to": ["bob"], "detail": expected });
        assert_eq!(world.last(&stream).await, ("message.failed".to_owned(), said));
        let n_calls = receiver.map_or(0, |receiver| receiver.seen().len());
        assert_eq!(n_calls > 0, is_private_allowed && answer.is_some(), "{expected}");
        // He looks by himself later, and finds it until he marks it as read.
        for _ in 0..2 {
            let page =
                world.engine.read().inbox(&agent("bob"), InboxStatus::Open, None, 9).await.unwrap();
            assert_eq!(page.items.len(), 1, "{expected}");
            assert_eq!(world.message(&stream).await.status(), Delivery::Failed);
        }
        let read = Command::Message(message::Command::Read);
        world.engine.submit(&agent("bob"), stream.clone(), read, None).await.expect("he may");
        let page =
            world.engine.read().inbox(&agent("bob"), InboxStatus::Open, None, 9).await.unwrap();
        assert!(page.items.is_empty());
        assert_eq!(world.message(&stream).await.status(), Delivery::Read);
    }
    assert!(elsewhere.seen().is_empty(), "redirects are not followed");
}

/// An agent that looked before the call is not called, and neither is one whose URL was removed.
#[tokio::test]
async fn nobody_is_called_in_vain() {
    let world = World::new(true).await;
    let receiver = Receiver::answering(&[Answer::Status(200)]).await;
    world.bob_is_called_at(&receiver.url).await;
    world.critical().await;
    world.engine.read().inbox(&agent("bob"), InboxStatus::Open, None, 9).await.unwrap();
    assert_eq!(world.carry_out().await, 0);
    let stream = world.critical().await;
    let command = Command::Agent(AgentCommand::SetWake { url: None });
    let of_bob = support::agent_stream("bob");
    world.engine.submit(&support::operator(), of_bob, command, None).await.expect("they may");
    world.carry_out().await;
    assert_eq!(world.message(&stream).await.status(), Delivery::Failed);
    let third = world.critical().await;
    assert_eq!(world.carry_out().await, 0);
    assert_eq!(world.message(&third).await.status(), Delivery::Pending);
    assert!(receiver.seen().is_empty());
}

/// The whole way: the operator's setting, the secret, the call, and the sender who hears of it.
#[tokio::test]
async fn a_server_calls_and_signs_with_the_secret_it_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let allow = |command: &mut std::process::Command| {
        command.env("TASUKI_MESSAGES_WAKE_PRIVATE_ADDRESSES", "true");
    };
    let server = Server::start_on(&data, allow);
    let [alice, bob] = ["alice", "bob"].map(|name| server.agent(name));
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    let receiver = Receiver::answering(&[Answer::Status(503), Answer::Status(200)]).await;
    let call = |url: Value| Call::put("/v1/agents/bob/wake", json!({ "url": url }));
    for url in ["ftp://x", "https://u:p@x/", "x"] {
        let answer = refused(&operator, call(json!(url))).await;
        assert_eq!(answer.body["code"], "schema_invalid", "{}", answer.body);
    }
    // A missing field does not remove the URL.
    let answer = refused(&operator, Call::put("/v1/agents/bob/wake", json!({}))).await;
    assert_eq!(answer.body["code"], "schema_invalid", "{}", answer.body);
    assert_eq!(refused(&bob, call(json!(receiver.url))).await.body["code"], "not_allowed");
    let set = ok(&operator, call(json!(receiver.url))).await;
    let secret = secret_of(&data, "bob");
    assert_eq!(set, json!({ "agent": "bob", "url": receiver.url, "secret": secret }));
    let shown = ok(&alice, Call::get("/v1/agents/bob")).await;
    assert!(!shown.to_string().contains("/wake"), "{shown}");

    let mut news = sse::Stream::open(&alice, "/v1/events?kind=message.woken", None).await;
    let body = json!({ "to": ["bob"], "type": "status.blocked", "priority": "critical" });
    let sent = ok(&alice, Call::post("/v1/acp/messages", body)).await;
    let event = news.next_entry().await.expect("the stream goes on");
    let stream = format!("message/{}", sent["id"].as_str().expect("an id"));
    assert_eq!(event.data["stream"], stream);
    assert_eq!(receiver.seen().len(), 2);
    for who in [&alice, &bob] {
        let seen = whole_ledger(who, "&kind=agent").await;
        assert!(seen.iter().all(|event| event.name.as_deref() != Some("agent.wake_changed")));
    }
    let seen = whole_ledger(&operator, "&kind=agent.wake_changed").await;
    assert_eq!(seen.len(), 1);
    assert_eq!(server.stop(), Some(0));
}

fn secret_of(data: &Path, name: &str) -> String {
    let line = std::fs::read_to_string(data.join("ledger.key")).expect("the key");
    let seed = line.split_whitespace().last().and_then(canonical::parse_hex32).expect("a seed");
    WakeKey::from_seed(&seed).secret(&default_teamspace(), &id(name)).text()
}
