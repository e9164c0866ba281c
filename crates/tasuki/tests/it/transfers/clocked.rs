//! A desk within the process, on a manual clock.

use std::sync::Arc;

use engine::Engine;
use engine::ports::clock::ManualClock;
use engine::ports::store::Store;
use engine::road::submit::SubmitError;
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
use serde_json::Value;

use crate::support::{self, agent, agent_stream, default_teamspace, id, operator};

/// A queue, `hana`, and a customer who waits.
#[derive(Clone)]
pub struct Clocked {
    pub engine: Engine,
    clock: Arc<ManualClock>,
    pub stream: Stream,
    pub customer: Caller,
}

impl Clocked {
    pub async fn open(store: impl Store) -> Self {
        let (engine, clock) = support::engine_on(Arc::new(store));
        support::register(&engine, &["bob"]).await;
        for (name, kind) in [("default", Kind::Queue), ("hana", Kind::Human)] {
            let register = agent::Command::Register { kind, profile: Profile::default() };
            let register = Command::Agent(register);
            let done = engine.submit(&operator(), agent_stream(name), register, None).await;
            done.expect("an operator may register an agent");
        }
        let chat = engine.new_conversation_id();
        let stream =
            Stream { teamspace: default_teamspace(), subject: Subject::Conversation(chat) };
        let open = Open { agent: Some(id("bob")), ..Open::default() };
        let open = Command::Conversation(conversation::Command::Open(Box::new(open)));
        engine.submit_new(&operator(), stream.clone(), open, None).await.expect("it is new");
        let customer = Caller { principal: Principal::Customer(customer_name(chat)), ..operator() };
        let desk = Self { engine, clock, stream, customer };
        desk.request().await;
        desk
    }

    /// The customer asks for a person.
    pub async fn request(&self) {
        let transfer = self.engine.new_transfer_id();
        let request = transfer::Command::Request { transfer, request: Box::<Request>::default() };
        assert!(self.submit(&self.customer, request).await, "a customer may ask");
    }

    /// A caller acts; returns whether it was allowed.
    pub async fn does(&self, who: &Caller, act: Act) -> bool {
        let conversation = self.conversation().await;
        let transfer = conversation.transfer.as_ref().expect("it was asked for").id;
        let epoch = who.agent().map(|_| conversation.epoch);
        self.submit(who, transfer::Command::Act { transfer, epoch, act }).await
    }

    async fn submit(&self, who: &Caller, command: transfer::Command) -> bool {
        let command = Command::Conversation(conversation::Command::Transfer(command));
        match self.engine.submit(who, self.stream.clone(), command, None).await {
            Ok(_) => true,
            Err(SubmitError::Rejected(_)) => false,
            Err(error) => panic!("the store works: {error}"),
        }
    }

    /// The presence that `hana` reports.
    pub async fn say(&self, presence: Presence) {
        let said = Command::Agent(agent::Command::SetPresence { presence });
        let said = self.engine.submit(&agent("hana"), agent_stream("hana"), said, None).await;
        said.expect("everybody may say where it is");
    }

    pub async fn conversation(&self) -> Conversation {
        let state = self.engine.read().current(&self.stream).await.expect("it can be read");
        match state.as_deref() {
            Some(State::Conversation(conversation)) => conversation.as_ref().clone(),
            other => panic!("no conversation: {other:?}"),
        }
    }

    /// Time passes, and the server does what is due. Returns the state of the conversation.
    pub async fn after(&self, span: Span) -> String {
        self.clock.advance(span);
        self.engine.queues().settle_connections().await.expect("the store works");
        self.engine.fire_due_deadlines().await.expect("the store works");
        self.engine.queues().dispatch_due().await.expect("the store works");
        let conversation = self.conversation().await;
        let transfer = conversation.transfer.as_ref().expect("it was asked for");
        format!("{} {}@{}", transfer.status().as_str(), conversation.holder, conversation.epoch)
    }

    /// The last entry of a stream: its name and what it says.
    pub async fn last(&self, stream: &Stream) -> (String, Value) {
        let mut newest =
            self.engine.read().history(stream, u64::MAX, 1).await.expect("it can be read");
        let entry = newest.remove(0).entry;
        let body = entry.body.text().expect("nothing was erased");
        (entry.name.into_owned(), serde_json::from_str(body).expect("JSON"))
    }
}
