//! The commands of a handoff.

use super::reject_reason::RejectReason;
use super::sla::SlaStage;

use super::artifact::Seen;
use super::completion::Completion;
use super::edit::{OfferEdit, PolicyEdit};
use super::package::{Offer, OfferedWorkState, Policy, TaskKind};
use super::progress::ProgressReport;
use super::sla::Slas;
use super::status::Status;
use super::workq::{Answered, Way};
use crate::ids::{AgentId, HandoffId, TaskId};
use crate::time::Time;

/// One request. The name of each variant is the action's name everywhere.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Saves a draft, new or again.
    Draft {
        offer: Box<Offer>,
    },
    /// Proposes a saved draft as it is (`None`), or an offer, which replaces a saved one.
    Initiate {
        offer: Option<Box<Offer>>,
    },
    Accept(Accept),
    /// The result of verifying artifacts. Only the server sends it.
    Verified {
        looked: Looked,
        seen: Vec<Seen>,
    },
    /// The answer of the work queue to the request to hand over items. Only the server sends it.
    WorkqAnswered {
        /// The hash of the package that names the items.
        package_hash: String,
        way: Way,
        answers: Vec<Answered>,
    },
    /// A human approves a handoff whose policy requires it.
    Approve {
        /// The revision that the human read; `None` means the current one.
        revision: Option<u32>,
        why: Option<String>,
    },
    /// A human refuses, which rejects it.
    Refuse {
        revision: Option<u32>,
        why: String,
    },
    /// After a rejection the sender proposes again, with a changed package.
    Counter {
        edit: Box<OfferEdit>,
    },
    /// The sender takes it back before it is accepted.
    Withdraw {
        why: Option<String>,
    },
    /// A coordinator gives the running stage more time.
    ExtendSla {
        due: Time,
        why: String,
    },
    /// The owner delegates a part of the task, as a handoff of its own.
    Delegate {
        child: HandoffId,
        offer: Box<Offer<PolicyEdit>>,
    },
    /// A coordinator closes it and hands the task to another agent instead.
    Reassign(Box<Reassign>),
    /// Begins a handoff that follows from another one. Only the server sends it.
    Follow(Box<Follow>),
    /// The result of a delegated part. Only the server sends it.
    Child(Child),
    Reject(Reject),
    Activate {
        work_state_update: Option<Box<OfferedWorkState>>,
    },
    /// The owner reports how far the work is.
    Progress(Box<ProgressReport>),
    /// The sender asks for it back after it was accepted.
    Recall {
        reason: String,
    },
    Complete(Completion),
    /// A verifier, who is not the owner, agrees that the work is done.
    Confirm {
        why: Option<String>,
    },
    /// A verifier, who is not the owner, disagrees, which leaves the work with its owner.
    Dispute {
        why: String,
    },
    Close {
        closure_notes: Option<String>,
    },
    /// The sender ends its draft.
    Discard {
        why: Option<String>,
    },
    /// A deadline is near. Only the server sends it.
    Warn {
        stage: SlaStage,
        at: Time,
    },
    /// A deadline passed. Only the server sends it.
    Elapse {
        stage: SlaStage,
        due: Time,
    },
    /// The limit of a recall passed. Only the server sends it.
    ElapseRecall {
        due: Time,
    },
}

/// Which artifacts were verified. The handoff may have changed since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Looked {
    /// Those of the package with this hash.
    Package { hash: String },
    /// Those of the handoff's first, second, … completion.
    Completion { attempt: u32 },
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Accept {
    pub notes: Option<String>,
    /// The ids of the accepted artifacts; all of them when absent. A required one cannot be left
    /// out.
    pub artifacts: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Reassign {
    /// The id of the handoff that replaces it.
    pub successor: HandoffId,
    pub to: AgentId,
    pub why: String,
    /// The state of the work; fields that it leaves out keep their last value.
    pub work_state: Option<OfferedWorkState>,
    /// A new deadline for the task; when absent, the old one stays if it has not passed.
    pub deadline: Option<Time>,
}

/// A handoff that another one begins, with the data it takes from there.
#[derive(Debug, Clone, PartialEq)]
pub struct Follow {
    pub from: AgentId,
    pub offer: Offer,
    /// The owners of the task, unless the task's hold has newer ones.
    pub chain: Vec<AgentId>,
    pub kind: TaskKind,
    /// The limits that were agreed on, if any were.
    pub slas: Option<Slas>,
    /// The handoff whose owner delegated this one.
    pub parent: Option<HandoffId>,
    /// The handoff that this one replaces.
    pub replaces: Option<HandoffId>,
    /// The policy that was agreed on, if that of the offer is laxer and no human approved it.
    pub agreed: Option<Policy>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Child {
    /// It is done, rejected or closed.
    Ended { child: HandoffId, status: Status },
    /// It was rejected, and is proposed again.
    Reopened { child: HandoffId },
    /// Its sender asks for it back.
    Recalled { child: HandoffId },
    /// Another handoff has replaced it.
    Replaced { child: HandoffId, status: Status, by: HandoffId, task_id: TaskId, to: AgentId },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Reject {
    pub reason: RejectReason,
    pub detail: String,
    pub suggested_fix: Option<String>,
}

impl Command {
    /// Whether it brings an offer: the whole of a package, or a part of one.
    pub fn carries_offer(&self) -> bool {
        matches!(
            self,
            Command::Draft { .. }
                | Command::Initiate { .. }
                | Command::Counter { .. }
                | Command::Delegate { .. }
        )
    }

    pub fn name(&self) -> &'static str {
        match self {
            Command::Draft { .. } => "draft",
            Command::Initiate { .. } => "initiate",
            Command::Accept(_) => "accept",
            Command::Verified { .. } => "verified",
            Command::WorkqAnswered { .. } => "workq_answered",
            Command::Approve { .. } => "approve",
            Command::Refuse { .. } => "refuse",
            Command::Counter { .. } => "counter",
            Command::Withdraw { .. } => "withdraw",
            Command::ExtendSla { .. } => "extend_sla",
            Command::Delegate { .. } => "delegate",
            Command::Reassign(_) => "reassign",
            Command::Follow(_) => "follow",
            Command::Child(_) => "child",
            Command::Reject(_) => "reject",
            Command::Activate { .. } => "activate",
            Command::Progress(_) => "progress",
            Command::Recall { .. } => "recall",
            Command::Complete(_) => "complete",
            Command::Confirm { .. } => "confirm",
            Command::Dispute { .. } => "dispute",
            Command::Close { .. } => "close",
            Command::Discard { .. } => "discard",
            Command::Warn { .. } => "warn",
            Command::Elapse { .. } => "elapse",
            Command::ElapseRecall { .. } => "elapse_recall",
        }
    }
}
