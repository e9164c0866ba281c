//! Verifying a data folder: the database row by row, and everything that lies around it.

use std::collections::VecDeque;
use std::path::Path;

use anyhow::Context;
use engine::port::StoreError;
use protocol::audit::{Auditor, Place, Replay};
use protocol::ledger::Entry;
use protocol::step::Event;
use store::sqlite::{DocumentRow, LedgerRow, ReadOnly};

use super::documents::{self, Found};
use super::jsonl::Logs;
use super::notes::{Beside, Notes};
use super::report::{Findings, Report};
use super::snapshots::Snapshots;
use super::{Options, Progress};

/// One read: large enough that the query costs nothing, small enough to show progress.
const PAGE_ROWS_MAX: usize = 512;

/// A document may be some hundred kilobytes.
const PAGE_DOCUMENTS_MAX: usize = 16;

pub fn verify(folder: &Path, options: &Options, progress: Progress<'_>) -> anyhow::Result<Report> {
    let cannot = || format!("cannot read {}", folder.display());
    // What lies beside the database comes first: it is written after what it speaks of.
    let beside = Beside::read(folder).with_context(cannot)?;
    let logs = Logs::open(folder).with_context(cannot)?;
    let database = ReadOnly::open(folder)?;
    database.pin().with_context(cannot)?;

    let mut findings = Findings::default();
    let mut remarks = Vec::new();
    let mut notes = Notes::new(options, beside.key.as_deref(), &mut findings);
    notes.add_beside(&beside, &mut findings);
    check_sealed(&database, &beside, &mut notes, &mut findings, &mut remarks);
    notes.finish(&mut findings);

    let mut reading = Reading {
        auditor: Auditor::new(Replay::States, notes.sizes()),
        documents: Documents::of(&database),
        snapshots: Snapshots::of(&database).with_context(cannot)?,
        logs,
        findings,
    };
    let n_rows = database.newest().with_context(cannot)?;
    let read = reading.rows(&database, n_rows, progress)?;
    let Reading { auditor, mut documents, snapshots, logs, mut findings } = reading;
    let mut n_lines = 0;
    if let Read::All = read {
        documents.pass_orphans(i64::MAX, &mut findings)?;
        snapshots.finish(&auditor, &mut findings);
        n_lines = logs.finish(&mut findings, &mut remarks).with_context(cannot)?;
    }
    let n_checkpoints = notes.checkpoints.len() as u64;
    let audited = auditor.finish(&notes.checkpoints);
    Ok(Report { n_checkpoints, n_lines, remarks, ..findings.into_report(audited) })
}

/// The checkpoint in the database, and whether those outside of it are where they should be.
fn check_sealed(
    database: &ReadOnly,
    beside: &Beside,
    notes: &mut Notes,
    findings: &mut Findings,
    remarks: &mut Vec<String>,
) {
    match database.sealed() {
        Ok(Some(sealed)) => {
            notes.add_sealed(&sealed, findings);
            match (&beside.newest, &beside.log) {
                (Some(_), _) => {}
                (None, Some(_)) => findings.general("the file checkpoint was removed"),
                (None, None) => remarks.push(
                    "there is no checkpoint outside the database: removed, or never written \
                     because the first start was cut short"
                        .to_owned(),
                ),
            }
        }
        Ok(None) => {}
        Err(error) => {
            findings.general(format_args!("the checkpoint in the database cannot be read: {error}"));
        }
    }
    if beside.log.as_ref().is_some_and(|log| log.is_torn) {
        remarks.push("checkpoints.log ends in half a note, as after a crash".to_owned());
    }
}

struct Reading<'d> {
    auditor: Auditor,
    documents: Documents<'d>,
    snapshots: Snapshots<'d>,
    logs: Logs,
    findings: Findings,
}

/// How far the rows could be read.
enum Read {
    All,
    /// The file is damaged; what was not reached cannot be called missing.
    UpTo,
}

