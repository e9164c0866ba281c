//! What a decision needs to know besides its own aggregate, and how it says so.

use std::sync::Arc;

use super::HoldState;
use crate::ids::{AgentId, ConversationId, GraphId, MessageId};
use crate::warning::Kinds;
use crate::{agent, conversation, graph, message, session, teamspace};

/// What a decision needs to know besides its own aggregate. Read before, handed in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    pub agent: Option<agent::Agent>,
    /// Who asks, as the directory knows it.
    pub caller: Option<agent::Agent>,
    pub hold: HoldState,
    pub document: Option<String>,
    /// Those of the directory that were asked for, as far as they exist.
    pub directory: Vec<AgentId>,
    /// What those that were asked for by name are.
    pub kinds: Kinds,
    /// Those of them that can be called.
    pub wakeable: Vec<AgentId>,
    /// Those of them whom turns reach at an endpoint.
    pub at_endpoint: Vec<AgentId>,
    pub message: Option<message::Message>,
    /// What the teamspace says about all its work.
    pub settings: teamspace::Settings,
    /// The lowest free slot of the agent whose slot was asked for; `None` if it has none free, or
    /// as many as it likes.
    pub slot: Option<u16>,
    /// The same for whoever asks.
    pub caller_slot: Option<u16>,
    /// A place that is free for one more subscription of whoever asks.
    pub listener_slot: Option<u16>,
    /// The queue that was asked for.
    pub queue: Option<agent::Agent>,
    pub graph: Option<Arc<graph::Ready>>,
    pub turn: Option<Box<conversation::graph::TurnFacts>>,
    pub conversation: Option<Box<conversation::Conversation>>,
    /// What is known of what a session has used; nothing, as long as all of it is taken to be new.
    pub session: Option<Arc<session::Known>>,
}

/// Which facts to read for a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    pub agent: Option<AgentId>,
    pub caller: bool,
    pub hold: Option<String>,
    /// The hash of the document, as the aggregate's state names it.
    pub document: Option<String>,
    pub directory: Option<Directory>,
    /// Whether it matters who of them can be called.
    pub wakes: bool,
    pub message: Option<MessageId>,
    pub settings: bool,
    /// Whose slot is to be taken.
    pub slot: Option<AgentId>,
    /// Whether it is the caller's.
    pub caller_slot: bool,
    /// Whether the caller opens a subscription.
    pub listener_slot: bool,
    pub queue: Option<QueueOf>,
    /// The graph that a conversation shall have. Without an agent, whom it names first is read.
    pub graph: Option<GraphId>,
    /// What a graph is asked, if a customer speaks.
    pub turn: Option<Box<conversation::graph::TurnAsked>>,
    /// A conversation of the teamspace that something belongs to.
    pub conversation: Option<ConversationId>,
}

/// Which queue is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueOf {
    Named(AgentId),
    /// The one that the teamspace uses when nobody names one.
    Default,
}

/// Which agents to look up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Directory {
    Named(Vec<AgentId>),
    /// All of them, or as many as show that they are too many.
    Everyone,
}
