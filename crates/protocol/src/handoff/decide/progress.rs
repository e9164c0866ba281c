//! `progress`: the owner reports how far the work is. Nothing else changes: no deadline moves, and
//! a warning or an escalation comes when it would have come.

use super::shared::{Decision, as_target, parties};
use crate::facts::Context;
use crate::handoff::event::{Event, Progressed};
use crate::handoff::progress::{PROGRESS_REPORTS_MAX, ProgressReport};
use crate::handoff::state::{Handoff, Stage};
use crate::rejection::Rejection;

pub fn decide(
    state: Option<&Handoff>,
    report: &ProgressReport,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    let made = as_target(state, context, "progress")?;
    let wrong_state = |needed| {
        let state = made.stage.status();
        Err(Rejection::WrongState { action: "progress", state, needed })
    };
    match made.stage {
        Stage::Activated(_) | Stage::Completing(_) => {}
        Stage::Proposed(_)
        | Stage::Validating(_)
        | Stage::Accepted(_)
        | Stage::Rejected { .. }
        | Stage::Completed { .. }
        | Stage::Closed { .. } => return wrong_state("an activated one"),
    }
    if made.n_reports >= PROGRESS_REPORTS_MAX {
        return wrong_state(FEWER_REPORTS);
    }
    report.check()?;
    Ok(Decision::event(Event::Progressed(Box::new(Progressed {
        parties: parties(made),
        report: report.clone(),
    }))))
}

const FEWER_REPORTS: &str = "fewer than 1000 reports of its progress";

const _: () = assert!(PROGRESS_REPORTS_MAX == 1_000, "the refusal has the number");
