//! Verifying an export: alone, in one pass, whatever the file holds.

use std::io::{self, BufRead, Read};

use protocol::audit::{Auditor, EntryPlace, Replay};
use protocol::ledger::Entry;
use protocol::step::Event;

use super::data::NEWEST_DOES_NOT_HOLD;
use super::documents::{self, FoundDocument};
use super::format::{BadLine, DocumentLine, EndLine, Header, LINE_BYTES_MAX, ReportLine};
use super::notes::{Lived, Newest, Notes};
use super::report::{Findings, Report};
use super::{Options, Progress};

/// How many lines are read between two signs of progress.
const LINES_PER_PROGRESS: u64 = 512;

/// Sizes that a header may announce: more checkpoints than an export of a hundred million entries
/// has. Further sizes are ignored, and the entries they seal count as unsealed.
const SIZES_MAX: usize = 100_000;

/// Recomputes what an export says. `n_bytes` is only for the progress.
pub fn verify_export(
    mut input: impl BufRead,
    n_bytes: u64,
    options: &Options,
    progress: Progress<'_>,
) -> io::Result<Report> {
    let mut findings = Findings::default();
    let mut first = Vec::new();
    read_line(&mut input, &mut first)?;
    let header = match text(&first).and_then(Header::parse) {
        Ok(header) => header,
        Err(error) => {
            findings.general(format_args!("line 1: {error}"));
            Header::new(Vec::new())
        }
    };
    // The given checkpoints are known in advance, so the header need not announce their sizes.
    let given = Notes::new(options, None, &mut Findings::default());
    let announced = header.checkpoint_sizes.into_iter().take(SIZES_MAX);
    let sizes: Vec<u64> = announced.chain(given.sizes()).collect();
    let mut reading = ReadingExport {
        auditor: Auditor::new(Replay::States, sizes),
        findings,
        lived: Lived::default(),
        last: None,
        end: None,
        has_extra: false,
    };
    let mut n_lines = 1;
    let mut n_read = first.len() as u64;
    let mut line = Vec::new();
    while read_line(&mut input, &mut line)? > 0 {
        n_lines += 1;
        n_read += line.len() as u64;
        reading.line(n_lines, &line);
        if n_lines % LINES_PER_PROGRESS == 0 {
            progress(n_read, n_bytes);
        }
    }
    Ok(reading.finish(options))
}

struct ReadingExport {
    auditor: Auditor,
    findings: Findings,
    lived: Lived,
    /// The entry whose document may come next.
    last: Option<Last>,
    end: Option<EndLine>,
    has_extra: bool,
}

struct Last {
    seq: u64,
    entry: Entry,
    event: Option<Event>,
}

impl ReadingExport {
    fn line(&mut self, number: u64, line: &[u8]) {
        if self.end.is_some() {
            if !self.has_extra {
                self.findings
                    .general(format_args!("line {number}: the export has ended before it"));
            }
            self.has_extra = true;
            return;
        }
        match text(line).and_then(ReportLine::parse) {
            Ok(ReportLine::Entry(entry)) => {
                self.settle_last(None);
                let seq = entry.seq;
                match entry.into_entry() {
                    Ok(entry) => {
                        let event = self.auditor.push(seq, &entry);
                        self.lived.until(entry.at);
                        self.last = Some(Last { seq, entry, event });
                    }
                    Err(error) => {
                        let problem = format!("line {number}: {error}");
                        self.auditor.push_unreadable(seq, problem);
                    }
                }
            }
            Ok(ReportLine::Document(document)) => self.document(number, &document),
            Ok(ReportLine::End(end)) => self.end = Some(end),
            Err(error) => self.bad_line(number, line, &error),
        }
    }

    fn document(&mut self, number: u64, document: &DocumentLine) {
        if self.last.as_ref().is_some_and(|last| last.seq == document.seq) {
            self.settle_last(Some(document));
        } else {
            let place = EntryPlace::Range { first: document.seq, last: document.seq };
            let what = format_args!("line {number}: a document that does not follow its entry");
            self.findings.about(place, what);
        }
    }

