//! What a sender proposes, at first and in a counter-offer.

use serde::{Deserialize, Serialize};

use super::Parties;
use crate::handoff::edit::Difference;
use crate::handoff::package::{Policy, TaskKind};
use crate::handoff::readers::Readers;
use crate::handoff::sla::Slas;
use crate::ids::{AgentId, FileId, HandoffId, TaskId, ThreadId};
use crate::time::Time;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proposed {
    pub parties: Parties,
    pub task_id: TaskId,
    pub thread_id: ThreadId,
    pub title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(default, rename = "return", skip_serializing_if = "std::ops::Not::not")]
    pub is_return: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_human: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub target_is_human: bool,
    /// There are artifacts to verify before it can be accepted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_artifacts: bool,
    /// One or more of them are not on this machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_remote_artifacts: bool,
    /// The package names items of a work queue, which should follow the task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_workq_items: bool,
    /// Restricted, or of high sensitivity: reviewers may decide too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_guarded: bool,
    #[serde(default, skip_serializing_if = "TaskKind::is_execution")]
    pub task_kind: TaskKind,
    /// Each success criterion needs evidence before it can be completed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requires_evidence: bool,
    /// A verifier, who is not the owner, must confirm its completion.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requires_verifier: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Time>,
    #[serde(default, skip_serializing_if = "Slas::is_default")]
    pub slas: Slas,
    pub chain: Vec<AgentId>,
    /// How many parts of the task were delegated before.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub parts: u32,
    pub origin_session: String,
    pub package_hash: String,
    /// The handoff whose owner delegated this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<HandoffId>,
    /// The handoff that this one replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<HandoffId>,
    /// Who may read it, by its own policy. The first releases did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readers: Option<Readers>,
    /// Its policy, if a human is asked about it: later policies of this task are compared with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gated: Option<Box<Policy>>,
    /// The agreed policy that this one is laxer than. A human must approve that, whatever its own
    /// policy says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loosens: Option<Box<Policy>>,
    /// What a counter-offer changes, or where a policy is laxer than what was agreed on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    /// The stored files that are artifacts of the package, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileId>,
}

/// The sender proposed again after a rejection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Countered {
    /// 2 for the first counter-offer.
    pub revision: u32,
    /// The paths of the parts of the package that changed.
    pub changes: Vec<String>,
    #[serde(flatten)]
    pub proposed: Proposed,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}
