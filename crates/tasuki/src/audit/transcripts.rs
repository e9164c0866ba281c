//! Transcripts: which entry is which line of a conversation, compared with the entries themselves.

use std::collections::HashMap;

use engine::ports::store::StoreError;
use protocol::audit::EntryPlace;
use protocol::conversation::event::is_line;
use protocol::ledger::{Entry, Stream};
use store::sqlite::{ReadOnly, TranscriptRow};

use super::report::Findings;

/// Rows of one read.
const PAGE_ROWS_MAX: usize = 512;

/// How many lines each conversation has, as far as its entries were read.
#[derive(Debug)]
pub struct Transcripts<'d> {
    database: &'d ReadOnly,
    lines: HashMap<Stream, u64>,
}

impl<'d> Transcripts<'d> {
    pub fn of(database: &'d ReadOnly) -> Self {
        Self { database, lines: HashMap::new() }
    }

    /// The next line of its conversation, if the entry is one; also one that was erased.
    pub fn check(
        &mut self,
        seq: u64,
        entry: &Entry,
        findings: &mut Findings,
    ) -> Result<(), StoreError> {
        if !is_line(&entry.name) {
            return Ok(());
        }
        let n_lines = self.lines.entry(entry.stream.clone()).or_default();
        *n_lines += 1;
        match self.database.transcript_seq(&entry.stream, *n_lines)? {
            Some(found) if u64::try_from(found) == Ok(seq) => {}
            Some(found) => {
                let what =
                    format_args!("message {n_lines} of the transcript points to entry {found}");
                findings.about(EntryPlace::of(seq, entry), what);
            }
            None => {
                let what = format_args!("message {n_lines} is missing in the transcript");
                findings.about(EntryPlace::of(seq, entry), what);
            }
        }
        Ok(())
    }

    /// After the last entry: every line must belong to an entry.
    pub fn finish(self, findings: &mut Findings) -> Result<(), StoreError> {
        let mut last: Option<TranscriptRow> = None;
        loop {
            let page = self.database.transcript_rows(last.as_ref(), PAGE_ROWS_MAX)?;
            for row in &page {
                self.check_row(row, findings);
            }
            match page.into_iter().next_back() {
                Some(row) => last = Some(row),
                None => return Ok(()),
            }
        }
    }

    fn check_row(&self, row: &TranscriptRow, findings: &mut Findings) {
        let TranscriptRow { number, seq, .. } = row;
        let Some(stream) = &row.stream else {
            findings.general(format_args!(
                "message {number} of a conversation that is not there points to entry {seq}"
            ));
            return;
        };
        let n_lines = self.lines.get(stream).copied().unwrap_or_default();
        let is_known = u64::try_from(*number).is_ok_and(|number| (1..=n_lines).contains(&number));
        if !is_known {
            let Stream { teamspace, subject } = stream;
            findings.general(format_args!(
                "message {number} of {subject} in {teamspace} points to entry {seq}, which is no \
                 such message"
            ));
        }
    }
}
