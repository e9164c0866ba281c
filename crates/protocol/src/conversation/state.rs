//! The state of a conversation. Its messages are not here but in the ledger.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::topology::Topology;
use crate::callback::Callback;
use crate::caller::{Caller, Principal};
use crate::conversation::told::DeliveryProgress;
use crate::conversation::wait::CustomerWait;
use crate::fixed::Fixed;
use crate::form;
use crate::ids::{AgentId, ConversationId, GraphId};
use crate::route::graph::Scalar;
use crate::signal::{EscalationRules, SignalState};
use crate::time::Time;
use crate::transfer::Transfer;

pub const CUSTOMER_FIELD_BYTES_MAX: usize = 200;

/// Rules test only a handful.
pub const ATTRIBUTES_MAX: usize = 64;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    pub id: ConversationId,
    pub setup: Fixed<Setup>,
    pub opened_at: Time,
    pub holder: AgentId,
    /// Grows each time the holder changes. Messages for an old epoch are refused.
    pub epoch: u64,
    pub transcript: Transcript,
    /// Data that the agents share, by name.
    pub shared: Map<String, Value>,
    pub turn: Turn,
    /// All past holders, each once, the latest last. They get an error when they speak too late.
    pub held: Vec<AgentId>,
    /// The signals of the last turns, if it has a graph or rules about them.
    #[serde(default, skip_serializing_if = "SignalState::is_empty")]
    pub signals: SignalState,
    /// What the holder has been told at its endpoint.
    #[serde(default)]
    pub told: DeliveryProgress,
    /// What the customer waits for.
    #[serde(default, skip_serializing_if = "CustomerWait::is_empty")]
    pub wait: CustomerWait,
    pub closed: Option<Closed>,
    /// The last transfer to a person, open or over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer: Option<Box<Transfer>>,
    /// The open callback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback: Option<Box<Callback>>,
}

/// What was fixed when it was opened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The caller who opened it, as the record names them.
    pub opened_by: String,
    pub customer: Customer,
    #[serde(default)]
    pub topology: Topology,
    /// The graph that routes each message of the customer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<GraphId>,
    /// Values that its rules can test, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, Scalar>,
    /// The queues that its customer may name, besides those of its graph.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub customer_queues: Vec<AgentId>,
    /// When a person is called, in a conversation without a graph.
    #[serde(default, skip_serializing_if = "EscalationRules::is_empty")]
    pub signals: EscalationRules,
    pub hops_max: u16,
}

/// The customer, as far as the backend tells.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Customer {
    /// The backend's own id for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::line(CUSTOMER_FIELD_BYTES_MAX))]
    pub external_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::line(CUSTOMER_FIELD_BYTES_MAX))]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::line(CUSTOMER_FIELD_BYTES_MAX))]
    pub language: Option<String>,
}

/// Count and digest of the messages, updated as they arrive.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transcript {
    pub count: u64,
    /// SHA-256 over the previous digest and the last message; empty for none.
    pub digest: String,
}

/// What happened since the customer's last message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The number of the customer's message; 0 before the first.
    pub number: u64,
    /// The message that was answered last. A promise to transfer the customer is no answer.
    pub answered: u64,
    /// The last message of the customer after which a person spoke: it needs no other answer.
    #[serde(default)]
    pub settled: u64,
    /// The holders since then, in order; at most the limit of hops, plus one.
    pub holders: Vec<AgentId>,
    /// How many messages were refused and recorded in this epoch.
    pub refused: u16,
}

impl Turn {
    /// The customer's last message, if no agent has answered it and no person has settled it.
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

/// A past holder is forgotten after this many later ones.
pub const HELD_MAX: usize = 64;

/// The prefix of a customer's name, before the id of the conversation.
const CUSTOMER: &str = "customer-";

/// The name of a customer in one conversation, used nowhere else.
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
    /// Sees everything, and cannot speak.
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

    /// The caller's side of it; `None` for a caller that may not know of it.
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

    /// Whether the signals of its turns are remembered.
    pub fn remembers_signals(&self) -> bool {
        self.setup.graph.is_some() || !self.setup.signals.is_empty()
    }

    /// The transfer to a person that is under way.
    pub fn open_transfer(&self) -> Option<&Transfer> {
        self.transfer.as_deref().filter(|transfer| !transfer.is_over())
    }

    /// The same, until a person has answered.
    pub fn waiting_transfer(&self) -> Option<&Transfer> {
        self.open_transfer().filter(|transfer| transfer.answering().is_none())
    }

    /// The customer's last message, if the customer waits for an answer. Any words of the holder
    /// are one, except a promise.
    pub fn unanswered(&self) -> Option<u64> {
        let waits = self.wait.unanswered.filter(|_| self.closed.is_none());
        waits.map(|_| self.turn.number)
    }

    /// Who may speak for it: the holder, unless that is a queue.
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
