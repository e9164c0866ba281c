//! Verifying a data folder: the database row by row, and everything that lies around it.

use std::collections::{HashSet, VecDeque};
use std::path::Path;

use adapters::files::FOLDER;
use adapters::ledger_key::FoundRowKey;
use anyhow::Context;
use engine::ports::store::StoreError;
use protocol::audit::{Auditor, EntryPlace, Replay};
use protocol::ledger::{Entry, Stream};
use protocol::row_mac::RowKey;
use protocol::step::Event;
use store::sqlite::{DocumentRow, FILE_NAME, LedgerRow, Migrated, OpenError, Pace, ReadOnly};

use super::documents::{self, FoundDocument};
use super::jsonl::Logs;
use super::notes::{Beside, Lived, Notes};
use super::report::{Findings, Report};
use super::session_holds::SessionHolds;
use super::snapshots::Snapshots;
use super::transcripts::Transcripts;
use super::transfers::Transfers;
use super::{Options, Progress, derived_rows, files, outcomes};

/// One read: large enough that the query costs nothing, small enough to show progress.
const PAGE_ROWS_MAX: usize = 512;

/// A document may be some hundred kilobytes.
const PAGE_DOCUMENTS_MAX: usize = 16;

pub fn verify(
    folder: &Path,
    options: &Options,
    pace: Option<Pace>,
    progress: Progress<'_>,
) -> anyhow::Result<Report> {
    let cannot = || format!("cannot read {}", folder.display());
    // The files beside the database come first: they are written after the entries they refer to.
    let beside = Beside::read(folder).with_context(cannot)?;
    let logs = Logs::open(folder).with_context(cannot)?;
    let database = ReadOnly::open(folder)?.at_pace(pace);
    if let Some(report) = without_ledger(&database, folder, &beside)? {
        return Ok(report);
    }
    database.pin().with_context(cannot)?;
    let verified = verify_parts(&database, &beside, Some(logs), options, progress);
    let (mut report, _) = verified.with_context(cannot)?;
    // A part of the database that cannot be read was found above.
    if let Ok(kept) = database.kept_files() {
        let pace = database.close();
        let count = |n_rows| {
            if let Some(Pace(pace)) = &pace {
                pace(n_rows);
            }
        };
        let current = || {
            let database = ReadOnly::open(folder);
            database.map_err(|error| StoreError::Broken(error.to_string()))?.kept_files()
        };
        let root = folder.join(FOLDER);
        files::check(&mut report, &kept, &root, count, current)?;
    }
    Ok(report)
}

/// The report on a folder whose first start was interrupted. Fails if the database is of another
/// release, or of another program. Where a server has run before, everything is looked at.
fn without_ledger(
    database: &ReadOnly,
    folder: &Path,
    beside: &Beside,
) -> anyhow::Result<Option<Report>> {
    let path = folder.join(FILE_NAME);
    let has_run = beside.key.is_some() || beside.newest.is_some() || beside.log.is_some();
    match database.check_version(&path) {
        Ok(Migrated::NotBegun) if !has_run => {
            let empty = Auditor::new(Replay::Nothing, []).finish(&[]);
            let remarks = vec![FIRST_START_INTERRUPTED.to_owned()];
            Ok(Some(Report { remarks, ..Findings::default().into_report(empty) }))
        }
        Ok(Migrated::Partly { found, known }) => {
            Err(OpenError::Older { path, found, known }.into())
        }
        Err(error @ (OpenError::Newer { .. } | OpenError::Changed { .. })) => Err(error.into()),
        Err(error @ OpenError::NotOurs { .. }) if !has_run => Err(error.into()),
        Ok(Migrated::Completely | Migrated::NotBegun)
        | Err(
            OpenError::NotOurs { .. }
            | OpenError::Older { .. }
            | OpenError::InUse(_)
            | OpenError::Io { .. }
            | OpenError::Sqlite { .. },
        ) => Ok(None),
    }
}

/// Also what `tasuki doctor` says.
pub const FIRST_START_INTERRUPTED: &str =
    "the first start was interrupted, and nothing was recorded; the next start finishes it";

/// The streams whose snapshots do not follow from the ledger.
pub fn doubtful_streams(folder: &Path) -> anyhow::Result<HashSet<Stream>> {
    let cannot = || format!("cannot read {}", folder.display());
    let beside =
        Beside { row_key: FoundRowKey::Absent, ..Beside::read(folder).with_context(cannot)? };
    let database = ReadOnly::open(folder)?;
    database.pin().with_context(cannot)?;
    let verified = verify_parts(&database, &beside, None, &Options::default(), &mut |_, _| {});
    verified.map(|(_, doubtful)| doubtful).with_context(cannot)
}

