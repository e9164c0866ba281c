//! People, customers, and their random actions.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::Engine;
use engine::loops::connections::OpenConnection;
use engine::ports::clock::ManualClock;
use engine::ports::store::StoreReads as _;
use engine::road::submit::SubmitError;
use protocol::agent::{self, Kind, Presence, Profile};
use protocol::caller::{Caller, Principal};
use protocol::conversation::command::Open;
use protocol::conversation::state::customer_name;
use protocol::conversation::{self, Conversation};
use protocol::ids::ConversationId;
use protocol::ledger::{Stream, Subject};
use protocol::step::{Command, State};
use protocol::time::Span;
use protocol::transfer::command::{Act, Request, Transfer as Asking};
use protocol::transfer::{self, Transfer};
use serde_json::json;
use store::Sqlite;
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::support::{self, Random, agent, agent_stream, default_teamspace, id, operator};

pub const CAPACITY: u16 = 3;
const QUEUE: &str = "default";

/// Actions at the same moment.
const AT_ONCE: usize = 6;

/// Rounds in which the remaining customers are served.
const SETTLING_MAX: usize = 500;

#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub n_people: usize,
    pub n_customers: usize,
    pub n_steps: usize,
}

pub struct Shift {
    pub store: Arc<Sqlite>,
    pub engine: Engine,
    clock: Arc<ManualClock>,
    random: Random,
    people: Vec<String>,
    chats: Vec<ConversationId>,
    connections: BTreeMap<String, OpenConnection>,
    _folder: TempDir,
}

