//! A data folder from outside: what its ledger holds, whether it is sound, and whether everything
//! acknowledged is in it. Verdicts are texts, so that they can be given about a disk image too.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use adapters::audit_log::log::Log;
use adapters::audit_log::{files, lines};
use adapters::checkpoint_file::NEWEST_FILE;
use engine::ports::clock::{Clock, SystemClock};
use engine::ports::store::Sequenced;
use protocol::codec;
use protocol::handoff::Event as HandoffEvent;
use protocol::ids::TaskId;
use protocol::ledger::Subject;
use protocol::step::Event;
use protocol::time::Span;
use store::sqlite::ReadOnly;
use tasuki::audit::{self, Options, Source};

use crate::load::{Transition, Unanswered};
use crate::power_loss::monotonic_ns;

pub type Verdict = Result<(), String>;

/// Enough for the slowest machine; a sound server never takes this long.
const PATIENCE_NS: u64 = 30_000_000_000;

/// One read of the ledger.
const PAGE_ENTRIES: usize = 4_096;

/// Every entry, and what they say about handoffs.
#[derive(Debug)]
pub struct Ledger {
    pub entries: Vec<Sequenced>,
    /// The names of the events of each handoff, in order.
    handoffs: HashMap<String, Vec<String>>,
    /// The handoffs that were offered under a title.
    titles: HashMap<String, BTreeSet<String>>,
    active: Result<(), String>,
}

impl Ledger {
    /// The current state; a server may be writing to it.
    pub fn read(data: &Path) -> Result<Self, String> {
        let database = ReadOnly::open(data).map_err(|error| error.to_string())?;
        let mut entries = Vec::new();
        loop {
            let after = entries.last().map_or(0, |last: &Sequenced| last.seq);
            let page = database.entries(after, PAGE_ENTRIES).map_err(|error| error.to_string())?;
            if page.is_empty() {
                break;
            }
            entries.extend(page);
        }
        Self::of(entries)
    }

    fn of(entries: Vec<Sequenced>) -> Result<Self, String> {
        let mut handoffs: HashMap<String, Vec<String>> = HashMap::new();
        let mut titles: HashMap<String, BTreeSet<String>> = HashMap::new();
        let mut active = Active::default();
        for Sequenced { seq, entry } in &entries {
            let Subject::Handoff(id) = entry.stream.subject else { continue };
            let id = id.to_string();
            handoffs.entry(id.clone()).or_default().push(entry.name.clone().into_owned());
            let Some(text) = entry.body.text() else { continue };
            let event = codec::decode(&entry.name, entry.version, text)
                .map_err(|error| format!("entry {seq}: {error}"))?;
            let Event::Handoff(event) = event else { continue };
            if let Some(title) = title(&event) {
                titles.entry(title.to_owned()).or_default().insert(id.clone());
            }
            active.add(&id, &event);
        }
        Ok(Self { entries, handoffs, titles, active: active.verdict })
    }

    pub fn newest(&self) -> u64 {
        self.entries.last().map_or(0, |last| last.seq)
    }

    /// How many entries a handoff has.
    pub fn length_of(&self, handoff: &str) -> u64 {
        self.handoffs.get(handoff).map_or(0, |names| names.len() as u64)
    }

    /// The handoff that a request with a lost answer created or changed, if it did.
    pub fn effect_of<'a>(&'a self, request: &'a Unanswered) -> Option<&'a str> {
        let handoff = match &request.handoff {
            Some(handoff) => handoff,
            None => self.titles.get(&request.title)?.first()?,
        };
        (self.length_of(handoff) > request.position).then_some(handoff)
    }

