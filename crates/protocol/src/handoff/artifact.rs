//! The result of verifying an artifact. The verification happens outside, and its result comes back
//! as a command.

use serde::{Deserialize, Serialize};

use super::package::{Artifact, ArtifactKind, ArtifactRef};
use crate::handoff::reject_reason::RejectReason;

/// One artifact after its verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    pub artifact_id: String,
    /// Its path, from the package or from the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub finding: Finding,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Finding {
    /// The bytes exist, and match what the package states about them, if anything.
    Verified { sha256: String, size_bytes: u64 },
    /// It exists, and has no bytes to compare: an item of the work queue.
    Present,
    /// This server cannot verify it. Recorded, and never counted as passed.
    NotVerifiable { detail: String },
    /// It does not exist, or cannot be read.
    Missing { detail: String },
    /// It exists, with other bytes.
    Mismatch { detail: String },
    /// It must not be read: outside the roots, at a private address, or too large.
    Forbidden { detail: String },
    /// It cannot be verified now; a retry may work.
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

impl Artifact {
    /// Whether verifying it may wait for another machine.
    pub fn is_remote(&self) -> bool {
        match self.reference.kind {
            ArtifactKind::Url | ArtifactKind::WorkqItem => true,
            // Those of a version control system and sessions are not verified here.
            ArtifactKind::File
            | ArtifactKind::Branch
            | ArtifactKind::Pr
            | ArtifactKind::Session => false,
        }
    }
}

impl ArtifactRef {
    /// An artifact is required unless the sender says otherwise.
    pub fn is_required(&self) -> bool {
        self.required.unwrap_or(true)
    }
}
