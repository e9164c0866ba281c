//! `close`: the record is final. The sender, the target and coordinators close a finished handoff;
//! a coordinator may also force it from any other state, which frees the task.

use super::shared::{Decision, existing};
use crate::facts::Context;
use crate::handoff::event::{Closed, Event};
use crate::handoff::state::Handoff;
use crate::handoff::status::Status;
use crate::notes::check_text;
use crate::rejection::Rejection;
use crate::roles::{self, RoleAction};

pub fn decide(
    state: Option<&Handoff>,
    closure_notes: Option<&str>,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    let handoff = existing(state)?;
    let agent = context.caller.agent();
    let is_party = agent.is_some() && (agent == Some(handoff.from()) || agent == handoff.to());
    let is_coordinator = context.caller.is_coordinator();
    if !is_party && !is_coordinator {
        let who = "the sender, the target or a coordinator";
        return Err(Rejection::NotAllowed { action: "close", who });
    }
    if let Handoff::Made(made) = handoff
        && made.terms.is_guarded
    {
        roles::check(context.caller, RoleAction::CloseGuarded, "close")?;
    }
    let wrong_state =
        |needed| Err(Rejection::WrongState { action: "close", state: handoff.status(), needed });
    let forced = match handoff.status() {
        Status::Rejected | Status::Completed => false,
        Status::Closed => return wrong_state("one that is not closed yet"),
        Status::Draft
        | Status::Proposed
        | Status::Validating
        | Status::Accepted
        | Status::Activated => {
            if !is_coordinator {
                return wrong_state("a rejected or completed one, or a coordinator");
            }
            true
        }
    };
    Ok(Decision::event(Event::Closed(Closed {
        from: handoff.from().clone(),
        to: handoff.to().cloned(),
        from_status: handoff.status(),
        closure_notes: check_text("closure_notes", closure_notes)?,
        forced,
        withdrawn: false,
        reassigned_to: None,
        at: context.now,
    })))
}
