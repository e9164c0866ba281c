//! The logs of a data folder, derived again from the entries and compared byte for byte. A log that
//! ends early is behind. A log that ends before its recorded end was cut. After the recorded end a
//! crash may have left half a line, or space reserved for one; whole lines there must be right too.

mod shapes;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Take};
use std::path::Path;

use adapters::audit_log::log::Log;
use adapters::audit_log::{files, lines};
use protocol::audit::EntryPlace;
use protocol::ids::TeamspaceId;
use protocol::ledger::{Body, Entry};
use protocol::step::Event;

use super::report::Findings;

/// Notes are bounded, and so are lines. A longer line was not written by the server, and differs.
const LINE_BYTES_MAX: u64 = 1024 * 1024;

/// All files, each as far as it was compared.
#[derive(Debug)]
pub struct Logs {
    files: BTreeMap<(Log, TeamspaceId), Compared>,
    /// Every file of a log is complete up to this entry.
    complete_to: BTreeMap<Log, u64>,
    n_lines: u64,
    n_lines_erased: u64,
}

#[derive(Debug)]
struct Compared {
    log: Log,
    path: String,
    /// The contents of the file when it was opened.
    rest: Option<Take<BufReader<File>>>,
    is_recorded: bool,
    /// How many of the bytes that the server recorded are still unread.
    n_bytes_recorded: u64,
    peeked: Option<Vec<u8>>,
    n_bytes_unrecorded: u64,
    complete_to: u64,
    n_lines: u64,
    n_lines_behind: u64,
    /// After a difference all further lines would differ.
    is_given_up: bool,
}

/// What is found where a line is expected.
#[derive(Debug, PartialEq, Eq)]
enum FoundLine {
    Same,
    /// A line that no entry produces, or bytes that are not a line where only lines may be.
    Other,
    /// Bytes that a crash may leave after the recorded end.
    Torn,
    End,
}

impl Logs {
    /// Opened before the entries are read, so that a log never has more than they do.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let mut logs = Self {
            files: BTreeMap::new(),
            complete_to: BTreeMap::new(),
            n_lines: 0,
            n_lines_erased: 0,
        };
        let teamspaces = files::teamspaces(folder)?;
        for log in Log::ALL {
            let common = log.read_common_position(folder)?;
            let complete_to = common.map_or(0, |position| position.sequence);
            logs.complete_to.insert(log, complete_to);
            for teamspace in &teamspaces {
                let compared = Compared::open(folder, log, teamspace, complete_to)?;
                logs.files.insert((log, teamspace.clone()), compared);
            }
        }
        Ok(logs)
    }

    /// Compares what the next entry adds.
    pub fn check(
        &mut self,
        seq: u64,
        entry: &Entry,
        event: Option<&Event>,
        findings: &mut Findings,
    ) -> io::Result<()> {
        for log in Log::ALL.into_iter().filter(|log| log.is_about(&entry.stream.subject)) {
            self.check_in(log, seq, entry, event, findings)?;
        }
        Ok(())
    }

    fn check_in(
        &mut self,
        log: Log,
        seq: u64,
        entry: &Entry,
        event: Option<&Event>,
        findings: &mut Findings,
    ) -> io::Result<()> {
        let teamspace = &entry.stream.teamspace;
        let complete_to = self.complete_to.get(&log).copied().unwrap_or(0);
        let missing = || Compared::missing(log, teamspace, complete_to);
        let compared = self.files.entry((log, teamspace.clone())).or_insert_with(missing);
        if compared.is_given_up {
            return Ok(());
        }
        match (event, &entry.body) {
            (Some(event), _) => {
                for line in lines::of_event(log, entry, event).split_inclusive('\n') {
                    compared.check_line(
                        EntryPlace::of(seq, entry),
                        seq,
                        line.as_bytes(),
                        findings,
                    )?;
                    self.n_lines += 1;
                }
            }
            (None, Body::Erased { .. }) => self.n_lines_erased += compared.skip_erased(entry)?,
            // The line that stood here is unknown, so nothing after it can be compared.
            (None, Body::Kept { .. }) => compared.is_given_up = true,
        }
        Ok(())
    }

    /// Returns how many lines were compared.
    pub fn finish(self, findings: &mut Findings, remarks: &mut Vec<String>) -> io::Result<u64> {
        for mut log in self.files.into_values() {
            let path = &log.path;
            if !log.is_recorded {
                let number = log.n_lines;
                remarks.push(format!("{path} has no recorded end; compared up to line {number}"));
            }
            if log.n_lines_behind > 0 {
                remarks.push(format!("{path} is {} lines behind the ledger", log.n_lines_behind));
            }
            if log.n_bytes_unrecorded > 0 {
                let n_bytes = log.n_bytes_unrecorded;
                remarks.push(format!(
                    "{path} has {n_bytes} bytes after its recorded end: a write in progress, or \
                     what a crash left; the next start cuts them off"
                ));
            }
            if !log.is_given_up && log.found(b"")? == FoundLine::Other {
                let number = log.n_lines + 1;
                findings.general(format_args!("{}:{number}: no entry says this", log.path));
            }
        }
        if self.n_lines_erased > 0 {
            remarks.push(format!(
                "{} lines are about bodies that were erased since, and cannot be derived again",
                self.n_lines_erased
            ));
        }
        Ok(self.n_lines)
    }
}

