//! The states of a handoff. Each carries exactly the data that exists in it.

use serde::{Deserialize, Serialize};

use super::artifact::Seen;
use super::completion::{Completion, Shown};
use super::edit::Difference;
use super::event::{Closed, Escalated};
use super::package::{OfferedWorkState, Policy, TaskKind};
use super::progress::Reported;
use super::recall::Recall;
use super::sla::Slas;
use super::status::Status;
use super::workq::{Workq, WorkqStatus};
use crate::fixed::Fixed;
use crate::handoff::readers::Readers;
use crate::handoff::reject_reason::RejectReason;
use crate::ids::{AgentId, HandoffId, TaskId, ThreadId};
use crate::time::Time;

/// A negotiation with more rounds needs a person, not another round.
pub const REVISIONS_MAX: u32 = 16;

/// One handoff. Every step writes it as JSON, so fields that are mostly empty are left out when
/// they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Handoff {
    /// Being written. Its sender moves it next, by editing or proposing it.
    Draft(Draft),
    /// Closed before it was ever proposed. It is final.
    Discarded { draft: Draft, closed: Closed },
    /// Proposed, and all later states.
    Made(Made),
}

/// A handoff that only its sender knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    pub id: HandoffId,
    pub from: AgentId,
    pub thread_id: ThreadId,
    pub drafted_at: Time,
    /// SHA-256 of the current offer, in canonical form; the text is a document of the store.
    pub offer_hash: String,
    pub to: Option<AgentId>,
    pub task_id: Option<TaskId>,
    pub title: Option<String>,
}

/// A handoff that was proposed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Made {
    pub terms: Fixed<Terms>,
    pub stage: Stage,
    #[serde(default, skip_serializing_if = "Approval::is_not_needed")]
    pub approval: Approval,
    /// 1 for the package that was proposed first; a counter-offer adds 1.
    pub revision: u32,
    /// How often the owner reported work as done that had to be verified or confirmed first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub completions: u32,
    /// A verifier, who is not the owner, was asked to confirm that the work is done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verifier_asked: bool,
    /// The evidence and results of the completed work, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Box<Shown>>,
    /// The newest report of the owner about its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Box<Reported>>,
    /// How many reports there were, in all revisions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub n_reports: u32,
    /// The sender asks for it back, and the owner has not answered yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recall: Option<Box<Recall>>,
    /// Rejections, escalations and the closure, oldest first. Bounded: each revision adds at
    /// most one of each stage and one of a recall, and there are at most
    /// [`REVISIONS_MAX`].
    pub notes: Vec<Note>,
    #[serde(default, skip_serializing_if = "Delegations::is_none")]
    pub delegations: Delegations,
    #[serde(default, skip_serializing_if = "Workq::is_idle")]
    pub workq: Workq,
    /// The work state that the owner gave since the package was sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_state: Option<Box<OfferedWorkState>>,
    /// What the package changes, for its approvers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
}

/// The parts of the task that its owner delegated.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Delegations {
    /// How many there were in total.
    pub count: u32,
    /// Those that are not done, rejected or closed; at most
    /// [`super::derive::OPEN_DELEGATIONS_MAX`].
    pub open: Vec<HandoffId>,
    /// Those of them that the owner has asked back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recalled: Vec<HandoffId>,
}

/// What was agreed on when the handoff was proposed. Never changes afterwards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    pub id: HandoffId,
    pub thread_id: ThreadId,
    pub task_id: TaskId,
    pub from: AgentId,
    pub to: AgentId,
    pub title: String,
    pub reason: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_return: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_human: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_artifacts: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_remote_artifacts: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_workq_items: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_guarded: bool,
    #[serde(default, skip_serializing_if = "TaskKind::is_execution")]
    pub task_kind: TaskKind,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requires_evidence: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requires_verifier: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Time>,
    #[serde(default, skip_serializing_if = "Slas::is_default")]
    pub slas: Slas,
    /// The owners of the task when this handoff was proposed; the last one is responsible.
    pub chain: Vec<AgentId>,
    /// How many parts of the task were delegated before.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub parts: u32,
    pub origin_session: String,
    pub package_hash: String,
    pub proposed_at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<HandoffId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<HandoffId>,
    /// Who may read it by its own policy; see [`super::derive::readers`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readers: Option<Readers>,
    /// Its policy, if a human is asked about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gated: Option<Box<Policy>>,
    /// The agreed policy that this one is laxer than.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loosens: Option<Box<Policy>>,
}

