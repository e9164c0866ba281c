//! A limit that has passed, as it is recorded for a coordinator.

use serde::{Deserialize, Serialize};

use super::Parties;
use crate::handoff::recall::RECALL;
use crate::handoff::sla::SlaStage;
use crate::time::{Span, Time};

/// A limit has passed: that of a stage, or that of a recall. Recorded once for each time that it is
/// set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Escalated {
    pub parties: Parties,
    /// `timeout`, or `recall`.
    pub trigger: String,
    pub stage: SlaStage,
    pub sla_configured: String,
    pub sla_elapsed: String,
    pub escalated_to: String,
    pub escalated_at: Time,
}

impl Escalated {
    pub fn timeout(
        parties: Parties,
        stage: SlaStage,
        limit: Span,
        elapsed: Span,
        at: Time,
    ) -> Self {
        Self {
            parties,
            trigger: "timeout".to_owned(),
            stage,
            sla_configured: limit.in_full(),
            sla_elapsed: elapsed.in_full(),
            escalated_to: "coordinator".to_owned(),
            escalated_at: at,
        }
    }

    /// A recall that its owner did not answer in time.
    pub fn recall(parties: Parties, stage: SlaStage, limit: Span, elapsed: Span, at: Time) -> Self {
        let trigger = RECALL.to_owned();
        Self { trigger, ..Self::timeout(parties, stage, limit, elapsed, at) }
    }

    pub fn is_of_recall(&self) -> bool {
        self.trigger == RECALL
    }
}
