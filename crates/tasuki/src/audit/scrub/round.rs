//! One round of the scrub after another: which rows are read next, and what is wrong with them.

use std::collections::VecDeque;

use engine::ports::clock::{Clock, SystemClock};
use engine::ports::store::{Due, StoreError};
use protocol::codec;
use protocol::conversation::event::is_line;
use protocol::ledger::GENESIS;
use protocol::row_mac::RowKey;
use protocol::transfer::record::is_of_transfer;
use store::sqlite::{
    HoldRow, LedgerRow, OutboxRow, OutcomeRow, PartyRow, ReadOnly, SnapshotPlace, TranscriptRow,
};

use crate::audit::documents::{self, FoundDocument};
use crate::audit::transfers::{self, Rings};
use crate::audit::{derived_rows, holds, outcomes, snapshots, transcripts};

/// The first round begins with so many of the newest entries: those that were written since the
/// last round of a server that often starts.
const TAIL_ENTRIES: i64 = 1_000;

/// A round over the database.
pub struct Scrub {
    database: ReadOnly,
    key: RowKey,
    at: Place,
    /// As the entries of this round tell of them.
    rings: Rings,
}

/// What is read next. A list is read after the row that was read last.
enum Place {
    /// From one entry to another: the newest when the round began, so that a busy server gets to
    /// the end of a round.
    Entries {
        from: i64,
        until: i64,
    },
    Snapshots(VecDeque<SnapshotPlace>),
    Transcript(Option<TranscriptRow>),
    Transfers(i64),
    Rings(String, String),
    Deadlines(Option<Due>),
    Outbox(Option<OutboxRow>),
    Parties(Option<PartyRow>),
    Holds(Option<HoldRow>),
    Outcomes(Option<OutcomeRow>),
}

#[derive(Default)]
pub struct Slice {
    pub n_rows: u64,
    pub findings: Vec<String>,
}

impl Slice {
    /// Takes in a page of rows, each with what is wrong with it, and returns the last row.
    fn take<T>(
        &mut self,
        page: Vec<T>,
        mut problem: impl FnMut(&T) -> Result<Option<String>, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        for row in &page {
            self.n_rows += 1;
            self.findings.extend(problem(row)?);
        }
        Ok(page.into_iter().next_back())
    }
}

impl Slice {
    /// The entries of a transfer may be many, so they count too.
    fn take_transfers(
        &mut self,
        database: &ReadOnly,
        after: i64,
        n_rows: usize,
    ) -> Result<Option<i64>, StoreError> {
        let mut last = None;
        for row in database.transfer_rows(after, n_rows)? {
            let checked = transfers::row_problem(database, &row)?;
            self.n_rows += checked.n_passed + 1;
            self.findings.extend(checked.problem);
            last = Some(row.row);
            if self.n_rows >= n_rows as u64 {
                break;
            }
        }
        Ok(last)
    }
}

impl Scrub {
    pub fn new(database: ReadOnly, key: RowKey) -> Self {
        let until = newest_of(&database);
        let from = (until - TAIL_ENTRIES).max(0) + 1;
        let rings = Rings::new(from == 1);
        Self { database, key, at: Place::Entries { from, until }, rings }
    }

    /// All of a slice is read at one moment, so that what a commit changes is seen as a whole.
    pub fn slice(&mut self, n_rows: usize) -> Result<Slice, StoreError> {
        self.database.pin()?;
        let slice = self.pinned_slice(n_rows);
        self.database.unpin()?;
        slice
    }

