//! `elapse`: a stage is overdue. Recorded once per stage, and never moves the handoff: a person or
//! a coordinating agent decides what follows. `warn` says so before it happens.

use super::shared::{Decision, parties};
use crate::caller::Principal;
use crate::facts::Context;
use crate::handoff::derive;
use crate::handoff::event::{Escalated, Event, SlaWarned};
use crate::handoff::sla::SlaStage;
use crate::handoff::state::{Handoff, Made, Waiting};
use crate::rejection::Rejection;
use crate::time::Time;

pub fn decide(
    state: Option<&Handoff>,
    stage: SlaStage,
    due: Time,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    check_server(context)?;
    let Some((made, waiting)) = running(state, stage) else { return Ok(Decision::default()) };
    let is_armed =
        !waiting.escalated && derive::due(&made.terms, stage, waiting) == due && due <= context.now;
    if !is_armed {
        return Ok(Decision::default());
    }
    Ok(Decision::event(Event::Escalated(Escalated::timeout(
        parties(made),
        stage,
        due.since(waiting.since),
        context.now.since(waiting.since),
        context.now,
    ))))
}

pub fn warn(
    state: Option<&Handoff>,
    stage: SlaStage,
    at: Time,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    check_server(context)?;
    let Some((made, waiting)) = running(state, stage) else { return Ok(Decision::default()) };
    let due = derive::due(&made.terms, stage, waiting);
    let is_armed = !waiting.escalated
        && derive::warning(&made.terms, waiting, due) == Some(at)
        && at <= context.now;
    if !is_armed {
        return Ok(Decision::default());
    }
    Ok(Decision::event(Event::SlaWarned(SlaWarned { parties: parties(made), stage, due })))
}

pub(super) fn check_server(context: Context<'_>) -> Result<(), Rejection> {
    match context.caller.principal {
        Principal::System => Ok(()),
        Principal::Agent(_) | Principal::Operator(_) | Principal::Customer(_) => {
            Err(Rejection::NotAllowed { action: "elapse", who: "the server" })
        }
    }
}

/// The handoff, if it is in that stage. The state may have changed since the deadline was armed;
/// then nothing happens.
fn running(state: Option<&Handoff>, stage: SlaStage) -> Option<(&Made, Waiting)> {
    let Some(Handoff::Made(made)) = state else { return None };
    let (current, waiting) = derive::clocked(&made.stage)?;
    (current == stage).then_some((made, waiting))
}
