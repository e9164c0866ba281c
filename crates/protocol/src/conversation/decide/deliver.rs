//! `delivered` and `not_delivered`: the result of a delivery to the holder's endpoint. Only the
//! server sends them. They are ignored once the conversation has changed hands. After a failed
//! delivery the next fallback has the conversation. Without one, the next message of the customer
//! is delivered together with the undelivered ones.

use super::fallback::{Failure, next_hands};
use super::human::AskedBy;
use crate::caller::Principal;
use crate::conversation::event::{Delivered, Event, Unreached};
use crate::conversation::state::Conversation;
use crate::conversation::turn_delivery::REACHED_WITHIN;
use crate::facts::Context;
use crate::rejection::Rejection;
use crate::transfer::state::{Outcome, Stage};

/// How much of an error is recorded: enough to find its cause.
const DETAIL_BYTES_MAX: usize = 300;

const REASON: &str = "the agent could not be reached";

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
    let failure = Failure {
        by: AskedBy::Unreached,
        reason: REASON.to_owned(),
        may_call_people: waits_for_an_answer(conversation),
        passed_over: &[],
        entry: |next| {
            Event::Unreached(Unreached {
                holder: conversation.holder.clone(),
                epoch,
                through,
                detail: detail[..end].to_owned(),
                next,
            })
        },
    };
    Ok(next_hands(conversation, &failure, context))
}

/// Whether the customer has an unanswered message since people last had the conversation, or were
/// not wanted any more.
fn waits_for_an_answer(conversation: &Conversation) -> bool {
    let last_over = match conversation.transfer.as_deref().map(|transfer| &transfer.stage) {
        // No person came, and another queue may be asked.
        Some(Stage::Over { outcome: Outcome::Failed, .. }) => 0,
        Some(Stage::Over { number, .. }) => *number,
        Some(
            Stage::Requested
            | Stage::Queued
            | Stage::Ringing { .. }
            | Stage::Connected { .. }
            | Stage::OnHold { .. },
        )
        | None => 0,
    };
    conversation.turn.open().is_some_and(|number| number > last_over)
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
