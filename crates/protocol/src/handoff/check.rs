//! What must be true of an offer: of a draft that is saved, and of one that shall be proposed.

use super::package::{Artifact, Offer, OfferedTask, OfferedWorkState, TITLE_BYTES_MAX};
use super::sla::Slas;
use super::workq;
use crate::canonical;
use crate::ids::{AgentId, TaskId};
use crate::rejection::Rejection;
use crate::time::Time;

/// The facts of an offer that are known to be there once it may leave `draft`.
#[derive(Debug, Clone)]
pub struct Essentials {
    pub to: AgentId,
    pub task_id: TaskId,
    pub title: String,
    pub deadline: Option<Time>,
}

/// A field that is not as it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub field: String,
    pub expected: String,
}

impl From<Problem> for Rejection {
    fn from(problem: Problem) -> Self {
        Rejection::SchemaInvalid { field: problem.field, expected: problem.expected }
    }
}

impl Offer {
    /// What a draft must still satisfy: the values that are there are sound.
    pub fn check(&self) -> Result<(), Rejection> {
        first(self.unsound())
    }

    /// What must be there to leave `draft`, in the order people fill it in.
    pub fn complete(&self, now: Time) -> Result<Essentials, Rejection> {
        first(self.problems(now))?;
        let missing = |field: &str| Rejection::from(missing(field, "a value"));
        let task = self.task.as_ref().ok_or_else(|| missing("task"))?;
        Ok(Essentials {
            to: self.to_agent.clone().ok_or_else(|| missing("to_agent"))?,
            task_id: task.task_id.clone().ok_or_else(|| missing("task.task_id"))?,
            title: task.title.clone().ok_or_else(|| missing("task.title"))?,
            deadline: self.deadline.or(task.deadline),
        })
    }

    /// Everything that keeps it from leaving `draft`.
    pub fn problems(&self, now: Time) -> Vec<Problem> {
        let mut problems = self.unsound();
        let mut need = |is_there: bool, field: &str, expected: &str| {
            if !is_there {
                problems.push(missing(field, expected));
            }
        };
        let is_text = |text: Option<&str>| !text.unwrap_or_default().trim().is_empty();
        let nothing = OfferedTask::default();
        let task = self.task.as_ref().unwrap_or(&nothing);
        let context = self.context.as_ref();
        let work = self.work_state.as_ref();
        need(self.to_agent.is_some(), "to_agent", "an agent id");
        let criteria = &task.success_criteria;
        match self.task {
            None => need(false, "task", "an object"),
            Some(_) => {
                need(task.task_id.is_some(), "task.task_id", "a task id");
                need(task.title.is_some(), "task.title", "a line of text");
                need(!criteria.is_empty(), "task.success_criteria", "at least one criterion");
            }
        }
        let summary = context.and_then(|context| context.summary.as_deref());
        need(is_text(summary), "context.summary", "what the next owner must know");
        let next_step = work.and_then(|work| work.next_step.as_deref());
        need(is_text(next_step), "work_state.next_step", "what to do first");
        for (index, _) in criteria.iter().enumerate().filter(|(_, text)| text.trim().is_empty()) {
            let field = format!("task.success_criteria[{index}]");
            problems.push(problem(&field, "a criterion that can be checked, not blank text"));
        }
        if self.deadline.or(task.deadline).is_some_and(|deadline| deadline <= now) {
            let field = if self.deadline.is_some() { "deadline" } else { "task.deadline" };
            problems.push(problem(field, "a time in the future"));
        }
        problems
    }

    fn unsound(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let title = self.task.as_ref().and_then(|task| task.title.as_ref());
        if title.is_some_and(|title| {
            title.trim().is_empty() || title.len() > TITLE_BYTES_MAX || title.contains('\n')
        }) {
            problems.push(problem("task.title", "one line of 1 to 300 bytes"));
        }
        if let Some(work_state) = &self.work_state {
            problems.extend(work_state_problems("work_state", work_state));
        }
        problems.extend(artifact_problems("artifacts", &self.artifacts));
        problems.extend(self.task.iter().flat_map(workq_problems));
        problems.extend(self.sla.iter().flat_map(Slas::problems));
        problems
    }
}

fn first(problems: Vec<Problem>) -> Result<(), Rejection> {
    problems.into_iter().next().map_or(Ok(()), |problem| Err(problem.into()))
}

/// Checks a state of the work as a sender or an owner gave it.
pub fn check_work_state(field: &str, work_state: &OfferedWorkState) -> Result<(), Rejection> {
    first(work_state_problems(field, work_state))
}

fn work_state_problems(field: &str, work_state: &OfferedWorkState) -> Vec<Problem> {
    match work_state.percent_complete {
        Some(percent) if !(0.0..=100.0).contains(&percent) => {
            vec![problem(&format!("{field}.percent_complete"), "a number from 0 to 100")]
        }
        Some(_) | None => Vec::new(),
    }
}

/// Checks a list of artifacts as a sender or an owner gave it.
pub fn check_artifacts(field: &str, artifacts: &[Artifact]) -> Result<(), Rejection> {
    first(artifact_problems(field, artifacts))
}

fn artifact_problems(field: &str, artifacts: &[Artifact]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, artifact) in artifacts.iter().enumerate() {
        let mut refuse = |name: &str, expected: &str| {
            problems.push(problem(&format!("{field}[{index}].{name}"), expected));
        };
        if artifact.artifact_id.trim().is_empty() {
            refuse("artifact_id", "a name");
        }
        if artifacts[..index].iter().any(|other| other.artifact_id == artifact.artifact_id) {
            refuse("artifact_id", "a name that is not used twice");
        }
        if artifact.reference.path.trim().is_empty() {
            refuse("ref.path", "a path, a URL or an identifier");
        }
        let digest = artifact.reference.sha256.as_deref();
        if digest.is_some_and(|digest| canonical::parse_hex32(digest).is_none()) {
            refuse("ref.sha256", "64 lower-case hexadecimal digits");
        }
    }
    problems
}

fn workq_problems(task: &OfferedTask) -> Vec<Problem> {
    let references = task.external_refs.iter().enumerate();
    let items: Vec<_> = references.filter(|(_, reference)| workq::is_item(reference)).collect();
    let is_sound = |value: &str| {
        !value.trim().is_empty() && value.len() <= workq::ITEM_BYTES_MAX && !value.contains('\n')
    };
    let mut problems: Vec<_> = items
        .iter()
        .filter(|(_, reference)| !is_sound(&reference.value))
        .map(|(index, _)| {
            let field = format!("task.external_refs[{index}].value");
            problem(&field, &format!("an item in 1 to {} bytes", workq::ITEM_BYTES_MAX))
        })
        .collect();
    if let Some((index, _)) = items.get(workq::ITEMS_MAX) {
        let field = format!("task.external_refs[{index}]");
        problems.push(problem(&field, &format!("at most {} work queue items", workq::ITEMS_MAX)));
    }
    problems
}

fn missing(field: &str, expected: &str) -> Problem {
    problem(field, &format!("{expected}, but it is missing"))
}

fn problem(field: &str, expected: &str) -> Problem {
    Problem { field: field.to_owned(), expected: expected.to_owned() }
}
