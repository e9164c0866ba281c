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
    /// The slots to be taken, one of each.
    pub slots: Vec<SlotOf>,
    pub queue: Option<QueueOf>,
    /// Whether it matters who is asked when the holder fails: all of these, and those that the
    /// graph names.
    pub fallbacks: Option<Vec<AgentId>>,
    /// Whether it matters which queues the customer may ask: all of these, the default queue, and
    /// those that the graph names.
    pub customer_queues: Option<Vec<AgentId>>,
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
    /// The line of the transcript, by its number, about which the command says something.
    pub line: Option<u64>,
}

/// Which queue is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueOf {
    Named(AgentId),
    /// The teamspace's default, for a command that names no queue.
    Default,
    /// The one that the graph names, or the teamspace's default.
    Graph,
}

/// What a slot is for. A hold counts each of them, so that there is a limit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SlotOf {
    /// One more conversation that this agent holds.
    Agent(AgentId),
    /// One more conversation that the caller holds.
    Caller,
    /// One more subscription of the caller.
    Listener,
    /// One more webhook of the caller.
    Webhook,
}

/// Which agents to look up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Directory {
    Named(Vec<AgentId>),
    /// All of them, or enough to show that there are too many.
    Everyone,
}
