//! The items of a work queue that a package names. They follow the task to its new owner on a
//! best-effort basis: the queue is asked outside, its answer comes back as a command, and no
//! handoff waits for it or fails because of it.

use serde::{Deserialize, Serialize};

use super::package::{ExternalRef, ExternalRefKind};
use crate::ids::AgentId;

/// A task is one item, seldom a few, and each is asked about in turn; more would be a list.
pub const ITEMS_MAX: usize = 16;

/// Room for an identifier with a path in it.
pub const ITEM_BYTES_MAX: usize = 256;

/// The state of the items in the work queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Workq {
    /// There is nothing to ask: no item is named, or the task has not changed hands.
    #[default]
    Idle,
    /// The server asks the queue, whose answer changes this state.
    Asked(Way),
    /// The items have followed the task.
    Transferred,
    /// The queue has no such item.
    Missing,
    /// The items are orphaned: an agent or a person claims them by hand.
    Degraded,
}

/// The direction of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Way {
    /// To the target, which has begun.
    Over,
    /// Back to the previous owner, since the target gave the task back.
    Back,
}

/// The status of the work queue for a handoff, by the names of the ACP design, plus one while it is
/// asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkqStatus {
    #[default]
    NotApplicable,
    Pending,
    Transferred,
    Degraded,
}

/// The request to a work queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    pub items: Vec<String>,
    pub from: AgentId,
    pub to: AgentId,
}

/// The work queue's answer about one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    pub item: String,
    pub answer: Answer,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The queue has confirmed twice that the new owner has it.
    Transferred,
    Missing,
    /// The new owner is not known to have it.
    Degraded {
        reason: Degradation,
        detail: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Degradation {
    /// The server has no work queue configured.
    NotConfigured,
    /// It cannot be reached, fails, or takes too long.
    Unavailable,
    /// It does not give the item to the new owner.
    Refused,
    /// Its answer is invalid or contradictory.
    BadAnswer,
}

impl Workq {
    pub fn is_idle(&self) -> bool {
        *self == Workq::Idle
    }

    /// The state after a counter-offer. A move back that the queue has not answered counts as
    /// failed, because the queue is not asked again. A failure stays a failure.
    pub fn after_counter(self) -> Self {
        match self {
            Workq::Asked(_) | Workq::Degraded => Workq::Degraded,
            Workq::Idle | Workq::Transferred | Workq::Missing => Workq::Idle,
        }
    }

    /// After the target gave the task back: items that the target may have come back too.
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
