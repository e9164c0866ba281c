//! The lines of `registry.jsonl`: each artifact whose bytes were verified when a handoff was
//! accepted or completed. A pure function of ledger entries, so that the file can be rebuilt byte
//! for byte.

use serde::Serialize;

use super::artifact::{Finding, Seen};
use super::event::Event;
use crate::ids::HandoffId;
use crate::time::Time;

/// The names of the events that report verified artifacts. A handoff that waited for a human was
/// checked before it was accepted, and reports them only there.
pub const VERIFICATIONS: [&str; 3] =
    ["handoff.checked", "handoff.accepted", "handoff.completion_checked"];

/// One line. Fields are written in this order.
#[derive(Debug, Serialize)]
pub struct ArtifactLine<'a> {
    event: &'static str,
    handoff_id: HandoffId,
    artifact_id: &'a str,
    /// A path or a URL. Entries of early releases do not have it.
    path: Option<&'a str>,
    sha256: &'a str,
    size_bytes: u64,
    verified_at: VerifiedAt,
    timestamp: Time,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum VerifiedAt {
    Accept,
    Complete,
}

/// The lines of an entry: one for each artifact that was verified.
pub fn lines<'a>(id: HandoffId, event: &'a Event, at: Time) -> Vec<ArtifactLine<'a>> {
    let (seen, verified_at) = if let Event::Checked(checked) = event {
        (&checked.artifacts, VerifiedAt::Accept)
    } else if let Event::Accepted(accepted) = event {
        (&accepted.artifacts, VerifiedAt::Accept)
    } else if let Event::CompletionChecked(checked) = event {
        (&checked.artifacts, VerifiedAt::Complete)
    } else {
        return Vec::new();
    };
    seen.iter().filter_map(|seen| line(id, seen, verified_at, at)).collect()
}

fn line(id: HandoffId, seen: &Seen, verified_at: VerifiedAt, at: Time) -> Option<ArtifactLine<'_>> {
    match &seen.finding {
        Finding::Verified { sha256, size_bytes } => Some(ArtifactLine {
            event: "artifact_verified",
            handoff_id: id,
            artifact_id: &seen.artifact_id,
            path: seen.path.as_deref(),
            sha256,
            size_bytes: *size_bytes,
            verified_at,
            timestamp: at,
        }),
        Finding::Present
        | Finding::NotVerifiable { .. }
        | Finding::Missing { .. }
        | Finding::Mismatch { .. }
        | Finding::Forbidden { .. }
        | Finding::Unavailable { .. } => None,
    }
}
