//! `accept`: the target agrees, and the gate checks that what it agrees to is what was proposed.
//! A package that fails the gate is rejected on the spot, with the reason of its first failure.

use super::{Context, Decision, as_target, check_text, parties};
use crate::handoff::event::{Accepted, Event, Rejected, ValidationStarted};
use crate::handoff::gate;
use crate::handoff::state::{Handoff, Stage, Status};
use crate::rejection::Rejection;

pub fn decide(
    state: Option<&Handoff>,
    notes: Option<&str>,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    let made = as_target(state, context, "accept")?;
    match made.stage {
        Stage::Proposed(_) => {}
        Stage::Validating(_)
        | Stage::Accepted(_)
        | Stage::Rejected { .. }
        | Stage::Activated(_)
        | Stage::Completed { .. }
        | Stage::Closed { .. } => {
            return Err(Rejection::WrongState {
                action: "accept",
                state: made.stage.status(),
                needed: "a proposed one",
            });
        }
    }
    let notes = check_text("notes", notes)?;
    let started = Event::ValidationStarted(ValidationStarted { parties: parties(made), notes });
    let findings = gate::inspect(&made.terms, context.facts.document.as_deref());
    let verdict = match findings.failed.first() {
        None => Event::Accepted(Accepted { parties: parties(made), passed: findings.passed }),
        Some(first) => Event::Rejected(Rejected {
            parties: parties(made),
            from_status: Status::Validating,
            reason: first.reason,
            detail: findings
                .failed
                .iter()
                .map(|failure| format!("{}: {}", failure.check, failure.detail))
                .collect::<Vec<_>>()
                .join("; "),
            suggested_fix: None,
            passed: findings.passed,
            failed: findings.failed.iter().map(|failure| failure.check.to_owned()).collect(),
            at: context.now,
        }),
    };
    Ok(Decision { events: vec![started, verdict], document: None })
}
