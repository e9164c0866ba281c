//! A conversation as it stands. What was said is not in here: that is in the ledger.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::decide::open::CUSTOMER_TEXT_BYTES_MAX;
use super::telling::Told;
use super::topology::Topology;
use crate::callback::Callback;
use crate::caller::{Caller, Principal};
use crate::fixed::Fixed;
use crate::form;
use crate::ids::{AgentId, ConversationId, GraphId};
use crate::route::graph::Scalar;
use crate::signal::SignalState;
use crate::time::Time;
use crate::transfer::Transfer;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    pub id: ConversationId,
    pub setup: Fixed<Setup>,
    pub opened_at: Time,
    pub holder: AgentId,
    /// Grows each time the holder changes. Whoever speaks for an old one is not heard.
    pub epoch: u64,
    pub transcript: Transcript,
    /// What the agents share, by name.
    pub shared: Map<String, Value>,
    pub turn: Turn,
    /// Who has held it, each once, the latest last. They are told when they come too late.
    pub held: Vec<AgentId>,
    /// How the last turns sounded, if it has a graph.
    #[serde(default, skip_serializing_if = "SignalState::is_empty")]
    pub signals: SignalState,
    /// How far the holder is told at its endpoint.
    #[serde(default)]
    pub told: Told,
    pub closed: Option<Closed>,
    /// The last transfer to a person, open or over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer: Option<Box<Transfer>>,
    /// Somebody shall call the customer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback: Option<Box<Callback>>,
}

/// What was settled when it was opened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// Who opened it, as the record names them.
    pub opened_by: String,
    pub customer: Customer,
    #[serde(default)]
    pub topology: Topology,
    /// The graph that says who answers each message of the customer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<GraphId>,
    /// What its rules may ask for, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, Scalar>,
    /// The queues that its customer may name, besides those of its graph.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub customer_queues: Vec<AgentId>,
    pub hops_max: u16,
}

/// Who the conversation is with, as far as its backend says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Customer {
    /// The backend's own name for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::line(CUSTOMER_TEXT_BYTES_MAX))]
    pub external_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::line(CUSTOMER_TEXT_BYTES_MAX))]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::line(CUSTOMER_TEXT_BYTES_MAX))]
    pub language: Option<String>,
}

/// What the messages come to, kept as they arrive.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transcript {
    pub count: u64,
    /// SHA-256 over the digest before it and the last message; empty for none.
    pub digest: String,
}

/// What happened since the customer spoke last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The number of the customer's message; 0 before the first.
    pub number: u64,
    /// The message that was answered last.
    pub answered: u64,
    /// The last message of the customer after which a person spoke: it needs no other answer.
    #[serde(default)]
    pub settled: u64,
    /// Who has held the conversation in it, in order; as many as the budget of hops, and one.
    pub holders: Vec<AgentId>,
    /// How much was refused in this epoch and recorded.
    pub refused: u16,
}

impl Turn {
    /// The customer's last message, if nobody has answered it and no person has settled it.
    pub fn open(&self) -> Option<u64> {
        Some(self.number).filter(|number| *number > self.answered.max(self.settled))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Open,
    Closed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    pub at: Time,
}

/// Whoever held it before that many others did is a stranger again.
pub const HELD_MAX: usize = 64;

/// Before the id of a conversation, in the name of its customer.
const CUSTOMER: &str = "customer-";

/// The name under which a customer speaks in one conversation, and nowhere else.
pub fn customer_name(id: ConversationId) -> AgentId {
    format!("{CUSTOMER}{id}").parse().expect("a UUID with a prefix is a valid name")
}

/// The conversation whose customer has this name.
pub fn conversation_of(customer: &AgentId) -> Option<ConversationId> {
    customer.as_str().strip_prefix(CUSTOMER)?.parse().ok()
}

/// How a caller takes part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Side<'c> {
    Customer,
    Agent(&'c AgentId),
    /// Sees everything, and says nothing.
    Overseer,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Open => "open",
            Status::Closed => "closed",
        }
    }
}

impl Conversation {
    pub fn status(&self) -> Status {
        if self.closed.is_some() { Status::Closed } else { Status::Open }
    }

    /// The caller's side of it; whoever has none does not know that it exists.
    pub fn side<'c>(&self, caller: &'c Caller) -> Option<Side<'c>> {
        match &caller.principal {
            Principal::Customer(name) if *name == customer_name(self.id) => Some(Side::Customer),
            Principal::Customer(_) => None,
            Principal::Agent(agent) if self.concerns(agent) || caller.is_coordinator() => {
                Some(Side::Agent(agent))
            }
            Principal::Agent(agent) => {
                let opened = self.setup.opened_by == caller.principal.to_string();
                opened.then_some(Side::Agent(agent))
            }
            Principal::Operator(_) | Principal::System => Some(Side::Overseer),
        }
    }

    /// The transfer to a person that is under way.
    pub fn open_transfer(&self) -> Option<&Transfer> {
        self.transfer.as_deref().filter(|transfer| !transfer.is_over())
    }

    /// The same, while nobody has answered.
    pub fn waiting_transfer(&self) -> Option<&Transfer> {
        self.open_transfer().filter(|transfer| transfer.answering().is_none())
    }

    /// Who may speak for it: the holder, unless that is a queue, which never does.
    pub fn speaker(&self) -> Option<&AgentId> {
        let waits = self.open_transfer().is_some_and(|transfer| transfer.answering().is_none());
        (!waits).then_some(&self.holder)
    }

    fn concerns(&self, agent: &AgentId) -> bool {
        let is_asked = |transfer: &Transfer| transfer.people().any(|person| person == agent);
        self.holder == *agent
            || self.held.contains(agent)
            || self.setup.topology.has(agent)
            || self.open_transfer().is_some_and(is_asked)
    }
}
