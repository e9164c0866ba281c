//! What can be asked of a handoff.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::artifact::Seen;
use super::completion::Completion;
use super::package::{Offer, OfferedWorkState};
use crate::time::Time;

/// One request. The name of each variant is the action's name everywhere.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Saves a draft, new or again.
    Draft {
        offer: Box<Offer>,
    },
    /// Proposes: a saved draft as it is (`None`), or an offer, which replaces a saved one.
    Initiate {
        offer: Option<Box<Offer>>,
    },
    Accept(Accept),
    /// What came of looking at artifacts. Asked by the server alone.
    Verified {
        looked: Looked,
        seen: Vec<Seen>,
    },
    /// A human agrees to a handoff whose policy asks for it.
    Approve {
        why: Option<String>,
    },
    /// A human does not agree, which rejects it.
    Refuse {
        why: String,
    },
    /// After a rejection the sender proposes again, with a changed package.
    Counter {
        offer: Box<Offer>,
    },
    /// The sender takes it back before it is accepted.
    Withdraw {
        why: Option<String>,
    },
    /// A coordinator gives the stage that is running more time.
    ExtendSla {
        due: Time,
        why: String,
    },
    Reject(Reject),
    Activate {
        work_state_update: Option<Box<OfferedWorkState>>,
    },
    Complete(Completion),
    /// Somebody other than the owner agrees that the work is done.
    Confirm {
        why: Option<String>,
    },
    /// Somebody other than the owner does not agree, which leaves the work with its owner.
    Dispute {
        why: String,
    },
    Close {
        closure_notes: Option<String>,
    },
    /// A deadline comes near. Asked by the server alone.
    Warn {
        stage: SlaStage,
        at: Time,
    },
    /// A deadline passed. Asked by the server alone.
    Elapse {
        stage: SlaStage,
        due: Time,
    },
}

/// Whose artifacts were looked at. The world may have moved on since.
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
    /// The artifacts that are accepted, by id; all of them when absent. None that is required can
    /// be left out.
    pub artifacts: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Reject {
    pub reason: RejectReason,
    pub detail: String,
    pub suggested_fix: Option<String>,
}

/// The ten reasons of the ACP design.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RejectReason {
    MissingArtifact,
    HashMismatch,
    SchemaInvalid,
    PolicyViolation,
    CapacityUnavailable,
    CapabilityMismatch,
    SuccessCriteriaAmbiguous,
    OwnershipConflict,
    TimeoutRisk,
    Other,
}

/// The four stages that have a limit, named as the ACP design names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SlaStage {
    #[serde(rename = "proposed→validating")]
    Proposed,
    #[serde(rename = "validating→accepted/rejected")]
    Validating,
    #[serde(rename = "accepted→activated")]
    Accepted,
    #[serde(rename = "activated→completed")]
    Activated,
}

impl Command {
    pub fn name(&self) -> &'static str {
        match self {
            Command::Draft { .. } => "draft",
            Command::Initiate { .. } => "initiate",
            Command::Accept(_) => "accept",
            Command::Verified { .. } => "verified",
            Command::Approve { .. } => "approve",
            Command::Refuse { .. } => "refuse",
            Command::Counter { .. } => "counter",
            Command::Withdraw { .. } => "withdraw",
            Command::ExtendSla { .. } => "extend_sla",
            Command::Reject(_) => "reject",
            Command::Activate { .. } => "activate",
            Command::Complete(_) => "complete",
            Command::Confirm { .. } => "confirm",
            Command::Dispute { .. } => "dispute",
            Command::Close { .. } => "close",
            Command::Warn { .. } => "warn",
            Command::Elapse { .. } => "elapse",
        }
    }
}

impl RejectReason {
    pub const ALL: [RejectReason; 10] = [
        RejectReason::MissingArtifact,
        RejectReason::HashMismatch,
        RejectReason::SchemaInvalid,
        RejectReason::PolicyViolation,
        RejectReason::CapacityUnavailable,
        RejectReason::CapabilityMismatch,
        RejectReason::SuccessCriteriaAmbiguous,
        RejectReason::OwnershipConflict,
        RejectReason::TimeoutRisk,
        RejectReason::Other,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            RejectReason::MissingArtifact => "missing_artifact",
            RejectReason::HashMismatch => "hash_mismatch",
            RejectReason::SchemaInvalid => "schema_invalid",
            RejectReason::PolicyViolation => "policy_violation",
            RejectReason::CapacityUnavailable => "capacity_unavailable",
            RejectReason::CapabilityMismatch => "capability_mismatch",
            RejectReason::SuccessCriteriaAmbiguous => "success_criteria_ambiguous",
            RejectReason::OwnershipConflict => "ownership_conflict",
            RejectReason::TimeoutRisk => "timeout_risk",
            RejectReason::Other => "other",
        }
    }
}

impl fmt::Display for RejectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for RejectReason {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        RejectReason::ALL.into_iter().find(|reason| reason.as_str() == text).ok_or_else(|| {
            let names: Vec<_> = RejectReason::ALL.iter().map(|reason| reason.as_str()).collect();
            format!("expected one of {}", names.join(", "))
        })
    }
}

impl SlaStage {
    pub const ALL: [SlaStage; 4] =
        [SlaStage::Proposed, SlaStage::Validating, SlaStage::Accepted, SlaStage::Activated];

    pub fn as_str(self) -> &'static str {
        match self {
            SlaStage::Proposed => "proposed→validating",
            SlaStage::Validating => "validating→accepted/rejected",
            SlaStage::Accepted => "accepted→activated",
            SlaStage::Activated => "activated→completed",
        }
    }
}

impl FromStr for SlaStage {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        SlaStage::ALL.into_iter().find(|stage| stage.as_str() == text).ok_or(())
    }
}
