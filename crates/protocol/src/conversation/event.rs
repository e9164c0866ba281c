//! What happened in a conversation: the durable words. Each says who held it then, so that a
//! follower can tell from the entry alone who may see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::graph::TurnRoute;
use super::part::Part;
use super::state::Setup;
use crate::callback;
use crate::ids::AgentId;
use crate::signal::{Escalate, SignalScore};
use crate::transfer;

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Opened(Box<Opened>),
    Said(Said),
    NotHeard(NotHeard),
    Routed(Routed),
    Delivered(Delivered),
    Unreached(Unreached),
    Closed(Closed),
    /// Something happened to its transfer to a person.
    Transfer(transfer::Event),
    /// Somebody shall call the customer, or has.
    Callback(callback::Event),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    pub holder: AgentId,
    pub setup: Setup,
}

/// Somebody said something, and everyone in the conversation hears it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Said {
    pub holder: AgentId,
    /// Its place in the transcript, from 1.
    pub number: u64,
    pub by: Speaker,
    pub epoch: u64,
    pub parts: Vec<Part>,
    /// The message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<u64>,
    /// How it sounds, each signal at most once. Not for the customer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<SignalScore>,
    /// The rule by which a person is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Escalate>,
    /// What the graph says, unless it changed hands with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<TurnRoute>,
    /// Whoever holds it now is told at its endpoint.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deliver: bool,
    /// Who listens, and advises the holder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listener: Option<AgentId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    Customer,
    Agent(AgentId),
}

/// An agent spoke whose turn it was not. The customer does not see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NotHeard {
    pub holder: AgentId,
    pub agent: AgentId,
    /// For which epoch it spoke, and which it was.
    pub epoch: u64,
    pub current: u64,
    pub why: Why,
    pub parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The conversation has changed hands since.
    EpochOutdated,
    /// Another agent holds it.
    NotHolder,
    /// What it answers was answered.
    AlreadyAnswered,
}

/// The conversation changed hands between AI agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Routed {
    pub holder: AgentId,
    pub to: AgentId,
    /// Its place in the transcript.
    pub number: u64,
    /// The epoch that begins.
    pub epoch: u64,
    pub how: How,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// What the customer is told instead of the reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub customer_text: String,
    /// What was changed in what the agents share; `null` takes a name away.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub update: Map<String, Value>,
    /// The agents went round in a circle, so it went here instead of there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<AgentId>,
    /// What the graph says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<TurnRoute>,
    /// Whoever holds it now is told at its endpoint.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deliver: bool,
}

/// The holder was told at its endpoint what was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivered {
    pub holder: AgentId,
    pub epoch: u64,
    /// The number of the last message that it was told.
    pub through: u64,
}

/// The holder could not be told in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreached {
    pub holder: AgentId,
    pub epoch: u64,
    pub through: u64,
    /// What went wrong last.
    pub detail: String,
}

/// Who let it change hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum How {
    AgentHandoff,
    SupervisorRouting,
    UserSelection,
    /// The graph of the conversation.
    Graph,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    pub holder: AgentId,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl Event {
    /// The durable name.
    pub fn name(&self) -> &'static str {
        match self {
            Event::Opened(_) => "conversation.opened",
            Event::Said(_) => "conversation.said",
            Event::NotHeard(_) => "conversation.not_heard",
            Event::Routed(_) => "conversation.routed",
            Event::Delivered(_) => "conversation.delivered",
            Event::Unreached(_) => "conversation.unreached",
            Event::Closed(_) => "conversation.closed",
            Event::Transfer(event) => event.name(),
            Event::Callback(event) => event.name(),
        }
    }

    /// Whether it may still happen when the conversation is over.
    pub fn is_afterthought(&self) -> bool {
        matches!(self, Event::Transfer(transfer::Event::Rated(_)))
    }

    /// Its place in the transcript, if it has one.
    pub fn number(&self) -> Option<u64> {
        match self {
            Event::Said(said) => Some(said.number),
            Event::Routed(routed) => Some(routed.number),
            Event::Transfer(event) => event.number(),
            Event::Opened(_)
            | Event::NotHeard(_)
            | Event::Delivered(_)
            | Event::Unreached(_)
            | Event::Callback(_)
            | Event::Closed(_) => None,
        }
    }
}

/// Whether entries of this name have a place in the transcript; of one that was erased, the name is
/// all there is.
pub fn is_line(name: &str) -> bool {
    let lines = [
        "conversation.said",
        "conversation.routed",
        "transfer.requested",
        "transfer.connected",
        "transfer.noted",
        "transfer.over",
    ];
    lines.contains(&name)
}

impl Why {
    pub fn as_str(self) -> &'static str {
        match self {
            Why::EpochOutdated => "epoch_outdated",
            Why::NotHolder => "not_holder",
            Why::AlreadyAnswered => "already_answered",
        }
    }
}