    pub fn check_acknowledged<'a>(
        &self,
        transitions: impl IntoIterator<Item = &'a Transition>,
    ) -> Verdict {
        let is_missing = |transition: &&Transition| {
            let Transition { handoff, position, status } = transition;
            let names = self.handoffs.get(handoff.as_str());
            let index = usize::try_from(*position - 1).expect("positions are small and start at 1");
            names.and_then(|names| names.get(index)) != Some(&event_name(status))
        };
        let missing: Vec<_> = transitions.into_iter().filter(is_missing).collect();
        match missing.first() {
            None => Ok(()),
            Some(first) => Err(format!("lost {} acknowledged, first {first:?}", missing.len())),
        }
    }

    /// No request was carried out twice: each title was offered once.
    pub fn check_single_effects(&self) -> Verdict {
        match self.titles.iter().find(|(_, handoffs)| handoffs.len() > 1) {
            None => Ok(()),
            Some((title, handoffs)) => Err(format!("{title} was made twice: {handoffs:?}")),
        }
    }

    /// At no point of the ledger were two handoffs of one task active.
    pub fn check_one_active(&self) -> Verdict {
        self.active.clone()
    }

    /// `handoffs.jsonl` matches the ledger: no line is missing, and none repeated.
    pub fn check_lines(&self, data: &Path) -> Verdict {
        for (teamspace, expected) in self.lines()? {
            let path = files::lines_path(data, &teamspace);
            let found = std::fs::read_to_string(&path).unwrap_or_default();
            if found != expected {
                return Err(difference(&found, &expected));
            }
        }
        Ok(())
    }

    /// The recorded part of `handoffs.jsonl` is a prefix of what the ledger gives.
    pub fn check_recorded_lines(&self, data: &Path) -> Verdict {
        for (teamspace, expected) in self.lines()? {
            let failed = |error: std::io::Error| format!("the audit log of {teamspace}: {error}");
            let recorded = Log::Handoffs.read_position(data, &teamspace).map_err(failed)?;
            let length = recorded.map_or(0, |position| position.length as usize);
            let found = std::fs::read(files::lines_path(data, &teamspace)).unwrap_or_default();
            let found = found.get(..length).ok_or("the audit log is shorter than recorded")?;
            if !expected.as_bytes().starts_with(found) {
                return Err(difference(&String::from_utf8_lossy(found), &expected));
            }
        }
        Ok(())
    }

    fn lines(&self) -> Result<BTreeMap<protocol::ids::TeamspaceId, String>, String> {
        lines::derive(Log::Handoffs, self.entries.iter().map(|one| &one.entry))
            .map_err(|error| error.to_string())
    }
}

/// The owner of each task, as far as the entries went.
#[derive(Debug)]
struct Active {
    tasks: HashMap<TaskId, String>,
    verdict: Verdict,
}

impl Default for Active {
    fn default() -> Self {
        Self { tasks: HashMap::new(), verdict: Ok(()) }
    }
}

impl Active {
    fn add(&mut self, id: &str, event: &HandoffEvent) {
        match event {
            HandoffEvent::Proposed(proposed) => {
                let task = proposed.task_id.clone();
                if let Some(other) = self.tasks.insert(task, id.to_owned()) {
                    self.verdict = Err(format!("{id} was proposed while {other} was active"));
                }
            }
            HandoffEvent::Countered(countered) => {
                let task = countered.proposed.task_id.clone();
                if let Some(other) = self.tasks.insert(task, id.to_owned()) {
                    self.verdict = Err(format!("{id} was countered while {other} was active"));
                }
            }
            HandoffEvent::Rejected(_) | HandoffEvent::Completed(_) | HandoffEvent::Closed(_) => {
                self.tasks.retain(|_, holder| holder != id);
            }
            HandoffEvent::Drafted(_)
            | HandoffEvent::ValidationStarted(_)
            | HandoffEvent::Accepted(_)
            | HandoffEvent::VerificationUnavailable(_)
            | HandoffEvent::Checked(_)
            | HandoffEvent::Approved(_)
            | HandoffEvent::Refused(_)
            | HandoffEvent::Activated(_)
            | HandoffEvent::Progressed(_)
            | HandoffEvent::Recalled(_)
            | HandoffEvent::CompletionStarted(_)
            | HandoffEvent::CompletionChecked(_)
            | HandoffEvent::CompletionFailed(_)
            | HandoffEvent::Confirmed(_)
            | HandoffEvent::Disputed(_)
            | HandoffEvent::Escalated(_)
            | HandoffEvent::SlaExtended(_)
            | HandoffEvent::SlaWarned(_)
            | HandoffEvent::Delegated(_)
            | HandoffEvent::DelegationEnded(_)
            | HandoffEvent::DelegationReopened(_)
            | HandoffEvent::DelegationRecalled(_)
            | HandoffEvent::WorkqSettled(_)
            | HandoffEvent::WorkqDegraded(_) => {}
        }
    }
}

