//! The audit log of a data folder, derived again from the entries and compared byte for byte, up
//! to the length that the server recorded. A log that ends early is behind; one that ends before
//! what was recorded was cut.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Take};
use std::path::Path;

use adapters::audit_log::{files, lines};
use protocol::audit::Place;
use protocol::ids::{HandoffId, TeamspaceId};
use protocol::ledger::{Body, Entry, Subject};
use protocol::step::Event;
use protocol::time::Time;
use serde::Deserialize;

use super::report::Findings;

/// Notes are bounded, and so are lines; what is longer is not a line of ours and differs.
const LINE_BYTES_MAX: u64 = 1024 * 1024;

/// All files, each as far as it was compared.
#[derive(Debug)]
pub struct Logs {
    files: BTreeMap<TeamspaceId, Log>,
    /// Every file is complete up to this entry.
    complete_to: u64,
    n_lines: u64,
    n_lines_erased: u64,
}

#[derive(Debug)]
struct Log {
    path: String,
    /// What was recorded of the file; all of it, if nothing was.
    rest: Option<Take<BufReader<File>>>,
    is_recorded: bool,
    peeked: Option<Vec<u8>>,
    n_bytes_unrecorded: u64,
    complete_to: u64,
    n_lines: u64,
    n_lines_behind: u64,
    /// After a difference all further lines would differ.
    is_given_up: bool,
}

