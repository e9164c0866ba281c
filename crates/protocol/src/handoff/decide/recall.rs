//! `recall`: the sender asks for a task back that was accepted. The handoff stays in its state: its
//! owner answers by rejecting or completing it. After the recall's limit it escalates, as an
//! overdue stage does, and a coordinator decides. Before the acceptance the sender withdraws.

use super::elapse::{check_server, over};
use super::shared::{Decision, existing, parties};
use crate::facts::Context;
use crate::handoff::event::{Event, Recalled};
use crate::handoff::recall::RECALL_LIMIT;
use crate::handoff::state::{Handoff, Made};
use crate::handoff::status::Status;
use crate::handoff::waits;
use crate::hidden::is_blank;
use crate::notes::check_text;
use crate::rejection::Rejection;
use crate::time::Time;

pub fn decide(
    state: Option<&Handoff>,
    reason: &str,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    let handoff = existing(state)?;
    if context.caller.agent() != Some(handoff.from()) {
        return Err(Rejection::NotAllowed { action: "recall", who: "the sender" });
    }
    let made = recallable(handoff)?;
    if is_blank(reason) {
        return Err(Rejection::SchemaInvalid {
            field: "reason".to_owned(),
            expected: "why the owner should give the task back".to_owned(),
        });
    }
    let reason = check_text("reason", Some(reason))?.unwrap_or_default();
    if made.recall.is_some() {
        return Ok(Decision::default());
    }
    let limit = context.now.plus(RECALL_LIMIT);
    let until = match waits::due_at(handoff) {
        Some(due) if context.now < due => limit.min(due),
        // The stage is overdue already, and has no time left to share.
        Some(_) | None => limit,
    };
    Ok(Decision::event(Event::Recalled(Recalled { parties: parties(made), reason, until })))
}

/// The limit of a recall passed. Recorded once, and never moves the handoff.
pub fn elapse(
    state: Option<&Handoff>,
    due: Time,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    check_server(context)?;
    let Some(Handoff::Made(made)) = state else { return Ok(Decision::default()) };
    let Some(recall) = &made.recall else { return Ok(Decision::default()) };
    let is_armed = !recall.escalated && recall.until == due && due <= context.now;
    if !is_armed {
        return Ok(Decision::default());
    }
    Ok(Decision::events(over(made, context.now)))
}

fn recallable(handoff: &Handoff) -> Result<&Made, Rejection> {
    let state = handoff.status();
    match handoff {
        Handoff::Made(made) if made.stage.may_be_recalled() => return Ok(made),
        Handoff::Made(_) | Handoff::Draft(_) | Handoff::Discarded { .. } => {}
    }
    let needed = match state {
        Status::Proposed | Status::Validating => {
            "an accepted or activated one; before that, `withdraw` takes it back"
        }
        Status::Draft => "an accepted or activated one; `discard` ends a draft",
        Status::Accepted
        | Status::Activated
        | Status::Rejected
        | Status::Completed
        | Status::Closed => "an accepted or activated one",
    };
    Err(Rejection::WrongState { action: "recall", state, needed })
}
