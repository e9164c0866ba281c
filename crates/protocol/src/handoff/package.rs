//! What a handoff carries. [`Offer`] is what a sender writes; all its fields are optional while it
//! is a draft. [`Package`] is the complete, sealed form, with the parts that only the server fills
//! in.
//!
//! Fields are declared in the order of their names, so that plain serialization is canonical JSON.

use super::needed::NEXT_STEP_EXPECTED;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::restrictions;
use super::sla::Slas;
use crate::canonical::{self, Hash};
use crate::form;
use crate::handoff::readers::Readers;
use crate::hidden::is_blank;
use crate::ids::{AgentId, HandoffId, TaskId, ThreadId};
use crate::notes::NOTES_BYTES_MAX;
use crate::time::Time;

/// The version of ACP that packages follow.
pub const PACKAGE_VERSION: &str = "1.0.0";

/// A title is one line in a list.
pub const TITLE_BYTES_MAX: usize = 300;

/// One line that is not blank.
pub(super) const TITLE: &str = concat!(
    r"^[^\x00-\x08\x0A-\x0C\x0E-\x1F\x7F-\x9F]*[^\s\x00-\x1F\x7F-\x9F]",
    r"[^\x00-\x08\x0A-\x0C\x0E-\x1F\x7F-\x9F]*$"
);

pub(super) fn title_expected() -> String {
    format!("one line of 1 to {TITLE_BYTES_MAX} bytes")
}

/// The protocol that packages say they follow.
pub const PROTOCOL: &str = "acp";

/// All of the work is done.
pub const PERCENT_MAX: f64 = 100.0;

/// What a sender proposes. Every field may be missing in a draft. The policy of a part states only
/// its differences.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Offer")]
pub struct Offer<P = Policy> {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<OfferedContext>,
    /// Overrides `task.deadline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<P>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<OfferedProvenance>,
    /// Why the task changes hands.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(transform = form::bytes(NOTES_BYTES_MAX))]
    pub reason: String,
    /// Hands the task back to its previous owner, who is in the chain by definition.
    #[serde(default, rename = "return", skip_serializing_if = "std::ops::Not::not")]
    pub is_return: bool,
    /// How long each stage may take; the limits of the teamspace when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sla: Option<Slas>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<OfferedTask>,
    /// Made by the server when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// The agent that should own the task. Never a `system` agent.
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
    /// Set with the first handoff of a task, and fixed from then on; `execution` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<TaskKind>,
    /// What should be true in the end; the title when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    #[serde(default)]
    pub priority: Priority,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub success_criteria: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::patterned(TITLE, TITLE_BYTES_MAX, title_expected()))]
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
    #[schemars(transform = form::not_blank(NEXT_STEP_EXPECTED))]
    pub next_step: Option<String>,
    /// 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::range(0.0, PERCENT_MAX))]
    pub percent_complete: Option<f64>,
    /// In a package, `not_started` when absent; a later update need not repeat it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<WorkStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_status: Option<TestStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree_path: Option<String>,
}

/// The parts of the provenance that a sender may add; the server adds the rest.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfferedProvenance {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decision_refs: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related_sessions: Vec<String>,
}

/// What kind of work a task is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    #[default]
    Execution,
    /// Bringing finished work together: integrators may assign it.
    Merge,
}

impl TaskKind {
    pub fn is_execution(&self) -> bool {
        *self == TaskKind::Execution
    }
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
    #[schemars(transform = form::not_blank("a name"))]
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
    #[schemars(transform = form::not_blank("a path, a URL or an identifier"))]
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// 64 lower-case hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::sha256)]
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
    #[schemars(transform = form::each(form::not_blank("a rule")))]
    pub export_restrictions: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human_gate: Option<HumanGate>,
    /// The owner who completes the handoff must give evidence for each success criterion.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requires_evidence: bool,
    #[serde(default)]
    pub requires_human_approval: bool,
    /// A verifier, who is not the owner, must confirm that the work is done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requires_verifier: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<Sensitivity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
}

