//! The items of a work queue that a package names. They follow the task to its new owner as well as
//! they can: the queue is asked outside, its answer comes back as a command, and no handoff waits
//! for it or fails because of it.

use serde::{Deserialize, Serialize};

use super::package::{ExternalRef, ExternalRefKind, Package};
use super::state::{Made, Stage};
use crate::ids::AgentId;

/// A task is one item, seldom a few, and each is asked about in turn; with more it is a list.
pub const ITEMS_MAX: usize = 16;

/// An identifier with room for a path in it.
pub const ITEM_BYTES_MAX: usize = 256;

/// What the work queue knows of the change of owners.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Workq {
    /// There is nothing to ask: no item is named, or the task has not changed hands.
    #[default]
    Idle,
    /// The server asks the queue, whose answer moves it.
    Asked(Way),
    /// The items have followed the task.
    Transferred,
    /// The queue has no such item.
    Missing,
    /// The items are orphaned: somebody claims them by hand.
    Degraded,
}

/// Which way an item goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Way {
    /// To the target, which has begun.
    Over,
    /// To the owner before, since the target gave the task back.
    Back,
}

/// How the work queue stands to a handoff, by the names of the ACP design, and while it is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkqStatus {
    #[default]
    NotApplicable,
    Pending,
    Transferred,
    Degraded,
}

/// What a work queue is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    pub items: Vec<String>,
    pub from: AgentId,
    pub to: AgentId,
}

/// One item after the work queue was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    pub item: String,
    pub answer: Answer,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The queue says that the new owner has it, asked twice.
    Transferred,
    Missing,
    /// It is not known to be with the new owner.
    Degraded {
        reason: Degradation,
        detail: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Degradation {
    /// The server knows no work queue.
    NotConfigured,
    /// It cannot be reached, fails, or takes too long.
    Unavailable,
    /// It does not give the item to the new owner.
    Refused,
    /// What it answers makes no sense, or contradicts itself.
    BadAnswer,
}

impl Workq {
    pub fn is_idle(&self) -> bool {
        *self == Workq::Idle
    }

    /// A return that nobody will be asked for any more has failed, and a failure stays one.
    pub fn after_counter(self) -> Self {
        match self {
            Workq::Asked(_) | Workq::Degraded => Workq::Degraded,
            Workq::Idle | Workq::Transferred | Workq::Missing => Workq::Idle,
        }
    }

    /// After the target gave the task back: what may be with it comes back too.
    pub fn after_rejection(self) -> Self {
        match self {
            Workq::Transferred | Workq::Asked(_) => Workq::Asked(Way::Back),
            Workq::Idle | Workq::Missing | Workq::Degraded => self,
        }
    }
}

impl WorkqStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            WorkqStatus::NotApplicable => "not_applicable",
            WorkqStatus::Pending => "pending",
            WorkqStatus::Transferred => "transferred",
            WorkqStatus::Degraded => "degraded",
        }
    }

    pub fn is_not_applicable(&self) -> bool {
        *self == WorkqStatus::NotApplicable
    }
}

impl Degradation {
    pub const ALL: [Degradation; 4] = [
        Degradation::NotConfigured,
        Degradation::Unavailable,
        Degradation::Refused,
        Degradation::BadAnswer,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Degradation::NotConfigured => "not_configured",
            Degradation::Unavailable => "unavailable",
            Degradation::Refused => "refused",
            Degradation::BadAnswer => "bad_answer",
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
                // Nothing is recorded after the end, so nobody will know.
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

/// What to ask the queue so that the items go this way.
pub fn transfer(made: &Made, way: Way, package: Option<&Package>) -> Transfer {
    // Of a package that cannot be read no item is known, and nothing is asked.
    let items = package.map(|package| items(&package.task.external_refs)).unwrap_or_default();
    // A coordinator hands over what is not its own.
    let before = made.terms.chain.last().unwrap_or(&made.terms.from).clone();
    let target = made.terms.to.clone();
    match way {
        Way::Over => Transfer { items, from: before, to: target },
        Way::Back => Transfer { items, from: target, to: before },
    }
}

/// The items among the references, each once.
pub fn items(references: &[ExternalRef]) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for reference in references.iter().filter(|reference| is_item(reference)) {
        if !items.contains(&reference.value) {
            items.push(reference.value.clone());
        }
    }
    items
}

pub fn is_item(reference: &ExternalRef) -> bool {
    match reference.kind {
        ExternalRefKind::WorkqItem => true,
        ExternalRefKind::File
        | ExternalRefKind::Branch
        | ExternalRefKind::Pr
        | ExternalRefKind::Url
        | ExternalRefKind::Session
        | ExternalRefKind::Ticket
        | ExternalRefKind::Other => false,
    }
}
