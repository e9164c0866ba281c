//! The server's own announcements: a customer hears how their conversation goes to a person and
//! back, in their language, once, and nothing that is between colleagues.

use std::sync::Arc;

use aaep::handshake::{Producer, Request};
use engine::Engine;
use engine::aaep::handshake::Host;
use engine::ports::store::{StoreReads, StoreWrites};
use protocol::agent::{self as agents, Kind, Profile};
use protocol::conversation::command::{Open, Route};
use protocol::ids::SessionId;
use protocol::ledger::{Stream, Subject};
use protocol::narrator::texts::Message;
use protocol::step::{Command, State};
use protocol::{conversation, narrator, transfer};
use serde_json::{Value, json};
use store::Sqlite;
use tasuki::client::Call;

use super::announcement_follower::{AnnouncementFollower, words};
use crate::server::ok;
use crate::support::{self, agent, agent_stream, default_teamspace, operator};
use crate::transfers::{Desk, act, until};

/// The size of a routing announcement in all languages.
const ROUTE_BYTES_MAX: usize = 6 * 1024;

const TOLD: [&str; 9] = [
    "handoff.requested queue://default",
    "session.started",
    "state.changed handing_off",
    "state.changed waiting",
    "state.changed ringing",
    "state.changed connected",
    "state.changed on_hold",
    "state.changed connected",
    "session.completed",
];

#[tokio::test]
async fn a_customer_hears_in_their_language_how_they_are_transferred() {
    let desk = Desk::open(json!({})).await;
    let hana = desk.person("hana").await;
    let mut ears = Vec::new();
    for language in ["es", "ja", "yo", "en"] {
        ears.push((language, AnnouncementFollower::open(&desk.customer, language).await));
    }
    let asked = json!({ "epoch": 1, "reason": "hush, cannot refund" });
    let transfer = desk.request(&desk.bob, asked).await;
    until(&hana, &transfer, "ringing").await;
    act(&hana, &transfer, "accept", json!({ "epoch": 2 })).await;
    act(&hana, &transfer, "note", json!({ "epoch": 3, "text": "hush, a note" })).await;
    act(&hana, &transfer, "hold", json!({ "epoch": 3 })).await;
    act(&hana, &transfer, "resume", json!({ "epoch": 3 })).await;
    act(&hana, &transfer, "complete", json!({ "epoch": 3, "summary": "hush, refunded" })).await;
    for (language, ear) in &mut ears {
        let heard = ear.until("session.completed").await;
        assert_eq!(words(&heard), TOLD, "{language}");
        let text = Value::from(heard.clone()).to_string();
        assert!(!text.contains("hush"), "{text}");
        assert!(heard.iter().all(|event| event["producer"]["agent_id"] == "tasuki"));
        let joined = Message::TransferConnected { person: "hana" }.in_language(language);
        assert_eq!(heard[5]["summary_normal"], joined.normal, "{language}");
        let back = Message::TransferGivenBack { person: "hana", to: "bob" }.in_language(language);
        assert_eq!(heard[8]["summary_normal"], back.normal, "{language}");
        let id = transfer["transfer_id"].as_str().expect("an id");
        assert_eq!(heard[0]["extensions"]["tasuki"]["transfer_id"], id);
        let session = format!("sess_tasuki{}", id.replace('-', ""));
        assert!(heard.iter().all(|event| event["session_id"] == session), "{text}");
    }
    // An agent that takes no part hears nothing of it.
    let session = transfer["transfer_id"].as_str().expect("an id").replace('-', "");
    let path = format!("/aaep/v1/sessions/sess_tasuki{session}");
    assert_eq!(ok(&desk.operator, Call::get(path.clone())).await["producer"], "tasuki");
    let stranger = desk.server.agent("eve");
    assert_eq!(crate::server::refused(&stranger, Call::get(path)).await.status, 404);
}