/// The stage of a proposed handoff.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Stage {
    /// Waits for the target, who accepts or rejects.
    Proposed(Waiting),
    /// Waits for the checks of the gate, whose result accepts or rejects, and for a human if the
    /// policy requires one.
    Validating(Validating),
    /// Waits for the target to activate, or to reject after all.
    Accepted(Waiting),
    /// The target owns the task and works on it; it completes, or rejects and so re-opens it.
    Activated(Waiting),
    /// Still activated: the owner reports the work as done. Waits for the verification of the final
    /// artifacts, then for the verifier, who confirms it or gives the work back.
    Completing(Box<Completing>),
    /// Refused; the task is free. Sender, target or a coordinator closes it.
    Rejected { reason: RejectReason, at: Time },
    /// The work is done. Sender, target or a coordinator closes it.
    Completed { at: Time },
    /// The end. It is final.
    Closed { at: Time, forced: bool, was_activated: bool },
}

/// A stage with a running clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    pub since: Time,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub escalated: bool,
    /// When it is overdue, if a coordinator set that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Time>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warned: bool,
    /// Since when the next actor is waited for, if that began after the stage did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Time>,
}

/// A handoff that its target accepted, before the checks are done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Validating {
    pub waiting: Waiting,
    pub checks: Checks,
    /// The checks that passed, once all of them have.
    pub passed: Vec<String>,
    /// The artifacts that the target wants; `None` for all.
    pub artifacts: Option<Vec<String>>,
}

/// A report that is not accepted yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Completing {
    /// The clock of the work, which runs until it is completed.
    pub waiting: Waiting,
    pub completion: Completion,
    /// The state of the verification of the final artifacts.
    pub checks: Checks,
    pub passed: Vec<String>,
    pub seen: Vec<Seen>,
    /// A verifier, who is not the owner, must confirm it.
    pub needs_verifier: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Checks {
    /// The artifacts are being verified.
    Running,
    /// They could not be verified so far; the server retries.
    Unavailable,
    Passed,
}

/// Whether a human must approve.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Approval {
    #[default]
    NotNeeded,
    Wanted,
    Given,
}

/// One object of `resolution_notes`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    Rejection(super::event::Rejected),
    Escalation(Escalated),
    Closure(Closed),
}

impl Approval {
    fn is_not_needed(&self) -> bool {
        *self == Approval::NotNeeded
    }
}

