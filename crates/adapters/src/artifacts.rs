//! Looks at the artifacts that a package names: files below configured roots, and URLs outside
//! private networks. Says what is there, and decides nothing about the handoff.
//!
//! Paths and URLs come from the sender of the package, so each is treated as hostile: it may not
//! reach what lies outside, learn what exists there, block, or take more than its share of bytes
//! and time. Read in this order: `files`, then `urls` with `locations`, `addresses` and `network`;
//! both do their work on the one thread of `hashing`.

pub(crate) mod addresses;
mod files;
mod hashing;
pub(crate) mod locations;
pub(crate) mod network;
mod urls;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use protocol::canonical::{self, Hash};
use protocol::handoff::artifact::{Finding, Seen};
use protocol::handoff::package::{Artifact, ArtifactKind, ArtifactRef};
use tokio::time::timeout;

use files::Roots;
use hashing::Hashing;
use urls::Urls;

use crate::workq::Workq;

/// The largest image or archive that people hand over in one piece, and what slow hardware hashes
/// within [`ARTIFACT_MS_MAX`].
pub const BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;

/// More than a person reads: a package that names more should hand over one list instead.
pub const N_ARTIFACTS_MAX: usize = 256;

/// A minute is 70 MB/s for the largest artifact, which disks and near servers reach.
pub const ARTIFACT_MS_MAX: u64 = 60_000;

/// A caller waits for the answer; after five minutes a later look serves it better.
pub const TOTAL_MS_MAX: u64 = 300_000;

/// How much of a foreign text a finding repeats: a digest fits four times over.
const REPEATED_BYTES_MAX: usize = 300;

/// Where and how far to look.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Files are looked at only below these; without any, no file is.
    pub roots: Vec<PathBuf>,
    /// Whether a URL may lead to loopback, private, link-local and other addresses that are not
    /// on the public internet.
    pub allow_private_addresses: bool,
    /// Of one artifact.
    pub bytes_max: u64,
    /// Of one call; what is beyond is forbidden.
    pub n_artifacts_max: usize,
    /// For one artifact.
    pub artifact_ms_max: u64,
    /// For all of one call; what is left by then is unavailable.
    pub total_ms_max: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            roots: Vec::new(),
            allow_private_addresses: false,
            bytes_max: BYTES_MAX,
            n_artifacts_max: N_ARTIFACTS_MAX,
            artifact_ms_max: ARTIFACT_MS_MAX,
            total_ms_max: TOTAL_MS_MAX,
        }
    }
}

/// Why the roots cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    #[error("{} is not a folder", .path.display())]
    NotAFolder { path: PathBuf },
    #[error("{} cannot be a root: expected an absolute path without `..`", .path.display())]
    NotAbsolute { path: PathBuf },
    #[error("cannot open the root {}", .path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("cannot start the thread that reads artifacts")]
    Thread(#[source] io::Error),
}

/// Looks at artifacts. Any number of calls share one thread for files and digests, a slice of work
/// at a time; a call that is dropped ends with the slice it is in.
pub struct Artifacts {
    settings: Settings,
    hashing: Hashing,
    roots: Arc<Roots>,
    urls: Urls,
    workq: Option<Arc<Workq>>,
}

impl Artifacts {
    /// Opens the roots; a root that is not a folder is an error that names it.
    pub fn new(settings: Settings) -> Result<Self, RootError> {
        let roots = Arc::new(Roots::open(&settings.roots)?);
        let hashing = Hashing::start().map_err(RootError::Thread)?;
        Ok(Self { settings, hashing, roots, urls: Urls::new(), workq: None })
    }

    /// Looks up items in this work queue.
    pub fn asking(mut self, workq: Arc<Workq>) -> Self {
        self.workq = Some(workq);
        self
    }