#[tokio::test]
async fn what_is_withdrawn_and_what_changes_hands_is_told() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    desk.server.agent("carol");
    let mut ear = AnnouncementFollower::open(&desk.customer, "de").await;
    let transfer = desk.request(&desk.customer, json!({})).await;
    // The place in the queue is current when it is told.
    let waits = loop {
        let event = ear.next().await;
        if event["to_state"] == "waiting" {
            break event;
        }
    };
    let first = Message::TransferPlace { queue: "default", place: 1 }.in_language("de");
    assert_eq!(waits["summary_normal"], first.normal);
    let reason = json!({ "epoch": 2, "reason": "hush, never mind" });
    act(&desk.customer, &transfer, "cancel", reason).await;
    let heard = ear.until("session.cancelled").await;
    let last = heard.last().expect("an end");
    assert_eq!(words(&heard).last().map(String::as_str), Some("session.cancelled user"));
    let withdrawn = Message::TransferCancelled { to: "bob" }.in_language("de");
    assert_eq!(last["summary_normal"], withdrawn.normal);
    let route = json!({ "goto": "carol", "epoch": 3, "reason": "hush, tired" });
    ok(&desk.bob, Call::post(desk.path("/commands"), route)).await;
    let heard = ear.until("session.completed").await;
    let expected = ["handoff.requested agent://carol", "session.started", "session.completed"];
    assert_eq!(words(&heard), expected);
    assert!(!Value::from(heard).to_string().contains("hush"));
}

#[tokio::test]
async fn whoever_comes_while_it_waits_is_told_so_and_what_is_arranged_instead() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    // Nothing is told without a listener.
    let mut early = AnnouncementFollower::open(&desk.customer, "en").await;
    desk.request(&desk.customer, json!({})).await;
    while early.next().await["to_state"] != "waiting" {}
    let mut ear = AnnouncementFollower::open(&desk.customer, "yo").await;
    let stands = ear.next().await;
    assert_eq!(stands["extensions"]["tasuki"]["stands"], true, "{stands}");
    let message = Message::StateWaiting.in_language("yo");
    assert_eq!(stands["summary_normal"], message.normal);
    let asked = json!({ "contact": "hush, 555", "note": "hush, at home" });
    ok(&desk.customer, Call::post(desk.path("/callbacks"), asked)).await;
    let heard = ear.until("session.completed").await;
    let last = heard.last().expect("an end");
    let arranged = Message::CallbackArranged { queue: "default" }.in_language("yo");
    assert_eq!(last["summary_normal"], arranged.normal);
    assert!(!Value::from(heard).to_string().contains("hush"));
}

/// A conversation of bob, and a customer who has subscribed, on a store that outlives engines.
struct Kept {
    store: Arc<Sqlite>,
    stream: Stream,
    _folder: tempfile::TempDir,
}

impl Kept {
    async fn new(listens: bool) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Arc::new(Sqlite::open(folder.path()).expect("a new database"));
        let (engine, _) = support::engine_on(store.clone());
        support::register(&engine, &["bob", "carol"]).await;
        let register = agents::Command::Register { kind: Kind::Queue, profile: Profile::default() };
        let stream = agent_stream("default");
        let register = Command::Agent(register);
        engine.submit(&operator(), stream, register, None).await.expect("they may");
        let subject = Subject::Conversation(engine.new_conversation_id());
        let stream = Stream { teamspace: default_teamspace(), subject };
        let open: Open = serde_json::from_value(json!({ "agent": "bob" })).expect("valid");
        ask(&engine, &stream, conversation::Command::Open(Box::new(open))).await;
        engine.sessions().speak_due().await.expect("the store works");
        if listens {
            let host = Host {
                producer: Producer { agent_id: "tasuki".to_owned(), ..Producer::default() },
                manifest_uri: None,
                signed_manifest: None,
            };
            let request = json!({
                "aaep_version": "1.0.0", "subscriber_id": "ear", "capabilities": {},
            });
            let request: Request = serde_json::from_value(request).expect("a request");
            let accepted = engine.listeners().subscribe(&operator(), &host, request).await;
            accepted.expect("the store works").expect("it is accepted");
        }
        Self { store, stream, _folder: folder }
    }

    /// The same store with nothing in memory, as after a crash.
    fn engine(&self) -> Engine {
        support::engine_on(self.store.clone()).0
    }

    /// How many entries and events the server's own sessions have, in all.
    async fn said(&self, engine: &Engine, session: &SessionId) -> Option<(u64, u64)> {
        let subject = Subject::Session(session.clone());
        let stream = Stream { teamspace: default_teamspace(), subject };
        let session = engine.sessions().session(&stream).await.expect("the store works")?;
        Some((session.n_entries, session.n_events))
    }

    async fn transfer(&self, engine: &Engine) -> SessionId {
        let state = engine.read().current(&self.stream).await.expect("the store works");
        let Some(State::Conversation(conversation)) = state.as_deref() else {
            panic!("it is open")
        };
        narrator::transfer_session(conversation.transfer.as_ref().expect("a transfer").id)
    }
}

async fn ask(engine: &Engine, stream: &Stream, command: conversation::Command) {
    let command = Command::Conversation(command);
    engine.submit(&agent("bob"), stream.clone(), command, None).await.expect("bob may");
}

