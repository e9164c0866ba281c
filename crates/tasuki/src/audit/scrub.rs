//! The scrub: a running server reads its database again and again, a few rows at a time, and checks
//! what can be checked row by row: that no entry is missing, the hashes of entries and documents,
//! the MACs of snapshots and recorded outcomes, that a snapshot is not older than its stream, and
//! that deadlines, effects, mailboxes and holds follow from the snapshots. It finds rows that were
//! changed, or that the disk no longer reads as they were written. The rest is for `verify`, which
//! needs the whole at once.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use engine::Engine;
use engine::ports::store::StoreError;
use protocol::codec;
use protocol::ledger::GENESIS;
use protocol::row_mac::RowKey;
use protocol::time::Span;
use store::sqlite::{HoldRow, LedgerRow, OutcomeRow, ReadOnly, SnapshotPlace};
use tokio::sync::watch;

use super::documents::{self, FoundDocument};
use super::{holds, outcomes, snapshots};

/// Rows are read this often; the rate decides how many.
const EVERY: Span = Span::from_millis(100);
const PER_SECOND: u32 = 10;

/// The first round begins with so many of the newest entries: those that were written since the
/// last round of a server that often starts.
const TAIL_ENTRIES: i64 = 1_000;

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
        Ok(database) => {
            let until = newest_of(&database);
            let from = (until - TAIL_ENTRIES).max(0) + 1;
            Scrub { database, key, at: Place::Entries { from, until } }
        }
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

/// A round over the database.
struct Scrub {
    database: ReadOnly,
    key: RowKey,
    at: Place,
}

/// What is read next.
enum Place {
    /// From one entry to another: the newest when the round began, so that a busy server gets to
    /// the end of a round.
    Entries {
        from: i64,
        until: i64,
    },
    Snapshots(VecDeque<SnapshotPlace>),
    /// After this one.
    Holds(Option<HoldRow>),
    /// After this one.
    Outcomes(Option<OutcomeRow>),
}

#[derive(Default)]
struct Slice {
    n_rows: u64,
    findings: Vec<String>,
}

impl Scrub {
    /// All of a slice is read at one moment, so that what a commit changes is seen as a whole.
    fn slice(&mut self, n_rows: usize) -> Result<Slice, StoreError> {
        self.database.pin()?;
        let slice = self.pinned_slice(n_rows);
        self.database.unpin()?;
        slice
    }

    fn pinned_slice(&mut self, n_rows: usize) -> Result<Slice, StoreError> {
        let mut slice = Slice::default();
        match &mut self.at {
            Place::Entries { from, until } => {
                let page = self.database.ledger_rows(*from, n_rows)?;
                for row in page.into_iter().take_while(|row| row.seq <= *until) {
                    slice.n_rows += 1;
                    if row.seq != *from {
                        let last = row.seq - 1;
                        slice.findings.push(format!("entries {from} to {last} are gone"));
                    }
                    *from = row.seq + 1;
                    slice.findings.extend(entry_problem(&self.database, row)?);
                }
                if slice.n_rows == 0 {
                    self.at = Place::Snapshots(self.database.snapshot_places()?.into());
                }
            }
            Place::Snapshots(places) => {
                for _ in 0..n_rows {
                    let Some(place) = places.pop_front() else { break };
                    slice.n_rows += 1;
                    let problem = snapshots::row_problem(&self.database, place, &self.key)?;
                    slice.findings.extend(problem);
                }
                if places.is_empty() {
                    self.at = Place::Holds(None);
                }
            }
            Place::Holds(after) => {
                let page = self.database.hold_rows(after.as_ref(), n_rows)?;
                for row in &page {
                    slice.n_rows += 1;
                    slice.findings.extend(holds::row_problem(&self.database, row)?);
                }
                self.at = match page.into_iter().next_back() {
                    Some(last) => Place::Holds(Some(last)),
                    None => Place::Outcomes(None),
                };
            }
            Place::Outcomes(after) => {
                let page = self.database.outcome_rows(after.as_ref(), n_rows)?;
                slice.n_rows += page.len() as u64;
                slice
                    .findings
                    .extend(page.iter().filter_map(|row| outcomes::mac_problem(row, &self.key)));
                self.at = match page.into_iter().next_back() {
                    Some(last) => Place::Outcomes(Some(last)),
                    None => Place::beginning(&self.database),
                };
            }
        }
        Ok(slice)
    }

    /// After rows that cannot be read.
    fn skip(&mut self) {
        self.at = match &self.at {
            Place::Entries { .. } => match self.database.snapshot_places() {
                Ok(places) => Place::Snapshots(places.into()),
                Err(_) => Place::Holds(None),
            },
            Place::Snapshots(places) if !places.is_empty() => return,
            Place::Snapshots(_) => Place::Holds(None),
            Place::Holds(_) => Place::Outcomes(None),
            Place::Outcomes(_) => Place::beginning(&self.database),
        };
    }
}

impl Place {
    fn beginning(database: &ReadOnly) -> Self {
        Place::Entries { from: 1, until: newest_of(database) }
    }
}

fn newest_of(database: &ReadOnly) -> i64 {
    i64::try_from(database.newest().unwrap_or_default()).unwrap_or(i64::MAX)
}

fn entry_problem(database: &ReadOnly, row: LedgerRow) -> Result<Option<String>, StoreError> {
    let LedgerRow { seq, prev_seq, entry } = row;
    let entry = match entry {
        Ok(entry) => entry,
        Err(problem) => return Ok(Some(format!("entry {seq} cannot be read: {problem}"))),
    };
    let previous = match u64::try_from(prev_seq) {
        Ok(0) | Err(_) => GENESIS,
        Ok(previous) => {
            let found = database.entries(previous - 1, 1)?.pop();
            found.filter(|it| it.seq == previous).map_or(GENESIS, |it| it.entry.hash)
        }
    };
    if entry.expected_hash(&previous) != entry.hash {
        return Ok(Some(format!("entry {seq}: the hash does not follow from the content")));
    }
    if !documents::belongs_to(&entry) {
        return Ok(None);
    }
    let event = entry.body.text().map(|text| codec::decode(&entry.name, entry.version, text));
    let event = event.and_then(Result::ok);
    let document = database.document_rows(seq, 1)?.into_iter().find(|found| found.seq == seq);
    let found =
        document.as_ref().map(|it| FoundDocument { hash: &it.hash, text: it.text.as_deref() });
    let problem = documents::problem(&entry, event.as_ref(), found.as_ref());
    Ok(problem.map(|what| format!("entry {seq}: {what}")))
}
