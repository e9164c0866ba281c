//! People who are asked, answer, disappear, or never come.

use std::sync::Arc;

use engine::Engine;
use engine::clock::ManualClock;
use protocol::agent::{self, Kind, Presence, Profile};
use protocol::caller::{Caller, Principal};
use protocol::conversation::command::Open;
use protocol::conversation::state::customer_name;
use protocol::conversation::{self, Conversation};
use protocol::ledger::{Stream, Subject};
use protocol::step::{Command, State};
use protocol::time::Span;
use protocol::transfer;
use protocol::transfer::command::{Act, Request};
use serde_json::{Value, json};
use store::Memory;
use tasuki::client::Call;

use super::{code, holder, words};
use crate::server::ok;
use crate::sse::whole_ledger;
use crate::support::{self, agent, agent_stream, default_teamspace, id, operator};
use crate::transfers::{Desk, act};

#[tokio::test]
async fn control_comes_back_however_it_ends() {
    for (ending, body) in [
        ("complete", json!({ "summary": "refunded" })),
        ("fail", json!({ "reason": "the line is down" })),
        ("cancel", json!({})),
    ] {
        let desk = Desk::open(json!({ "mode": "pick" })).await;
        let hana = desk.person("hana").await;
        let transfer = desk.request(&desk.bob, json!({ "epoch": 1 })).await;
        act(&hana, &transfer, "pickup", json!({ "epoch": 2, "accept": true })).await;
        let over = act(&desk.operator, &transfer, ending, body).await;
        assert_eq!((&over["holder"], &over["epoch"]), (&json!("bob"), &json!(4)), "{ending}");
        ok(&desk.bob, words(&desk, "I am back", Some(4))).await;
        assert_eq!(code(&hana, words(&desk, "wait", Some(3))).await, "epoch_outdated");
    }
}

#[tokio::test]
async fn there_is_a_way_to_a_person_and_a_way_back() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let hana = desk.person("hana").await;
    // Not a prompt keeps the bot silent: it is refused, whatever it believes.
    let transfer = desk.request(&desk.customer, json!({})).await;
    assert_eq!(code(&desk.bob, words(&desk, "can I help?", Some(1))).await, "epoch_outdated");
    act(&hana, &transfer, "pickup", json!({ "epoch": 2, "accept": true })).await;
    assert_eq!(code(&desk.bob, words(&desk, "can I help?", Some(3))).await, "not_holder");
    ok(&hana, words(&desk, "I can", Some(3))).await;
    act(&hana, &transfer, "complete", json!({ "epoch": 3, "summary": "refunded" })).await;
    // The bot is told that it has it back, and is heard again.
    assert_eq!(holder(&desk).await, "bob@4");
    let told = whole_ledger(&desk.bob, "&kind=transfer.over").await;
    let told = told.iter().find(|event| event.name.is_some()).expect("the bot is told");
    assert_eq!(told.data["data"]["summary"], "refunded");
    ok(&desk.bob, words(&desk, "anything else?", Some(4))).await;
    assert_eq!(desk.texts(&desk.customer).await, ["I can", "anything else?"]);
}

/// A desk on a clock that is moved: a queue, `hana` with a connection, and a customer who waits.
struct Clocked {
    engine: Engine,
    clock: Arc<ManualClock>,
    stream: Stream,
    customer: Caller,
}

impl Clocked {
    async fn open() -> Self {
        let (engine, clock) = support::engine_on(Arc::new(Memory::default()));
        support::register(&engine, &["bob"]).await;
        for (name, kind) in [("default", Kind::Queue), ("hana", Kind::Human)] {
            let register = agent::Command::Register { kind, profile: Profile::default() };
            ask(&engine, &operator(), agent_stream(name), Command::Agent(register)).await;
        }
        let chat = engine.new_conversation_id();
        let stream =
            Stream { teamspace: default_teamspace(), subject: Subject::Conversation(chat) };
        let open = Open { agent: Some(id("bob")), ..Open::default() };
        let open = Command::Conversation(conversation::Command::Open(Box::new(open)));
        engine.submit_new(&operator(), stream.clone(), open, None).await.expect("it is new");
        let customer = Caller { principal: Principal::Customer(customer_name(chat)), ..operator() };
        let desk = Self { engine, clock, stream, customer };
        let transfer = desk.engine.new_transfer_id();
        let request = transfer::Command::Request { transfer, request: Box::<Request>::default() };
        desk.transfer(&desk.customer, request).await;
        desk
    }

    async fn transfer(&self, who: &Caller, command: transfer::Command) {
        let command = Command::Conversation(conversation::Command::Transfer(command));
        ask(&self.engine, who, self.stream.clone(), command).await;
    }