impl Reading<'_> {
    fn rows(
        &mut self,
        database: &ReadOnly,
        n_rows: u64,
        progress: Progress<'_>,
    ) -> anyhow::Result<Read> {
        let mut from = Some(i64::MIN);
        let mut last_seq = 0;
        while let Some(first) = from {
            let page = match database.ledger_rows(first, PAGE_ROWS_MAX) {
                Ok(page) => page,
                Err(error @ (StoreError::Corrupt(_) | StoreError::Broken(_))) => {
                    let next = last_seq + 1;
                    let place = Place::Range { first: next, last: next };
                    self.findings.about(place, format_args!("cannot be read: {error}"));
                    return Ok(Read::UpTo);
                }
                Err(error) => return Err(error.into()),
            };
            let Some(last) = page.last().map(|row| row.seq) else { break };
            for row in &page {
                self.row(row)?;
            }
            last_seq = u64::try_from(last).unwrap_or_default();
            from = last.checked_add(1);
            progress(self.auditor.n_entries(), n_rows);
        }
        Ok(Read::All)
    }

    fn row(&mut self, row: &LedgerRow) -> anyhow::Result<()> {
        let seq = match u64::try_from(row.seq) {
            Ok(seq) if seq > 0 => seq,
            Ok(_) | Err(_) => {
                let number = row.seq;
                self.findings.general(format_args!("there is a row with the number {number}"));
                return Ok(());
            }
        };
        match &row.entry {
            Ok(entry) => self.entry(seq, row, entry),
            Err(problem) => {
                self.auditor.push_unreadable(seq, problem.clone());
                self.documents.take(row.seq, &mut self.findings)?;
                Ok(())
            }
        }
    }

    fn entry(&mut self, seq: u64, row: &LedgerRow, entry: &Entry) -> anyhow::Result<()> {
        let before = self.auditor.last_seq_of(&entry.stream);
        let event = self.auditor.push(seq, entry);
        if i64::try_from(before) != Ok(row.prev_seq) {
            let what = format_args!(
                "linked to entry {}, but the entry before it in its stream is {before}",
                row.prev_seq
            );
            self.findings.about(Place::of(seq, entry), what);
        }
        self.document(seq, row, entry, event.as_ref())?;
        self.logs.check(seq, entry, event.as_ref(), &mut self.findings)?;
        self.snapshots.check(row.seq, entry, &mut self.auditor, &mut self.findings);
        Ok(())
    }

    fn document(
        &mut self,
        seq: u64,
        row: &LedgerRow,
        entry: &Entry,
        event: Option<&Event>,
    ) -> anyhow::Result<()> {
        let document = self.documents.take(row.seq, &mut self.findings)?;
        let found = document
            .as_ref()
            .map(|document| Found { hash: &document.hash, text: document.text.as_deref() });
        if let Some(what) = documents::problem(entry, event, found.as_ref()) {
            self.findings.about(Place::of(seq, entry), what);
        }
        Ok(())
    }
}

/// The documents in the order of the entries that name them.
pub(super) struct Documents<'d> {
    database: &'d ReadOnly,
    page: VecDeque<DocumentRow>,
    /// Where the next page begins; `None` after the last.
    next: Option<i64>,
}

impl<'d> Documents<'d> {
    pub(super) fn of(database: &'d ReadOnly) -> Self {
        Self { database, page: VecDeque::new(), next: Some(i64::MIN) }
    }

    /// The document of an entry, once all before it were asked for.
    pub(super) fn take(
        &mut self,
        seq: i64,
        findings: &mut Findings,
    ) -> Result<Option<DocumentRow>, StoreError> {
        self.pass_orphans(seq, findings)?;
        let is_next = self.page.front().is_some_and(|document| document.seq == seq);
        Ok(if is_next { self.page.pop_front() } else { None })
    }

    /// Passes over documents before an entry that nobody asked for.
    fn pass_orphans(&mut self, seq: i64, findings: &mut Findings) -> Result<(), StoreError> {
        loop {
            if self.page.is_empty()
                && let Some(next) = self.next
            {
                self.page = self.database.document_rows(next, PAGE_DOCUMENTS_MAX)?.into();
                self.next = self.page.back().and_then(|last| last.seq.checked_add(1));
            }
            let Some(document) = self.page.front() else { return Ok(()) };
            if document.seq >= seq {
                return Ok(());
            }
            let what = "there is a document for it, but no such entry";
            match u64::try_from(document.seq) {
                Ok(seq) => findings.about(Place::Range { first: seq, last: seq }, what),
                Err(_) => findings.general(format_args!("entry {}: {what}", document.seq)),
            }
            self.page.pop_front();
        }
    }
}
