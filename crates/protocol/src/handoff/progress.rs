//! The progress that an owner reports between activating and completing. A report is a notice: it
//! moves no deadline, and no state but the newest report.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::form;
use crate::hidden::is_blank;
use crate::rejection::Rejection;
use crate::time::Time;

/// The sender reads a note between other work; longer text belongs in an artifact.
pub const PROGRESS_NOTE_BYTES_MAX: usize = 2 * 1024;

/// A step is one line in a list, as a title is.
pub const PROGRESS_STEP_BYTES_MAX: usize = 300;

/// Work with more steps is several tasks: its owner delegates parts.
pub const PROGRESS_STEPS_MAX: usize = 32;

/// All of the work is done.
pub const PROGRESS_PERCENT_MAX: u8 = 100;

/// With the usual limit of 24 hours, that is a report every 86 seconds. The ledger keeps each of
/// them, and a person reads far fewer.
pub const PROGRESS_REPORTS_MAX: u32 = 1_000;

/// How far the work is. At least one field is set. A report replaces the one before as a whole:
/// what it leaves out is not shown any more.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgressReport {
    /// The part of the work that is done. It may be less than in the report before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::range(0_u8, PROGRESS_PERCENT_MAX))]
    pub percent: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::text(PROGRESS_NOTE_BYTES_MAX))]
    pub note: Option<String>,
    /// The plan of the work, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = form::items(0, PROGRESS_STEPS_MAX))]
    pub steps: Vec<ProgressStep>,
    /// What the owner waits for before it can go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::text(PROGRESS_NOTE_BYTES_MAX))]
    pub blocked_by: Option<String>,
}

/// One step of the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgressStep {
    #[schemars(transform = form::line(PROGRESS_STEP_BYTES_MAX))]
    pub text: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub done: bool,
}

/// The newest report of a handoff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reported {
    pub report: ProgressReport,
    pub at: Time,
}

impl ProgressReport {
    pub fn check(&self) -> Result<(), Rejection> {
        if *self == Self::default() {
            return invalid("body", "at least one of `percent`, `note`, `steps` and `blocked_by`");
        }
        if self.percent.is_some_and(|percent| percent > PROGRESS_PERCENT_MAX) {
            return invalid("percent", &format!("a number from 0 to {PROGRESS_PERCENT_MAX}"));
        }
        check_paragraph("note", self.note.as_deref())?;
        if self.steps.len() > PROGRESS_STEPS_MAX {
            return invalid("steps", &format!("at most {PROGRESS_STEPS_MAX} steps"));
        }
        for (index, step) in self.steps.iter().enumerate() {
            let is_line = !is_blank(&step.text) && !step.text.chars().any(char::is_control);
            if !is_line || step.text.len() > PROGRESS_STEP_BYTES_MAX {
                let expected = format!("one line of 1 to {PROGRESS_STEP_BYTES_MAX} bytes");
                return invalid(&format!("steps[{index}].text"), &expected);
            }
        }
        check_paragraph("blocked_by", self.blocked_by.as_deref())
    }
}

fn check_paragraph(field: &str, text: Option<&str>) -> Result<(), Rejection> {
    match text {
        Some(text) if is_blank(text) || text.len() > PROGRESS_NOTE_BYTES_MAX => {
            let max = PROGRESS_NOTE_BYTES_MAX;
            invalid(field, &format!("text that is not blank, of at most {max} bytes"))
        }
        Some(_) | None => Ok(()),
    }
}

fn invalid(field: &str, expected: &str) -> Result<(), Rejection> {
    Err(Rejection::SchemaInvalid { field: field.to_owned(), expected: expected.to_owned() })
}
