//! What a look at an artifact found. The look itself happens outside, and comes back as a command.

use serde::{Deserialize, Serialize};

use super::command::RejectReason;
use super::package::ArtifactRef;

/// One artifact after somebody looked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    pub artifact_id: String,
    /// Where it was, as its package or its owner says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub finding: Finding,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Finding {
    /// The bytes are there, and they are what the package says if it says anything about them.
    Verified { sha256: String, size_bytes: u64 },
    /// It is there, and has no bytes to compare: an item of the work queue.
    Present,
    /// Nobody here can look at it. Recorded, and never counted as passed.
    NotVerifiable { detail: String },
    /// It is not there, or it is nothing that can be read.
    Missing { detail: String },
    /// It is there, with other bytes.
    Mismatch { detail: String },
    /// It may not be looked at: outside the roots, at a private address, or too large.
    Forbidden { detail: String },
    /// It could not be looked at just now; later it may work.
    Unavailable { detail: String },
}

impl Finding {
    /// Why a handoff that needs this artifact is rejected, if it is.
    pub fn reason(&self) -> Option<RejectReason> {
        match self {
            Finding::Missing { .. } => Some(RejectReason::MissingArtifact),
            Finding::Mismatch { .. } => Some(RejectReason::HashMismatch),
            Finding::Forbidden { .. } => Some(RejectReason::PolicyViolation),
            Finding::Verified { .. }
            | Finding::Present
            | Finding::NotVerifiable { .. }
            | Finding::Unavailable { .. } => None,
        }
    }

    pub fn detail(&self) -> Option<&str> {
        match self {
            Finding::Verified { .. } | Finding::Present => None,
            Finding::NotVerifiable { detail }
            | Finding::Missing { detail }
            | Finding::Mismatch { detail }
            | Finding::Forbidden { detail }
            | Finding::Unavailable { detail } => Some(detail),
        }
    }
}

impl ArtifactRef {
    /// Whatever is handed over counts, unless the sender says that it can be missed.
    pub fn is_required(&self) -> bool {
        self.required.unwrap_or(true)
    }
}
