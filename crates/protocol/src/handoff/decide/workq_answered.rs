//! `workq_answered`: the answer of the work queue to the request to hand items to the new owner.
//! Recorded, and never moves the handoff: the queue follows the task, not the reverse.

use super::shared::{Decision, parties};
use crate::caller::Principal;
use crate::facts::Context;
use crate::handoff::derive::workq_transfer;
use crate::handoff::event::{Event, WorkqDegraded, WorkqSettled};
use crate::handoff::state::{Handoff, Made, Stage};
use crate::handoff::workq::{Answer, Answered, Way, Workq};
use crate::rejection::Rejection;

pub fn decide(
    state: Option<&Handoff>,
    package_hash: &str,
    way: Way,
    answers: &[Answered],
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    match context.caller.principal {
        Principal::System => {}
        Principal::Agent(_) | Principal::Operator(_) | Principal::Customer(_) => {
            return Err(Rejection::NotAllowed { action: "workq_answered", who: "the server" });
        }
    }
    // The handoff may have changed while the queue was asked; then the answer is ignored.
    let Some(made) = awaiting(state, package_hash, way) else { return Ok(Decision::default()) };
    let (mut transferred, mut missing, mut orphaned) = (Vec::new(), Vec::new(), Vec::new());
    let mut why = None;
    for Answered { item, answer } in answers {
        match answer {
            Answer::Transferred => transferred.push(item.clone()),
            Answer::Missing => missing.push(item.clone()),
            Answer::Degraded { reason, detail } => {
                orphaned.push(item.clone());
                why.get_or_insert((*reason, detail.clone()));
            }
        }
    }
    let to = workq_transfer(made, way, None).to;
    let parties = parties(made);
    Ok(Decision::event(match why {
        Some((reason, detail)) => Event::WorkqDegraded(WorkqDegraded {
            parties,
            to,
            reason,
            detail,
            orphaned,
            transferred,
            missing,
        }),
        None => Event::WorkqSettled(WorkqSettled { parties, to, transferred, missing }),
    }))
}

/// The handoff, if it waits for the answer about these items.
fn awaiting<'a>(state: Option<&'a Handoff>, package_hash: &str, way: Way) -> Option<&'a Made> {
    let Some(Handoff::Made(made)) = state else { return None };
    match made.stage {
        Stage::Activated(_)
        | Stage::Completing(_)
        | Stage::Completed { .. }
        | Stage::Rejected { .. } => {}
        Stage::Proposed(_) | Stage::Validating(_) | Stage::Accepted(_) | Stage::Closed { .. } => {
            return None;
        }
    }
    let is_asked = made.workq == Workq::Asked(way) && made.terms.package_hash == package_hash;
    is_asked.then_some(made)
}
