//! `delivered` and `not_delivered`: the result of a delivery to the holder's endpoint. Only the
//! server sends them. They are ignored once the conversation has changed hands.

use super::unreached;
use crate::caller::Principal;
use crate::conversation::event::{Delivered, Event, Unreached};
use crate::conversation::state::Conversation;
use crate::conversation::turn_delivery::REACHED_WITHIN;
use crate::facts::Context;
use crate::rejection::Rejection;

/// How much of an error is recorded: enough to find its cause.
const DETAIL_BYTES_MAX: usize = 300;

pub fn delivered(
    state: Option<&Conversation>,
    epoch: u64,
    through: u64,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    let conversation = asked_by_server(state, context)?;
    let Some(_) = conversation.is_telling(epoch, through) else { return Ok(Vec::new()) };
    let holder = conversation.holder.clone();
    Ok(vec![Event::Delivered(Delivered { holder, epoch, through })])
}

pub fn not_delivered(
    state: Option<&Conversation>,
    epoch: u64,
    through: u64,
    detail: &str,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    let conversation = asked_by_server(state, context)?;
    let Some(telling) = conversation.is_telling(epoch, through) else { return Ok(Vec::new()) };
    if context.now < telling.since.plus(REACHED_WITHIN) {
        return Ok(Vec::new());
    }
    let end = detail.floor_char_boundary(DETAIL_BYTES_MAX);
    let recorded = Unreached {
        holder: conversation.holder.clone(),
        epoch,
        through,
        detail: detail[..end].to_owned(),
    };
    let mut events = vec![Event::Unreached(recorded)];
    events.extend(unreached::next_hands(conversation, context));
    Ok(events)
}

fn asked_by_server<'a>(
    state: Option<&'a Conversation>,
    context: Context<'_>,
) -> Result<&'a Conversation, Rejection> {
    match context.caller.principal {
        Principal::System => {}
        Principal::Agent(_) | Principal::Operator(_) | Principal::Customer(_) => {
            let action = "say whether a turn was delivered";
            return Err(Rejection::NotAllowed { action, who: "the server" });
        }
    }
    state.ok_or(Rejection::NotFound { what: "conversation" })
}