    async fn conversation(&self) -> Conversation {
        let state = self.engine.current(&self.stream).await.expect("it can be read");
        match state.as_deref() {
            Some(State::Conversation(conversation)) => conversation.as_ref().clone(),
            other => panic!("no conversation: {other:?}"),
        }
    }

    /// Time passes, and the server looks at what follows from that. How the conversation stands.
    async fn after(&self, span: Span) -> String {
        self.clock.advance(span);
        self.engine.settle_connections().await.expect("the store works");
        self.engine.fire_due_deadlines().await.expect("the store works");
        self.engine.dispatch_due().await.expect("the store works");
        let conversation = self.conversation().await;
        let transfer = conversation.transfer.as_ref().expect("it was asked for");
        format!("{} {}@{}", transfer.status().as_str(), conversation.holder, conversation.epoch)
    }

    /// The last entry of a stream: its name and what it says.
    async fn last(&self, stream: &Stream) -> (String, Value) {
        let mut newest = self.engine.history(stream, u64::MAX, 1).await.expect("it can be read");
        let entry = newest.remove(0).entry;
        let body = entry.body.text().expect("nothing was erased");
        (entry.name.into_owned(), serde_json::from_str(body).expect("JSON"))
    }

    async fn say_available(&self) {
        let said = agent::Command::SetPresence { presence: Presence::Available };
        ask(&self.engine, &agent("hana"), agent_stream("hana"), Command::Agent(said)).await;
    }
}

async fn ask(engine: &Engine, who: &Caller, stream: Stream, command: Command) {
    engine.submit(who, stream, command, None).await.expect("it may be asked");
}

#[tokio::test]
async fn a_person_who_is_gone_loses_the_work_and_is_told_before() {
    let desk = Clocked::open().await;
    let moment = Span::from_millis(0);
    let connection = desk.engine.connection_opened(&default_teamspace(), &id("hana"));
    desk.say_available().await;
    assert_eq!(desk.after(moment).await, "ringing default@2");
    let transfer = desk.conversation().await.transfer.expect("it rings").id;
    let accept = transfer::Command::Act { transfer, epoch: Some(2), act: Act::Accept };
    desk.transfer(&agent("hana"), accept).await;
    drop(connection);
    assert_eq!(desk.after(moment).await, "connected hana@3");
    // Her own record says until when she is waited for.
    let until = support::start().plus(Span::from_millis(30_000)).to_string();
    let lost = ("agent.connection_lost".to_owned(), json!({ "until": until }));
    assert_eq!(desk.last(&agent_stream("hana")).await, lost);
    assert_eq!(desk.after(Span::from_millis(29_999)).await, "connected hana@3");
    assert_eq!(desk.after(Span::from_millis(1)).await, "queued default@4");
    let (name, body) = desk.last(&desk.stream).await;
    assert_eq!((name.as_str(), &body["why"]), ("transfer.returned", &json!("agent_lost")));
    // Once she is back she is asked again, and what she had in her hand counts no longer.
    let _connection = desk.engine.connection_opened(&default_teamspace(), &id("hana"));
    assert_eq!(desk.after(moment).await, "ringing default@4");
}

#[tokio::test]
async fn nobody_answers_and_something_happens() {
    // Somebody is there and does not answer: it waits on, and she is asked again.
    let desk = Clocked::open().await;
    let _connection = desk.engine.connection_opened(&default_teamspace(), &id("hana"));
    desk.say_available().await;
    assert_eq!(desk.after(Span::from_millis(0)).await, "ringing default@2");
    assert_eq!(desk.after(Span::from_millis(30_000)).await, "ringing default@2");
    assert_eq!(desk.conversation().await.transfer.expect("it rings").missed, [id("hana")]);

    // Nobody is there at all: after the wait the bot has it back, and knows why.
    let desk = Clocked::open().await;
    assert_eq!(desk.after(Span::from_minutes(59)).await, "queued default@2");
    assert_eq!(desk.after(Span::from_minutes(1)).await, "failed bob@3");
    let (name, body) = desk.last(&desk.stream).await;
    let why = (name.as_str(), &body["reason"]);
    assert_eq!(why, ("transfer.over", &json!("nobody came in time")));

    // The same for work that nobody accepts.
    support::register(&desk.engine, &["tim"]).await;
    let handoff = support::proposed(&desk.engine, "bob", "tim", "t1").await;
    desk.after(Span::from_minutes(5)).await;
    assert_eq!(desk.last(&handoff).await.0, "handoff.escalated");
}
