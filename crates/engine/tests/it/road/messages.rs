//! Messages: what expires, the server's own notices, and how a loop ends, also when all agents send
//! at once.

use std::collections::BTreeMap;

use engine::Engine;
use engine::ports::store::{InboxStatus, ListOf, MessageFilter, StoreReads, StoreWrites};
use engine::road::submit::{Done, SubmitError};
use protocol::agent;
use protocol::caller::{Caller, Principal};
use protocol::conversation;
use protocol::conversation::command::Open;
use protocol::conversation::state::customer_name;
use protocol::handoff;
use protocol::handoff::sla::Slas;
use protocol::ledger::{Stream, Subject};
use protocol::message::decide::send::BROADCAST_MAX;
use protocol::message::thread::RECENT_MAX;
use protocol::message::{self, Delivery, Message, Outgoing};
use protocol::step::{Command, State};
use protocol::time::Span;
use protocol::transfer;
use serde_json::{Value, json};

use super::{Server, story};
use crate::support::{
    accept, activate, agent, agent_stream, code, coordinator, default_teamspace, handoff_stream,
    id, key, offer, operator, proposed, register, reject,
};

#[tokio::test]
async fn what_is_not_read_in_time_expires_once() {
    let server = Server::with_agents(&["alice", "bob", "carol"]).await;
    let expires_at = "2026-02-21T14:10:00Z";
    let body = json!({ "to": ["bob", "carol"], "type": "status.update", "expires_at": expires_at });
    let stream = sent(&server.engine, &agent("alice"), body).await;
    read(&server.engine, &agent("bob"), &stream).await.expect("bob may read it");
    assert_eq!(inbox(&server.engine, &agent("carol")).await.len(), 1);
    server.clock.advance(Span::from_minutes(9));
    assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 0);
    let server = server.restart();
    server.clock.advance(Span::from_minutes(2));
    assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 1);
    assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 0);
    let expected = BTreeMap::from([(id("bob"), Delivery::Read), (id("carol"), Delivery::Expired)]);
    assert_eq!(message(&server.engine, &stream).await.recipients, expected);
    assert!(inbox(&server.engine, &agent("carol")).await.is_empty());
    let names = ["sent", "delivered", "read", "delivered", "expired"];
    assert_eq!(story(&server.engine, &stream).await, names.map(|name| format!("message.{name}")));
}

#[tokio::test]
async fn a_message_without_an_end_has_no_deadline() {
    let server = Server::with_agents(&["alice", "bob"]).await;
    sent(&server.engine, &agent("alice"), json!({ "to": ["bob"], "type": "status.update" })).await;
    assert_eq!(server.store.next_due().await.unwrap(), None);
}

/// However often the notice loop passes an entry, and wherever it is interrupted.
#[tokio::test]
async fn the_server_tells_of_a_rejection_once() {
    let server = Server::with_agents(&["alice", "bob"]).await;
    let handoff = proposed(&server.engine, "alice", "bob", "T-1").await;
    let bob = agent("bob");
    let refusal = server.engine.submit(&bob, handoff.clone(), reject("too busy"), None).await;
    refusal.expect("bob may reject it");
    assert_eq!(server.engine.send_due_notices().await.unwrap(), 1);
    assert_eq!(server.engine.send_due_notices().await.unwrap(), 0);
    let server = server.restart();
    assert_eq!(server.engine.send_due_notices().await.unwrap(), 0);
    // As if it had crashed between the message and the record of its progress.
    server.store.write_place("notices", 0).await.unwrap();
    server.engine.send_due_notices().await.unwrap();
    let server = server.restart();
    let notices = inbox(&server.engine, &agent("alice")).await;
    let [notice] = notices.as_slice() else { panic!("{notices:?}") };
    assert_eq!(notice.sent.from.as_str(), "system");
    assert_eq!(notice.sent.kind.as_str(), "system.error");
    let payload = Value::Object(notice.sent.payload.clone());
    let expected = json!({
        "handoff_id": handoff.subject.id(), "task_id": "T-1", "reason": "other",
        "detail": "too busy",
    });
    assert_eq!(payload, expected);
    assert!(inbox(&server.engine, &bob).await.is_empty());
    let ledger = server.ledger().await;
    assert_eq!(ledger.iter().filter(|one| one.entry.name == "message.sent").count(), 1);
}