async fn asks_for_a_person(engine: &Engine, stream: &Stream) {
    let request: transfer::command::Request =
        serde_json::from_value(json!({ "epoch": 1 })).expect("a request");
    let transfer = engine.new_transfer_id();
    let request = Box::new(request);
    let command = transfer::Command::Request { transfer, request };
    ask(engine, stream, conversation::Command::Transfer(command)).await;
}

#[tokio::test]
async fn a_crash_neither_loses_nor_doubles_what_is_told() {
    let kept = Kept::new(true).await;
    // A person is requested, and the server crashes before it announces it.
    asks_for_a_person(&kept.engine(), &kept.stream).await;
    let engine = kept.engine();
    let session = kept.transfer(&engine).await;
    assert_eq!(kept.said(&engine, &session).await, None);
    assert_eq!(engine.sessions().speak_due().await.expect("the store works"), 2);
    assert_eq!(kept.said(&engine, &session).await, Some((1, 4)), "one entry for all of it");

    // It is announced, and the server crashes before it records its progress; meanwhile names
    // change.
    let renamed = Profile { name: "The desk".to_owned(), ..Profile::default() };
    let register = agents::Command::Register { kind: Kind::Queue, profile: renamed };
    let of = agent_stream("default");
    engine.submit(&operator(), of, Command::Agent(register), None).await.expect("they may");
    kept.store.write_place("voice", 1).await.expect("the store works");
    let engine = kept.engine();
    engine.sessions().speak_due().await.expect("the store works");
    assert_eq!(kept.said(&engine, &session).await, Some((1, 4)));

    // More happens, and the cursor is lost again: only new events are announced.
    let state = engine.read().current(&kept.stream).await.expect("the store works");
    let Some(State::Conversation(conversation)) = state.as_deref() else { panic!("it is open") };
    let transfer = conversation.transfer.as_ref().expect("a transfer").id;
    let act = transfer::command::Act::Cancel { reason: Some("hush".to_owned()) };
    let command = transfer::Command::Act { transfer, epoch: Some(2), act };
    ask(&engine, &kept.stream, conversation::Command::Transfer(command)).await;
    for _ in 0..2 {
        kept.store.write_place("voice", 1).await.expect("the store works");
        let engine = kept.engine();
        engine.sessions().speak_due().await.expect("the store works");
        assert_eq!(kept.said(&engine, &session).await, Some((2, 5)));
    }
}

#[tokio::test]
async fn where_nobody_listens_nothing_is_said() {
    let kept = Kept::new(false).await;
    let engine = kept.engine();
    asks_for_a_person(&engine, &kept.stream).await;
    let before = engine.ledger().newest().await.expect("the store works");
    assert_eq!(engine.sessions().speak_due().await.expect("the store works"), 0);
    assert_eq!(engine.ledger().newest().await.expect("the store works"), before);
}

#[tokio::test]
async fn a_route_costs_one_entry() {
    let kept = Kept::new(true).await;
    let engine = kept.engine();
    let route: Route =
        serde_json::from_value(json!({ "goto": "carol", "epoch": 1 })).expect("a route");
    ask(&engine, &kept.stream, conversation::Command::Route(Box::new(route))).await;
    let before = engine.ledger().newest().await.expect("the store works");
    assert_eq!(engine.sessions().speak_due().await.expect("the store works"), 1);
    assert_eq!(engine.ledger().newest().await.expect("the store works"), before + 1);
    let told = kept.store.entries(before, 1).await.expect("the store works").remove(0);
    let n_bytes = told.entry.body.text().expect("it is kept").len();
    assert!(n_bytes <= ROUTE_BYTES_MAX, "{n_bytes}");
}

/// No agent can speak for the server or take its name.
#[tokio::test]
async fn the_name_of_the_server_is_its_own() {
    let desk = Desk::open(json!({})).await;
    let named = Call::put("/v1/agents/tasuki", json!({ "kind": "worker" }));
    let refused = crate::server::refused(&desk.operator, named).await;
    assert_eq!(refused.body["code"], "schema_invalid", "{}", refused.body);
    let mut forged = super::event(1, "session.started", json!({}));
    forged["session_id"] = "sess_tasuki01".into();
    forged["producer"]["agent_id"] = "bob".into();
    let refused = crate::server::refused(&desk.bob, Call::post("/aaep/v1/events", forged)).await;
    assert_eq!(refused.body["rule"], "tasuki.session_id", "{}", refused.body);
}
