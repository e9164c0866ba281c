//! The events of a handoff, in their stored form: a name, a version and a body that every later
//! release can still read. Golden files pin each shape.

mod escalated;
mod proposed;
mod told;

use serde::{Deserialize, Serialize};

use super::artifact::Seen;
use super::completion::Evidence;
use super::package::{Artifact, OfferedWorkState};
use super::progress::ProgressReport;
use super::status::Status;
use super::workq::{Degradation, Workq};
use crate::handoff::reject_reason::RejectReason;
use crate::handoff::sla::SlaStage;
use crate::ids::{AgentId, HandoffId, TaskId, ThreadId};
use crate::time::Time;

pub use escalated::Escalated;
pub use proposed::{Countered, Proposed};
pub use told::{About, Binding, Verdict};

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Drafted(Drafted),
    Proposed(Box<Proposed>),
    ValidationStarted(ValidationStarted),
    VerificationUnavailable(VerificationUnavailable),
    Checked(Checked),
    Approved(Approved),
    Refused(Refused),
    Accepted(Accepted),
    Rejected(Rejected),
    Activated(Activated),
    Progressed(Box<Progressed>),
    Recalled(Recalled),
    CompletionStarted(Box<CompletionStarted>),
    CompletionChecked(CompletionChecked),
    CompletionFailed(CompletionFailed),
    Confirmed(Confirmed),
    Disputed(Disputed),
    Completed(Completed),
    Closed(Closed),
    Escalated(Escalated),
    SlaExtended(SlaExtended),
    SlaWarned(SlaWarned),
    Countered(Box<Countered>),
    Delegated(Delegated),
    DelegationEnded(DelegationEnded),
    DelegationReopened(DelegationReopened),
    DelegationRecalled(DelegationRecalled),
    WorkqSettled(WorkqSettled),
    WorkqDegraded(WorkqDegraded),
}

/// The two agents concerned. Every event has them, so that a follower of the feed can filter for
/// its own handoffs without keeping state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parties {
    pub from: AgentId,
    pub to: AgentId,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Drafted {
    pub from: AgentId,
    pub thread_id: ThreadId,
    pub offer_hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<AgentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValidationStarted {
    pub parties: Parties,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// The artifacts that the target wants, unless it wants all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<String>>,
}

/// The artifacts cannot be verified now. Recorded once for each start of the checks; the server
/// retries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerificationUnavailable {
    pub parties: Parties,
    /// `verification_unavailable`.
    pub failed: Vec<String>,
    pub artifacts: Vec<Seen>,
}

/// Every check passed, and a human must approve before it is accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    pub parties: Parties,
    pub passed: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Seen>,
}

/// A human approved; the actor of the entry says who.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Approved {
    pub parties: Parties,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A human refused. A rejection follows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Refused {
    pub parties: Parties,
    pub why: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Accepted {
    pub parties: Parties,
    pub passed: Vec<String>,
    /// The results of the artifacts, if there were any to verify.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Seen>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rejected {
    pub parties: Parties,
    pub from_status: Status,
    pub reason: RejectReason,
    pub detail: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_fix: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed: Vec<String>,
    pub failed: Vec<String>,
    pub at: Time,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Activated {
    pub parties: Parties,
    /// The owners of the task from now on.
    pub chain: Vec<AgentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_state_update: Option<Box<OfferedWorkState>>,
}

/// The owner reports how far the work is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progressed {
    pub parties: Parties,
    pub report: ProgressReport,
}

/// The sender asks for the task back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recalled {
    pub parties: Parties,
    pub reason: String,
    /// When it escalates, unless the owner has answered.
    pub until: Time,
}

/// The owner reports the work as done, and that is to be verified or confirmed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompletionStarted {
    pub parties: Parties,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_notes: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub final_artifacts: Vec<Artifact>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_verifier: bool,
}

/// The final artifacts match what the owner says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompletionChecked {
    pub parties: Parties,
    pub passed: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Seen>,
    /// A verifier, who is not the owner, must confirm it now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_verifier: bool,
}

/// The final artifacts do not match what the owner says; the work goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompletionFailed {
    pub parties: Parties,
    /// Of the first check that failed.
    pub reason: RejectReason,
    pub detail: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed: Vec<String>,
    pub failed: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Seen>,
}

/// A verifier, who is not the owner, agrees that the work is done; the actor of the entry says who.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Confirmed {
    pub parties: Parties,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A verifier, who is not the owner, disagrees; the work goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Disputed {
    pub parties: Parties,
    pub why: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Completed {
    pub parties: Parties,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_notes: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub final_artifacts: Vec<Artifact>,
    /// The evidence for the criteria; a criterion that is not listed is not shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// The checks of the final artifacts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed: Vec<String>,
    /// The verifier who confirmed it, if one was required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed_by: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Closed {
    pub from: AgentId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<AgentId>,
    pub from_status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closure_notes: Option<String>,
    /// A coordinator closed it before it had ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
    /// Its sender took it back before it was accepted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withdrawn: bool,
    /// The handoff that replaced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reassigned_to: Option<HandoffId>,
    pub at: Time,
}

/// The owner delegated a part of the task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delegated {
    pub parties: Parties,
    pub child: HandoffId,
    pub child_task: TaskId,
    pub child_to: AgentId,
}

