//! What a handoff carries. [`Offer`] is what a sender writes, all of it optional while it is a
//! draft; [`Package`] is the complete, sealed form, with the parts that only the server fills in.
//!
//! Fields are declared in the order of their names, so that a plain writer writes canonical JSON.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::canonical::{self, Hash};
use crate::ids::{AgentId, HandoffId, TaskId, ThreadId};
use crate::rejection::Rejection;
use crate::time::Time;

/// The version of ACP that packages follow.
pub const PACKAGE_VERSION: &str = "1.0.0";

/// A title is one line in a list.
pub const TITLE_BYTES_MAX: usize = 300;

/// What a sender proposes. Every field may be missing in a draft; [`Offer::complete`] says which
/// ones are needed to leave it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<OfferedContext>,
    /// Overrides `task.deadline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<OfferedProvenance>,
    /// Why the task changes hands.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Hands the task back to its previous owner, who is in the chain by definition.
    #[serde(default, rename = "return", skip_serializing_if = "std::ops::Not::not")]
    pub is_return: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<OfferedTask>,
    /// Made by the server when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// The agent that shall own the task. Never a `system` agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_agent: Option<AgentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_state: Option<OfferedWorkState>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfferedTask {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Time>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external_refs: Vec<ExternalRef>,
    /// What shall be true in the end; the title when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    #[serde(default)]
    pub priority: Priority,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub success_criteria: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfferedContext {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known_risks: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_questions: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfferedWorkState {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completed_steps: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
    /// 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent_complete: Option<f64>,
    #[serde(default)]
    pub status: WorkStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_status: Option<TestStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree_path: Option<String>,
}

/// The parts of the provenance a sender may add; the rest is the server's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfferedProvenance {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decision_refs: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related_sessions: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    Low,
    #[default]
    Normal,
    High,
    Critical,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkStatus {
    #[default]
    NotStarted,
    InProgress,
    Blocked,
    Review,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestStatus {
    Passing,
    Failing,
    Untested,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExternalRef {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(rename = "type")]
    pub kind: ExternalRefKind,
    pub value: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExternalRefKind {
    WorkqItem,
    File,
    Branch,
    Pr,
    Url,
    Session,
    Ticket,
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    pub artifact_id: String,
    #[serde(rename = "ref")]
    pub reference: ArtifactRef,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArtifactRef {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// An absolute path, a URL or a durable identifier.
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// 64 lower-case hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    #[serde(rename = "type")]
    pub kind: ArtifactKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactKind {
    File,
    Branch,
    Pr,
    Url,
    Session,
    WorkqItem,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    #[serde(default)]
    pub classification: Classification,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub export_restrictions: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human_gate: Option<HumanGate>,
    #[serde(default)]
    pub requires_human_approval: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<Sensitivity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Classification {
    #[default]
    Internal,
    Restricted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Visibility {
    Private,
    Team,
    HumanAudit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sensitivity {
    Low,
    Moderate,
    High,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HumanGate {
    None,
    Required,
}

/// The complete handoff package, as it is hashed, stored and handed over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Package {
    pub artifacts: Vec<Artifact>,
    pub context: OfferedContext,
    pub handoff_id: HandoffId,
    pub policy: Policy,
    pub protocol: String,
    pub provenance: Provenance,
    pub task: OfferedTask,
    pub thread_id: ThreadId,
    pub verification: Verification,
    pub version: String,
    pub work_state: OfferedWorkState,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decision_refs: Vec<String>,
    /// The owners so far, computed from the ledger.
    pub handoff_chain: Vec<AgentId>,
    pub message_thread_refs: Vec<String>,
    pub origin_session: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related_sessions: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verification {
    /// SHA-256 over the RFC 8785 form of the package without this field.
    pub package_hash: String,
    pub schema_version: String,
}

impl Policy {
    pub fn needs_human(&self) -> bool {
        self.requires_human_approval || self.human_gate == Some(HumanGate::Required)
    }
}

/// The facts of an offer that are known to be there once it may leave `draft`.
#[derive(Debug, Clone)]
pub struct Essentials {
    pub to: AgentId,
    pub task_id: TaskId,
    pub title: String,
    pub deadline: Option<Time>,
}

impl Offer {
    /// What a draft must still satisfy: the values that are there are sound.
    pub fn check(&self) -> Result<(), Rejection> {
        if let Some(title) = self.task.as_ref().and_then(|task| task.title.as_ref()) {
            check_title(title)?;
        }
        if let Some(work_state) = &self.work_state {
            check_work_state("work_state", work_state)?;
        }
        check_artifacts("artifacts", &self.artifacts)
    }

    /// What must be there to leave `draft`, in the order people fill it in.
    pub fn complete(&self, now: Time) -> Result<Essentials, Rejection> {
        self.check()?;
        let to = self.to_agent.clone().ok_or_else(|| missing("to_agent", "an agent id"))?;
        let task = self.task.as_ref().ok_or_else(|| missing("task", "an object"))?;
        let task_id = task.task_id.clone().ok_or_else(|| missing("task.task_id", "a task id"))?;
        let title = task.title.clone().ok_or_else(|| missing("task.title", "a line of text"))?;
        check_title(&title)?;
        if task.success_criteria.is_empty() {
            return Err(missing("task.success_criteria", "at least one criterion"));
        }
        if let Some(blank) = task.success_criteria.iter().position(|text| text.trim().is_empty()) {
            let field = format!("task.success_criteria[{blank}]");
            return Err(invalid(&field, "a criterion that can be checked, not blank text"));
        }
        let summary = self.context.as_ref().and_then(|context| context.summary.as_deref());
        if summary.unwrap_or_default().trim().is_empty() {
            return Err(missing("context.summary", "what the next owner must know"));
        }
        let next_step = self.work_state.as_ref().and_then(|work| work.next_step.as_deref());
        if next_step.unwrap_or_default().trim().is_empty() {
            return Err(missing("work_state.next_step", "what to do first"));
        }
        let deadline = self.deadline.or(task.deadline);
        if deadline.is_some_and(|deadline| deadline <= now) {
            let field = if self.deadline.is_some() { "deadline" } else { "task.deadline" };
            return Err(invalid(field, "a time in the future"));
        }
        Ok(Essentials { to, task_id, title, deadline })
    }
}

/// Checks a state of the work as a sender or an owner gave it.
pub fn check_work_state(field: &str, work_state: &OfferedWorkState) -> Result<(), Rejection> {
    match work_state.percent_complete {
        Some(percent) if !(0.0..=100.0).contains(&percent) => {
            Err(invalid(&format!("{field}.percent_complete"), "a number from 0 to 100"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Checks a list of artifacts as a sender or an owner gave it.
pub fn check_artifacts(field: &str, artifacts: &[Artifact]) -> Result<(), Rejection> {
    for (index, artifact) in artifacts.iter().enumerate() {
        let at = |name: &str| format!("{field}[{index}].{name}");
        if artifact.artifact_id.trim().is_empty() {
            return Err(invalid(&at("artifact_id"), "a name"));
        }
        if artifacts[..index].iter().any(|other| other.artifact_id == artifact.artifact_id) {
            return Err(invalid(&at("artifact_id"), "a name that is not used twice"));
        }
        if artifact.reference.path.trim().is_empty() {
            return Err(invalid(&at("ref.path"), "a path, a URL or an identifier"));
        }
        if let Some(digest) = &artifact.reference.sha256
            && canonical::parse_hex32(digest).is_none()
        {
            return Err(invalid(&at("ref.sha256"), "64 lower-case hexadecimal digits"));
        }
    }
    Ok(())
}

/// The only place where a seal can be: inside a string, quotes would be escaped.
const SEALED: &str = r#""verification":{"package_hash":""#;

/// What is left out when the hash is taken, before the seal and after it.
const SEAL_KEY: &str = r#""package_hash":""#;
const SEAL_END: &str = r#"","#;

impl Package {
    /// The package as canonical text with its hash filled in, and the hash.
    pub fn seal(mut self) -> (String, Hash) {
        self.verification.package_hash.clear();
        let mut text = canonical::of(&self);
        let at = text.find(SEALED).expect("a package has a place for its seal") + SEALED.len();
        let hash = hash_around(&text[..at], &text[at..]).expect("its place is empty");
        text.insert_str(at, &canonical::hex(&hash));
        (text, hash)
    }
}

/// The hash of a stored package, computed from what is there and not from what it says. One whose
/// own seal says otherwise was changed after it was sealed, and has none.
pub fn hash_of_stored(text: &str) -> Option<Hash> {
    let at = text.find(SEALED)? + SEALED.len();
    let (seal, rest) = text[at..].split_at_checked(2 * size_of::<Hash>())?;
    let hash = hash_around(&text[..at], rest)?;
    (seal == canonical::hex(&hash)).then_some(hash)
}

/// The hash of the canonical text without its seal, given what is before and after the seal.
fn hash_around(before: &str, after: &str) -> Option<Hash> {
    let (before, after) = (before.strip_suffix(SEAL_KEY)?, after.strip_prefix(SEAL_END)?);
    Some(canonical::sha256(&[before.as_bytes(), after.as_bytes()]))
}

fn check_title(title: &str) -> Result<(), Rejection> {
    if title.trim().is_empty() || title.len() > TITLE_BYTES_MAX || title.contains('\n') {
        return Err(invalid("task.title", "one line of 1 to 300 bytes"));
    }
    Ok(())
}

fn missing(field: &str, expected: &str) -> Rejection {
    invalid(field, &format!("{expected}, but it is missing"))
}

fn invalid(field: &str, expected: &str) -> Rejection {
    Rejection::SchemaInvalid { field: field.to_owned(), expected: expected.to_owned() }
}