/// A database that has no data folder around it, with what was kept beside it. Its files are not
/// looked at.
pub fn verify_copy(path: &Path, beside: &Beside, progress: Progress<'_>) -> anyhow::Result<Report> {
    let cannot = || format!("cannot read {}", path.display());
    let database = ReadOnly::open_file(path)?;
    database.check_version(path)?;
    if let Some(damage) = database.damage().with_context(cannot)? {
        let mut findings = Findings::default();
        findings.general(damage);
        return Ok(findings.into_report(Auditor::new(Replay::Nothing, []).finish(&[])));
    }
    let verified = verify_parts(&database, beside, None, &Options::default(), progress);
    verified.map(|(report, _)| report).with_context(cannot)
}

fn verify_parts(
    database: &ReadOnly,
    beside: &Beside,
    logs: Option<Logs>,
    options: &Options,
    progress: Progress<'_>,
) -> anyhow::Result<(Report, HashSet<Stream>)> {
    let mut findings = Findings::default();
    check_file(database, &mut findings)?;
    let mut remarks = Vec::new();
    let row_key = usable_row_key(database, &beside.row_key, &mut findings, &mut remarks)?;
    let mut notes = Notes::new(options, beside.key.as_deref(), &mut findings);
    let newest = notes.add_beside(beside, &mut findings);
    check_sealed(database, beside, &mut notes, &mut findings, &mut remarks)?;
    notes.finish(&mut findings);

    let snapshots = Snapshots::of(database, row_key);
    let snapshots = unless_damaged(snapshots, "the snapshots", &mut findings)?;
    let mut reading = ReadingData {
        auditor: Auditor::new(Replay::States, notes.sizes()),
        documents: Some(Documents::of(database)),
        snapshots,
        transcripts: Some(Transcripts::of(database)),
        transfers: Some(Transfers::of(database)),
        session_holds: Some(SessionHolds::of(database)),
        logs,
        lived: Lived::default(),
        findings,
    };
    let read = reading.rows(database, progress)?;
    let mut n_lines = 0;
    let mut doubtful = HashSet::new();
    if let Read::All = read {
        reading.documents_before(i64::MAX)?;
        if let Some(snapshots) = reading.snapshots {
            doubtful = snapshots.finish(&reading.auditor, &mut reading.findings);
            let checked = derived_rows::check_rows(database, &doubtful, &mut reading.findings);
            let n_of_sessions =
                unless_damaged(checked, "deadlines and holds", &mut reading.findings)?;
            if let (Some(holds), Some(n_rows)) = (reading.session_holds, n_of_sessions) {
                holds.finish(n_rows, &mut reading.findings);
            }
        }
        if let Some(key) = row_key {
            let checked = outcomes::check(database, key, &mut reading.findings);
            unless_damaged(checked, "the recorded answers", &mut reading.findings)?;
        }
        if let Some(transcripts) = reading.transcripts {
            let finished = transcripts.finish(&mut reading.findings);
            unless_damaged(finished, "the transcripts", &mut reading.findings)?;
        }
        if let Some(transfers) = reading.transfers {
            let finished = transfers.finish(&mut reading.findings);
            unless_damaged(finished, "the transfers", &mut reading.findings)?;
        }
        if let Some(logs) = reading.logs {
            n_lines = logs.finish(&mut reading.findings, &mut remarks)?;
        }
        notes.miss_any(&reading.lived, &mut reading.findings, &mut remarks);
    }
    let n_checkpoints = notes.checkpoints.len() as u64;
    let newest_holds = newest.is_none_or(|newest| newest.holds_in(&reading.auditor));
    let audited = reading.auditor.finish(&notes.checkpoints);
    if !newest_holds && !audited.forks.is_empty() {
        reading.findings.general(NEWEST_DOES_NOT_HOLD);
    }
    let report = reading.findings.into_report(audited);
    Ok((Report { n_checkpoints, n_lines, remarks, ..report }, doubtful))
}

/// SQLite's own check of the file, and its schema: a trigger or a view can change what a statement
/// does, and a missing index can let two rows have the same key.
fn check_file(database: &ReadOnly, findings: &mut Findings) -> Result<(), StoreError> {
    let damage = unless_damaged(database.damage(), "the file", findings)?;
    if let Some(Some(damage)) = damage {
        findings.general(format_args!("the file is damaged: {damage}"));
    }
    let differences = unless_damaged(database.schema_differences(), "the schema", findings)?;
    for difference in differences.into_iter().flatten() {
        findings.general(format_args!("the schema: {difference}"));
    }
    Ok(())
}

