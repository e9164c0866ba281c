//! What an event of a handoff tells those who read it later. A new event has its place in each of
//! these lists, and so in everything that reads them.

use super::{Event, Proposed};
use crate::handoff::reject_reason::RejectReason;
use crate::handoff::status::Status;
use crate::ids::{AgentId, HandoffId};

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About<'e> {
    /// A draft of this sender.
    Draft(&'e AgentId),
    /// A delegated part.
    Part(HandoffId),
    Handoff,
}

/// What an event changes of the policy that binds a task, or asks of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding<'e> {
    /// Terms are proposed: they are read, and a human may be asked about them.
    Proposed,
    /// A human approves the proposed policy; from then on it binds.
    Approved,
    /// A part is given to this agent, and binds as much as the whole does.
    Delegated(&'e AgentId),
    /// The proposed policy is agreed on; it must not be less than what binds.
    Agreed,
    /// It leaves what binds as it is.
    Unchanged,
}

/// What the gate found, at an accept or a complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict<'e> {
    /// `None` if the artifacts could not be verified: the status stays.
    pub status: Option<Status>,
    pub passed: &'e [String],
    pub failed: &'e [String],
    /// The reason of a refusal, and its detail.
    pub refused: Option<(RejectReason, &'e str)>,
}

impl<'e> Verdict<'e> {
    fn passed(status: Status, passed: &'e [String]) -> Self {
        Self { status: Some(status), passed, failed: &[], refused: None }
    }
}

impl Event {
    /// The terms that it proposes, at first or in a counter-offer.
    pub fn proposed(&self) -> Option<&Proposed> {
        match self {
            Event::Proposed(proposed) => Some(proposed),
            Event::Countered(countered) => Some(&countered.proposed),
            Event::Drafted(_)
            | Event::ValidationStarted(_)
            | Event::VerificationUnavailable(_)
            | Event::Checked(_)
            | Event::Approved(_)
            | Event::Refused(_)
            | Event::Accepted(_)
            | Event::Rejected(_)
            | Event::Activated(_)
            | Event::Progressed(_)
            | Event::Recalled(_)
            | Event::CompletionStarted(_)
            | Event::CompletionChecked(_)
            | Event::CompletionFailed(_)
            | Event::Confirmed(_)
            | Event::Disputed(_)
            | Event::Completed(_)
            | Event::Closed(_)
            | Event::Escalated(_)
            | Event::SlaExtended(_)
            | Event::SlaWarned(_)
            | Event::Delegated(_)
            | Event::DelegationEnded(_)
            | Event::DelegationReopened(_)
            | Event::DelegationRecalled(_)
            | Event::WorkqSettled(_)
            | Event::WorkqDegraded(_) => None,
        }
    }

