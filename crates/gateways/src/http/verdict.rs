//! Waiting for the gate. Artifacts are verified in the background. Most of that is fast enough to
//! wait for, so that the answer to an accept or a complete contains the findings.

use engine::submit::Done;
use protocol::codec;
use protocol::handoff::state::{Checks, Stage};
use protocol::handoff::{Event, Handoff, Status};
use protocol::ledger::Stream;
use protocol::step::{self, Refused, State};
use protocol::time::Span;

use super::Gateway;
use super::problem::Problem;

/// Longer than hashing a few megabytes takes, shorter than any client's timeout. A slower request
/// is answered with its current state, and the event stream tells the result.
pub(super) const VERDICT_WAIT_MAX: Span = Span::from_millis(3_000);

/// The pause between two looks; it doubles each time, between these two bounds.
const LOOK_AFTER_MIN: Span = Span::from_millis(2);
const LOOK_AFTER_MAX: Span = Span::from_millis(100);

/// How many of the newest entries are searched for the verdict.
const RECENT_ENTRIES: usize = 8;

/// The outcome with the verdict, if there is one soon.
pub async fn awaited(gateway: &Gateway, stream: &Stream, mut done: Done) -> Result<Done, Problem> {
    wait_while(gateway, stream, is_being_checked).await?;
    // Newest first: the final result, not an intermediate one.
    for kept in gateway.engine.history(stream, u64::MAX, RECENT_ENTRIES).await? {
        let entry = kept.entry;
        if entry.position < done.position {
            break;
        }
        let text = entry.body.text().unwrap_or_default();
        let Ok(step::Event::Handoff(event)) = codec::decode(&entry.name, entry.version, text)
        else {
            continue;
        };
        let (status, passed, failed, refused) = match event {
            Event::Accepted(accepted) => (Status::Accepted, accepted.passed, Vec::new(), None),
            Event::Checked(checked) => (Status::Validating, checked.passed, Vec::new(), None),
            Event::VerificationUnavailable(unavailable) => {
                let status = done.outcome.status.unwrap_or(Status::Validating);
                (status, Vec::new(), unavailable.failed, None)
            }
            Event::Completed(completed) => (Status::Completed, completed.passed, Vec::new(), None),
            Event::CompletionChecked(checked) => {
                (Status::Activated, checked.passed, Vec::new(), None)
            }
            Event::CompletionFailed(failure) => {
                let code = failure.reason.as_str().to_owned();
                let refused = Some(Refused { code, detail: failure.detail });
                (Status::Activated, failure.passed, failure.failed, refused)
            }
            Event::Rejected(rejected) => {
                let code = rejected.reason.as_str().to_owned();
                let refused = Some(Refused { code, detail: rejected.detail });
                (Status::Rejected, rejected.passed, rejected.failed, refused)
            }
            Event::Drafted(_)
            | Event::Proposed(_)
            | Event::ValidationStarted(_)
            | Event::Approved(_)
            | Event::Refused(_)
            | Event::Activated(_)
            | Event::CompletionStarted(_)
            | Event::Confirmed(_)
            | Event::Disputed(_)
            | Event::Closed(_)
            | Event::Escalated(_)
            | Event::SlaExtended(_)
            | Event::SlaWarned(_)
            | Event::Countered(_)
            | Event::Delegated(_)
            | Event::DelegationEnded(_)
            | Event::DelegationReopened(_)
            | Event::WorkqSettled(_)
            | Event::WorkqDegraded(_) => continue,
        };
        done.position = entry.position;
        done.outcome.status = Some(status);
        (done.outcome.passed, done.outcome.failed, done.outcome.refused) =
            (passed, failed, refused);
        break;
    }
    Ok(done)
}

/// Waits while the condition holds for a handoff, up to `VERDICT_WAIT_MAX`.
pub async fn wait_while(
    gateway: &Gateway,
    stream: &Stream,
    is_so: impl Fn(&Handoff) -> bool,
) -> Result<(), Problem> {
    let mut waited = Span::from_millis(0);
    let mut pause = LOOK_AFTER_MIN;
    while waited < VERDICT_WAIT_MAX {
        let state = gateway.engine.current(stream).await?;
        let Some(State::Handoff(handoff)) = state.as_deref() else { break };
        if !is_so(handoff) {
            break;
        }
        gateway.engine.clock().sleep(pause).await;
        waited = Span::from_millis(waited.as_millis() + pause.as_millis());
        pause = Span::from_millis(pause.as_millis() * 2).min(LOOK_AFTER_MAX);
    }
    Ok(())
}

fn is_being_checked(handoff: &Handoff) -> bool {
    let Handoff::Made(made) = handoff else { return false };
    let checks = match &made.stage {
        Stage::Validating(validating) => validating.checks,
        Stage::Completing(completing) => completing.checks,
        Stage::Proposed(_)
        | Stage::Accepted(_)
        | Stage::Activated(_)
        | Stage::Rejected { .. }
        | Stage::Completed { .. }
        | Stage::Closed { .. } => return false,
    };
    match checks {
        Checks::Running => true,
        Checks::Unavailable | Checks::Passed => false,
    }
}
