//! `accept`: the target agrees, and the gate checks that the package is the one that was proposed.
//! A package that fails is rejected at once, with the reason of its first failure. Artifacts are
//! verified outside, and a human may have to approve; until then it is validating.

use super::shared::{Decision, as_target, parties};
use crate::facts::Context;
use crate::handoff::command::Accept;
use crate::handoff::event::{Accepted, Checked, Event, Rejected, ValidationStarted};
use crate::handoff::gate::{self, Failure, Findings};
use crate::handoff::package::Package;
use crate::handoff::state::{Approval, Handoff, Made, Stage};
use crate::handoff::status::Status;
use crate::notes::check_text;
use crate::rejection::Rejection;
use crate::roles::{self, RoleAction};
use crate::time::Time;

pub fn decide(
    state: Option<&Handoff>,
    accept: &Accept,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    let made = as_target(state, context, "accept")?;
    roles::check(context.caller, RoleAction::AcceptWork, "accept")?;
    match made.stage {
        Stage::Proposed(_) => {}
        Stage::Validating(_)
        | Stage::Accepted(_)
        | Stage::Rejected { .. }
        | Stage::Activated(_)
        | Stage::Completing(_)
        | Stage::Completed { .. }
        | Stage::Closed { .. } => {
            return Err(Rejection::WrongState {
                action: "accept",
                state: made.stage.status(),
                needed: "a proposed one",
            });
        }
    }
    let notes = check_text("notes", accept.notes.as_deref())?;
    let Findings { passed, failed, package } =
        gate::inspect(&made.terms, context.facts.document.as_deref());
    if let Some(package) = &package {
        check_choice(package, accept)?;
    }
    let started = Event::ValidationStarted(ValidationStarted {
        parties: parties(made),
        notes,
        artifacts: accept.artifacts.clone(),
    });
    if !failed.is_empty() {
        return Ok(Decision::events([started, rejected(made, passed, &failed, context.now)]));
    }
    // The server verifies only the artifacts that the target wants.
    let wants_some = accept.artifacts.as_ref().is_none_or(|ids| !ids.is_empty());
    if made.terms.has_artifacts && wants_some {
        return Ok(Decision::event(started));
    }
    let parties = parties(made);
    let verdict = match made.approval {
        Approval::Wanted => Event::Checked(Checked { parties, passed, artifacts: Vec::new() }),
        Approval::NotNeeded | Approval::Given => {
            Event::Accepted(Accepted { parties, passed, artifacts: Vec::new() })
        }
    };
    Ok(Decision::events([started, verdict]))
}

/// The rejection that follows from failed checks: the reason of the first, and the detail of each.
pub fn rejected(made: &Made, passed: Vec<String>, failed: &[Failure], at: Time) -> Event {
    let first = failed.first().expect("something failed");
    let details = failed.iter().map(Failure::sentence);
    Event::Rejected(Rejected {
        parties: parties(made),
        from_status: Status::Validating,
        reason: first.reason,
        detail: details.collect::<Vec<_>>().join("; "),
        suggested_fix: None,
        passed,
        failed: failed.iter().map(|failure| failure.check.to_string()).collect(),
        at,
    })
}

/// The chosen artifacts must exist, and must include all required ones.
fn check_choice(package: &Package, accept: &Accept) -> Result<(), Rejection> {
    let Some(chosen) = &accept.artifacts else { return Ok(()) };
    let invalid =
        |field: String, expected: String| Err(Rejection::SchemaInvalid { field, expected });
    let known = &package.artifacts;
    for (index, id) in chosen.iter().enumerate() {
        if !known.iter().any(|artifact| artifact.artifact_id == *id) {
            let field = format!("artifacts[{index}]");
            return invalid(field, "the id of an artifact of the package".to_owned());
        }
        if chosen[..index].contains(id) {
            return invalid(format!("artifacts[{index}]"), "each artifact once".to_owned());
        }
    }
    let left_out = known.iter().find(|artifact| {
        artifact.reference.is_required() && !chosen.contains(&artifact.artifact_id)
    });
    match left_out {
        Some(artifact) => invalid(
            "artifacts".to_owned(),
            format!("`{}` to be among them, which the sender requires", artifact.artifact_id),
        ),
        None => Ok(()),
    }
}