impl Compared {
    fn open(
        folder: &Path,
        log: Log,
        teamspace: &TeamspaceId,
        complete_to: u64,
    ) -> io::Result<Self> {
        let position = log.read_position(folder, teamspace)?;
        let mut compared = Self::missing(log, teamspace, complete_to);
        compared.complete_to = position.map_or(0, |position| position.sequence).max(complete_to);
        match File::open(log.lines_path(folder, teamspace)) {
            Ok(file) => {
                let length = file.metadata()?.len();
                let recorded = position.map(|position| position.length);
                compared.n_bytes_unrecorded = length.saturating_sub(recorded.unwrap_or(length));
                compared.n_bytes_recorded = recorded.unwrap_or(0);
                compared.is_recorded = recorded.is_some();
                compared.rest = Some(BufReader::new(file).take(length));
                Ok(compared)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(compared),
            Err(error) => Err(error),
        }
    }

    fn missing(log: Log, teamspace: &TeamspaceId, complete_to: u64) -> Self {
        let path = log.lines_path(Path::new(""), teamspace);
        Self {
            log,
            path: path.display().to_string(),
            rest: None,
            is_recorded: true,
            n_bytes_recorded: 0,
            peeked: None,
            n_bytes_unrecorded: 0,
            complete_to,
            n_lines: 0,
            n_lines_behind: 0,
            is_given_up: false,
        }
    }

    fn check_line(
        &mut self,
        place: EntryPlace,
        seq: u64,
        expected: &[u8],
        findings: &mut Findings,
    ) -> io::Result<()> {
        if self.is_given_up {
            return Ok(());
        }
        let (number, complete_to) = (self.n_lines + 1, self.complete_to);
        match self.found(expected)? {
            FoundLine::Same => self.pass(),
            FoundLine::Torn if seq > complete_to => self.is_given_up = true,
            FoundLine::Torn | FoundLine::Other => {
                let what = format_args!("{}:{number} differs from what the entry says", self.path);
                findings.about(place, what);
                self.is_given_up = true;
            }
            FoundLine::End if seq <= complete_to => {
                let what = format_args!("{}:{number} is missing", self.path);
                findings.about(place, what);
                self.is_given_up = true;
            }
            FoundLine::End => self.n_lines_behind += 1,
        }
        Ok(())
    }

    fn found(&mut self, expected: &[u8]) -> io::Result<FoundLine> {
        let may_be_torn = self.n_bytes_recorded == 0;
        Ok(match self.peek()? {
            None => FoundLine::End,
            Some(line) if line == expected => FoundLine::Same,
            Some(line) if may_be_torn && (!line.ends_with(b"\n") || line.contains(&0)) => {
                FoundLine::Torn
            }
            Some(_) => FoundLine::Other,
        })
    }

    fn pass(&mut self) {
        let n_bytes = self.peeked.take().map_or(0, |line| line.len() as u64);
        self.n_bytes_recorded = self.n_bytes_recorded.saturating_sub(n_bytes);
        self.n_lines += 1;
    }

    /// The lines of an entry whose body is erased: present if they were written before the erasure.
    /// The remaining fields of the entry are compared with them.
    fn skip_erased(&mut self, entry: &Entry) -> io::Result<u64> {
        let mut n_skipped = 0;
        for shape in shapes::of(self.log, &entry.name) {
            let n_before = n_skipped;
            while self.peek()?.is_some_and(|line| shape.fits(line, entry)) {
                self.pass();
                n_skipped += 1;
                if !shape.repeats {
                    break;
                }
            }
            if n_skipped == n_before {
                break;
            }
        }
        Ok(n_skipped)
    }

    /// The next line with its line feed, without passing it.
    fn peek(&mut self) -> io::Result<Option<&[u8]>> {
        if self.peeked.is_none()
            && let Some(rest) = &mut self.rest
        {
            let mut line = Vec::new();
            rest.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
            self.peeked = (!line.is_empty()).then_some(line);
        }
        Ok(self.peeked.as_deref())
    }
}