    /// One finding for each artifact, in the same order.
    pub async fn look(&self, artifacts: &[Artifact]) -> Vec<Seen> {
        let n_looked = artifacts.len().min(self.settings.n_artifacts_max);
        let mut findings = Vec::with_capacity(artifacts.len());
        let looking = async {
            for artifact in &artifacts[..n_looked] {
                findings.push(self.look_at(&artifact.reference).await);
            }
        };
        // Whether the time was enough shows in the number of findings.
        let _ = timeout(Duration::from_millis(self.settings.total_ms_max), looking).await;
        findings.resize_with(n_looked, || {
            unavailable(format!("the look took more than {} ms", self.settings.total_ms_max))
        });
        findings.resize_with(artifacts.len(), || {
            forbidden(format!("more than {} artifacts", self.settings.n_artifacts_max))
        });
        let seen = |(artifact, finding): (&Artifact, Finding)| Seen {
            artifact_id: artifact.artifact_id.clone(),
            path: None,
            finding,
        };
        artifacts.iter().zip(findings).map(seen).collect()
    }

    async fn look_at(&self, reference: &ArtifactRef) -> Finding {
        let looking = async {
            match reference.kind {
                ArtifactKind::File => {
                    let bytes_max = self.settings.bytes_max;
                    files::look(&self.roots, &self.hashing, reference, bytes_max).await
                }
                ArtifactKind::Url => self.urls.look(&self.hashing, reference, &self.settings).await,
                ArtifactKind::Branch => Err(no_adapter("branch")),
                ArtifactKind::Pr => Err(no_adapter("pr")),
                ArtifactKind::Session => Err(no_adapter("session")),
                ArtifactKind::WorkqItem => Err(match &self.workq {
                    Some(workq) => workq.look(reference).await,
                    None => no_adapter("workq_item"),
                }),
            }
        };
        match timeout(Duration::from_millis(self.settings.artifact_ms_max), looking).await {
            Ok(Ok(content)) => judge(reference, &content),
            Ok(Err(finding)) => finding,
            Err(_) => {
                unavailable(format!("it took more than {} ms", self.settings.artifact_ms_max))
            }
        }
    }
}

impl fmt::Debug for Artifacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Artifacts").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// An artifact that was read to its end.
struct Content {
    digest: Hash,
    size_bytes: u64,
}

/// Compares what was read with what the package says about it.
fn judge(reference: &ArtifactRef, content: &Content) -> Finding {
    if let Err(finding) = check_size(reference, content.size_bytes) {
        return finding;
    }
    let sha256 = canonical::hex(&content.digest);
    match &reference.sha256 {
        Some(expected) if *expected != sha256 => {
            mismatch(format!("its sha256 is {sha256}, the package says {}", repeated(expected)))
        }
        Some(_) | None => Finding::Verified { sha256, size_bytes: content.size_bytes },
    }
}

fn check_size(reference: &ArtifactRef, size_bytes: u64) -> Result<(), Finding> {
    match reference.size_bytes {
        Some(expected) if expected != size_bytes => {
            Err(mismatch(format!("it has {size_bytes} bytes, the package says {expected}")))
        }
        Some(_) | None => Ok(()),
    }
}

/// A foreign text, made fit for one line of ours.
fn repeated(text: &str) -> String {
    let shown = |character: char| match character {
        '\n' | '\r' | '\t' => '\u{fffd}',
        other if protocol::json::is_forbidden(other) => '\u{fffd}',
        other => other,
    };
    let mut line: String = text.chars().take(REPEATED_BYTES_MAX).map(shown).collect();
    line.truncate(line.floor_char_boundary(REPEATED_BYTES_MAX));
    line
}

fn no_adapter(kind: &str) -> Finding {
    Finding::NotVerifiable { detail: format!("no adapter is configured for a {kind}") }
}

fn missing(detail: impl Into<String>) -> Finding {
    Finding::Missing { detail: detail.into() }
}

fn mismatch(detail: impl Into<String>) -> Finding {
    Finding::Mismatch { detail: detail.into() }
}

fn forbidden(detail: impl Into<String>) -> Finding {
    Finding::Forbidden { detail: detail.into() }
}

fn too_large(bytes_max: u64) -> Finding {
    forbidden(format!("it has more than {bytes_max} bytes"))
}

fn unavailable(detail: impl Into<String>) -> Finding {
    Finding::Unavailable { detail: detail.into() }
}
