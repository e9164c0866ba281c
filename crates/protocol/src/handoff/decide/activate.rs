//! `activate`: the target starts the work. From here on it owns the task, and is in the chain.

use super::shared::{Decision, as_target, parties};
use crate::facts::Context;
use crate::handoff::check::check_work_state;
use crate::handoff::derive;
use crate::handoff::event::{Activated, Event};
use crate::handoff::package::OfferedWorkState;
use crate::handoff::state::{Handoff, Stage};
use crate::rejection::Rejection;

pub fn decide(
    state: Option<&Handoff>,
    work_state_update: Option<&OfferedWorkState>,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    let made = as_target(state, context, "activate")?;
    match made.stage {
        Stage::Accepted(_) => {}
        Stage::Proposed(_)
        | Stage::Validating(_)
        | Stage::Rejected { .. }
        | Stage::Activated(_)
        | Stage::Completing(_)
        | Stage::Completed { .. }
        | Stage::Closed { .. } => {
            return Err(Rejection::WrongState {
                action: "activate",
                state: made.stage.status(),
                needed: "an accepted one",
            });
        }
    }
    if let Some(update) = work_state_update {
        check_work_state("work_state_update", update)?;
    }
    Ok(Decision::event(Event::Activated(Activated {
        parties: parties(made),
        chain: derive::extended(&made.terms),
        work_state_update: work_state_update.cloned().map(Box::new),
    })))
}