#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
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

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
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
#[schemars(transform = super::needed::sealed_form)]
pub struct Package {
    pub artifacts: Vec<Artifact>,
    pub context: OfferedContext,
    pub handoff_id: HandoffId,
    pub policy: Policy,
    #[schemars(transform = form::exactly(PROTOCOL))]
    pub protocol: String,
    pub provenance: Provenance,
    pub task: OfferedTask,
    pub thread_id: ThreadId,
    pub verification: Verification,
    #[schemars(transform = form::exactly(PACKAGE_VERSION))]
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
    /// The handoff whose owner delegated this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_handoff_id: Option<HandoffId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related_sessions: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verification {
    /// SHA-256 over the RFC 8785 form of the package without this field.
    #[schemars(transform = form::sha256)]
    pub package_hash: String,
    #[schemars(transform = form::exactly(PACKAGE_VERSION))]
    pub schema_version: String,
}

impl Policy {
    pub fn needs_human(&self) -> bool {
        self.requires_human_approval || self.human_gate == Some(HumanGate::Required)
    }

    /// Restricted, or of high sensitivity: reviewers may approve it as well.
    pub fn is_guarded(&self) -> bool {
        self.classification == Classification::Restricted
            || self.sensitivity == Some(Sensitivity::High)
    }

    /// Checks that this policy allows nothing that the other one forbids; otherwise returns the
    /// first field in which it does.
    pub fn check_narrows(&self, whole: &Policy) -> Result<(), &'static str> {
        let is_missing = |restriction: &&String| !self.export_restrictions.contains(restriction);
        let narrows = [
            ("classification", self.classification >= whole.classification),
            ("human_gate", self.needs_human() || !whole.needs_human()),
            ("requires_evidence", self.requires_evidence || !whole.requires_evidence),
            ("requires_verifier", self.requires_verifier || !whole.requires_verifier),
            ("sensitivity", self.sensitivity >= whole.sensitivity),
            ("visibility", Readers::of(self) <= Readers::of(whole)),
            (
                "export_restrictions",
                !whole.export_restrictions.iter().any(|rule| is_missing(&rule)),
            ),
        ];
        match narrows.into_iter().find(|(_, holds)| !holds) {
            None => Ok(()),
            Some((field, _)) => Err(field),
        }
    }

    /// Whether the policy is consistent, and lets the task go to this agent.
    pub fn check(&self, to: &AgentId) -> Result<(), Broken> {
        let broken =
            |field: &str, rule: String| Err(Broken { field: format!("policy.{field}"), rule });
        if self.requires_human_approval && self.human_gate == Some(HumanGate::None) {
            let rule = "`none` contradicts `requires_human_approval`";
            return broken("human_gate", rule.to_owned());
        }
        if self.classification == Classification::Restricted
            && self.visibility == Some(Visibility::Team)
        {
            return broken("visibility", "what is restricted is not for the team".to_owned());
        }
        for (index, restriction) in self.export_restrictions.iter().enumerate() {
            let field = format!("export_restrictions[{index}]");
            if is_blank(restriction) {
                return broken(&field, "expected a rule".to_owned());
            }
            if restrictions::barred_agent(restriction).as_ref() == Some(to) {
                return broken(&field, format!("it may not go to `{to}`"));
            }
        }
        Ok(())
    }
}

/// What a policy forbids, and the field that says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub field: String,
    pub rule: String,
}

/// The only place of a seal: inside a string, the quotes would be escaped.
const SEALED: &str = r#""verification":{"package_hash":""#;

/// The text around the seal that is left out of the hash.
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

/// The hash of a stored package, recomputed from its text. `None` if it differs from the package's
/// own seal: then the package was changed after it was sealed.
pub fn hash_of_stored(text: &str) -> Option<Hash> {
    let at = text.find(SEALED)? + SEALED.len();
    let (seal, rest) = text[at..].split_at_checked(2 * size_of::<Hash>())?;
    let hash = hash_around(&text[..at], rest)?;
    (seal == canonical::hex(&hash)).then_some(hash)
}

/// The hash of the canonical text without its seal, given the text before and after the seal.
fn hash_around(before: &str, after: &str) -> Option<Hash> {
    let (before, after) = (before.strip_suffix(SEAL_KEY)?, after.strip_prefix(SEAL_END)?);
    Some(canonical::sha256(&[before.as_bytes(), after.as_bytes()]))
}

impl Readers {
    pub fn of(policy: &Policy) -> Self {
        match (policy.visibility, policy.classification) {
            (Some(Visibility::Private), _) => Readers::Private,
            (Some(Visibility::HumanAudit), _) => Readers::HumanAudit,
            (Some(Visibility::Team) | None, Classification::Internal) => Readers::Team,
            // A proposal with `team` is refused.
            (Some(Visibility::Team) | None, Classification::Restricted) => Readers::Private,
        }
    }
}
