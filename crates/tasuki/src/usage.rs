//! What callers use when the server starts, and how much is left of the disk. What is open is
//! counted before the first command; what is stored takes longer, and is counted in the background.

use std::path::{Path, PathBuf};

use adapters::free_space::free_bytes;
use anyhow::Result;
use engine::Engine;
use engine::ports::store::StoreError;
use engine::usage::StoredCount;
use protocol::ledger::Stream;
use protocol::time::Span;
use store::sqlite::ReadOnly;
use tokio::sync::watch;

/// Entries whose lengths are read at once: some milliseconds.
const PAGE_ENTRIES: u64 = 4_096;

/// The pause between two pages, so that requests are read meanwhile.
const PAGE_PAUSE: Span = Span::from_millis(5);

/// The disk is looked at this often. The reserve must hold what can be written meanwhile.
const LOOK_EVERY: Span = Span::from_millis(1_000);

const MIB: u64 = 1024 * 1024;

/// Counts what is open, and learns the quotas of the teamspaces. Returns the entries whose bytes
/// are yet to be counted.
pub fn fill(engine: &Engine, folder: &Path) -> Result<u64> {
    let database = ReadOnly::open(folder)?;
    for counted in database.open_counts()? {
        engine.usage().count_open(counted);
    }
    for teamspace in database.teamspaces()? {
        let stream = Stream::of_teamspace(teamspace);
        // One teamspace whose row cannot be read must not stop the others.
        let learned = match database.load(&stream) {
            Ok(Some(snapshot)) => engine.learn_quotas(&stream, &snapshot),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = learned {
            tracing::error!(%error, "{} has the quotas of the server", stream.teamspace);
        }
    }
    for counted in database.stored_files()? {
        engine.usage().count_stored(&counted);
    }
    engine.usage().set_counting(true);
    Ok(database.newest()?)
}

/// Counts what is stored in all entries up to one of them.
pub async fn count_stored(
    engine: Engine,
    folder: PathBuf,
    newest: u64,
    mut stopped: watch::Receiver<bool>,
) {
    let mut from = 1;
    while from <= newest {
        let to = newest.min(from + PAGE_ENTRIES - 1);
        let folder = folder.clone();
        let page = tokio::task::spawn_blocking(move || stored(&folder, from, to));
        match page.await {
            Ok(Ok(counts)) => counts.iter().for_each(|one| engine.usage().count_stored(one)),
            Ok(Err(error)) => tracing::error!(%error, from, to, "entries that are not counted"),
            Err(_) => return,
        }
        from = to + 1;
        tokio::select! {
            () = engine.clock().sleep(PAGE_PAUSE) => {}
            _ = stopped.wait_for(|stopped| *stopped) => return,
        }
    }
    engine.usage().set_counting(false);
}

fn stored(folder: &Path, from: u64, to: u64) -> Result<Vec<StoredCount>, StoreError> {
    let database = ReadOnly::open(folder).map_err(|error| StoreError::Broken(error.to_string()))?;
    database.stored_counts(from, to)
}

/// Keeps the reserve of the disk until it is told to stop.
pub async fn keep_reserve(
    engine: Engine,
    folder: PathBuf,
    reserve_mib: u32,
    mut stopped: watch::Receiver<bool>,
) {
    if reserve_mib == 0 {
        return;
    }
    loop {
        tokio::select! {
            () = engine.clock().sleep(LOOK_EVERY) => {}
            _ = stopped.wait_for(|stopped| *stopped) => return,
        }
        look_at_disk(&engine, &folder, reserve_mib);
    }
}

/// Says whether the rest of the disk is reserved. A disk that cannot be asked counts as free: a
/// write finds out.
pub fn look_at_disk(engine: &Engine, folder: &Path, reserve_mib: u32) {
    let Ok(n_free) = free_bytes(folder) else { return };
    let is_reserved = n_free < u64::from(reserve_mib) * MIB;
    match (engine.usage().is_disk_reserved(), is_reserved) {
        (false, true) => tracing::error!(n_free, "the disk is nearly full: the rest is reserved"),
        (true, false) => tracing::info!(n_free, "the disk has room again"),
        (true, true) | (false, false) => {}
    }
    engine.usage().reserve_disk(is_reserved);
}
