//! A completion as it is shown: each success criterion with its evidence, or without.

use protocol::handoff::Handoff;
use protocol::handoff::artifact::Seen;
use protocol::handoff::completion::Completion;
use protocol::handoff::package::Package;
use protocol::handoff::state::{Checks, Made, Stage};
use protocol::hidden;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// The progress of a completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// The final artifacts are being looked at.
    Verifying,
    /// They cannot be verified at present; the server keeps trying.
    VerificationUnavailable,
    /// A verifier other than the owner must confirm it.
    Unconfirmed,
    Done,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct CompletionView {
    pub progress: Progress,
    pub notes: Option<String>,
    /// Each success criterion of the package, in its order.
    pub criteria: Vec<CriterionView>,
    /// The criteria without evidence.
    pub unanswered: Vec<String>,
    pub final_artifacts: Vec<Value>,
    /// What was found of each final artifact: `result`, and the `sha256` and `size_bytes` of what
    /// was verified.
    pub verified: Vec<Value>,
    /// Who confirmed it, if a verifier had to.
    pub confirmed_by: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct CriterionView {
    pub criterion: String,
    /// `null`: not shown.
    pub evidence: Option<String>,
    pub artifact_ids: Vec<String>,
}

/// The progress of a handoff's completion, if there is one.
pub fn progress(handoff: &Handoff) -> Option<Progress> {
    let Handoff::Made(made) = handoff else { return None };
    match &made.stage {
        Stage::Completing(completing) => Some(match completing.checks {
            Checks::Running => Progress::Verifying,
            Checks::Unavailable => Progress::VerificationUnavailable,
            Checks::Passed => Progress::Unconfirmed,
        }),
        Stage::Completed { .. } | Stage::Closed { was_activated: true, forced: false, .. } => {
            Some(Progress::Done)
        }
        Stage::Proposed(_)
        | Stage::Validating(_)
        | Stage::Accepted(_)
        | Stage::Activated(_)
        | Stage::Rejected { .. }
        | Stage::Closed { .. } => None,
    }
}

/// The completion of a handoff, if there is one. Without the criteria if the package was erased.
pub fn of(handoff: &Handoff, package: Option<&Value>) -> Option<CompletionView> {
    let progress = progress(handoff)?;
    let Handoff::Made(made) = handoff else { return None };
    let nothing = Completion::default();
    let (completion, seen, confirmed_by) = said(made, &nothing);
    let package = package.and_then(|value| serde_json::from_value::<Package>(value.clone()).ok());
    let criteria = package.iter().flat_map(|package| &package.task.success_criteria);
    let answers = completion.answers();
    let criterion = |criterion: &String| {
        let answer = answers.get(criterion.trim());
        CriterionView {
            criterion: criterion.clone(),
            evidence: answer.map(|answer| shown(&answer.evidence)),
            artifact_ids: answer.map(|answer| answer.artifact_ids.clone()).unwrap_or_default(),
        }
    };
    let json = |value: Result<Value, _>| value.expect("what is found is plain data");
    Some(CompletionView {
        progress,
        notes: completion.notes.as_deref().map(shown),
        criteria: criteria.map(criterion).collect(),
        unanswered: package.as_ref().map(|it| completion.unanswered(it)).unwrap_or_default(),
        final_artifacts: completion
            .final_artifacts
            .iter()
            .map(|artifact| json(serde_json::to_value(artifact)))
            .collect(),
        verified: seen.iter().map(|seen| json(serde_json::to_value(seen))).collect(),
        confirmed_by: confirmed_by.map(str::to_owned),
    })
}

/// Other agents read it, so invisible characters are written out.
fn shown(text: &str) -> String {
    hidden::visible(text).into_owned()
}

fn said<'a>(
    made: &'a Made,
    nothing: &'a Completion,
) -> (&'a Completion, &'a [Seen], Option<&'a str>) {
    match (&made.stage, &made.shown) {
        (Stage::Completing(completing), _) => (&completing.completion, &completing.seen, None),
        (_, Some(shown)) => (&shown.completion, &shown.seen, shown.confirmed_by.as_deref()),
        (_, None) => (nothing, &[], None),
    }
}
