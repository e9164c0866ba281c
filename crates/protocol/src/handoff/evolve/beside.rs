//! What is recorded beside the stage of a handoff: the owner's reports, and the sender's recall.

use crate::handoff::event::Event;
use crate::handoff::progress::Reported;
use crate::handoff::recall::Recall;
use crate::handoff::state::{Made, Note, Stage};
use crate::time::Time;

/// The handoff after an event that leaves the stage as it is, if the event may follow.
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
