//! `complete`: the target reports the work as done. Final artifacts must be verified first, and a
//! required verifier must confirm it. Until then the handoff stays activated, and a new report
//! replaces the old one.

use super::delegate::check_no_parts;
use super::shared::{Decision, as_target, parties};
use crate::facts::Context;
use crate::handoff::completion::Completion;
use crate::handoff::event::{Completed, CompletionStarted, Event};
use crate::handoff::gate;
use crate::handoff::state::{Handoff, Made, Stage};
use crate::rejection::Rejection;

pub fn decide(
    state: Option<&Handoff>,
    completion: &Completion,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    let made = as_target(state, context, "complete")?;
    match made.stage {
        Stage::Activated(_) | Stage::Completing(_) => {}
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
    let notes = completion.check()?;
    check_evidence(made, completion, context)?;
    let needs_verifier = made.terms.requires_verifier || context.facts.settings.verifier_required;
    let Completion { final_artifacts, evidence, .. } = completion.clone();
    if final_artifacts.is_empty() && !needs_verifier {
        return Ok(Decision::event(Event::Completed(Completed {
            parties: parties(made),
            completion_notes: notes,
            final_artifacts,
            evidence,
            passed: Vec::new(),
            confirmed_by: None,
        })));
    }
    Ok(Decision::event(Event::CompletionStarted(Box::new(CompletionStarted {
        parties: parties(made),
        completion_notes: notes,
        final_artifacts,
        evidence,
        needs_verifier,
    }))))
}

/// Evidence must name criteria of the package, and if it is required it must cover all of them.
fn check_evidence(
    made: &Made,
    completion: &Completion,
    context: Context<'_>,
) -> Result<(), Rejection> {
    let is_required = made.terms.requires_evidence || context.facts.settings.evidence_required;
    if completion.evidence.is_empty() && !is_required {
        return Ok(());
    }
    // The package is read in advance only if its own policy requires evidence.
    if completion.evidence.is_empty() && !made.terms.requires_evidence {
        return Err(Rejection::EvidenceMissing { unanswered: Vec::new() });
    }
    let package = gate::sealed_package(&made.terms, context.facts.document.as_deref())
        .ok_or(Rejection::NotFound { what: "package with a true seal" })?;
    completion.check_criteria(&package)?;
    let unanswered = completion.unanswered(&package);
    if is_required && !unanswered.is_empty() {
        return Err(Rejection::EvidenceMissing { unanswered });
    }
    Ok(())
}
