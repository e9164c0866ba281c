//! Putting a backup into a data folder. Nothing is deleted, and nothing changes in the folder
//! before the backup was verified.

use std::fs;
use std::path::{Path, PathBuf};

use adapters::checkpoint_file::CheckpointFiles;
use adapters::{checkpoint_file, durable, ledger_key};
use anyhow::{Context, Result, bail};
use engine::ledger::behind::Doubt;
use protocol::time::Time;
use serde::Serialize;
use store::sqlite::{FILE_NAME, FolderLock, LOCK_FILE, ReadOnly};

use super::files::{self, Beginning, FileNames};
use super::{BackupStage, Progress, put, stored, verify};
use crate::audit::{Beside, Report};
use crate::{checkpoint_check, node};

/// What to do with a folder that is not empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Old {
    Refuse,
    /// The old database gets another name; checkpoints and keys stay.
    MoveAside,
}

/// What is in the folder now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Restored {
    #[serde(serialize_with = "files::as_text")]
    pub data: PathBuf,
    pub n_entries: u64,
    pub n_sealed: u64,
    /// The new name of the old database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<String>,
    /// Whether the signing key is there. Without it no server starts.
    pub has_key: bool,
    /// The folder has a checkpoint of this many entries, which the backup does not fulfil.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_size: Option<u64>,
    /// Stored files that the backup says it does not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// The files beside the backup.
struct Kept {
    beside: Beside,
    signing_key: Option<Vec<u8>>,
    digest: String,
}

pub fn restore(
    from: &Path,
    data: &Path,
    old: Old,
    now: Time,
    progress: Progress<'_>,
) -> Result<Restored> {
    let data =
        std::path::absolute(data).with_context(|| format!("cannot use {}", data.display()))?;
    // Taking the lock fails if a server runs on the folder.
    let mut lock = None;
    if data.join(LOCK_FILE).exists() {
        lock = Some(FolderLock::take(&data)?);
    }
    check_folder(&data, old)?;
    let kept = Kept::read(from)?;
    check_same_ledger(&data, &kept)?;
    let before = verify(from, &kept.beside, progress)?;
    // A server must not find a database without its files, so they come first.
    let FileNames { files: folder, missing, .. } = FileNames::of(from);
    let missing = stored::read_missing(&missing)?;
    let files = stored::wanted(ReadOnly::open_file(from)?.kept_files()?, &missing);
    stored::check(&folder, &files)?;

    node::make_folder(&data)?;
    if lock.is_none() {
        lock = Some(FolderLock::take(&data)?);
    }
    let database = data.join(FILE_NAME);
    let beginning = copy(from, &database, &kept, progress)?;
    let report = verify(beginning.path(), &kept.beside, progress)?;
    if report.n_entries != before.n_entries {
        bail!("{} has a write-ahead log beside it; back up with `tasuki backup`", from.display());
    }
    stored::restore(&folder, &data, &files)?;
    let moved_to = move_aside(&database, now)?;
    // Before the database: a server must not find one and make a key for it.
    kept.put_beside(&data)?;
    beginning.finish(&database)?;
    let behind = match &kept.beside.key {
        Some(key) => checkpoint_check::behind(&data, Vec::new(), key.trim_end())?,
        None => None,
    };
    drop(lock);
    let Report { n_entries, n_sealed, .. } = report;
    Ok(Restored {
        has_key: data.join(ledger_key::KEY_FILE).exists(),
        data,
        n_entries,
        n_sealed,
        moved_to,
        lost_size: behind.filter(|it| it.doubt == Doubt::Lost).map(|it| it.lost.size),
        missing: missing.iter().map(|(of, file)| format!("{of} {file}")).collect(),
    })
}

fn check_folder(data: &Path, old: Old) -> Result<()> {
    let found = files::list(data).with_context(|| format!("cannot look at {}", data.display()))?;
    let has_more = found.iter().any(|name| name != LOCK_FILE);
    if has_more && old == Old::Refuse {
        bail!("{} is not empty; --force puts the database there aside", data.display());
    }
    Ok(())
}

