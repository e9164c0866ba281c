//! `elapse`: the time of a message passed. Recipients who have not read it no longer see it as
//! open.

use crate::caller::Principal;
use crate::facts::Context;
use crate::message::event::{Event, Expired};
use crate::message::state::Message;
use crate::rejection::Rejection;
use crate::time::Time;

pub fn decide(
    state: Option<&Message>,
    due: Time,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    match context.caller.principal {
        Principal::System => {}
        Principal::Agent(_) | Principal::Operator(_) | Principal::Customer(_) => {
            return Err(Rejection::NotAllowed {
                action: "let a message expire",
                who: "the server",
            });
        }
    }
    // The state may have changed since the deadline was armed; then nothing happens.
    let Some(message) = state else { return Ok(Vec::new()) };
    let to = message.waiting();
    let is_armed = message.sent.expires_at == Some(due) && due <= context.now && !to.is_empty();
    if !is_armed {
        return Ok(Vec::new());
    }
    Ok(vec![Event::Expired(Expired { from: message.sent.from.clone(), to })])
}
