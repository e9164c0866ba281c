//! `verified`, of a completion: the result of verifying the final artifacts. An artifact that is
//! missing or has other bytes than the owner says fails the completion, and the work goes on. One
//! that cannot be verified now leaves it under way.

use super::confirm::completed;
use super::shared::{Decision, parties};
use super::verified::{self, Assessed, UNAVAILABLE};
use crate::handoff::artifact::Seen;
use crate::handoff::event::{CompletionChecked, CompletionFailed, Event, VerificationUnavailable};
use crate::handoff::gate::Failure;
use crate::handoff::state::{Checks, Completing, Handoff, Made, Stage};

pub fn decide(state: Option<&Handoff>, attempt: u32, seen: &[Seen]) -> Decision {
    let Some((made, completing)) = awaiting(state, attempt) else { return Decision::default() };
    let (mut passed, mut failed) = (Vec::new(), Vec::new());
    let artifacts = &completing.completion.final_artifacts;
    let assessed = verified::assess(artifacts, seen, &mut passed, &mut failed);
    let (parties, artifacts) = (parties(made), verified::located(artifacts, seen));
    if let Some(first) = failed.first() {
        let reason = first.reason;
        let details = failed.iter().map(Failure::sentence).collect::<Vec<_>>().join("; ");
        return Decision::event(Event::CompletionFailed(CompletionFailed {
            parties,
            reason,
            detail: details,
            passed,
            failed: failed.iter().map(|failure| failure.check.to_string()).collect(),
            artifacts,
        }));
    }
    match (assessed, completing.checks) {
        (Assessed::Unavailable, Checks::Running) => {
            let failed = vec![UNAVAILABLE.to_owned()];
            let unavailable = VerificationUnavailable { parties, failed, artifacts };
            return Decision::event(Event::VerificationUnavailable(unavailable));
        }
        (Assessed::Unavailable, Checks::Unavailable | Checks::Passed) => {
            return Decision::default();
        }
        (Assessed::Known, _) => {}
    }
    let needs_verifier = completing.needs_verifier;
    let checked = Event::CompletionChecked(CompletionChecked {
        parties,
        passed: passed.clone(),
        artifacts,
        needs_verifier,
    });
    if needs_verifier {
        return Decision::event(checked);
    }
    let completing = Completing { passed, ..completing.clone() };
    Decision::events([checked, completed(made, &completing, None)])
}

/// The handoff, if it waits for the verification of these artifacts.
fn awaiting(state: Option<&Handoff>, attempt: u32) -> Option<(&Made, &Completing)> {
    let Some(Handoff::Made(made)) = state else { return None };
    let Stage::Completing(completing) = &made.stage else { return None };
    let is_open = match completing.checks {
        Checks::Running | Checks::Unavailable => true,
        Checks::Passed => false,
    };
    (is_open && made.completions == attempt).then_some((made, completing))
}