/// The checkpoints of another key belong to another ledger.
fn check_same_ledger(data: &Path, kept: &Kept) -> Result<()> {
    let path = data.join(ledger_key::PUBLIC_FILE);
    let found = files::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let (Some(found), Some(key)) = (found, &kept.beside.key) else { return Ok(()) };
    if String::from_utf8_lossy(&found).trim_end() != key.trim_end() {
        bail!("the backup is of another ledger than {}: their keys differ", data.display());
    }
    Ok(())
}

/// A copy in the folder, not yet under the name of the database.
fn copy(from: &Path, database: &Path, kept: &Kept, progress: Progress<'_>) -> Result<Beginning> {
    let cannot = || format!("cannot copy {}", from.display());
    let left_over = database.with_added_extension("partial");
    if left_over.exists() {
        // We hold the folder, so the file is left over from a restore that was cut short.
        fs::remove_file(&left_over).with_context(cannot)?;
    }
    let beginning = Beginning::create(database)?;
    let n_bytes = fs::metadata(from).with_context(cannot)?.len();
    progress(BackupStage::Copying, 0, n_bytes);
    let mut source = fs::File::open(from).with_context(cannot)?;
    let mut copy =
        fs::OpenOptions::new().write(true).open(beginning.path()).with_context(cannot)?;
    std::io::copy(&mut source, &mut copy).with_context(cannot)?;
    progress(BackupStage::Copying, n_bytes, n_bytes);
    beginning.sync().with_context(cannot)?;
    if files::digest(beginning.path()).with_context(cannot)? != kept.digest {
        bail!("{} changed while it was copied", from.display());
    }
    Ok(beginning)
}

/// Moves the write-ahead log last, and before the new database arrives: SQLite would take a log
/// beside a foreign database for a part of it.
fn move_aside(database: &Path, now: Time) -> Result<Option<String>> {
    let name = format!("tasuki-replaced-{}.db", files::compact(now));
    let aside = database.with_file_name(&name);
    if aside.symlink_metadata().is_ok() {
        bail!("{} is there already; try again in a second", aside.display());
    }
    let mut moved = None;
    for suffix in ["", "-wal", "-shm"] {
        let with_suffix = |path: &Path| {
            let mut name = path.as_os_str().to_owned();
            name.push(suffix);
            PathBuf::from(name)
        };
        let (old, new) = (with_suffix(database), with_suffix(&aside));
        if old.symlink_metadata().is_ok() {
            durable::rename(&old, &new)
                .with_context(|| format!("cannot put {} aside", old.display()))?;
            moved = Some(name.clone());
        }
    }
    Ok(moved)
}

impl Kept {
    fn read(from: &Path) -> Result<Self> {
        let names = FileNames::of(from);
        let read = |path: &Path| {
            files::read(path).with_context(|| format!("cannot read {}", path.display()))
        };
        let text = |path: &Path| -> Result<Option<String>> {
            Ok(read(path)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
        };
        let beside = Beside {
            key: text(&names.public_key)?,
            newest: text(&names.checkpoint)?,
            ..Beside::default()
        };
        let digest =
            files::digest(from).with_context(|| format!("cannot read {}", from.display()))?;
        let noted = text(&names.digest)?;
        let noted = noted.as_deref().and_then(|line| line.split_whitespace().next());
        if noted.is_some_and(|noted| noted != digest) {
            let names = names.digest.display();
            bail!("{} is damaged: it is not the file that {names} names", from.display());
        }
        Ok(Self { beside, signing_key: read(&names.signing_key)?, digest })
    }

    /// Files that the folder already has stay: they may be newer than those of the backup.
    fn put_beside(&self, data: &Path) -> Result<()> {
        let has = |name: &str| data.join(name).exists();
        if let Some(key) = &self.signing_key
            && !has(ledger_key::KEY_FILE)
        {
            put(&data.join(ledger_key::KEY_FILE), key, durable::PRIVATE)?;
        }
        if let Some(key) = &self.beside.key
            && !has(ledger_key::PUBLIC_FILE)
        {
            put(&data.join(ledger_key::PUBLIC_FILE), key.as_bytes(), durable::PUBLIC)?;
        }
        if let Some(note) = &self.beside.newest
            && !has(checkpoint_file::NEWEST_FILE)
            && !has(checkpoint_file::LOG_FILE)
        {
            CheckpointFiles::open(data)?.begin(note)?;
        }
        Ok(())
    }
}
