//! The facts that a decision needs besides its own aggregate, and how it asks for them.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Event, HoldState, State};
use crate::caller::Caller;
use crate::ids::{AgentId, ConversationId, GraphId, MessageId};
use crate::time::Time;
use crate::warning::Kinds;
use crate::{agent, conversation, graph, message, teamspace};
use aaep::machine::Audience;

/// Everything a decision may look at besides its own aggregate.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    pub caller: &'a Caller,
    pub now: Time,
    pub facts: &'a Facts,
}

/// The facts that a decision needs besides its own aggregate. They are read before and passed in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    pub agent: Option<agent::Agent>,
    /// The caller's entry in the directory.
    pub caller: Option<agent::Agent>,
    /// Empty as long as all holds are assumed to be free.
    pub holds: Holds,
    pub document: Option<String>,
    /// The requested agents that exist in the directory.
    pub directory: Vec<AgentId>,
    /// The kinds of the agents that were requested by name.
    pub kinds: Kinds,
    /// Those of them that have a wake URL.
    pub wakeable: Vec<AgentId>,
    /// Those of them that get turns at an endpoint.
    pub at_endpoint: Vec<AgentId>,
    pub message: Option<message::Message>,
    /// The settings of the teamspace.
    pub settings: teamspace::Settings,
    /// The lowest free slot of the agent whose slot was requested; `None` if it has none free, or
    /// if its capacity is unlimited.
    pub slot: Option<u16>,
    /// The same for the caller.
    pub caller_slot: Option<u16>,
    /// A free slot for one more subscription of the caller.
    pub listener_slot: Option<u16>,
    /// The requested queue.
    pub queue: Option<agent::Agent>,
    pub graph: Option<Arc<graph::Ready>>,
    pub turn: Option<Box<conversation::graph::TurnFacts>>,
    /// The state of the related conversation; shared, not copied.
    pub conversation: Option<Arc<State>>,
    /// Whether a listener could have answered the question whose time is over.
    pub audience: Audience,
}

/// The holds that were read for a decision, and the entries of its stream that they name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Holds {
    /// By key; a free one is missing.
    pub taken: HashMap<String, HoldState>,
    /// By position; an erased one is missing.
    pub entries: HashMap<u64, Event>,
}

impl Holds {
    pub fn get(&self, key: &str) -> &HoldState {
        static FREE: HoldState = HoldState { holder: None, value: None };
        self.taken.get(key).unwrap_or(&FREE)
    }

    pub fn is_taken(&self, key: &str) -> bool {
        self.taken.contains_key(key)
    }
}

impl Facts {
    pub fn conversation(&self) -> Option<&conversation::Conversation> {
        self.conversation.as_deref().and_then(State::as_conversation)
    }
}

/// Which facts to read for a command, besides its holds ([`super::holds`]).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    pub agent: Option<AgentId>,
    pub caller: bool,
    /// The hash of the document, as the aggregate's state names it.
    pub document: Option<String>,
    pub directory: Option<Directory>,
    /// Whether it matters which of them have a wake URL.
    pub wakes: bool,
    pub message: Option<MessageId>,
    pub settings: bool,
    /// The agent whose slot is to be taken.
    pub slot: Option<AgentId>,
    /// Whether the slot to be taken is the caller's.
    pub caller_slot: bool,
    /// Whether the caller opens a subscription.
    pub listener_slot: bool,
    pub queue: Option<QueueOf>,
    /// The graph of a new conversation. If no agent is given, the graph's default specialist is
    /// read too.
    pub graph: Option<GraphId>,
    /// What the graph is asked if a customer speaks.
    pub turn: Option<Box<conversation::graph::TurnAsked>>,
    /// A related conversation of the teamspace.
    pub conversation: Option<ConversationId>,
    /// The events whose questions are over: it matters whether a listener could have answered.
    pub unanswered: Vec<String>,
}

/// Which queue is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueOf {
    Named(AgentId),
    /// The teamspace's default, for a command that names no queue.
    Default,
}

/// Which agents to look up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Directory {
    Named(Vec<AgentId>),
    /// All of them, or enough to show that there are too many.
    Everyone,
}
