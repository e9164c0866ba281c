//! `tasuki audit`: checks the ledger and trusts nothing that it can recompute. Everything here
//! works offline, on a data folder or on an export, and only reads.
//!
//! [`verify`] recomputes what can be recomputed: [`data`] for a folder, [`import`] for an export.
//! [`export`] writes a file that can be verified alone, in the lines of [`format`]. [`tail`] shows
//! the newest entries. The rules of the chain itself are `protocol::audit`.

mod data;
mod derived_rows;
mod documents;
mod export;
pub mod file_scrub;
mod files;
pub mod format;
mod holds;
mod import;
mod jsonl;
mod notes;
mod outcomes;
pub mod pacer;
mod report;
pub mod scrub;
mod session_holds;
mod snapshots;
mod tail;
mod transcripts;
mod transfers;

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use anyhow::Context;

pub use data::{FIRST_START_INTERRUPTED, doubtful_streams, verify_copy};
pub use export::{Exported, export};
pub use import::verify_export;
pub use notes::Beside;
pub use report::{Finding, Fork, Report};
pub use store::sqlite::Pace;
pub use tail::{Tail, human_line, tail};

/// Where the ledger is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The data folder of a server, which may be running.
    Data(PathBuf),
    /// A file that [`export`] wrote.
    Export(PathBuf),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The verifier key, from a place that a writer of the data cannot write to. Without it, the
    /// key beside the data is trusted.
    pub key: Option<String>,
    /// Checkpoints that were kept elsewhere, as whole notes.
    pub notes: Vec<String>,
}

/// Called now and then with the amount done and the total.
pub type Progress<'p> = &'p mut dyn FnMut(u64, u64);

/// Recomputes everything. `Err` means that the ledger could not be read; what is wrong with it is
/// in the report.
pub fn verify(
    source: &Source,
    options: &Options,
    progress: Progress<'_>,
) -> anyhow::Result<Report> {
    verify_at_pace(source, options, None, progress)
}

/// As [`verify`]. The pace is told of every row that is read of a data folder.
pub fn verify_at_pace(
    source: &Source,
    options: &Options,
    pace: Option<Pace>,
    progress: Progress<'_>,
) -> anyhow::Result<Report> {
    match source {
        Source::Data(folder) => data::verify(folder, options, pace, progress),
        Source::Export(path) => {
            let cannot = || format!("cannot read {}", path.display());
            let file = File::open(path).with_context(cannot)?;
            let n_bytes = file.metadata().with_context(cannot)?.len();
            verify_export(BufReader::new(file), n_bytes, options, progress).with_context(cannot)
        }
    }
}
