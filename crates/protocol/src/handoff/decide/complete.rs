//! `complete`: the target reports the work as done.

use super::delegate::check_no_parts;
use super::{Context, Decision, as_target, check_text, parties};
use crate::handoff::check::check_artifacts;
use crate::handoff::event::{Completed, Event};
use crate::handoff::package::Artifact;
use crate::handoff::state::{Handoff, Stage};
use crate::rejection::Rejection;

pub fn decide(
    state: Option<&Handoff>,
    completion_notes: Option<&str>,
    final_artifacts: &[Artifact],
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    let made = as_target(state, context, "complete")?;
    match made.stage {
        Stage::Activated(_) => {}
        Stage::Proposed(_)
        | Stage::Validating(_)
        | Stage::Accepted(_)
        | Stage::Rejected { .. }
        | Stage::Completed { .. }
        | Stage::Closed { .. } => {
            return Err(Rejection::WrongState {
                action: "complete",
                state: made.stage.status(),
                needed: "an activated one",
            });
        }
    }
    check_no_parts(made, "complete")?;
    check_artifacts("final_artifacts", final_artifacts)?;
    Ok(Decision::event(Event::Completed(Completed {
        parties: parties(made),
        completion_notes: check_text("completion_notes", completion_notes)?,
        final_artifacts: final_artifacts.to_vec(),
    })))
}
