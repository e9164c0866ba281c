//! The checks of an offer: of a draft that is saved, and of one that is proposed.

use super::needed::{
    CRITERIA, CRITERION_EXPECTED, NEEDED, NEXT_STEP, NEXT_STEP_EXPECTED, SUMMARY, TASK_ID, TITLE,
    TO_AGENT, add_needed,
};
use crate::problem::Problem;
use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use super::edit::PolicyEdit;
use super::package::{
    Artifact, Offer, OfferedTask, OfferedWorkState, PERCENT_MAX, Policy, TITLE_BYTES_MAX,
    title_expected,
};
use super::sla::Slas;
use super::workq;
use crate::canonical;
use crate::hidden::{first_hidden, is_blank};
use crate::ids::{AgentId, TaskId};
use crate::rejection::Rejection;
use crate::time::Time;

/// An [`Offer`] that may leave `draft`: with all that is required.
#[derive(Debug)]
pub enum Proposal {}

/// The [`Offer`] of a part. Its task may be numbered after the whole, and its policy states only
/// the differences from that of the whole.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Delegation(pub Offer<PolicyEdit>);

/// A [`Proposal`], or nothing for the draft as it was saved.
#[derive(Debug)]
pub enum DraftOrProposal {}

impl JsonSchema for Proposal {
    fn schema_name() -> Cow<'static, str> {
        "Proposal".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Offer::<Policy>::json_schema(generator);
        add_needed(&mut schema, |_| true);
        schema
    }
}

impl JsonSchema for Delegation {
    fn schema_name() -> Cow<'static, str> {
        "Delegation".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Offer::<PolicyEdit>::json_schema(generator);
        add_needed(&mut schema, |field| field != TASK_ID);
        schema
    }
}

impl JsonSchema for DraftOrProposal {
    fn schema_name() -> Cow<'static, str> {
        "DraftOrProposal".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let nothing = json_schema!({ "type": "object", "maxProperties": 0 });
        json_schema!({ "anyOf": [nothing, generator.subschema_for::<Proposal>()] })
    }
}

/// The fields of an offer that are known to exist once it may leave `draft`.
#[derive(Debug, Clone)]
pub struct Essentials {
    pub to: AgentId,
    pub task_id: TaskId,
    pub title: String,
    pub deadline: Option<Time>,
}

impl Offer {
    /// Checks a draft: the fields that are set must be valid.
    pub fn check(&self) -> Result<(), Rejection> {
        first(self.unsound())
    }

    /// Checks what a proposal must have, in the order people fill it in.
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
        for (field, expected) in NEEDED {
            let is_of_task = field.starts_with("task.");
            let is_told = |name: &str| problems.iter().any(|known| known.field == name);
            match &self.task {
                None if is_of_task && is_told("task") => {}
                Some(_) | None if is_told(field) => {}
                None if is_of_task => problems.push(missing("task", "an object")),
                Some(_) | None if self.has(field) => {}
                Some(_) | None => problems.push(missing(field, expected)),
            }
        }
        let nothing = OfferedTask::default();
        let task = self.task.as_ref().unwrap_or(&nothing);
        let criteria = &task.success_criteria;
        for (index, _) in criteria.iter().enumerate().filter(|(_, text)| is_blank(text)) {
            let field = format!("task.success_criteria[{index}]");
            problems.push(problem(&field, CRITERION_EXPECTED));
        }
        if self.deadline.or(task.deadline).is_some_and(|deadline| deadline <= now) {
            let field = if self.deadline.is_some() { "deadline" } else { "task.deadline" };
            problems.push(problem(field, "a time in the future"));
        }
        problems
    }

    /// Whether a required field is set.
    fn has(&self, field: &str) -> bool {
        let is_text = |text: Option<&String>| text.is_some_and(|text| !is_blank(text));
        let (task, context) = (self.task.as_ref(), self.context.as_ref());
        match field {
            TO_AGENT => self.to_agent.is_some(),
            TASK_ID => task.is_some_and(|task| task.task_id.is_some()),
            TITLE => task.is_some_and(|task| task.title.is_some()),
            CRITERIA => task.is_some_and(|task| !task.success_criteria.is_empty()),
            SUMMARY => is_text(context.and_then(|context| context.summary.as_ref())),
            NEXT_STEP => is_text(self.work_state.as_ref().and_then(|work| work.next_step.as_ref())),
            other => unreachable!("`{other}` is not among what is needed"),
        }
    }

    fn unsound(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let task_id = self.task.as_ref().and_then(|task| task.task_id.as_ref());
        // Otherwise a task could have a twin that looks the same and has no policy.
        if task_id.is_some_and(|id| first_hidden(id.as_str()).is_some()) {
            problems.push(problem(TASK_ID, "1 to 200 bytes that can be seen"));
        }
        let title = self.task.as_ref().and_then(|task| task.title.as_ref());
        if title.is_some_and(|title| {
            is_blank(title) || title.len() > TITLE_BYTES_MAX || title.contains('\n')
        }) {
            problems.push(problem("task.title", &title_expected()));
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

/// Checks the work state that a sender or an owner gave.
pub fn check_work_state(field: &str, work_state: &OfferedWorkState) -> Result<(), Rejection> {
    first(work_state_problems(field, work_state))
}

fn work_state_problems(field: &str, work_state: &OfferedWorkState) -> Vec<Problem> {
    let mut problems = Vec::new();
    if work_state.next_step.as_ref().is_some_and(|step| is_blank(step)) {
        problems.push(problem(&format!("{field}.next_step"), NEXT_STEP_EXPECTED));
    }
    if work_state.percent_complete.is_some_and(|it| !(0.0..=PERCENT_MAX).contains(&it)) {
        let expected = format!("a number from 0 to {PERCENT_MAX}");
        problems.push(problem(&format!("{field}.percent_complete"), &expected));
    }
    problems
}

/// Checks the artifacts that a sender or an owner gave.
pub fn check_artifacts(field: &str, artifacts: &[Artifact]) -> Result<(), Rejection> {
    first(artifact_problems(field, artifacts))
}

fn artifact_problems(field: &str, artifacts: &[Artifact]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, artifact) in artifacts.iter().enumerate() {
        let mut refuse = |name: &str, expected: &str| {
            problems.push(problem(&format!("{field}[{index}].{name}"), expected));
        };
        if is_blank(&artifact.artifact_id) {
            refuse("artifact_id", "a name");
        }
        if artifacts[..index].iter().any(|other| other.artifact_id == artifact.artifact_id) {
            refuse("artifact_id", "a name that is not used twice");
        }
        if is_blank(&artifact.reference.path) {
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
        !is_blank(value) && value.len() <= workq::ITEM_BYTES_MAX && !value.contains('\n')
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
