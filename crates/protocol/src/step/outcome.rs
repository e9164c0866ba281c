//! The answer to a command, in the form that is stored for a retry.

use serde::{Deserialize, Serialize};

use crate::handoff::Status;
use crate::handoff::workq::WorkqStatus;
use crate::ids::{AgentId, HandoffId, TransferId};
use crate::warning::Warning;

/// The answer to a command, as it is stored for a retry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
    /// Some stage of the handoff was overdue.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub escalated: bool,
    /// The further handoff that the command began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<HandoffId>,
    #[serde(default, skip_serializing_if = "WorkqStatus::is_not_applicable")]
    pub workq: WorkqStatus,
    /// Who holds the conversation, and in which epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<AgentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// The position of the message in the transcript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// How a conversation came to its holder, if not as requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub went: Option<Box<Went>>,
    /// Problems in what was saved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// Set when the gate refused, or an agent spoke out of turn: the reason and its detail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    pub code: String,
    pub detail: String,
}

/// A person was asked for, or the loop guard sent the conversation elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Went {
    /// The transfer with which a person was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer: Option<TransferId>,
    /// The agent to which the conversation should have gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<AgentId>,
}

impl Outcome {
    pub fn transfer(&self) -> Option<TransferId> {
        self.went.as_ref().and_then(|went| went.transfer)
    }

    pub fn instead_of(&self) -> Option<&AgentId> {
        self.went.as_ref().and_then(|went| went.instead_of.as_ref())
    }
}
