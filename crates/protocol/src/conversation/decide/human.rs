//! A person is wanted: by a graph, by how the conversation goes, or because agents went round in a
//! circle. All of them ask here.

use crate::conversation::event::Event;
use crate::conversation::state::Conversation;
use crate::handoff::decide::Context;
use crate::ids::{AgentId, TransferId};
use crate::transfer;

/// Who wants a person, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    pub by: AskedBy,
    pub reason: String,
    /// Whose people; when absent, whoever the teamspace has.
    pub queue: Option<AgentId>,
    /// The agent that should have had it.
    pub instead_of: Option<AgentId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedBy {
    /// A turn ended at `human`.
    Graph,
    /// A rule about how the conversation goes held.
    Signal,
    /// Agents handed it round.
    LoopGuard,
    /// The holder could not be told what was said.
    Unreached,
}

/// What happens when a person is asked for, after all that the conversation has seen; `None` if
/// nobody can be asked, and then the holder stays.
pub fn ask(conversation: &Conversation, ask: &Ask, context: Context<'_>) -> Option<Vec<Event>> {
    if conversation.open_transfer().is_some() {
        return None;
    }
    let transfer = TransferId::derived(conversation.id, conversation.epoch, context.now);
    let (reason, instead_of) = (ask.reason.clone(), ask.instead_of.clone());
    let wanted = transfer::decide::Ask { transfer, reason, instead_of };
    // Nobody called: where there is no queue, or it is closed, the holder goes on.
    transfer::decide::request_for(conversation, &wanted, ask.queue.as_ref(), context).ok()
}