    /// The entry before is complete: with the document that followed it, or without one.
    fn settle_last(&mut self, document: Option<&DocumentLine>) {
        let Some(Last { seq, entry, event }) = self.last.take() else { return };
        let found = document
            .map(|document| FoundDocument { hash: &document.hash, text: document.text.as_deref() });
        if let Some(what) = documents::problem(&entry, event.as_ref(), found.as_ref()) {
            self.findings.about(EntryPlace::of(seq, &entry), what);
        }
    }

    /// A line that cannot be read, but may still say which entry it was.
    fn bad_line(&mut self, number: u64, line: &[u8], error: &BadLine) {
        if line.starts_with(br#"{"entry""#) {
            self.settle_last(None);
            let next = self.auditor.last_seq().saturating_add(1);
            self.auditor.push_unreadable(next, format!("line {number}: {error}"));
            return;
        }
        let what = format!("line {number}: {error}");
        match self.last.take() {
            // Probably the document of that entry, so it is not reported as missing again.
            Some(Last { seq, entry, .. }) => self.findings.about(EntryPlace::of(seq, &entry), what),
            None => self.findings.general(what),
        }
    }

    fn finish(mut self, options: &Options) -> Report {
        self.settle_last(None);
        let mut findings = std::mem::take(&mut self.findings);
        let n_entries = self.auditor.n_entries();
        let end = self.end.take().unwrap_or_else(|| {
            let next = self.auditor.last_seq().saturating_add(1);
            let place = EntryPlace::Range { first: next, last: next };
            findings.about(place, "the export ends before its last line");
            EndLine { n_entries, checkpoints: Vec::new(), key: None }
        });
        if end.n_entries != n_entries {
            let next = self.auditor.last_seq().saturating_add(1);
            let what =
                format_args!("the export has {n_entries} entries and says {}", end.n_entries);
            findings.about(EntryPlace::Range { first: next, last: next }, what);
        }
        let mut notes = Notes::new(options, end.key.as_deref(), &mut findings);
        let mut newest = None;
        for (number, note) in (1..).zip(&end.checkpoints) {
            let source = format!("checkpoint {number} of the export");
            newest = notes.add(&source, note, &mut findings).map(Newest);
        }
        notes.finish(&mut findings);
        let mut remarks = Vec::new();
        notes.miss_any(&self.lived, &mut findings, &mut remarks);
        self.pass_unannounced(&mut notes, &mut findings);
        let n_checkpoints = notes.checkpoints.len() as u64;
        let newest_holds = newest.is_none_or(|newest| newest.holds_in(&self.auditor));
        let audited = self.auditor.finish(&notes.checkpoints);
        if !newest_holds && !audited.forks.is_empty() {
            findings.general(NEWEST_DOES_NOT_HOLD);
        }
        Report { n_checkpoints, remarks, ..findings.into_report(audited) }
    }

    /// A checkpoint that the header does not announce comes too late to be compared. Its presence
    /// shows that the header was changed.
    fn pass_unannounced(&self, notes: &mut Notes, findings: &mut Findings) {
        let n_before = notes.checkpoints.len();
        let last_seq = self.auditor.last_seq();
        notes.checkpoints.retain(|checkpoint| {
            checkpoint.size > last_seq || self.auditor.is_announced(checkpoint.size)
        });
        if notes.checkpoints.len() < n_before {
            findings.general("line 1: it does not announce all checkpoints of the last line");
        }
    }
}

/// Reads one line with its line feed, replacing what was read before; 0 at the end.
pub(super) fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    line.clear();
    input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', line)
}

pub(super) fn text(line: &[u8]) -> Result<&str, BadLine> {
    let line = line.strip_suffix(b"\n").ok_or(BadLine::Field("a line feed at the end"))?;
    str::from_utf8(line).map_err(|_| BadLine::Field("UTF-8"))
}
