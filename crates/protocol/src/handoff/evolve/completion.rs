//! The state after work was reported as done.

use crate::handoff::completion::{Completion, Shown};
use crate::handoff::event::{Completed, CompletionStarted, Event};
use crate::handoff::state::{Checks, Completing, Stage, Waiting};
use crate::time::Time;

/// The data of completions that is kept outside the stage.
pub struct Remembered<'a> {
    pub completions: &'a mut u32,
    pub shown: &'a mut Option<Box<Shown>>,
}

/// The stage after the event, if the event may follow.
pub fn evolve(stage: Stage, event: &Event, remembered: Remembered<'_>, at: Time) -> Option<Stage> {
    match (stage, event) {
        (stage @ (Stage::Activated(_) | Stage::Completing(_)), Event::Completed(completed)) => {
            *remembered.shown = shown(stage, completed);
            Some(Stage::Completed { at })
        }
        (Stage::Activated(waiting), Event::CompletionStarted(started)) => {
            *remembered.completions += 1;
            Some(Stage::Completing(Box::new(completing(waiting.asking(at), started))))
        }
        (Stage::Completing(before), Event::CompletionStarted(started)) => {
            *remembered.completions += 1;
            let waiting = before.waiting.asking(at);
            Some(Stage::Completing(Box::new(completing(waiting, started))))
        }
        (Stage::Completing(mut completing), Event::VerificationUnavailable(_)) => {
            completing.checks = Checks::Unavailable;
            Some(Stage::Completing(completing))
        }
        (Stage::Completing(mut completing), Event::CompletionChecked(checked)) => {
            completing.checks = Checks::Passed;
            completing.waiting = completing.waiting.asking(at);
            completing.passed.clone_from(&checked.passed);
            completing.seen.clone_from(&checked.artifacts);
            Some(Stage::Completing(completing))
        }
        (stage @ Stage::Completing(_), Event::Confirmed(_)) => Some(stage),
        (Stage::Completing(before), Event::CompletionFailed(_) | Event::Disputed(_)) => {
            Some(Stage::Activated(before.waiting.asking(at)))
        }
        (_, _) => None,
    }
}

fn completing(waiting: Waiting, started: &CompletionStarted) -> Completing {
    let has_artifacts = !started.final_artifacts.is_empty();
    Completing {
        waiting,
        completion: Completion {
            notes: started.completion_notes.clone(),
            final_artifacts: started.final_artifacts.clone(),
            evidence: started.evidence.clone(),
        },
        checks: if has_artifacts { Checks::Running } else { Checks::Passed },
        passed: Vec::new(),
        seen: Vec::new(),
        needs_verifier: started.needs_verifier,
    }
}

/// The evidence and results of a completed handoff, if there are any.
fn shown(before: Stage, completed: &Completed) -> Option<Box<Shown>> {
    let completion = Completion {
        notes: completed.completion_notes.clone(),
        final_artifacts: completed.final_artifacts.clone(),
        evidence: completed.evidence.clone(),
    };
    if completion.is_empty() && completed.confirmed_by.is_none() {
        return None;
    }
    // The results belong to the artifacts of the completion under way, and to no other.
    let seen = match before {
        Stage::Completing(before) if before.completion == completion => before.seen,
        Stage::Completing(_)
        | Stage::Proposed(_)
        | Stage::Validating(_)
        | Stage::Accepted(_)
        | Stage::Activated(_)
        | Stage::Rejected { .. }
        | Stage::Completed { .. }
        | Stage::Closed { .. } => Vec::new(),
    };
    let confirmed_by = completed.confirmed_by.clone();
    Some(Box::new(Shown { completion, seen, confirmed_by }))
}