/// The key of the rows, if there is one to check them with. A key that was garbled is a finding:
/// otherwise forged rows would pass for sound.
fn usable_row_key<'k>(
    database: &ReadOnly,
    found: &'k FoundRowKey,
    findings: &mut Findings,
    remarks: &mut Vec<String>,
) -> Result<Option<&'k RowKey>, StoreError> {
    match found {
        FoundRowKey::Known(key) => return Ok(Some(key)),
        FoundRowKey::Absent => remarks.push(MACS_NOT_CHECKED.to_owned()),
        FoundRowKey::Invalid(error) => {
            findings.general(format_args!("the MACs of rows cannot be checked: {error}"))
        }
        FoundRowKey::Unmarked => {
            let signed = unless_damaged(database.has_signed_rows(), "the MACs", findings)?;
            match signed {
                Some(true) => findings.general(MARK_REMOVED),
                Some(false) | None => remarks.push(MACS_NOT_CHECKED.to_owned()),
            }
        }
    }
    Ok(None)
}

const MACS_NOT_CHECKED: &str = "the MACs of rows were not checked: they need ledger.key, and rows \
                                that were signed with it";

const MARK_REMOVED: &str = "rows are signed, and ledger.key does not say so: its mark was removed, \
                            or the key was replaced, or a start after an update was cut short and \
                            the next one signs them";

/// A part of the file that is damaged is a finding, and the rest can still be looked at.
fn unless_damaged<T>(
    read: Result<T, StoreError>,
    what: &str,
    findings: &mut Findings,
) -> Result<Option<T>, StoreError> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error @ (StoreError::Corrupt(_) | StoreError::Broken(_))) => {
            findings.general(format_args!("{what} cannot be read: {error}"));
            Ok(None)
        }
        Err(
            error @ (StoreError::Full
            | StoreError::Overloaded
            | StoreError::Closed
            | StoreError::Unknown),
        ) => Err(error),
    }
}

/// The checkpoint in the database, and whether those outside of it are where they should be.
fn check_sealed(
    database: &ReadOnly,
    beside: &Beside,
    notes: &mut Notes,
    findings: &mut Findings,
    remarks: &mut Vec<String>,
) -> Result<(), StoreError> {
    let sealed = unless_damaged(database.sealed(), "the checkpoint in the database", findings)?;
    if let Some(None) = sealed
        && notes.checkpoints.iter().any(|one| one.size > 0)
    {
        findings.general("the checkpoint in the database was removed");
    }
    if let Some(sealed) = sealed.flatten() {
        notes.add_sealed(&sealed, findings);
        match (&beside.newest, &beside.log) {
            (Some(_), _) => {}
            (None, Some(_)) => findings.general("the file checkpoint was removed"),
            (None, None) => remarks.push(
                "there is no checkpoint outside the database: removed, or never written because \
                 the first start was cut short"
                    .to_owned(),
            ),
        }
    }
    if beside.log.as_ref().is_some_and(|log| log.is_torn) {
        remarks.push("checkpoints.log ends in half a note, as after a crash".to_owned());
    }
    Ok(())
}

/// A declared fork explains checkpoints over lost entries. The newest checkpoint must fit the
/// entries that exist.
pub(super) const NEWEST_DOES_NOT_HOLD: &str =
    "a fork was declared, and what follows it does not fit the newest checkpoint";

/// `None` is a part that cannot be read.
struct ReadingData<'d> {
    auditor: Auditor,
    documents: Option<Documents<'d>>,
    snapshots: Option<Snapshots<'d>>,
    transcripts: Option<Transcripts<'d>>,
    transfers: Option<Transfers<'d>>,
    session_holds: Option<SessionHolds<'d>>,
    /// Where there are any.
    logs: Option<Logs>,
    lived: Lived,
    findings: Findings,
}

/// How far the rows could be read.
enum Read {
    All,
    /// The file is damaged; what was not reached cannot be called missing.
    UpTo,
}

