//! The scrub: a running server reads its database again and again, a few rows at a time, and checks
//! what can be checked row by row: that no entry is missing, the hashes of entries and documents,
//! the MACs of snapshots and recorded outcomes, that a snapshot is not older than its stream, that
//! deadlines, effects, mailboxes and holds follow from the snapshots, and that transcripts,
//! transfers and last rings follow from the entries. It finds rows that were changed, or that the
//! disk no longer reads as they were written. The rest is for `verify`, which needs the whole at
//! once.

mod round;

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use engine::Engine;
use protocol::row_mac::RowKey;
use protocol::time::Span;
use store::sqlite::ReadOnly;
use tokio::sync::watch;

use round::Scrub;

/// Rows are read this often; the rate decides how many.
const EVERY: Span = Span::from_millis(100);
const PER_SECOND: u32 = 10;

/// Runs until it is told to stop. At a rate of 0 it does nothing.
pub async fn run(
    engine: Engine,
    folder: PathBuf,
    key: RowKey,
    rows_per_second: u32,
    mut stopped: watch::Receiver<bool>,
) {
    if rows_per_second == 0 {
        return;
    }
    let mut scrub = match ReadOnly::open(&folder) {
        Ok(database) => Scrub::new(database, key),
        Err(error) => {
            tracing::error!(%error, "the database is not scrubbed");
            return;
        }
    };
    let n_rows = usize::try_from(rows_per_second.div_ceil(PER_SECOND)).unwrap_or(1);
    loop {
        tokio::select! {
            () = engine.clock().sleep(EVERY) => {}
            _ = stopped.wait_for(|stopped| *stopped) => return,
        }
        let slice = tokio::task::spawn_blocking(move || {
            let slice = scrub.slice(n_rows);
            (scrub, slice)
        });
        let Ok((same, slice)) = slice.await else { return };
        scrub = same;
        let counts = engine.counts();
        match slice {
            Ok(slice) => {
                counts.rows_scrubbed.fetch_add(slice.n_rows, Ordering::Relaxed);
                for finding in slice.findings {
                    counts.scrub_findings.fetch_add(1, Ordering::Relaxed);
                    tracing::error!("scrub: {finding}; see tasuki audit verify");
                }
            }
            Err(error) => {
                counts.scrub_findings.fetch_add(1, Ordering::Relaxed);
                tracing::error!(%error, "scrub: the database cannot be read");
                scrub.skip();
            }
        }
    }
}
