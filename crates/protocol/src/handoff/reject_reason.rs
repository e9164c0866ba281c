//! Why a target rejects a handoff.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
