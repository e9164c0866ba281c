//! Which facts a decision asks for.

use crate::conversation::turn_asked::TurnAsked;
use crate::ids::{AgentId, ConversationId, GraphId, MessageId};
use crate::ledger::Subject;

/// Which facts to read for a command, besides its holds ([`crate::step::holds`]).
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
    /// Whether the caller makes a webhook.
    pub webhook_slot: bool,
    pub queue: Option<QueueOf>,
    /// The graph of a new conversation. If no agent is given, the graph's default specialist is
    /// read too.
    pub graph: Option<GraphId>,
    /// What the graph is asked if a customer speaks.
    pub turn: Option<Box<TurnAsked>>,
    /// A related conversation of the teamspace.
    pub conversation: Option<ConversationId>,
    /// The events whose questions are over: it matters whether a listener could have answered.
    pub unanswered: Vec<String>,
    /// Whether the caller may read one of these.
    pub any_readable: Vec<Subject>,
    /// The entry of the stream that is to be erased.
    pub entry: Option<u64>,
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