impl Delegations {
    /// Whether nothing was ever delegated.
    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Handoff {
    pub fn id(&self) -> HandoffId {
        match self {
            Handoff::Draft(draft) | Handoff::Discarded { draft, .. } => draft.id,
            Handoff::Made(made) => made.terms.id,
        }
    }

    pub fn from(&self) -> &AgentId {
        match self {
            Handoff::Draft(draft) | Handoff::Discarded { draft, .. } => &draft.from,
            Handoff::Made(made) => &made.terms.from,
        }
    }

    pub fn to(&self) -> Option<&AgentId> {
        match self {
            Handoff::Draft(draft) | Handoff::Discarded { draft, .. } => draft.to.as_ref(),
            Handoff::Made(made) => Some(&made.terms.to),
        }
    }

    pub fn thread_id(&self) -> &ThreadId {
        match self {
            Handoff::Draft(draft) | Handoff::Discarded { draft, .. } => &draft.thread_id,
            Handoff::Made(made) => &made.terms.thread_id,
        }
    }

    pub fn task_id(&self) -> Option<&TaskId> {
        match self {
            Handoff::Draft(draft) | Handoff::Discarded { draft, .. } => draft.task_id.as_ref(),
            Handoff::Made(made) => Some(&made.terms.task_id),
        }
    }

    pub fn title(&self) -> Option<&str> {
        match self {
            Handoff::Draft(draft) | Handoff::Discarded { draft, .. } => draft.title.as_deref(),
            Handoff::Made(made) => Some(&made.terms.title),
        }
    }

    /// The hash of the document that belongs to the handoff: its package, or the offer of a draft.
    pub fn document_hash(&self) -> &str {
        match self {
            Handoff::Draft(draft) | Handoff::Discarded { draft, .. } => &draft.offer_hash,
            Handoff::Made(made) => &made.terms.package_hash,
        }
    }

    pub fn initiated_at(&self) -> Time {
        match self {
            Handoff::Draft(draft) | Handoff::Discarded { draft, .. } => draft.drafted_at,
            Handoff::Made(made) => made.terms.proposed_at,
        }
    }

    /// When the handoff was resolved: rejected, completed or closed.
    pub fn resolved_at(&self) -> Option<Time> {
        match self {
            Handoff::Draft(_) => None,
            Handoff::Discarded { closed, .. } => Some(closed.at),
            Handoff::Made(made) => match &made.stage {
                Stage::Rejected { at, .. } | Stage::Completed { at } => Some(*at),
                Stage::Closed { at, .. } => Some(*at),
                Stage::Proposed(_)
                | Stage::Validating(_)
                | Stage::Accepted(_)
                | Stage::Activated(_)
                | Stage::Completing(_) => None,
            },
        }
    }

    /// Whether the package requires evidence.
    pub fn requires_evidence(&self) -> bool {
        match self {
            Handoff::Made(made) => made.terms.requires_evidence,
            Handoff::Draft(_) | Handoff::Discarded { .. } => false,
        }
    }

    pub fn status(&self) -> Status {
        match self {
            Handoff::Draft(_) => Status::Draft,
            Handoff::Discarded { .. } => Status::Closed,
            Handoff::Made(made) => made.stage.status(),
        }
    }

    pub fn workq_status(&self) -> WorkqStatus {
        match self {
            Handoff::Made(made) => made.workq_status(),
            Handoff::Draft(_) | Handoff::Discarded { .. } => WorkqStatus::NotApplicable,
        }
    }

    pub fn notes(&self) -> Vec<Note> {
        match self {
            Handoff::Draft(_) => Vec::new(),
            Handoff::Discarded { closed, .. } => vec![Note::Closure(closed.clone())],
            Handoff::Made(made) => made.notes.clone(),
        }
    }

    /// Whether any stage was overdue, or a recall.
    pub fn has_escalated(&self) -> bool {
        match self {
            Handoff::Draft(_) | Handoff::Discarded { .. } => false,
            Handoff::Made(made) => {
                made.notes.iter().any(|note| matches!(note, Note::Escalation(_)))
            }
        }
    }
}

impl Made {
    pub fn workq_status(&self) -> WorkqStatus {
        match self.workq {
            Workq::Idle | Workq::Missing => WorkqStatus::NotApplicable,
            Workq::Transferred => WorkqStatus::Transferred,
            Workq::Degraded => WorkqStatus::Degraded,
            Workq::Asked(_) => match self.stage {
                // Nothing is recorded after the end, so the result stays unknown.
                Stage::Closed { .. } => WorkqStatus::Degraded,
                Stage::Proposed(_)
                | Stage::Validating(_)
                | Stage::Accepted(_)
                | Stage::Rejected { .. }
                | Stage::Activated(_)
                | Stage::Completing(_)
                | Stage::Completed { .. } => WorkqStatus::Pending,
            },
        }
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Checks {
    /// Whether the verification is still open.
    pub fn is_open(self) -> bool {
        match self {
            Checks::Running | Checks::Unavailable => true,
            Checks::Passed => false,
        }
    }
}

impl Stage {
    pub fn status(&self) -> Status {
        match self {
            Stage::Proposed(_) => Status::Proposed,
            Stage::Validating(_) => Status::Validating,
            Stage::Accepted(_) => Status::Accepted,
            Stage::Rejected { .. } => Status::Rejected,
            Stage::Activated(_) | Stage::Completing(_) => Status::Activated,
            Stage::Completed { .. } => Status::Completed,
            Stage::Closed { .. } => Status::Closed,
        }
    }

    /// Whether a handoff in this stage can be recalled. A recall ends with these stages.
    pub fn may_be_recalled(&self) -> bool {
        match self {
            Stage::Accepted(_) | Stage::Activated(_) | Stage::Completing(_) => true,
            Stage::Proposed(_)
            | Stage::Validating(_)
            | Stage::Rejected { .. }
            | Stage::Completed { .. }
            | Stage::Closed { .. } => false,
        }
    }
}

impl Waiting {
    pub fn from(since: Time) -> Self {
        Self { since, escalated: false, due: None, warned: false, asked: None }
    }

    /// The same clock, while another step of the stage is waited for since this time.
    pub fn asking(self, since: Time) -> Self {
        Self { asked: Some(since), ..self }
    }

    /// Since when the next actor is waited for.
    pub fn asked_since(self) -> Time {
        self.asked.unwrap_or(self.since)
    }
}
