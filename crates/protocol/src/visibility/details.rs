//! What a caller may see of things beyond reading or not: who waits in a queue, a transfer that is
//! offered, the URLs of an agent, who has read a message, and what a list contains.

use crate::agent::{Agent, Kind};
use crate::caller::{Caller, Principal};
use crate::conversation::Conversation;
use crate::ids::AgentId;
use crate::message::Message;
use crate::message::state::mailboxes;
use crate::transfer::decide::is_in_queue;

/// Whether a person takes customers from a queue.
pub fn serves(person: &Agent, queue: &Agent) -> bool {
    person.kind == Kind::Human && queue.kind == Kind::Queue && is_in_queue(person, queue)
}

/// Whether a caller sees who waits in a queue: people who may pick them up, and coordinators.
/// `own` is the caller in the directory.
pub fn sees_who_waits(caller: &Caller, own: Option<&Agent>, queue: &Agent) -> bool {
    caller.is_coordinator() || own.is_some_and(|own| serves(own, queue))
}

/// Whether a caller sees the figures of all queues.
pub fn sees_reports(caller: &Caller) -> bool {
    caller.is_coordinator()
}

/// Whether a caller sees what its whole teamspace uses, and each principal in it.
pub fn sees_usage_of_all(caller: &Caller) -> bool {
    caller.is_operator()
}

/// Whether a caller sees a transfer and its bundle: the participants of the conversation, and while
/// it waits, the people of its queue. `queue` is where it waits.
pub fn sees_transfer(
    caller: &Caller,
    conversation: &Conversation,
    own: Option<&Agent>,
    queue: Option<&Agent>,
) -> bool {
    let may_pick_up = || own.zip(queue).is_some_and(|(own, queue)| serves(own, queue));
    conversation.side(caller).is_some() || may_pick_up()
}

/// Whether a caller sees what is inside a conversation: reasons, contexts, signals, routes and
/// summaries. A customer gets the texts that are meant for them instead.
pub fn sees_inside(caller: &Caller) -> bool {
    match &caller.principal {
        Principal::Customer(_) => false,
        Principal::Agent(_) | Principal::Operator(_) | Principal::System => true,
    }
}

/// A customer may not export; they ask the member that opened the conversation.
pub fn may_export(caller: &Caller, conversation: &Conversation) -> bool {
    is_opened_by(caller, conversation) || caller.is_coordinator()
}

/// Whether a caller may get a new token for the customer.
pub fn may_issue_customer_token(caller: &Caller, conversation: &Conversation) -> bool {
    is_opened_by(caller, conversation) || caller.is_operator()
}

fn is_opened_by(caller: &Caller, conversation: &Conversation) -> bool {
    conversation.setup.opened_by == caller.principal.to_string()
}

/// Which rows a list shows a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listed {
    All,
    /// Those of one agent.
    Of(AgentId),
    Nothing,
}

/// The conversations that a member may list.
pub fn listed_conversations(caller: &Caller) -> Listed {
    match caller.agent() {
        _ if caller.is_coordinator() => Listed::All,
        Some(own) => Listed::Of(own.clone()),
        None => Listed::Nothing,
    }
}

/// The messages that a member may list. A caller without a mailbox has none.
pub fn listed_messages(caller: &Caller) -> Listed {
    match mailboxes(caller).into_iter().next() {
        _ if caller.is_coordinator() => Listed::All,
        Some(own) => Listed::Of(own),
        None => Listed::Nothing,
    }
}

/// Whether a caller sees how far each recipient of a message is.
pub fn sees_recipients(caller: &Caller, message: &Message) -> bool {
    caller.is_coordinator() || mailboxes(caller).contains(&message.sent.from)
}

/// Whether a caller sees the URLs at which agents are called.
pub fn sees_urls(caller: &Caller) -> bool {
    caller.is_operator()
}
