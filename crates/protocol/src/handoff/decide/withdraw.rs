//! `withdraw`: the sender takes back a handoff that is not accepted yet. The task is free again.

use super::shared::{Decision, existing};
use crate::facts::Context;
use crate::handoff::event::{Closed, Event};
use crate::handoff::state::Handoff;
use crate::handoff::status::Status;
use crate::notes::check_text;
use crate::rejection::Rejection;

pub fn decide(
    state: Option<&Handoff>,
    why: Option<&str>,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    let handoff = existing(state)?;
    if context.caller.agent() != Some(handoff.from()) {
        return Err(Rejection::NotAllowed { action: "withdraw", who: "the sender" });
    }
    let from_status = handoff.status();
    match from_status {
        Status::Proposed | Status::Validating => {}
        Status::Draft
        | Status::Accepted
        | Status::Rejected
        | Status::Activated
        | Status::Completed
        | Status::Closed => {
            return Err(Rejection::WrongState {
                action: "withdraw",
                state: from_status,
                needed: "one that is not accepted yet",
            });
        }
    }
    Ok(Decision::event(Event::Closed(Closed {
        from: handoff.from().clone(),
        to: handoff.to().cloned(),
        from_status,
        closure_notes: check_text("why", why)?,
        forced: false,
        withdrawn: true,
        reassigned_to: None,
        at: context.now,
    })))
}
