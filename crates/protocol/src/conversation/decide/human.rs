//! Requests for a person that no caller makes: by a graph, by a signal, because of a loop,
//! or because the holder is unreachable or silent.

use crate::agent::Kind;
use crate::conversation::event::Event;
use crate::conversation::state::Conversation;
use crate::facts::Context;
use crate::ids::{AgentId, TransferId};
use crate::transfer;

/// The request for a person, and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    pub by: AskedBy,
    pub reason: String,
    /// Whose people; when absent, those of the teamspace's default queue.
    pub queue: Option<AgentId>,
    /// The agent that the conversation should have gone to.
    pub instead_of: Option<AgentId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedBy {
    /// A turn ended at `human`.
    Graph,
    /// A rule about signals matched.
    Signal,
    /// Agents handed it round in circles.
    LoopGuard,
    /// The holder could not be reached at its endpoint.
    Unreached,
    /// The holder did not answer in time.
    Silent,
}

/// The events of a request for a person, given the conversation with all events so far; `None` if
/// no person can be asked, and then the holder stays.
pub fn ask(conversation: &Conversation, ask: &Ask, context: Context<'_>) -> Option<Vec<Event>> {
    if conversation.open_transfer().is_some() {
        return None;
    }
    let transfer = TransferId::derived(conversation.id, conversation.epoch, context.now);
    let (reason, instead_of) = (ask.reason.clone(), ask.instead_of.clone());
    let wanted = transfer::decide::Ask { transfer, reason, instead_of };
    // No caller sees an error: without an open queue, the holder stays.
    transfer::decide::request_for(conversation, &wanted, ask.queue.as_ref(), context).ok()
}

/// Whether the customer can ask for a person: one of the queues that they may ask is open.
pub fn can_be_asked(context: Context<'_>) -> bool {
    context.facts.customer_queues.iter().any(|queue| {
        let hours = queue.queue_settings().hours;
        queue.kind == Kind::Queue && hours.is_none_or(|hours| hours.is_open(context.now))
    })
}
