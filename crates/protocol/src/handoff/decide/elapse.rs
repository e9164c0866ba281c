//! `elapse`: a stage took longer than it may. Recorded once per stage, and never moves the handoff:
//! a person or a coordinating agent decides what follows.

use super::{Context, Decision, parties};
use crate::caller::Principal;
use crate::handoff::command::SlaStage;
use crate::handoff::derive;
use crate::handoff::event::{Escalated, Event};
use crate::handoff::state::Handoff;
use crate::rejection::Rejection;
use crate::time::Time;

pub fn decide(
    state: Option<&Handoff>,
    stage: SlaStage,
    due: Time,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    match context.caller.principal {
        Principal::System => {}
        Principal::Agent(_) | Principal::Operator(_) | Principal::Customer(_) => {
            return Err(Rejection::NotAllowed { action: "elapse", who: "the server" });
        }
    }
    // The world may have moved on since the deadline was armed; then there is nothing to say.
    let Some(Handoff::Made(made)) = state else { return Ok(Decision::default()) };
    let Some((current, waiting)) = derive::clocked(&made.stage) else {
        return Ok(Decision::default());
    };
    let is_armed = current == stage
        && !waiting.escalated
        && derive::due(&made.terms, stage, waiting) == due
        && due <= context.now;
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
