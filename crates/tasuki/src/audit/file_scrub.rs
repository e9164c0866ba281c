//! The scrub of the files: a running server reads the bytes of every stored file again and again,
//! slowly, and compares them with their names. It finds bytes that the disk no longer reads as they
//! were written.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use adapters::files::FOLDER;
use engine::Engine;
use engine::files::FileError;
use protocol::time::Span;
use store::sqlite::{KeptFile, ReadOnly};
use tokio::sync::watch;

use super::files::problem;

/// Bytes that are read in a second: slower than any disk, so that requests do not wait.
const BYTES_PER_SECOND: u64 = 4 * 1024 * 1024;

/// The pause after each file, besides the time for its bytes.
const PAUSE: Span = Span::from_millis(20);

/// The pause between two rounds.
const ROUND_PAUSE: Span = Span::from_minutes(10);

/// Runs until it is told to stop. Without the scrub of the rows, it does nothing.
pub async fn run(
    engine: Engine,
    folder: PathBuf,
    rows_per_second: u32,
    mut stopped: watch::Receiver<bool>,
) {
    if rows_per_second == 0 {
        return;
    }
    let mut round = kept(&folder).await;
    loop {
        let (pause, is_over) = match round.pop_front() {
            Some(one) => (look(&engine, &folder, one).await, false),
            None => (ROUND_PAUSE, true),
        };
        tokio::select! {
            () = engine.clock().sleep(pause) => {}
            _ = stopped.wait_for(|stopped| *stopped) => return,
        }
        if is_over {
            round = kept(&folder).await;
        }
    }
}

/// Looks at one file, and returns how long to pause.
async fn look(engine: &Engine, folder: &std::path::Path, one: KeptFile) -> Span {
    let root = folder.join(FOLDER);
    let KeptFile { teamspace, file, size_bytes } = one.clone();
    let looked = tokio::task::spawn_blocking(move || problem(&root, &one)).await;
    let is_good = matches!(looked, Ok(Ok(None)) | Err(_));
    // It may have been removed or stored again since it was read. One that is refused may have been
    // put right.
    if (!is_good || engine.files().is_damaged(&teamspace, &file))
        && let Err(error) = engine.files().check(&teamspace, &file).await
        && !matches!(error, FileError::NoFile | FileError::Damaged)
    {
        engine.counts().scrub_findings.fetch_add(1, Ordering::Relaxed);
        tracing::error!(%error, "scrub: the file {file} cannot be read");
    }
    let seconds_1000 = size_bytes.saturating_mul(1_000) / BYTES_PER_SECOND;
    Span::from_millis(PAUSE.as_millis() + i64::try_from(seconds_1000).unwrap_or(i64::MAX / 2))
}

async fn kept(folder: &std::path::Path) -> VecDeque<KeptFile> {
    let folder = folder.to_owned();
    let read = tokio::task::spawn_blocking(move || {
        let database = ReadOnly::open(&folder).map_err(|error| error.to_string())?;
        database.kept_files().map_err(|error| error.to_string())
    });
    match read.await {
        Ok(Ok(files)) => files.into(),
        Ok(Err(error)) => {
            tracing::error!(error, "scrub: the files cannot be listed");
            VecDeque::new()
        }
        Err(_) => VecDeque::new(),
    }
}
