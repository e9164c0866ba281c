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
    Ok(Decision::events(over(made, context.now)))
}

/// The escalation of each limit that is over and not escalated yet: that of the stage, and that of
/// a recall. Limits that run out together are recorded together, so that one message tells of them.
pub(super) fn over(made: &Made, now: Time) -> Vec<Event> {
    let Some((stage, waiting)) = derive::clocked(&made.stage) else { return Vec::new() };
    let due = derive::due(&made.terms, stage, waiting);
    let of_stage = (!waiting.escalated && due <= now).then(|| {
        let (limit, elapsed) = (due.since(waiting.since), now.since(waiting.since));
        Escalated::timeout(parties(made), stage, limit, elapsed, now)
    });
    let recall = made.recall.as_ref().filter(|recall| !recall.escalated && recall.until <= now);
    let of_recall = recall.map(|recall| {
        let (limit, elapsed) = (recall.until.since(recall.since), now.since(recall.since));
        Escalated::recall(parties(made), stage, limit, elapsed, now)
    });
    of_stage.into_iter().chain(of_recall).map(Event::Escalated).collect()
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