#[tokio::test]
async fn the_target_is_warned_before_it_is_late() {
    let server = Server::with_agents(&["alice", "bob"]).await;
    let handoff = handoff_stream(server.engine.new_handoff_id());
    let mut offer = offer("bob", "T-1");
    offer.sla = Some(Slas { warn_percent: Some(80), ..Slas::default() });
    let initiate = handoff::Command::Initiate { offer: Some(Box::new(offer)) };
    let initiate = Command::Handoff(initiate);
    server.engine.submit(&agent("alice"), handoff.clone(), initiate, None).await.unwrap();
    server.clock.advance(Span::from_minutes(4));
    assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 1);
    assert_eq!(server.engine.send_due_notices().await.unwrap(), 1);
    let notices = inbox(&server.engine, &agent("bob")).await;
    let expected = json!({
        "handoff_id": handoff.subject.id(), "task_id": "T-1", "stage": "proposed→validating",
        "due": "2026-02-21T14:05:00Z",
    });
    assert_eq!(Value::Object(notices[0].sent.payload.clone()), expected);
}

#[tokio::test]
async fn coordinators_are_told_of_what_is_overdue() {
    let server = Server::with_agents(&["alice", "bob", "dora"]).await;
    let first = proposed(&server.engine, "alice", "bob", "T-1").await;
    let second = proposed(&server.engine, "alice", "bob", "T-2").await;
    for command in [accept(), activate()] {
        server.engine.submit(&agent("bob"), second.clone(), command, None).await.unwrap();
    }
    server.clock.advance(Span::from_hours(25));
    assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 2);
    assert_eq!(server.engine.send_due_notices().await.unwrap(), 2);
    assert!(inbox(&server.engine, &agent("dora")).await.is_empty(), "without the role");
    let notices = inbox(&server.engine, &coordinator("dora")).await;
    let of = |handoff: &Stream| {
        let id = handoff.subject.id();
        let notice = notices.iter().find(|one| one.sent.payload["handoff_id"] == id.as_str());
        Value::Object(notice.expect("a notice").sent.payload.clone())
    };
    for (handoff, task, action) in [(first, "T-1", "reassign"), (second, "T-2", "extend_sla")] {
        let expected = json!({
            "type": "status.blocked", "handoff_id": handoff.subject.id(), "task_id": task,
            "blocking_issue": "timeout", "escalation_level": "coordinator",
            "recommended_action": action,
        });
        assert_eq!(of(&handoff), expected);
    }
}

