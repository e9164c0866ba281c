//! Backups: a copy of the database as it was at one moment, with what it takes to verify it alone.
//! [`make`] works while a server runs and when none does; [`restore`] only when none does.

mod files;
mod restore;
mod stored;

use std::path::{Path, PathBuf};

use adapters::ledger_key::FoundRowKey;
use adapters::{checkpoint_file, durable, ledger_key};
use anyhow::{Context, Result, bail};
use protocol::time::Time;
use serde::Serialize;
use store::sqlite::ReadOnly;

use crate::audit::{self, Beside, Report};
use files::{Beginning, FileNames};
use stored::{Copied, StoredFiles};

pub use restore::{Old, Restored, restore};
pub use stored::Damaged;

/// Whether the signing key goes along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SigningKey {
    /// The backup has no key: a reader of the backup can read the ledger, but cannot sign.
    Apart,
    Along,
}

/// A step that takes long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackupStage {
    Copying,
    Verifying,
}

/// Called now and then with the amount done and the total.
pub type Progress<'p> = &'p mut dyn FnMut(BackupStage, u64, u64);

/// A backup that was made and verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Made {
    #[serde(serialize_with = "files::as_text")]
    pub file: PathBuf,
    #[serde(serialize_with = "Time::serialize_shown")]
    pub made_at: Time,
    pub n_entries: u64,
    /// Entries that a signed checkpoint vouches for.
    pub n_sealed: u64,
    pub n_bytes: u64,
    /// Files whose bytes lie beside the database, and their bytes.
    pub n_files: u64,
    pub n_file_bytes: u64,
    /// Stored files that are damaged and were left out, as teamspace and name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// What goes into a backup besides the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contents {
    pub key: SigningKey,
    pub damaged: Damaged,
}

/// A copy that does not match the checkpoints.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{} is not sound: {first} ({n_findings} findings)", .path.display())]
pub struct NotSound {
    pub path: PathBuf,
    first: String,
    n_findings: u64,
}

/// Copies the database of `data` to a file, or to a new file in a folder. The file gets its final
/// name once it is whole, synced and verified.
pub fn make(
    data: &Path,
    to: &Path,
    contents: Contents,
    now: Time,
    progress: Progress<'_>,
) -> Result<Made> {
    let target = target(to, now)?;
    // First: the files beside the database are written after the entries they refer to.
    let cannot = || format!("cannot read {}", data.display());
    let newest = checkpoint_file::newest(data).with_context(cannot)?;
    let mut beside = Beside { newest, log: None, ..Beside::read(data).with_context(cannot)? };
    // A garbled key must not keep the ledger from being saved; `tasuki audit verify` names it.
    if let FoundRowKey::Invalid(_) | FoundRowKey::Unmarked = beside.row_key {
        beside.row_key = FoundRowKey::Absent;
    }
    let signing_key = match contents.key {
        SigningKey::Apart => None,
        SigningKey::Along => {
            let path = data.join(ledger_key::KEY_FILE);
            Some(std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?)
        }
    };
    let database = ReadOnly::open(data)?;
    let beginning = Beginning::create(&target)?;
    let names = FileNames::of(&target);
    // Before the database, so that a file that is removed meanwhile is not missed.
    let mut stored = StoredFiles::begin(data, &names.files)?;
    stored.copy(&database.kept_files()?)?;
    let copying = &mut |done, all| progress(BackupStage::Copying, done, all);
    let cannot = || format!("cannot write {}", beginning.path().display());
    database.copy_to(beginning.path(), copying).with_context(cannot)?;
    beginning.sync().with_context(cannot)?;
    let report = verify(beginning.path(), &beside, progress)?;
    let kept = ReadOnly::open_file(beginning.path())?.kept_files()?;
    let Copied { n_files, n_bytes: n_file_bytes, missing } =
        stored.finish(&kept, contents.damaged)?;
    let digest = files::digest(beginning.path()).with_context(cannot)?;
    let file_name = target.file_name().unwrap_or_default().to_string_lossy();
    let public = [
        (&names.checkpoint, beside.newest),
        (&names.public_key, beside.key),
        (&names.digest, Some(format!("{digest}  {file_name}\n"))),
        (&names.missing, (!missing.is_empty()).then(|| missing.join("\n") + "\n")),
    ];
    for (path, text) in public {
        if let Some(text) = text {
            put(path, text.as_bytes(), durable::PUBLIC)?;
        }
    }
    if let Some(signing_key) = signing_key {
        put(&names.signing_key, &signing_key, durable::PRIVATE)?;
    }
    let n_bytes = beginning.n_bytes().with_context(cannot)?;
    beginning.finish(&target)?;
    let Report { n_entries, n_sealed, .. } = report;
    let (file, made_at) = (target, now);
    Ok(Made { file, made_at, n_entries, n_sealed, n_bytes, n_files, n_file_bytes, missing })
}

fn target(to: &Path, now: Time) -> Result<PathBuf> {
    let to = std::path::absolute(to).with_context(|| format!("cannot use {}", to.display()))?;
    let target =
        if to.is_dir() { to.join(format!("tasuki-backup-{}.db", files::compact(now))) } else { to };
    if target.as_os_str().as_encoded_bytes().ends_with(b"/") {
        bail!("{} is no folder", target.display());
    }
    if target.symlink_metadata().is_ok() {
        bail!("{} is there already, and a backup replaces nothing", target.display());
    }
    Ok(target)
}

fn verify(path: &Path, beside: &Beside, progress: Progress<'_>) -> Result<Report> {
    let verifying = &mut |done, all| progress(BackupStage::Verifying, done, all);
    let report = audit::verify_copy(path, beside, verifying)?;
    match report.findings.first() {
        None => Ok(report),
        Some(first) => {
            let (path, first) = (path.to_owned(), first.to_string());
            Err(NotSound { path, first, n_findings: report.n_findings }.into())
        }
    }
}

fn put(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    durable::replace(path, bytes, mode).with_context(|| format!("cannot write {}", path.display()))
}
