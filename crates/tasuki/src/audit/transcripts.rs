//! Transcripts: which entry is which line of a conversation, compared with the entries themselves.

use std::collections::HashMap;

use engine::ports::store::StoreError;
use protocol::audit::EntryPlace;
use protocol::conversation::event::is_line;
use protocol::conversation::transcript_line::can_be_line;
use protocol::ledger::{Entry, Stream};
use protocol::step::Event;
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

/// Whether a message is a line of its transcript, and under its own number. One that was erased no
/// longer says its number: its row is looked at alone.
pub fn entry_problem(
    database: &ReadOnly,
    seq: i64,
    entry: &Entry,
    event: Option<&Event>,
) -> Result<Option<String>, StoreError> {
    let Some(Event::Conversation(event)) = event else { return Ok(None) };
    let Some(number) = event.number() else { return Ok(None) };
    let found = database.transcript_seq(&entry.stream, number)?;
    let Stream { teamspace, subject } = &entry.stream;
    let what = match found {
        Some(found) if found == seq => return Ok(None),
        Some(found) => format!("points to entry {found}, and is entry {seq}"),
        None => "is missing".to_owned(),
    };
    Ok(Some(format!("message {number} in the transcript of {subject} in {teamspace} {what}")))
}

/// What is wrong with a line, which comes after another one in the order of the table.
pub fn row_problem(
    database: &ReadOnly,
    row: &TranscriptRow,
    before: Option<&TranscriptRow>,
) -> Result<Option<String>, StoreError> {
    let TranscriptRow { number, seq, .. } = row;
    let Some(stream) = &row.stream else {
        return Ok(Some(format!(
            "message {number} of a conversation that is not there points to entry {seq}"
        )));
    };
    let wanted = (u64::try_from(*number).ok(), u64::try_from(*seq).unwrap_or_default());
    let found = match wanted.1.checked_sub(1) {
        Some(before) => database.entries(before, 1)?.pop().filter(|found| found.seq == wanted.1),
        None => None,
    };
    let is_it = found.is_some_and(|found| {
        let number = wanted.0.unwrap_or_default();
        found.entry.stream == *stream
            && can_be_line(&found.entry.name, found.entry.body.text(), number)
    });
    let before = before.filter(|before| before.is_beside(row));
    let is_next = before.map_or(*number == 1, |it| it.number + 1 == *number && it.seq < *seq);
    let Stream { teamspace, subject } = stream;
    Ok((!is_it || !is_next).then(|| {
        format!(
            "message {number} of {subject} in {teamspace} points to entry {seq}, which is no such \
             message"
        )
    }))
}
