//! An owner's report that the work is done: the evidence for each success criterion, and the final
//! artifacts. A criterion without evidence counts as not shown, never as met.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::artifact::Seen;
use super::check::check_artifacts;
use super::package::{Artifact, Package};
use crate::form;
use crate::hidden::is_blank;
use crate::notes::{NOTES_BYTES_MAX, check_text};
use crate::rejection::Rejection;

/// The answer to one success criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// One of `task.success_criteria`, word for word.
    pub criterion: String,
    /// How a reader can see that it is met.
    #[schemars(transform = form::text(NOTES_BYTES_MAX))]
    pub evidence: String,
    /// The final artifacts that show it, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifact_ids: Vec<String>,
}

/// A report that the work is done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    pub notes: Option<String>,
    pub final_artifacts: Vec<Artifact>,
    pub evidence: Vec<Evidence>,
}

/// An accepted report, with the results of its checks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    pub completion: Completion,
    pub seen: Vec<Seen>,
    /// The verifier who confirmed it, if one was required.
    pub confirmed_by: Option<String>,
}

impl Completion {
    /// The checks that need no package. Returns the notes as they are recorded.
    pub fn check(&self) -> Result<Option<String>, Rejection> {
        let notes = check_text("completion_notes", self.notes.as_deref())?;
        check_artifacts("final_artifacts", &self.final_artifacts)?;
        let known = self.final_artifacts.iter().map(|artifact| &*artifact.artifact_id).collect();
        for (index, answer) in self.evidence.iter().enumerate() {
            let field = format!("evidence[{index}].evidence");
            if is_blank(&answer.evidence) {
                invalid(field.clone(), "what shows that the criterion is met")?;
            }
            check_text(&field, Some(&answer.evidence))?;
            Self::check_artifact_ids(&known, index, &answer.artifact_ids)?;
        }
        Ok(notes)
    }

    fn check_artifact_ids(
        known: &HashSet<&str>,
        index: usize,
        ids: &[String],
    ) -> Result<(), Rejection> {
        let mut named = HashSet::new();
        for (place, id) in ids.iter().enumerate() {
            let field = || format!("evidence[{index}].artifact_ids[{place}]");
            if !known.contains(id.as_str()) {
                return invalid(field(), "the id of one of the `final_artifacts`");
            }
            if !named.insert(id) {
                return invalid(field(), "each artifact once");
            }
        }
        Ok(())
    }

    /// Checks that each answer names a criterion of the package, and that no two name the same.
    pub fn check_criteria(&self, package: &Package) -> Result<(), Rejection> {
        let criteria = package.task.success_criteria.iter();
        let criteria: HashSet<&str> = criteria.map(|criterion| criterion.trim()).collect();
        let mut answered = HashSet::new();
        for (index, answer) in self.evidence.iter().enumerate() {
            let field = || format!("evidence[{index}].criterion");
            let criterion = answer.criterion.trim();
            if !criteria.contains(criterion) {
                return invalid(field(), "one of the task's success criteria, word for word");
            }
            if !answered.insert(criterion) {
                return invalid(field(), "each criterion once");
            }
        }
        Ok(())
    }

    /// The criteria without evidence, in the package's words and order.
    pub fn unanswered(&self, package: &Package) -> Vec<String> {
        let answers = self.answers();
        let criteria = package.task.success_criteria.iter();
        criteria.filter(|criterion| !answers.contains_key(criterion.trim())).cloned().collect()
    }

    /// The evidence by criterion. Leading and trailing blanks do not count.
    pub fn answers(&self) -> HashMap<&str, &Evidence> {
        let answers = self.evidence.iter().rev();
        answers.map(|answer| (answer.criterion.trim(), answer)).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.notes.is_none() && self.final_artifacts.is_empty() && self.evidence.is_empty()
    }
}

fn invalid(field: String, expected: &str) -> Result<(), Rejection> {
    Err(Rejection::SchemaInvalid { field, expected: expected.to_owned() })
}
