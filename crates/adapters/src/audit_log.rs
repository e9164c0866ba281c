//! The audit log for people and scripts: followers of the ledger that append to
//! `teamspaces/<teamspace>/handoffs/handoffs.jsonl`, and the other logs and
//! `roles/ledger.jsonl` beside it.
//!
//! [`log`] says which logs there are, [`lines`] what is written, [`files`] how it survives a
//! crash, [`position`] how it is remembered. A log has no hashes: it is checked by deriving it
//! again.

pub mod files;
pub mod lines;
pub mod log;
pub mod position;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::Engine;
use engine::ledger::feed::{Followed, Follower};
use engine::ports::store::StoreError;
use protocol::codec::Unreadable;
use protocol::ledger::Erased;
use protocol::time::Span;
use tokio::sync::watch;

use files::{Files, Outdated};
use log::Log;

/// One write. More than this waits for the next one.
const BATCH_BYTES_MAX: usize = 1024 * 1024;

/// The pause between two writes while the log keeps up: each costs two syncs, which slow down the
/// database. A log that is behind does not pause.
const PAUSE: Span = Span::from_millis(100);

/// After a failure; doubled with each one that follows.
const RETRY_AFTER_MIN: Span = Span::from_millis(1_000);

/// A full disk may be full for days: look again once a minute, and say so.
const RETRY_AFTER_MAX: Span = Span::from_millis(60_000);

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("entry {seq}: {error}")]
    Unreadable { seq: u64, error: Unreadable },
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Follows the ledger until it is told to stop, and then to its end. A failure is logged and tried
/// again from what was recorded last; nothing is skipped.
pub async fn run(engine: Engine, folder: PathBuf, log: Log, mut stop: watch::Receiver<bool>) {
    tokio::select! {
        biased;
        () = engine.ledger().until_not_behind() => {}
        // The lines of lost entries are all that is left of them, until an operator declares a
        // fork.
        () = until_stopped(&mut stop) => return,
    }
    let mut retry_after = RETRY_AFTER_MIN;
    loop {
        let is_last_try = *stop.borrow() || stop.has_changed().is_err();
        match follow(&engine, (&folder, log), &mut stop, &mut retry_after).await {
            Ok(()) => return,
            Err(error) if is_last_try => {
                tracing::error!(%error, "the audit log is behind; the next start goes on with it");
                return;
            }
            Err(error) => tracing::error!(%error, "the audit log could not be written"),
        }
        tokio::select! {
            () = engine.clock().sleep(retry_after) => {}
            () = until_stopped(&mut stop) => {}
        }
        let doubled = Span::from_millis(retry_after.as_millis() * 2);
        retry_after = doubled.min(RETRY_AFTER_MAX);
    }
}

async fn follow(
    engine: &Engine,
    (folder, log): (&Path, Log),
    stop: &mut watch::Receiver<bool>,
    retry_after: &mut Span,
) -> Result<(), Error> {
    let folder = folder.to_owned();
    let files = blocking(move || Ok(Files::open(&folder, log)?)).await?;
    let mut files = rest_on_ledger(engine, files).await?;
    let mut follower = engine.ledger().follow(files.cursor());
    loop {
        let first = tokio::select! {
            page = follower.next() => page?,
            () = until_stopped(stop) => break,
        };
        let batch = fill(&mut follower, first).await?;
        let is_full = n_bytes(&batch) >= BATCH_BYTES_MAX;
        files = write(engine, &mut follower, files, batch).await?;
        *retry_after = RETRY_AFTER_MIN;
        if !is_full {
            tokio::select! {
                () = engine.clock().sleep(PAUSE) => {}
                () = until_stopped(stop) => {}
            }
        }
    }
    loop {
        let first = follower.available().await?;
        let batch = fill(&mut follower, first).await?;
        if batch.is_empty() {
            break;
        }
        files = write(engine, &mut follower, files, batch).await?;
    }
    blocking(move || Ok(files.record()?)).await
}

/// Empties files that were derived from entries the ledger does not have, as after a restore.
async fn rest_on_ledger(engine: &Engine, mut files: Files) -> Result<Files, Error> {
    let mut found = BTreeMap::new();
    for sequence in files.foundations() {
        let entry = engine.read().entry(sequence).await?;
        found.extend(entry.map(|one| (one.seq, one.entry.hash)));
    }
    let Outdated { teamspaces, is_common } = files.outdated_against(&found);
    if teamspaces.is_empty() && !is_common {
        return Ok(files);
    }
    tracing::warn!(n_files = teamspaces.len(), "the ledger is another one; derived from it again");
    let newest = engine.ledger().newest().await?;
    blocking(move || {
        files.derive_again(&teamspaces, newest)?;
        Ok(files)
    })
    .await
}

/// Takes what is there, up to one batch.
async fn fill(
    follower: &mut Follower,
    mut batch: Vec<Arc<Followed>>,
) -> Result<Vec<Arc<Followed>>, StoreError> {
    while !batch.is_empty() && n_bytes(&batch) < BATCH_BYTES_MAX {
        let page = follower.available().await?;
        if page.is_empty() {
            break;
        }
        batch.extend(page);
    }
    Ok(batch)
}

/// Lines are about as long as the bodies they come from.
fn n_bytes(batch: &[Arc<Followed>]) -> usize {
    let line = |followed: &Arc<Followed>| {
        followed.sequenced.entry.body.text().map_or(0, str::len).max(200)
    };
    batch.iter().map(line).sum()
}

/// Appends a batch. If it erases a body that the files may contain, they are emptied instead, and
/// the follower starts again from the beginning: the ledger no longer has the erased body.
async fn write(
    engine: &Engine,
    follower: &mut Follower,
    mut files: Files,
    batch: Vec<Arc<Followed>>,
) -> Result<Files, Error> {
    let erases = batch.iter().any(|followed| followed.sequenced.entry.name == Erased::NAME);
    let newest = if erases { engine.ledger().newest().await? } else { follower.cursor() };
    let files = blocking(move || {
        let entries = || batch.iter().map(|followed| &followed.sequenced);
        let outdated = files.outdated_by(entries())?;
        if outdated.is_empty() {
            files.append(entries())?;
        } else {
            files.derive_again(&outdated, newest)?;
        }
        Ok(files)
    })
    .await?;
    if files.cursor() != follower.cursor() {
        *follower = engine.ledger().follow(files.cursor());
    }
    Ok(files)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(io::Error::other(error).into()),
    }
}

async fn until_stopped(stop: &mut watch::Receiver<bool>) {
    // A dropped sender means stop as well.
    let _ = stop.wait_for(|stop| *stop).await;
}
