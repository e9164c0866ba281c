//! `discard`: the sender ends a draft that it will not propose. A draft that has ended this way, or
//! that a coordinator closed, stays as it is.

use super::shared::{Decision, existing};
use crate::facts::Context;
use crate::handoff::event::{Closed, Event};
use crate::handoff::state::Handoff;
use crate::notes::check_text;
use crate::rejection::Rejection;

pub fn decide(
    state: Option<&Handoff>,
    why: Option<&str>,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    let handoff = existing(state)?;
    if context.caller.agent() != Some(handoff.from()) {
        return Err(Rejection::NotAllowed { action: "discard", who: "the sender" });
    }
    let closure_notes = check_text("why", why);
    match handoff {
        Handoff::Draft(_) => {}
        Handoff::Discarded { .. } => return closure_notes.map(|_| Decision::default()),
        Handoff::Made(_) => {
            return Err(Rejection::WrongState {
                action: "discard",
                state: handoff.status(),
                needed: "a draft",
            });
        }
    }
    Ok(Decision::event(Event::Closed(Closed {
        from: handoff.from().clone(),
        to: handoff.to().cloned(),
        from_status: handoff.status(),
        closure_notes: closure_notes?,
        forced: false,
        withdrawn: false,
        reassigned_to: None,
        at: context.now,
    })))
}