/// A delegated part is done, rejected or closed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DelegationEnded {
    pub parties: Parties,
    pub child: HandoffId,
    pub status: Status,
}

/// A part that was rejected is proposed again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DelegationReopened {
    pub parties: Parties,
    pub child: HandoffId,
}

/// The owner asked for a delegated part back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DelegationRecalled {
    pub parties: Parties,
    pub child: HandoffId,
}

/// A coordinator gave a stage, or its recall, more time; it can be overdue again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlaExtended {
    pub parties: Parties,
    pub stage: SlaStage,
    pub due: Time,
    pub why: String,
    /// The stage ends later than that, so only its recall has more time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recall_only: bool,
}

/// A stage will be overdue soon. Recorded once for each time its limit is set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlaWarned {
    pub parties: Parties,
    pub stage: SlaStage,
    pub due: Time,
}

/// The work queue has moved the items to their new owner, or has no such items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkqSettled {
    pub parties: Parties,
    /// The new owner.
    pub to: AgentId,
    pub transferred: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// The work queue did not hand over all of the items. The handoff goes on without it, and an agent
/// or a person claims the orphaned items by hand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkqDegraded {
    pub parties: Parties,
    /// The agent who should have them.
    pub to: AgentId,
    /// Of the first item that was not handed over.
    pub reason: Degradation,
    pub detail: String,
    pub orphaned: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transferred: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

impl WorkqSettled {
    pub fn outcome(&self) -> Workq {
        if self.transferred.is_empty() { Workq::Missing } else { Workq::Transferred }
    }
}

impl Event {
    /// The sender, and the target if it has one.
    pub fn parties(&self) -> (&AgentId, Option<&AgentId>) {
        let parties = match self {
            Event::Drafted(it) => return (&it.from, it.to.as_ref()),
            Event::Closed(it) => return (&it.from, it.to.as_ref()),
            Event::Countered(it) => &it.proposed.parties,
            Event::Proposed(it) => &it.parties,
            Event::ValidationStarted(it) => &it.parties,
            Event::VerificationUnavailable(it) => &it.parties,
            Event::Checked(it) => &it.parties,
            Event::Approved(it) => &it.parties,
            Event::Refused(it) => &it.parties,
            Event::Accepted(it) => &it.parties,
            Event::Rejected(it) => &it.parties,
            Event::Activated(it) => &it.parties,
            Event::Progressed(it) => &it.parties,
            Event::Recalled(it) => &it.parties,
            Event::CompletionStarted(it) => &it.parties,
            Event::CompletionChecked(it) => &it.parties,
            Event::CompletionFailed(it) => &it.parties,
            Event::Confirmed(it) => &it.parties,
            Event::Disputed(it) => &it.parties,
            Event::Completed(it) => &it.parties,
            Event::Escalated(it) => &it.parties,
            Event::SlaExtended(it) => &it.parties,
            Event::SlaWarned(it) => &it.parties,
            Event::Delegated(it) => &it.parties,
            Event::DelegationEnded(it) => &it.parties,
            Event::DelegationReopened(it) => &it.parties,
            Event::DelegationRecalled(it) => &it.parties,
            Event::WorkqSettled(it) => &it.parties,
            Event::WorkqDegraded(it) => &it.parties,
        };
        (&parties.from, Some(&parties.to))
    }

    /// The stored name.
    pub fn name(&self) -> &'static str {
        match self {
            Event::Drafted(_) => "handoff.drafted",
            Event::Proposed(_) => "handoff.proposed",
            Event::ValidationStarted(_) => "handoff.validation_started",
            Event::VerificationUnavailable(_) => "handoff.verification_unavailable",
            Event::Checked(_) => "handoff.checked",
            Event::Approved(_) => "handoff.approved",
            Event::Refused(_) => "handoff.refused",
            Event::Accepted(_) => "handoff.accepted",
            Event::Rejected(_) => "handoff.rejected",
            Event::Activated(_) => "handoff.activated",
            Event::Progressed(_) => "handoff.progressed",
            Event::Recalled(_) => "handoff.recalled",
            Event::CompletionStarted(_) => "handoff.completion_started",
            Event::CompletionChecked(_) => "handoff.completion_checked",
            Event::CompletionFailed(_) => "handoff.completion_failed",
            Event::Confirmed(_) => "handoff.confirmed",
            Event::Disputed(_) => "handoff.disputed",
            Event::Completed(_) => "handoff.completed",
            Event::Closed(_) => "handoff.closed",
            Event::Escalated(_) => "handoff.escalated",
            Event::SlaExtended(_) => "handoff.sla_extended",
            Event::SlaWarned(_) => "handoff.sla_warned",
            Event::Countered(_) => "handoff.countered",
            Event::Delegated(_) => "handoff.delegated",
            Event::DelegationEnded(_) => "handoff.delegation_ended",
            Event::DelegationReopened(_) => "handoff.delegation_reopened",
            Event::DelegationRecalled(_) => "handoff.delegation_recalled",
            Event::WorkqSettled(_) => "handoff.workq_settled",
            Event::WorkqDegraded(_) => "handoff.workq_degraded",
        }
    }
}