impl ReadingData<'_> {
    fn rows(&mut self, database: &ReadOnly, progress: Progress<'_>) -> anyhow::Result<Read> {
        // Only for the progress; a damaged file will be noticed below.
        let n_rows = database.newest().unwrap_or_default();
        let mut from = Some(i64::MIN);
        let mut last_seq = 0;
        while let Some(first) = from {
            let page = match database.ledger_rows(first, PAGE_ROWS_MAX) {
                Ok(page) => page,
                Err(error @ (StoreError::Corrupt(_) | StoreError::Broken(_))) => {
                    let next = last_seq + 1;
                    let place = EntryPlace::Range { first: next, last: next };
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
                self.documents_before(row.seq)?;
                // Whether it belongs to this entry is unknown, and does not matter now.
                self.documents.as_mut().and_then(|documents| documents.take(row.seq));
                Ok(())
            }
        }
    }

    fn entry(&mut self, seq: u64, row: &LedgerRow, entry: &Entry) -> anyhow::Result<()> {
        let before = self.auditor.last_seq_of(&entry.stream);
        let event = self.auditor.push(seq, entry);
        self.lived.until(entry.at);
        if i64::try_from(before) != Ok(row.prev_seq) {
            let what = format_args!(
                "linked to entry {}, but the entry before it in its stream is {before}",
                row.prev_seq
            );
            self.findings.about(EntryPlace::of(seq, entry), what);
        }
        self.document(seq, row, entry, event.as_ref())?;
        if let Some(transcripts) = &mut self.transcripts {
            let checked = transcripts.check(seq, entry, &mut self.findings);
            if unless_damaged(checked, "the transcripts", &mut self.findings)?.is_none() {
                self.transcripts = None;
            }
        }
        if let Some(transfers) = &mut self.transfers {
            let checked = transfers.check(seq, entry, event.as_ref(), &mut self.findings);
            if unless_damaged(checked, "the transfers", &mut self.findings)?.is_none() {
                self.transfers = None;
            }
        }
        if let Some(holds) = &mut self.session_holds {
            let checked = holds.check(seq, entry, event.as_ref(), &mut self.findings);
            if unless_damaged(checked, "the holds of sessions", &mut self.findings)?.is_none() {
                self.session_holds = None;
            }
        }
        if let Some(logs) = &mut self.logs {
            logs.check(seq, entry, event.as_ref(), &mut self.findings)?;
        }
        if let Some(snapshots) = &mut self.snapshots {
            snapshots.check(row.seq, entry, &mut self.auditor, &mut self.findings);
        }
        Ok(())
    }

    fn document(
        &mut self,
        seq: u64,
        row: &LedgerRow,
        entry: &Entry,
        event: Option<&Event>,
    ) -> anyhow::Result<()> {
        self.documents_before(row.seq)?;
        let Some(documents) = &mut self.documents else { return Ok(()) };
        let document = documents.take(row.seq);
        let found = document
            .as_ref()
            .map(|document| FoundDocument { hash: &document.hash, text: document.text.as_deref() });
        if let Some(what) = documents::problem(entry, event, found.as_ref()) {
            self.findings.about(EntryPlace::of(seq, entry), what);
        }
        Ok(())
    }

    /// Skips the documents before an entry and reports each: the entry it belongs to is missing.
    fn documents_before(&mut self, seq: i64) -> anyhow::Result<()> {
        while let Some(documents) = &mut self.documents {
            let next = documents.next_seq();
            match unless_damaged(next, "the documents", &mut self.findings)? {
                Some(Some(next)) if next < seq => {
                    documents.take(next);
                    let what = "there is a document for it, but no such entry";
                    match u64::try_from(next) {
                        Ok(next) => {
                            self.findings
                                .about(EntryPlace::Range { first: next, last: next }, what);
                        }
                        Err(_) => self.findings.general(format_args!("entry {next}: {what}")),
                    }
                }
                Some(_) => break,
                None => self.documents = None,
            }
        }
        Ok(())
    }
}

/// The documents in the order of the entries that name them.
pub(super) struct Documents<'d> {
    database: &'d ReadOnly,
    page: VecDeque<DocumentRow>,
    /// Where the next page begins; `None` after the last.
    next_page: Option<i64>,
}

impl<'d> Documents<'d> {
    pub(super) fn of(database: &'d ReadOnly) -> Self {
        Self { database, page: VecDeque::new(), next_page: Some(i64::MIN) }
    }

    /// The entry that the next document belongs to.
    pub(super) fn next_seq(&mut self) -> Result<Option<i64>, StoreError> {
        if self.page.is_empty()
            && let Some(from) = self.next_page
        {
            self.page = self.database.document_rows(from, PAGE_DOCUMENTS_MAX)?.into();
            self.next_page = self.page.back().and_then(|last| last.seq.checked_add(1));
        }
        Ok(self.page.front().map(|document| document.seq))
    }

    /// The next document, if it belongs to this entry.
    pub(super) fn take(&mut self, seq: i64) -> Option<DocumentRow> {
        let is_next = self.page.front().is_some_and(|document| document.seq == seq);
        if is_next { self.page.pop_front() } else { None }
    }
}
