//! `verified`: the result of verifying the artifacts. A required one that is missing, or any with
//! other bytes than the package says, rejects the handoff. One that cannot be verified now leaves
//! it where it is.

use super::accept::rejected;
use super::shared::{Decision, parties};
use super::verify_completion;
use crate::caller::Principal;
use crate::facts::Context;
use crate::handoff::artifact::{Finding, Seen};
use crate::handoff::command::Looked;
use crate::handoff::event::{Accepted, Checked, Event, VerificationUnavailable};
use crate::handoff::gate::{self, Failure, Findings};
use crate::handoff::package::{Artifact, Package};
use crate::handoff::state::{Approval, Checks, Handoff, Made, Stage, Validating};
use crate::rejection::Rejection;

/// The recorded check while the artifacts cannot be verified.
pub const UNAVAILABLE: &str = "verification_unavailable";

pub fn decide(
    state: Option<&Handoff>,
    looked: &Looked,
    seen: &[Seen],
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    match context.caller.principal {
        Principal::System => {}
        Principal::Agent(_) | Principal::Operator(_) | Principal::Customer(_) => {
            return Err(Rejection::NotAllowed { action: "verify", who: "the server" });
        }
    }
    match looked {
        Looked::Package { hash } => Ok(of_package(state, hash, seen, context)),
        Looked::Completion { attempt } => Ok(verify_completion::decide(state, *attempt, seen)),
    }
}

fn of_package(
    state: Option<&Handoff>,
    package_hash: &str,
    seen: &[Seen],
    context: Context<'_>,
) -> Decision {
    // The handoff may have changed during the verification; then the result is ignored.
    let Some((made, validating)) = awaiting(state, package_hash) else {
        return Decision::default();
    };
    // Verification takes time, and the package must still be the one that was proposed.
    let Findings { mut passed, mut failed, package } =
        gate::inspect(&made.terms, context.facts.document.as_deref());
    let artifacts = package.map(|package| wanted(package, validating)).unwrap_or_default();
    let assessed = assess(&artifacts, seen, &mut passed, &mut failed);
    if !failed.is_empty() {
        return Decision::event(rejected(made, passed, &failed, context.now));
    }
    let (parties, artifacts) = (parties(made), located(&artifacts, seen));
    match (assessed, validating.checks) {
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
    Decision::event(match made.approval {
        Approval::Wanted => Event::Checked(Checked { parties, passed, artifacts }),
        Approval::NotNeeded | Approval::Given => {
            Event::Accepted(Accepted { parties, passed, artifacts })
        }
    })
}

/// The result for each of these artifacts, with its path.
pub fn located(artifacts: &[Artifact], seen: &[Seen]) -> Vec<Seen> {
    let of = |artifact: &Artifact| {
        let finding = finding(artifact, seen)?.clone();
        let path = Some(artifact.reference.path.clone());
        Some(Seen { artifact_id: artifact.artifact_id.clone(), path, finding })
    };
    artifacts.iter().filter_map(of).collect()
}

/// Whether the result is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assessed {
    Known,
    /// A required artifact could not be verified.
    Unavailable,
}

/// Sorts the results of the artifacts into passed and failed.
pub fn assess(
    artifacts: &[Artifact],
    seen: &[Seen],
    passed: &mut Vec<String>,
    failed: &mut Vec<Failure>,
) -> Assessed {
    let mut is_unavailable = false;
    for artifact in artifacts {
        match finding(artifact, seen) {
            Some(Finding::Verified { .. } | Finding::Present) => passed.push(check_of(artifact)),
            Some(finding) => match (finding.reason(), artifact.reference.is_required(), finding) {
                (Some(reason), true, _) | (Some(reason), _, Finding::Mismatch { .. }) => {
                    let detail = finding.detail().unwrap_or_default().to_owned();
                    failed.push(Failure { check: check_of(artifact).into(), reason, detail });
                }
                (None, true, Finding::Unavailable { .. }) => is_unavailable = true,
                (_, _, _) => {}
            },
            None => is_unavailable |= artifact.reference.is_required(),
        }
    }
    if is_unavailable { Assessed::Unavailable } else { Assessed::Known }
}

/// The handoff, if it waits for the verification of these artifacts.
fn awaiting<'a>(
    state: Option<&'a Handoff>,
    package_hash: &str,
) -> Option<(&'a Made, &'a Validating)> {
    let Some(Handoff::Made(made)) = state else { return None };
    let Stage::Validating(validating) = &made.stage else { return None };
    let is_open = match validating.checks {
        Checks::Running | Checks::Unavailable => true,
        Checks::Passed => false,
    };
    (is_open && made.terms.package_hash == package_hash).then_some((made, validating))
}

/// The artifacts to verify: those the target wants.
pub fn wanted(package: Package, validating: &Validating) -> Vec<Artifact> {
    let is_wanted = |artifact: &Artifact| match &validating.artifacts {
        Some(chosen) => chosen.contains(&artifact.artifact_id),
        None => true,
    };
    package.artifacts.into_iter().filter(is_wanted).collect()
}

fn finding<'a>(artifact: &Artifact, seen: &'a [Seen]) -> Option<&'a Finding> {
    seen.iter().find(|one| one.artifact_id == artifact.artifact_id).map(|one| &one.finding)
}

fn check_of(artifact: &Artifact) -> String {
    format!("artifact:{}", artifact.artifact_id)
}