impl Logs {
    /// To be read before the entries are, so that it never knows more than they do.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let common = files::read_common_position(folder)?;
        let complete_to = common.map_or(0, |position| position.sequence);
        let mut logs = Self { files: BTreeMap::new(), complete_to, n_lines: 0, n_lines_erased: 0 };
        for teamspace in files::teamspaces(folder)? {
            let position = files::read_position(folder, &teamspace)?;
            let mut log = Log::missing(&teamspace, complete_to);
            log.complete_to = position.map_or(0, |position| position.sequence).max(complete_to);
            match File::open(files::lines_path(folder, &teamspace)) {
                Ok(file) => {
                    let length = file.metadata()?.len();
                    let recorded = position.map_or(length, |position| position.length);
                    log.n_bytes_unrecorded = length.saturating_sub(recorded);
                    log.rest = Some(BufReader::new(file).take(recorded));
                    log.is_recorded = position.is_some();
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            logs.files.insert(teamspace, log);
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
        let Subject::Handoff(id) = entry.stream.subject else { return Ok(()) };
        let teamspace = &entry.stream.teamspace;
        let missing = || Log::missing(teamspace, self.complete_to);
        let log = self.files.entry(teamspace.clone()).or_insert_with(missing);
        if !log.is_recorded && seq > log.complete_to {
            // The first lines of a file are there before they are recorded, and a crash may have
            // left any part of them.
            log.is_given_up = true;
        }
        if log.is_given_up {
            return Ok(());
        }
        match (event, &entry.body) {
            (Some(event), _) => {
                for line in lines::of_event(entry, event).split_inclusive('\n') {
                    log.check_line(Place::of(seq, entry), seq, line.as_bytes(), findings)?;
                    self.n_lines += 1;
                }
            }
            (None, Body::Erased { .. }) => self.n_lines_erased += log.skip_erased(id, entry)?,
            // It is not known what stood here, so nothing after it can be compared.
            (None, Body::Kept { .. }) => log.is_given_up = true,
        }
        Ok(())
    }

    /// Returns how many lines were compared.
    pub fn finish(self, findings: &mut Findings, remarks: &mut Vec<String>) -> io::Result<u64> {
        for mut log in self.files.into_values() {
            let path = &log.path;
            if !log.is_recorded {
                let entry = log.complete_to;
                remarks.push(format!("{path} has no recorded end; compared up to entry {entry}"));
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
            if !log.is_given_up && log.peek()?.is_some() {
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

impl Log {
    fn missing(teamspace: &TeamspaceId, complete_to: u64) -> Self {
        let path = files::lines_path(Path::new(""), teamspace);
        Self {
            path: path.display().to_string(),
            rest: None,
            is_recorded: true,
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
        place: Place,
        seq: u64,
        expected: &[u8],
        findings: &mut Findings,
    ) -> io::Result<()> {
        if self.is_given_up {
            return Ok(());
        }
        let (number, complete_to) = (self.n_lines + 1, self.complete_to);
        match self.peek()? {
            Some(line) if line == expected => {
                self.peeked = None;
                self.n_lines = number;
            }
            Some(_) => {
                let what = format_args!("{}:{number} differs from what the entry says", self.path);
                findings.about(place, what);
                self.is_given_up = true;
            }
            None if seq <= complete_to => {
                let what = format_args!("{}:{number} is missing", self.path);
                findings.about(place, what);
                self.is_given_up = true;
            }
            None => self.n_lines_behind += 1,
        }
        Ok(())
    }

    /// The lines of an entry whose body is gone: there, if they were written before it went. What
    /// the entry still says about them is compared.
    fn skip_erased(&mut self, id: HandoffId, entry: &Entry) -> io::Result<u64> {
        let mut n_skipped = 0;
        for shape in shapes(&entry.name) {
            let fits = self.peek()?.is_some_and(|line| shape.fits(line, id, entry));
            if !fits {
                break;
            }
            self.peeked = None;
            self.n_lines += 1;
            n_skipped += 1;
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

/// What is known of a line without the body that it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    event: &'static str,
    to_status: Option<&'static str>,
}

/// What every line has, and some have.
#[derive(Deserialize)]
struct Seen<'l> {
    event: &'l str,
    handoff_id: HandoffId,
    to_status: Option<&'l str>,
    actor: Option<&'l str>,
    timestamp: Time,
}

impl Shape {
    const fn of(event: &'static str) -> Self {
        Self { event, to_status: None }
    }

    const fn to(status: &'static str) -> Self {
        Self { event: "handoff_transition", to_status: Some(status) }
    }

    fn fits(&self, line: &[u8], id: HandoffId, entry: &Entry) -> bool {
        serde_json::from_slice::<Seen<'_>>(line).is_ok_and(|seen| {
            seen.event == self.event
                && seen.to_status == self.to_status
                && seen.handoff_id == id
                && seen.timestamp == entry.at
                && seen.actor.is_none_or(|actor| actor == &*entry.actor)
        })
    }
}

/// The lines of an event, by its name alone.
fn shapes(name: &str) -> &'static [Shape] {
    match name {
        "handoff.proposed" => const { &[Shape::to("proposed"), Shape::of("handoff_created")] },
        "handoff.validation_started" => const { &[Shape::to("validating")] },
        "handoff.accepted" => const { &[Shape::to("accepted"), Shape::of("handoff_verification")] },
        "handoff.rejected" => {
            const {
                &[
                    Shape::to("rejected"),
                    Shape::of("handoff_verification"),
                    Shape::of("handoff_rejected"),
                ]
            }
        }
        "handoff.countered" => const { &[Shape::to("proposed")] },
        "handoff.checked"
        | "handoff.verification_unavailable"
        | "handoff.completion_checked"
        | "handoff.completion_failed" => const { &[Shape::of("handoff_verification")] },
        "handoff.activated" => const { &[Shape::to("activated")] },
        "handoff.completed" => const { &[Shape::to("completed"), Shape::of("handoff_completed")] },
        "handoff.closed" => const { &[Shape::to("closed"), Shape::of("handoff_closed")] },
        "handoff.escalated" => const { &[Shape::of("handoff_escalation")] },
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use protocol::ledger::{GENESIS, Stream};

    use super::*;

    /// Every event that makes lines: the shapes must be those of the lines it makes.
    #[test]
    fn shapes_are_those_of_the_lines() {
        let parties = r#""parties":{"from":"tim","to":"barry"}"#;
        let at = r#""at":"2026-02-21T14:00:00Z""#;
        for (name, body) in [
            ("handoff.drafted", r#"{"from":"tim","thread_id":"t","offer_hash":"x"}"#.to_owned()),
            (
                "handoff.proposed",
                format!(
                    r#"{{{parties},"task_id":"1","thread_id":"t","title":"t","chain":["tim"],
                        "origin_session":"s","package_hash":"x"}}"#
                ),
            ),
            (
                "handoff.countered",
                format!(
                    r#"{{"revision":2,"changes":[],{parties},"task_id":"1","thread_id":"t",
                        "title":"t","chain":["tim"],"origin_session":"s","package_hash":"x"}}"#
                ),
            ),
            ("handoff.validation_started", format!("{{{parties}}}")),
            ("handoff.checked", format!(r#"{{{parties},"passed":["schema"]}}"#)),
            (
                "handoff.verification_unavailable",
                format!(r#"{{{parties},"failed":["x"],"artifacts":[]}}"#),
            ),
            ("handoff.approved", format!("{{{parties}}}")),
            ("handoff.refused", format!(r#"{{{parties},"why":"no"}}"#)),
            (
                "handoff.sla_extended",
                format!(
                    r#"{{{parties},"stage":"accepted→activated","why":"w",
                        "due":"2026-02-21T14:00:00Z"}}"#
                ),
            ),
            ("handoff.accepted", format!(r#"{{{parties},"passed":["schema"]}}"#)),
            (
                "handoff.rejected",
                format!(
                    r#"{{{parties},"from_status":"proposed","reason":"other","detail":"a \"b\"",
                        "failed":[],{at}}}"#
                ),
            ),
            ("handoff.activated", format!(r#"{{{parties},"chain":["tim"]}}"#)),
            ("handoff.completed", format!("{{{parties}}}")),
            ("handoff.closed", format!(r#"{{"from":"tim","from_status":"completed",{at}}}"#)),
            (
                "handoff.escalated",
                format!(
                    r#"{{{parties},"trigger":"timeout","stage":"accepted→activated",
                        "sla_configured":"15m","sla_elapsed":"15m",
                        "escalated_to":"coordinator","escalated_at":"2026-02-21T14:00:00Z"}}"#
                ),
            ),
        ]
        .into_iter()
        .chain(completion_bodies(parties))
        {
            let entry = entry(name, &body);
            let Subject::Handoff(id) = entry.stream.subject else { unreachable!("it is one") };
            let text = lines::of(&entry).unwrap();
            let n_lines = text.lines().count();
            assert_eq!(n_lines, shapes(name).len(), "{name}");
            for (line, shape) in text.lines().zip(shapes(name)) {
                assert!(shape.fits(line.as_bytes(), id, &entry), "{name}: {line}");
            }
        }
    }

    fn completion_bodies(parties: &str) -> [(&'static str, String); 5] {
        [
            ("handoff.completion_started", format!("{{{parties}}}")),
            ("handoff.completion_checked", format!(r#"{{{parties},"passed":["artifact:log"]}}"#)),
            (
                "handoff.completion_failed",
                format!(
                    r#"{{{parties},"reason":"missing_artifact","detail":"d",
                        "failed":["artifact:log"]}}"#
                ),
            ),
            ("handoff.confirmed", format!("{{{parties}}}")),
            ("handoff.disputed", format!(r#"{{{parties},"why":"no"}}"#)),
        ]
    }

    fn entry(name: &str, body: &str) -> Entry {
        let subject = "handoff/01938c2e-0000-7000-8000-000000000001".parse().unwrap();
        Entry {
            stream: Stream { teamspace: TeamspaceId::default_teamspace(), subject },
            position: 1,
            name: name.to_owned().into(),
            version: 1,
            actor: "agent:barry".into(),
            at: Time::from_millis(1_771_682_400_000),
            body: Body::Kept { salt: [0; 16], text: body.to_owned() },
            hash: GENESIS,
        }
    }
}
