//! `reject`: the target declines, with a reason and a detail. Also from `accepted`, before the work
//! began, and from `activated`, which re-opens the task: the sender is responsible for it again and
//! may hand it to any agent.

use super::delegate::check_no_parts;
use super::shared::{Decision, as_target, parties};
use crate::facts::Context;
use crate::handoff::command::Reject;
use crate::handoff::event::{Event, Rejected};
use crate::handoff::state::{Handoff, Stage};
use crate::hidden::is_blank;
use crate::notes::check_text;
use crate::rejection::Rejection;

pub fn decide(
    state: Option<&Handoff>,
    reject: &Reject,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    let made = as_target(state, context, "reject")?;
    match made.stage {
        Stage::Proposed(_)
        | Stage::Validating(_)
        | Stage::Accepted(_)
        | Stage::Activated(_)
        | Stage::Completing(_) => {}
        Stage::Rejected { .. } | Stage::Completed { .. } | Stage::Closed { .. } => {
            return Err(Rejection::WrongState {
                action: "reject",
                state: made.stage.status(),
                needed: "a proposed, validating, accepted or activated one",
            });
        }
    }
    check_no_parts(made, "reject")?;
    if is_blank(&reject.detail) {
        return Err(Rejection::SchemaInvalid {
            field: "detail".to_owned(),
            expected: "an explanation that the sender can act on".to_owned(),
        });
    }
    Ok(Decision::event(Event::Rejected(Rejected {
        parties: parties(made),
        from_status: made.stage.status(),
        reason: reject.reason,
        detail: check_text("detail", Some(&reject.detail))?.unwrap_or_default(),
        suggested_fix: check_text("suggested_fix", reject.suggested_fix.as_deref())?,
        passed: Vec::new(),
        failed: vec![reject.reason.as_str().to_owned()],
        at: context.now,
    })))
}
