//! The progress that an owner reports, and how it is shown.

use axum::extract::State;
use axum::response::Response;
use protocol::handoff::progress::{ProgressReport, ProgressStep};
use protocol::handoff::{Command, Handoff};
use protocol::hidden;
use protocol::ids::HandoffId;
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::handoffs::action::{Target, act};
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Named, Write};
use crate::http::shared::problem::Problem;

/// The newest report of the owner about its work.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProgressView {
    /// The part of the work that is done, from 0 to 100.
    pub percent: Option<u8>,
    pub note: Option<String>,
    /// The plan of the work, in its order.
    pub steps: Vec<StepView>,
    /// What the owner waits for before it can go on.
    pub blocked_by: Option<String>,
    pub at: String,
    /// How many reports there were, in all revisions.
    pub reports: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct StepView {
    pub text: String,
    pub done: bool,
}

pub async fn progress(
    State(gateway): State<Gateway>,
    Named(id): Named<HandoffId>,
    write: Write<ProgressReport>,
) -> Result<Response, Problem> {
    let (write, report) = write.split();
    act(&gateway, write, Target::Existing(id), Command::Progress(Box::new(report))).await
}

/// The newest report, if there is one.
pub fn view(handoff: &Handoff) -> Option<ProgressView> {
    let Handoff::Made(made) = handoff else { return None };
    let reported = made.progress.as_deref()?;
    let ProgressReport { percent, note, steps, blocked_by } = &reported.report;
    let step = |step: &ProgressStep| StepView { text: shown(&step.text), done: step.done };
    Some(ProgressView {
        percent: *percent,
        note: note.as_deref().map(shown),
        steps: steps.iter().map(step).collect(),
        blocked_by: blocked_by.as_deref().map(shown),
        at: reported.at.to_string(),
        reports: made.n_reports,
    })
}

/// Other agents read it, so invisible characters are written out.
fn shown(text: &str) -> String {
    hidden::visible(text).into_owned()
}