fn title(event: &HandoffEvent) -> Option<&str> {
    match event {
        HandoffEvent::Drafted(drafted) => drafted.title.as_deref(),
        HandoffEvent::Proposed(proposed) => Some(&proposed.title),
        HandoffEvent::Countered(countered) => Some(&countered.proposed.title),
        HandoffEvent::ValidationStarted(_)
        | HandoffEvent::Accepted(_)
        | HandoffEvent::Rejected(_)
        | HandoffEvent::Activated(_)
        | HandoffEvent::Progressed(_)
        | HandoffEvent::Recalled(_)
        | HandoffEvent::CompletionStarted(_)
        | HandoffEvent::CompletionChecked(_)
        | HandoffEvent::CompletionFailed(_)
        | HandoffEvent::Confirmed(_)
        | HandoffEvent::Disputed(_)
        | HandoffEvent::Completed(_)
        | HandoffEvent::Closed(_)
        | HandoffEvent::VerificationUnavailable(_)
        | HandoffEvent::Checked(_)
        | HandoffEvent::Approved(_)
        | HandoffEvent::Refused(_)
        | HandoffEvent::Escalated(_)
        | HandoffEvent::SlaExtended(_)
        | HandoffEvent::SlaWarned(_)
        | HandoffEvent::Delegated(_)
        | HandoffEvent::DelegationEnded(_)
        | HandoffEvent::DelegationReopened(_)
        | HandoffEvent::DelegationRecalled(_)
        | HandoffEvent::WorkqSettled(_)
        | HandoffEvent::WorkqDegraded(_) => None,
    }
}

fn event_name(status: &str) -> String {
    let past = if status == "draft" { "drafted" } else { status };
    format!("handoff.{past}")
}

fn difference(found: &str, expected: &str) -> String {
    let mut pairs = (1..).zip(found.lines().zip(expected.lines()));
    let (n_found, n_expected) = (found.lines().count(), expected.lines().count());
    match pairs.find(|(_, (found, expected))| found != expected) {
        Some((line, (found, expected))) => {
            format!("line {line} of the audit log is {found}, should be {expected}")
        }
        None => format!("the audit log has {n_found} lines, should have {n_expected}"),
    }
}

/// The chain, the signatures and roots of all checkpoints, the snapshots, the documents, and the
/// audit log as far as it goes.
pub fn audit(data: &Path) -> Verdict {
    audit_with(&Source::Data(data.to_owned()), &Options::default())
}

pub fn audit_with(source: &Source, options: &Options) -> Verdict {
    let report = audit::verify(source, options, &mut |_, _| {})
        .map_err(|error| format!("the audit could not look: {error:#}"))?;
    if report.is_sound() {
        return Ok(());
    }
    Err(format!("the audit found {} things, first {:?}", report.n_findings, report.findings[0]))
}

/// The file `checkpoint` covers the whole ledger.
pub fn check_sealed(data: &Path, newest: u64) -> Verdict {
    let note = std::fs::read_to_string(data.join(NEWEST_FILE)).unwrap_or_default();
    let size = note.lines().nth(1).unwrap_or_default();
    if size == newest.to_string() {
        return Ok(());
    }
    Err(format!("{size:?} of {newest} entries are sealed"))
}

/// Waits until there is nothing left to write: all sealed, and every line in the audit log.
pub async fn until_idle(data: &Path) -> Ledger {
    let mut idle = None;
    eventually("everything to be written", || {
        let ledger = Ledger::read(data)?;
        check_sealed(data, ledger.newest())?;
        ledger.check_lines(data)?;
        idle = Some(ledger);
        Ok(())
    })
    .await;
    idle.expect("it was read when all was well")
}

/// Waits until every line of the ledger is in the audit log; nothing may be added meanwhile.
pub async fn until_lines(data: &Path) -> Ledger {
    let ledger = Ledger::read(data).expect("the ledger can be read");
    eventually("the audit log", || ledger.check_lines(data)).await;
    ledger
}

/// Polls until it is so.
pub async fn eventually(what: &str, mut look: impl FnMut() -> Verdict) {
    let give_up_ns = monotonic_ns() + PATIENCE_NS;
    while let Err(last) = look() {
        assert!(monotonic_ns() < give_up_ns, "waited for {what} in vain: {last}");
        SystemClock.sleep(Span::from_millis(10)).await;
    }
}
