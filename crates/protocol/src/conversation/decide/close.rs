//! `close`: the conversation is over. Its customer, its holder, coordinators and operators may
//! close it.

use super::shared::open_to;
use crate::conversation::event::{Closed, Event};
use crate::conversation::state::{Conversation, Side};
use crate::facts::Context;
use crate::notes::check_text;
use crate::rejection::Rejection;
use crate::transfer;

pub fn decide(
    state: Option<&Conversation>,
    reason: Option<&str>,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    let (conversation, side) = open_to(state, context, "close")?;
    match side {
        Side::Customer | Side::Overseer => {}
        Side::Agent(agent) if conversation.speaker() == Some(agent) => {}
        Side::Agent(_) if context.caller.is_coordinator() => {}
        Side::Agent(_) => {
            let who = "the customer, the holder or a coordinator";
            return Err(Rejection::NotAllowed { action: "close a conversation", who });
        }
    }
    let reason = check_text("reason", reason)?.unwrap_or_default();
    let over = transfer::decide::on_close(conversation, &reason);
    let closed = Event::Closed(Closed { holder: conversation.holder.clone(), reason });
    Ok(over.into_iter().chain([closed]).collect())
}