    /// What it means for the policy that binds the task.
    pub fn binding(&self) -> Binding<'_> {
        match self {
            Event::Proposed(_) | Event::Countered(_) => Binding::Proposed,
            Event::Approved(_) => Binding::Approved,
            Event::Delegated(it) => Binding::Delegated(&it.child_to),
            Event::Accepted(_) => Binding::Agreed,
            Event::Drafted(_)
            | Event::ValidationStarted(_)
            | Event::VerificationUnavailable(_)
            | Event::Checked(_)
            | Event::Refused(_)
            | Event::Rejected(_)
            | Event::Activated(_)
            | Event::Progressed(_)
            | Event::Recalled(_)
            | Event::CompletionStarted(_)
            | Event::CompletionChecked(_)
            | Event::CompletionFailed(_)
            | Event::Confirmed(_)
            | Event::Disputed(_)
            | Event::Completed(_)
            | Event::Closed(_)
            | Event::Escalated(_)
            | Event::SlaExtended(_)
            | Event::SlaWarned(_)
            | Event::DelegationEnded(_)
            | Event::DelegationReopened(_)
            | Event::DelegationRecalled(_)
            | Event::WorkqSettled(_)
            | Event::WorkqDegraded(_) => Binding::Unchanged,
        }
    }

    pub fn about(&self) -> About<'_> {
        match self {
            Event::Drafted(it) => About::Draft(&it.from),
            Event::Closed(it) if it.from_status == Status::Draft => About::Draft(&it.from),
            Event::Delegated(it) => About::Part(it.child),
            Event::DelegationEnded(it) => About::Part(it.child),
            Event::DelegationReopened(it) => About::Part(it.child),
            Event::DelegationRecalled(it) => About::Part(it.child),
            Event::Proposed(_)
            | Event::ValidationStarted(_)
            | Event::VerificationUnavailable(_)
            | Event::Checked(_)
            | Event::Approved(_)
            | Event::Refused(_)
            | Event::Accepted(_)
            | Event::Rejected(_)
            | Event::Activated(_)
            | Event::Progressed(_)
            | Event::Recalled(_)
            | Event::CompletionStarted(_)
            | Event::CompletionChecked(_)
            | Event::CompletionFailed(_)
            | Event::Confirmed(_)
            | Event::Disputed(_)
            | Event::Completed(_)
            | Event::Closed(_)
            | Event::Escalated(_)
            | Event::SlaExtended(_)
            | Event::SlaWarned(_)
            | Event::Countered(_)
            | Event::WorkqSettled(_)
            | Event::WorkqDegraded(_) => About::Handoff,
        }
    }

    /// Whether it leaves the stage and its clock as they are.
    pub fn is_beside_stage(&self) -> bool {
        match self {
            Event::Progressed(_) | Event::Recalled(_) => true,
            Event::Escalated(escalated) => escalated.is_of_recall(),
            Event::Drafted(_)
            | Event::Proposed(_)
            | Event::ValidationStarted(_)
            | Event::VerificationUnavailable(_)
            | Event::Checked(_)
            | Event::Approved(_)
            | Event::Refused(_)
            | Event::Accepted(_)
            | Event::Rejected(_)
            | Event::Activated(_)
            | Event::CompletionStarted(_)
            | Event::CompletionChecked(_)
            | Event::CompletionFailed(_)
            | Event::Confirmed(_)
            | Event::Disputed(_)
            | Event::Completed(_)
            | Event::Closed(_)
            | Event::SlaExtended(_)
            | Event::SlaWarned(_)
            | Event::Countered(_)
            | Event::Delegated(_)
            | Event::DelegationEnded(_)
            | Event::DelegationReopened(_)
            | Event::DelegationRecalled(_)
            | Event::WorkqSettled(_)
            | Event::WorkqDegraded(_) => false,
        }
    }

    /// The verdict of the gate, if it is one.
    pub fn verdict(&self) -> Option<Verdict<'_>> {
        Some(match self {
            Event::Accepted(it) => Verdict::passed(Status::Accepted, &it.passed),
            Event::Checked(it) => Verdict::passed(Status::Validating, &it.passed),
            Event::Completed(it) => Verdict::passed(Status::Completed, &it.passed),
            Event::CompletionChecked(it) => Verdict::passed(Status::Activated, &it.passed),
            Event::VerificationUnavailable(it) => {
                Verdict { status: None, passed: &[], failed: &it.failed, refused: None }
            }
            Event::CompletionFailed(it) => Verdict {
                status: Some(Status::Activated),
                passed: &it.passed,
                failed: &it.failed,
                refused: Some((it.reason, &it.detail)),
            },
            Event::Rejected(it) => Verdict {
                status: Some(Status::Rejected),
                passed: &it.passed,
                failed: &it.failed,
                refused: Some((it.reason, &it.detail)),
            },
            Event::Drafted(_)
            | Event::Proposed(_)
            | Event::ValidationStarted(_)
            | Event::Approved(_)
            | Event::Refused(_)
            | Event::Activated(_)
            | Event::Progressed(_)
            | Event::Recalled(_)
            | Event::CompletionStarted(_)
            | Event::Confirmed(_)
            | Event::Disputed(_)
            | Event::Closed(_)
            | Event::Escalated(_)
            | Event::SlaExtended(_)
            | Event::SlaWarned(_)
            | Event::Countered(_)
            | Event::Delegated(_)
            | Event::DelegationEnded(_)
            | Event::DelegationReopened(_)
            | Event::DelegationRecalled(_)
            | Event::WorkqSettled(_)
            | Event::WorkqDegraded(_) => return None,
        })
    }
}
