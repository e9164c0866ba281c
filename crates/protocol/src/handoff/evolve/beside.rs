//! What is recorded beside the stage of a handoff: the owner's reports, and the sender's recall.

use crate::handoff::event::Event;
use crate::handoff::progress::Reported;
use crate::handoff::recall::Recall;
use crate::handoff::state::{Made, Note, Stage};
use crate::time::Time;

/// Whether an event leaves the stage and its clock as they are.
pub fn is_beside(event: &Event) -> bool {
    match event {
        Event::Progressed(_) | Event::Recalled(_) => true,
        Event::Escalated(escalated) => escalated.is_of_recall(),
        Event::Drafted(_)
        | Event::Proposed(_)
        | Event::ValidationStarted(_)
        | Event::VerificationUnavailable(_)
        | Event::Checked(_)
        | Event::Approved(_)
        | Event::Refused(_)
        | Event::Accepted(_)
        | Event::Rejected(_)
        | Event::Activated(_)
        | Event::CompletionStarted(_)
        | Event::CompletionChecked(_)
        | Event::CompletionFailed(_)
        | Event::Confirmed(_)
        | Event::Disputed(_)
        | Event::Completed(_)
        | Event::Closed(_)
        | Event::SlaExtended(_)
        | Event::SlaWarned(_)
        | Event::Countered(_)
        | Event::Delegated(_)
        | Event::DelegationEnded(_)
        | Event::DelegationReopened(_)
        | Event::WorkqSettled(_)
        | Event::WorkqDegraded(_) => false,
    }
}

/// The handoff after such an event, if the event may follow.
pub fn evolve(mut made: Made, event: &Event, at: Time) -> Option<Made> {
    match (&made.stage, event) {
        (Stage::Activated(_) | Stage::Completing(_), Event::Progressed(progressed)) => {
            made.n_reports += 1;
            made.progress = Some(Box::new(Reported { report: progressed.report.clone(), at }));
        }
        (stage, Event::Recalled(recalled)) if stage.may_be_recalled() && made.recall.is_none() => {
            made.recall = Some(Box::new(Recall {
                reason: recalled.reason.clone(),
                since: at,
                until: recalled.until,
                escalated: false,
            }));
        }
        (_, Event::Escalated(escalated)) => {
            made.recall.as_mut()?.escalated = true;
            made.notes.push(Note::Escalation(escalated.clone()));
        }
        (_, _) => return None,
    }
    Some(made)
}
