//! What several decisions share.

use crate::conversation::state::{Conversation, Side};
use crate::facts::Context;
use crate::ids::AgentId;
use crate::rejection::Rejection;

/// The conversation and the caller's side of it, if it is not closed.
pub(super) fn open_to<'a, 'c>(
    state: Option<&'a Conversation>,
    context: Context<'c>,
    action: &'static str,
) -> Result<(&'a Conversation, Side<'c>), Rejection> {
    let no_such = Rejection::NotFound { what: "conversation" };
    let conversation = state.ok_or(no_such.clone())?;
    let side = conversation.side(context.caller).ok_or(no_such)?;
    match conversation.closed {
        Some(_) => Err(Rejection::ConversationClosed { action }),
        None => Ok((conversation, side)),
    }
}

/// A customer names a queue only if the conversation or its graph lets customers do so. Otherwise
/// the answer does not reveal whether there is such a queue.
pub(crate) fn check_queue(
    conversation: &Conversation,
    side: &Side<'_>,
    queue: Option<&AgentId>,
    context: Context<'_>,
) -> Result<(), Rejection> {
    match (side, queue) {
        (Side::Customer, Some(queue)) => {
            let graph = context.facts.graph.as_ref();
            let may_name = conversation.setup.customer_queues.contains(queue)
                || graph.is_some_and(|graph| graph.lets_customers_name(queue));
            let expected = "to be left out, or a queue that the customer may name";
            let refused = || Rejection::SchemaInvalid {
                field: "queue".to_owned(),
                expected: expected.to_owned(),
            };
            may_name.then_some(()).ok_or_else(refused)
        }
        (Side::Customer | Side::Agent(_) | Side::Overseer, _) => Ok(()),
    }
}