impl Shift {
    pub async fn begin(size: Size, seed: u64) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = Arc::new(Sqlite::open(folder.path()).expect("a new database"));
        let (engine, clock) = support::engine_on(store.clone());
        support::register(&engine, &["bob"]).await;
        let settings = json!({ "ring": "20s", "wait": "24h", "hold": "1m", "rings": 1_000 });
        let settings = serde_json::from_value(settings).expect("settings of a queue");
        submit_agent(&engine, QUEUE, register(Kind::Queue)).await;
        submit_agent(&engine, QUEUE, agent::Command::SetQueue { settings }).await;
        let people: Vec<_> = (0..size.n_people).map(|number| format!("person-{number}")).collect();
        for name in &people {
            submit_agent(&engine, name, register(Kind::Human)).await;
        }
        let mut chats = Vec::new();
        for _ in 0..size.n_customers {
            let chat = engine.new_conversation_id();
            let open = Open { agent: Some(id("bob")), ..Open::default() };
            let open = Command::Conversation(conversation::Command::Open(Box::new(open)));
            let opened = engine.submit_new(&operator(), stream(chat), open, None).await;
            opened.expect("it is new");
            chats.push(chat);
        }
        let (random, connections) = (Random::from_seed(seed), BTreeMap::new());
        Self { store, engine, clock, random, people, chats, connections, _folder: folder }
    }

    /// Several actions at once, while the server looks for people and due deadlines; then time
    /// passes.
    pub async fn step(&mut self) {
        let mut acts = Vec::new();
        for _ in 0..AT_ONCE {
            let chat = *self.random.pick(&self.chats);
            if let Some(act) = self.anything(&self.conversation(chat).await) {
                acts.push((chat, act));
            }
        }
        if self.random.happens(30) {
            self.come_or_go().await;
        }
        self.at_once(acts).await;
        let seconds = self.random.below(6) as i64;
        self.clock.advance(Span::from_millis(seconds * 1_000));
    }

    /// All people are back, answer, and finish, until no customer is left.
    pub async fn settle(&mut self) {
        for name in self.people.clone() {
            self.say(&name, Presence::Available).await;
        }
        for _ in 0..SETTLING_MAX {
            let mut acts = Vec::new();
            for chat in self.chats.clone() {
                let conversation = self.conversation(chat).await;
                if conversation.transfer.as_ref().is_some_and(|transfer| transfer.is_over()) {
                    continue;
                }
                acts.extend(self.next(&conversation).map(|act| (chat, act)));
            }
            if acts.is_empty() {
                return;
            }
            self.at_once(acts).await;
            self.clock.advance(Span::from_millis(5_000));
        }
        panic!("a customer is left after {SETTLING_MAX} rounds");
    }

    /// The held slots match the conversations, and no person exceeds their capacity.
    pub async fn check_slots(&self) {
        let held = self.store.held(&default_teamspace(), "slot/", usize::MAX).await;
        let mut claims = Vec::new();
        for chat in &self.chats {
            let conversation = self.conversation(*chat).await;
            let Some(transfer) = conversation.open_transfer() else { continue };
            let leg = transfer.leg.as_ref().and_then(|leg| leg.claim());
            for claim in transfer.claim().into_iter().chain(leg) {
                let slot = claim.slot.expect("people have slots");
                assert!((1..=CAPACITY).contains(&slot), "{claim:?}");
                claims.push(agent::slot_key(&claim.agent, slot));
            }
            let answering = transfer.answering().map(|claim| &claim.agent);
            let holder = answering.unwrap_or(&transfer.queue);
            assert_eq!(&conversation.holder, holder, "{transfer:?}");
        }
        claims.sort();
        let mut held = held.expect("it can be read");
        held.sort();
        assert_eq!(held, claims, "each slot is taken by one conversation");
    }

    async fn at_once(&self, acts: Vec<(ConversationId, (Caller, transfer::Command))>) {
        let mut all = JoinSet::new();
        for (chat, (caller, command)) in acts {
            let engine = self.engine.clone();
            all.spawn(async move {
                let command = Command::Conversation(conversation::Command::Transfer(command));
                let done = engine.submit(&caller, stream(chat), command, None).await;
                // Others were quicker, or a person is at capacity.
                let is_answered = matches!(done, Ok(_) | Err(SubmitError::Rejected(_)));
                assert!(is_answered, "{done:?}");
            });
        }
        let engine = self.engine.clone();
        all.spawn(async move {
            engine.fire_due_deadlines().await.expect("the store works");
        });
        let engine = self.engine.clone();
        all.spawn(async move {
            engine.queues().dispatch_due().await.expect("the store works");
        });
        all.join_all().await;
    }

    /// A random possible action.
    fn anything(&mut self, conversation: &Conversation) -> Option<(Caller, transfer::Command)> {
        let Some(transfer) = &conversation.transfer else { return self.next(conversation) };
        let customer = customer(conversation);
        let epoch = Some(conversation.epoch);
        if let Some(leg) = transfer.leg.as_ref().and_then(|leg| leg.claim())
            && self.random.happens(60)
        {
            let person = agent(leg.agent.as_str());
            let act = match self.random.below(4) {
                0 => Act::Decline { reason: None },
                // An adviser only leaves.
                1 => Act::Complete { summary: None, disposition: None, to: None },
                _ => Act::Accept,
            };
            return Some((person, does(transfer, epoch, act)));
        }
        let dice = self.random.below(100);
        match (transfer.claim(), transfer.answering()) {
            (None, _) if transfer.is_over() => None,
            (None, _) if dice < 5 => {
                Some((customer, does(transfer, None, Act::Cancel { reason: None })))
            }
            (None, _) if dice < 40 => {
                let person = self.random.pick(&self.people).clone();
                let act = Act::Pickup { accept: dice < 25 };
                Some((agent(&person), does(transfer, epoch, act)))
            }
            (None, _) => None,
            (Some(claim), None) => {
                let person = agent(claim.agent.as_str());
                match dice {
                    0..45 => Some((person, does(transfer, epoch, Act::Accept))),
                    45..60 => Some((person, does(transfer, epoch, Act::Decline { reason: None }))),
                    60..65 => Some((customer, does(transfer, None, Act::Cancel { reason: None }))),
                    _ => None,
                }
            }
            (Some(_), Some(claim)) => {
                let person = agent(claim.agent.as_str());
                let act = match dice {
                    0..10 => Act::Hold,
                    10..20 => Act::Resume,
                    20..45 => self.passes_on(dice),
                    45..75 => Act::Complete { summary: None, disposition: None, to: None },
                    _ => return None,
                };
                Some((person, does(transfer, epoch, act)))
            }
        }
    }

    /// To a person by name, to a person of the queue, for advice, or blind.
    fn passes_on(&mut self, dice: usize) -> Act {
        let person = self.random.pick(&self.people).clone();
        let (kind, to) = match dice % 4 {
            0 => (transfer::Kind::HumanToHuman, person.as_str()),
            1 => (transfer::Kind::Warm, QUEUE),
            2 => (transfer::Kind::SupervisorConsult, person.as_str()),
            _ => (transfer::Kind::Blind, QUEUE),
        };
        let context = Default::default();
        Act::Transfer(Box::new(Asking {
            kind,
            to: id(to),
            reason: None,
            customer_text: None,
            epoch: None,
            context,
        }))
    }

    /// An action that brings it nearer to its end.
    fn next(&mut self, conversation: &Conversation) -> Option<(Caller, transfer::Command)> {
        let Some(transfer) = &conversation.transfer else {
            let (transfer, request) = (self.engine.new_transfer_id(), Box::<Request>::default());
            let request = transfer::Command::Request { transfer, request };
            return Some((customer(conversation), request));
        };
        let (person, act) = match (transfer.claim(), transfer.answering()) {
            (None, _) => {
                // All people may have declined it, so that it is offered to none.
                let person = self.random.pick(&self.people).parse().expect("an id");
                (person, Act::Pickup { accept: true })
            }
            (Some(claim), None) => (claim.agent.clone(), Act::Accept),
            (Some(_), Some(claim)) => {
                (claim.agent.clone(), Act::Complete { summary: None, disposition: None, to: None })
            }
        };
        Some((agent(person.as_str()), does(transfer, Some(conversation.epoch), act)))
    }

    /// A person comes, leaves, or loses the connection.
    async fn come_or_go(&mut self) {
        let person = self.random.pick(&self.people).clone();
        match self.random.below(5) {
            0 => self.say(&person, Presence::Offline).await,
            1 => drop(self.connections.remove(&person)),
            _ => {
                let opened =
                    self.engine.queues().connection_opened(&default_teamspace(), &id(&person));
                self.connections.insert(person.clone(), opened);
                self.say(&person, Presence::Available).await;
            }
        }
        self.engine.queues().settle_connections().await.expect("the store works");
    }

    async fn say(&self, name: &str, presence: Presence) {
        let command = Command::Agent(agent::Command::SetPresence { presence });
        let said = self.engine.submit(&agent(name), agent_stream(name), command, None).await;
        said.expect("everybody may say where it is");
    }

    async fn conversation(&self, chat: ConversationId) -> Conversation {
        let state = self.engine.read().current(&stream(chat)).await.expect("it can be read");
        match state.as_deref() {
            Some(State::Conversation(conversation)) => conversation.as_ref().clone(),
            other => panic!("no conversation: {other:?}"),
        }
    }
}

fn does(transfer: &Transfer, epoch: Option<u64>, act: Act) -> transfer::Command {
    transfer::Command::Act { transfer: transfer.id, epoch, act }
}

fn customer(conversation: &Conversation) -> Caller {
    Caller { principal: Principal::Customer(customer_name(conversation.id)), ..operator() }
}

fn stream(chat: ConversationId) -> Stream {
    Stream { teamspace: default_teamspace(), subject: Subject::Conversation(chat) }
}

fn register(kind: Kind) -> agent::Command {
    let capacity = (kind == Kind::Human).then_some(CAPACITY);
    agent::Command::Register { kind, profile: Profile { capacity, ..Profile::default() } }
}

async fn submit_agent(engine: &Engine, name: &str, command: agent::Command) {
    let command = Command::Agent(command);
    let done = engine.submit(&operator(), agent_stream(name), command, None).await;
    done.expect("an operator may do that");
}