    fn pinned_slice(&mut self, n_rows: usize) -> Result<Slice, StoreError> {
        let mut slice = Slice::default();
        let database = &self.database;
        let next = match &mut self.at {
            Place::Entries { .. } => return self.entries(n_rows),
            Place::Snapshots(places) => {
                let n_rows = n_rows.min(places.len());
                let page: Vec<SnapshotPlace> = places.drain(..n_rows).collect();
                slice.take(page, |at| snapshots::row_problem(database, *at, &self.key))?;
                (!places.is_empty()).then(|| Place::Snapshots(std::mem::take(places)))
            }
            Place::Transcript(after) => {
                let page = database.transcript_rows(after.as_ref(), n_rows)?;
                let mut before = after.take();
                slice
                    .take(page, |row| {
                        let problem = transcripts::row_problem(database, row, before.as_ref());
                        before = Some(row.clone());
                        problem
                    })?
                    .map(|last| Place::Transcript(Some(last)))
            }
            Place::Transfers(after) => {
                let last = slice.take_transfers(database, *after, n_rows)?;
                last.map(Place::Transfers)
            }
            Place::Rings(teamspace, agent) => {
                let page = database.last_rings((teamspace, agent), n_rows)?;
                let last = slice.take(page, |row| Ok(self.rings.problem(row)))?;
                last.map(|(teamspace, agent, _)| Place::Rings(teamspace, agent))
            }
            Place::Deadlines(after) => {
                let page = database.deadline_rows(after.as_ref(), n_rows)?;
                let last = slice.take(page, |row| derived_rows::deadline_problem(database, row))?;
                last.map(|last| Place::Deadlines(Some(last)))
            }
            Place::Outbox(after) => {
                let page = database.outbox_rows(after.as_ref(), n_rows)?;
                let now = SystemClock.now();
                let last =
                    slice.take(page, |row| derived_rows::effect_problem(database, row, now))?;
                last.map(|last| Place::Outbox(Some(last)))
            }
            Place::Parties(after) => {
                let page = database.party_rows(after.as_ref(), n_rows)?;
                let last = slice.take(page, |row| derived_rows::party_problem(database, row))?;
                last.map(|last| Place::Parties(Some(last)))
            }
            Place::Holds(after) => {
                let page = database.hold_rows(after.as_ref(), n_rows)?;
                let last = slice.take(page, |row| holds::row_problem(database, row))?;
                last.map(|last| Place::Holds(Some(last)))
            }
            Place::Outcomes(after) => {
                let page = database.outcome_rows(after.as_ref(), n_rows)?;
                let last = slice.take(page, |row| Ok(outcomes::mac_problem(row, &self.key)))?;
                last.map(|last| Place::Outcomes(Some(last)))
            }
        };
        match next {
            Some(next) => self.at = next,
            None => self.next_table()?,
        }
        Ok(slice)
    }

    fn entries(&mut self, n_rows: usize) -> Result<Slice, StoreError> {
        let mut slice = Slice::default();
        let Place::Entries { from, until } = &mut self.at else { return Ok(slice) };
        let page = self.database.ledger_rows(*from, n_rows)?;
        for row in page.into_iter().take_while(|row| row.seq <= *until) {
            slice.n_rows += 1;
            if row.seq != *from {
                let last = row.seq - 1;
                slice.findings.push(format!("entries {from} to {last} are gone"));
            }
            *from = row.seq + 1;
            slice.findings.extend(entry_problem(&self.database, row, &mut self.rings)?);
        }
        if slice.n_rows == 0 {
            self.next_table()?;
        }
        Ok(slice)
    }

    fn next_table(&mut self) -> Result<(), StoreError> {
        self.at = match &self.at {
            Place::Entries { .. } => Place::Snapshots(self.database.snapshot_places()?.into()),
            Place::Snapshots(_) => Place::Transcript(None),
            Place::Transcript(_) => Place::Transfers(i64::MIN),
            Place::Transfers(_) => Place::Rings(String::new(), String::new()),
            Place::Rings(..) => Place::Deadlines(None),
            Place::Deadlines(_) => Place::Outbox(None),
            Place::Outbox(_) => Place::Parties(None),
            Place::Parties(_) => Place::Holds(None),
            Place::Holds(_) => Place::Outcomes(None),
            Place::Outcomes(_) => {
                self.rings = Rings::new(true);
                Place::Entries { from: 1, until: newest_of(&self.database) }
            }
        };
        Ok(())
    }

    /// After rows that cannot be read. A snapshot was taken from its list already.
    pub fn skip(&mut self) {
        if matches!(&self.at, Place::Snapshots(places) if !places.is_empty()) {
            return;
        }
        self.rings = Rings::new(false);
        if self.next_table().is_err() {
            self.at = Place::Transcript(None);
        }
    }
}

fn newest_of(database: &ReadOnly) -> i64 {
    i64::try_from(database.newest().unwrap_or_default()).unwrap_or(i64::MAX)
}

fn entry_problem(
    database: &ReadOnly,
    row: LedgerRow,
    rings: &mut Rings,
) -> Result<Option<String>, StoreError> {
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
    let has_document = documents::belongs_to(&entry);
    if !has_document && !is_line(&entry.name) && !is_of_transfer(&entry.name) {
        rings.pass(&entry);
        return Ok(None);
    }
    let event = entry.body.text().map(|text| codec::decode(&entry.name, entry.version, text));
    let event = event.and_then(Result::ok);
    let beside = match transcripts::entry_problem(database, seq, &entry, event.as_ref())? {
        Some(problem) => Some(problem),
        None => transfers::entry_problem(database, seq, &entry, event.as_ref(), rings)?,
    };
    if beside.is_some() || !has_document {
        return Ok(beside);
    }
    let document = database.document_rows(seq, 1)?.into_iter().find(|found| found.seq == seq);
    let found =
        document.as_ref().map(|it| FoundDocument { hash: &it.hash, text: it.text.as_deref() });
    let problem = documents::problem(&entry, event.as_ref(), found.as_ref());
    Ok(problem.map(|what| format!("entry {seq}: {what}")))
}
