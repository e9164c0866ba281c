//! `approve` and `refuse`: a human decides on a handoff whose policy requires it. The first
//! decision counts. An agent's token never may, whatever its roles.

use super::shared::{Decision, existing, parties};
use crate::agent::Kind;
use crate::facts::Context;
use crate::handoff::event::{Accepted, Approved, Event, Refused, Rejected};
use crate::handoff::reject_reason::RejectReason;
use crate::handoff::state::{Approval, Checks, Handoff, Made, Stage};
use crate::hidden::is_blank;
use crate::notes::check_text;
use crate::rejection::Rejection;
use crate::roles::{self, RoleAction};

pub fn approve(
    state: Option<&Handoff>,
    revision: Option<u32>,
    why: Option<&str>,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    let made = awaiting(state, context, "approve")?;
    check_revision(made, revision)?;
    let why = check_text("why", why)?;
    let approved = Event::Approved(Approved { parties: parties(made), why });
    match &made.stage {
        Stage::Validating(validating) if validating.checks == Checks::Passed => {
            let passed = validating.passed.clone();
            let accepted = Accepted { parties: parties(made), passed, artifacts: Vec::new() };
            Ok(Decision::events([approved, Event::Accepted(accepted)]))
        }
        Stage::Proposed(_)
        | Stage::Validating(_)
        | Stage::Accepted(_)
        | Stage::Activated(_)
        | Stage::Completing(_)
        | Stage::Rejected { .. }
        | Stage::Completed { .. }
        | Stage::Closed { .. } => Ok(Decision::event(approved)),
    }
}

pub fn refuse(
    state: Option<&Handoff>,
    revision: Option<u32>,
    why: &str,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    let made = awaiting(state, context, "refuse")?;
    check_revision(made, revision)?;
    if is_blank(why) {
        return Err(Rejection::SchemaInvalid {
            field: "why".to_owned(),
            expected: "a reason that the sender can act on".to_owned(),
        });
    }
    let why = check_text("why", Some(why))?.unwrap_or_default();
    let refused = Event::Refused(Refused { parties: parties(made), why: why.clone() });
    let rejected = Event::Rejected(Rejected {
        parties: parties(made),
        from_status: made.stage.status(),
        reason: RejectReason::PolicyViolation,
        detail: why,
        suggested_fix: None,
        passed: Vec::new(),
        failed: vec!["approval".to_owned()],
        at: context.now,
    });
    Ok(Decision::events([refused, rejected]))
}

/// A decision counts only for the revision that the human has read.
fn check_revision(made: &Made, read: Option<u32>) -> Result<(), Rejection> {
    match read {
        Some(read) if read != made.revision => Err(Rejection::RevisionOutdated {
            field: "revision",
            given: u64::from(read),
            current: u64::from(made.revision),
        }),
        Some(_) | None => Ok(()),
    }
}

/// The handoff, if it waits for a human and the caller may decide on it.
fn awaiting<'a>(
    state: Option<&'a Handoff>,
    context: Context<'_>,
    action: &'static str,
) -> Result<&'a Made, Rejection> {
    let handoff = existing(state)?;
    let caller = context.caller.agent();
    let is_human = caller.is_some()
        && context.facts.caller.as_ref().is_some_and(|agent| agent.kind == Kind::Human);
    if !is_human {
        return Err(Rejection::NotAllowed { action, who: "a human" });
    }
    if caller == Some(handoff.from()) {
        return Err(Rejection::NotAllowed { action, who: "a human other than the sender" });
    }
    let wrong_state = Rejection::WrongState {
        action,
        state: handoff.status(),
        needed: "one that waits for an approval",
    };
    let Handoff::Made(made) = handoff else { return Err(wrong_state) };
    roles::check(context.caller, RoleAction::Approve { guarded: made.terms.is_guarded }, action)?;
    match (&made.stage, made.approval) {
        (Stage::Proposed(_) | Stage::Validating(_), Approval::Wanted) => Ok(made),
        (_, _) => Err(wrong_state),
    }
}