/// A detail may be longer than a message.
#[tokio::test]
async fn a_long_detail_is_told_in_short() {
    let server = Server::with_agents(&["alice", "bob"]).await;
    let handoff = proposed(&server.engine, "alice", "bob", "T-1").await;
    let long = "\"\u{1}ö".repeat(3_000);
    server.engine.submit(&agent("bob"), handoff, reject(&long), None).await.unwrap();
    assert_eq!(server.engine.send_due_notices().await.unwrap(), 1);
    let [notice] = inbox(&server.engine, &agent("alice")).await.try_into().expect("one notice");
    let detail = notice.sent.payload["detail"].as_str().expect("a text").to_owned();
    assert!(detail.ends_with('…') && long.starts_with(detail.trim_end_matches('…')));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_ends_also_when_everybody_sends_at_once() {
    let server = Server::with_agents(&["alice", "bob"]).await;
    let mut sending = tokio::task::JoinSet::new();
    for number in 0..2 * (RECENT_MAX + 3) {
        let engine = server.engine.clone();
        sending.spawn(async move {
            let names = ["alice", "bob"];
            let (from, to) = (names[number % 2], names[(number + 1) % 2]);
            let body = json!({ "to": [to], "type": "status.update", "thread_id": "t" });
            loop {
                let result = send(&engine, &agent(from), body.clone()).await;
                // A sender that lost too many races retries.
                if code(&result) != "contended" {
                    return code(&result);
                }
            }
        });
    }
    let mut counts = BTreeMap::new();
    while let Some(code) = sending.join_next().await {
        *counts.entry(code.unwrap()).or_insert(0) += 1;
    }
    assert_eq!(counts, BTreeMap::from([("ok", 2 * RECENT_MAX), ("loop_guard", 6)]));
    // The thread of others is not theirs to fill.
    let body = json!({ "to": ["alice"], "type": "status.update", "thread_id": "t" });
    assert_eq!(code(&send(&server.engine, &agent("carol"), body).await), "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sequence_is_used_once_also_when_it_is_sent_twice_at_once() {
    let server = Server::with_agents(&["alice", "bob", "carol"]).await;
    for sequence in 1..=8 {
        let mut sending = tokio::task::JoinSet::new();
        for (from, to) in [("alice", "bob"), ("alice", "carol"), ("bob", "alice")] {
            let engine = server.engine.clone();
            let body = json!({ "to": [to], "type": "status.update", "thread_id": "t",
                               "sequence": sequence });
            sending.spawn(async move { code(&send(&engine, &agent(from), body).await) });
        }
        let mut codes = sending.join_all().await;
        codes.sort_unstable();
        assert_eq!(codes, ["ok", "ok", "sequence_out_of_order"], "{sequence}");
    }
}

#[tokio::test]
async fn a_retry_sends_nothing_twice() {
    let server = Server::with_agents(&["alice", "bob"]).await;
    let mut subjects = Vec::new();
    for _ in 0..2 {
        let stream = new_stream(&server.engine);
        let body = json!({ "to": ["bob"], "type": "status.update" });
        let command = command(body);
        let key = key("k", "body");
        let done = server.engine.submit_new(&agent("alice"), stream, command, key).await;
        subjects.push(done.expect("it is sent").subject);
    }
    assert_eq!(subjects[0], subjects[1]);
    let of = ListOf::Messages(MessageFilter::default());
    let page = server.engine.read().list(&default_teamspace(), of, None, 10).await.unwrap();
    assert_eq!(page.items.len(), 1);
}

#[tokio::test]
async fn a_broadcast_reaches_256_and_no_more() {
    let names: Vec<_> = (0..BROADCAST_MAX + 2).map(|number| format!("agent-{number}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let server = Server::with_agents(&names[..=BROADCAST_MAX]).await;
    let body = || json!({ "to": ["*"], "type": "status.update", "priority": "high" });
    let stream = sent(&server.engine, &agent("agent-0"), body()).await;
    let reached = message(&server.engine, &stream).await.recipients;
    assert_eq!(reached.len(), BROADCAST_MAX);
    assert!(!reached.contains_key(&id("agent-0")), "not its sender");
    assert_eq!(inbox(&server.engine, &agent("agent-7")).await.len(), 1);
    register(&server.engine, &names[BROADCAST_MAX + 1..]).await;
    let more = send(&server.engine, &agent("agent-0"), body()).await;
    assert_eq!(code(&more), "schema_invalid");
}

/// A queue with a `reply_target`: the person and those who supervise them are told, once.
#[tokio::test]
async fn the_server_tells_of_a_customer_without_a_reply_once() {
    let server = Server::with_agents(&["bob"]).await;
    let engine = &server.engine;
    let profile = agent::Profile::default;
    for (name, command) in [
        ("default", agent::Command::Register { kind: agent::Kind::Queue, profile: profile() }),
        ("default", agent::Command::SetQueue { settings: set(json!({ "reply_target": "2m" })) }),
        ("hana", agent::Command::Register { kind: agent::Kind::Human, profile: profile() }),
    ] {
        let command = Command::Agent(command);
        engine.submit(&operator(), agent_stream(name), command, None).await.expect("they may");
    }
    let _connection = engine.queues().connection_opened(&default_teamspace(), &id("hana"));
    engine.queues().settle_connections().await.unwrap();
    let (hana, presence) = (agent("hana"), agent::Presence::Available);
    let says = Command::Agent(agent::Command::SetPresence { presence });
    engine.submit(&hana, agent_stream("hana"), says, None).await.expect("she may");

    let chat = engine.new_conversation_id();
    let stream = Stream { teamspace: default_teamspace(), subject: Subject::Conversation(chat) };
    let customer = Principal::Customer(customer_name(chat));
    let customer = Caller { principal: customer, ..operator() };
    let transfer = engine.new_transfer_id();
    let pickup = transfer::command::Act::Pickup { accept: true };
    let pickup = transfer::Command::Act { transfer, epoch: Some(2), act: pickup };
    let request = transfer::Command::Request { transfer, request: Box::default() };
    let say = json!({ "parts": [{ "type": "text", "text": "Where is my parcel?" }] });
    let open = Open { agent: Some(id("bob")), ..Open::default() };
    for (who, command) in [
        (&operator(), conversation::Command::Open(Box::new(open))),
        (&customer, conversation::Command::Transfer(request)),
        (&hana, conversation::Command::Transfer(pickup)),
        (&customer, conversation::Command::Say(set(say))),
    ] {
        let command = Command::Conversation(command);
        engine.submit(who, stream.clone(), command, None).await.expect("they may");
    }
    server.clock.advance(Span::from_minutes(2));
    assert_eq!(engine.fire_due_deadlines().await.unwrap(), 1);
    assert_eq!(engine.send_due_notices().await.unwrap(), 1);
    assert_eq!(engine.send_due_notices().await.unwrap(), 0);
    for reader in [&hana, &coordinator("lead")] {
        let notices = inbox(engine, reader).await;
        let [notice] = notices.as_slice() else { panic!("{notices:?}") };
        assert_eq!(notice.sent.kind.as_str(), "status.blocked");
        let expected = json!({
            "type": "status.blocked", "blocking_issue": "reply_overdue",
            "conversation_id": chat.to_string(), "queue": "default", "agent": "hana",
            "waiting_since": "2026-02-21T14:00:00Z", "reply_target": "2m",
        });
        assert_eq!(Value::Object(notice.sent.payload.clone()), expected);
    }
    assert!(inbox(engine, &agent("bob")).await.is_empty());
    each_reads_its_own(engine).await;
}

/// The person who is told of it with the coordinators marks it as read, once as one of them and
/// once as a person alone.
async fn each_reads_its_own(engine: &Engine) {
    let newest = engine.ledger().newest().await.expect("the store works");
    for (reader, n_left) in [(coordinator("hana"), 1), (agent("hana"), 0)] {
        let read = engine.read().read_server_messages(&reader, newest).await;
        read.expect("everybody may read its own messages");
        assert_eq!(inbox(engine, &agent("hana")).await.len(), n_left, "{:?}", reader.roles);
        assert_eq!(inbox(engine, &coordinator("lead")).await.len(), 1, "{:?}", reader.roles);
    }
}

fn set<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the fields of a command")
}

fn new_stream(engine: &Engine) -> Stream {
    Stream { teamspace: default_teamspace(), subject: Subject::Message(engine.new_message_id()) }
}

fn command(body: Value) -> Command {
    let outgoing: Outgoing = serde_json::from_value(body).expect("a message");
    Command::Message(message::Command::Send(Box::new(outgoing)))
}

async fn send(engine: &Engine, caller: &Caller, body: Value) -> Result<Done, SubmitError> {
    engine.submit_new(caller, new_stream(engine), command(body), None).await
}

async fn sent(engine: &Engine, caller: &Caller, body: Value) -> Stream {
    let done = send(engine, caller, body).await.expect("it is sent");
    Stream { teamspace: default_teamspace(), subject: done.subject.parse().expect("a stream") }
}

async fn read(engine: &Engine, caller: &Caller, stream: &Stream) -> Result<Done, SubmitError> {
    engine.submit(caller, stream.clone(), Command::Message(message::Command::Read), None).await
}

async fn message(engine: &Engine, stream: &Stream) -> Message {
    let state = engine.read().current(stream).await.expect("a state").expect("a message");
    let State::Message(message) = state.as_ref() else { panic!("not a message: {state:?}") };
    message.clone()
}

async fn inbox(engine: &Engine, caller: &Caller) -> Vec<Message> {
    let page = engine.read().inbox(caller, InboxStatus::Open, None, 50).await.expect("an inbox");
    let messages = page.items.iter().map(|item| match item.state.as_ref() {
        State::Message(message) => message.clone(),
        State::Handoff(_)
        | State::Conversation(_)
        | State::Agent(_)
        | State::Token(_)
        | State::Ledger(_)
        | State::Graph(_)
        | State::Subscription(_)
        | State::File(_)
        | State::Webhook(_)
        | State::Question(_)
        | State::Session(_)
        | State::Teamspace(_) => {
            panic!("not a message")
        }
    });
    messages.collect()
}
