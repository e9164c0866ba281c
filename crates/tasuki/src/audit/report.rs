//! What an audit found, for people and for programs.

use std::fmt;

use protocol::audit::{self, EntryPlace, FINDINGS_MAX};
use protocol::time::Time;
use serde::Serialize;

/// The verdict on a ledger and on everything that is derived from it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    pub n_entries: u64,
    /// Entries that a signed checkpoint vouches for.
    pub n_sealed: u64,
    pub n_unsealed: u64,
    /// Bodies that were erased on the record.
    pub n_erased: u64,
    /// Notes whose signature holds.
    pub n_checkpoints: u64,
    /// Lines of the audit log that were derived again.
    pub n_lines: u64,
    /// What is wrong, by entry. The first hundred of them.
    pub findings: Vec<Finding>,
    pub n_findings: u64,
    /// What is worth knowing and is not wrong.
    pub remarks: Vec<String>,
    /// Losses that an operator declared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forks: Vec<Fork>,
}

/// Entries that were sealed and are gone, on the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fork {
    /// The first entry that was lost, or may have been. Without it, all entries before the fork are
    /// there, and it is not known whether there were more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_lost: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_lost: Option<u64>,
    /// The entry that declares it.
    pub declared_in: u64,
    pub declared_by: String,
    #[serde(serialize_with = "Time::serialize_shown")]
    pub declared_at: Time,
    pub reason: String,
}

/// Something that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The number of the entry, or of the first that it may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<u64>,
    /// The last that it may be, when it cannot be told which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_entry: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub teamspace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u64>,
    pub what: String,
    #[serde(skip)]
    place: Option<EntryPlace>,
}

/// Findings as they come in.
#[derive(Debug, Default)]
pub(super) struct Findings {
    kept: Vec<Finding>,
    n_all: u64,
}

impl Report {
    /// Whether the ledger is as it was written.
    pub fn is_sound(&self) -> bool {
        self.n_findings == 0
    }
}

impl Report {
    /// Adds what belongs to no entry.
    pub(super) fn find(&mut self, what: String) {
        self.n_findings += 1;
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(Finding::new(None, what));
        }
    }
}

impl Findings {
    pub(super) fn about(&mut self, place: EntryPlace, what: impl fmt::Display) {
        self.push(Finding::new(Some(place), what.to_string()));
    }

    /// For what belongs to no entry.
    pub(super) fn general(&mut self, what: impl fmt::Display) {
        self.push(Finding::new(None, what.to_string()));
    }

    fn push(&mut self, finding: Finding) {
        self.n_all += 1;
        if self.kept.len() < FINDINGS_MAX {
            self.kept.push(finding);
        }
    }

    /// Together with those of the auditor, by entry.
    pub(super) fn into_report(self, audited: audit::Report) -> Report {
        let of_auditor = audited
            .findings
            .into_iter()
            .map(|finding| Finding::new(Some(finding.place), finding.problem.to_string()));
        let mut findings: Vec<Finding> = of_auditor.chain(self.kept).collect();
        findings.sort_by_key(|finding| finding.entry.unwrap_or(u64::MAX));
        findings.truncate(FINDINGS_MAX);
        Report {
            n_entries: audited.n_entries,
            n_sealed: audited.n_sealed,
            n_unsealed: audited.n_unsealed,
            n_erased: audited.n_erased,
            findings,
            n_findings: audited.n_findings + self.n_all,
            forks: audited.forks.into_iter().map(Fork::from).collect(),
            ..Report::default()
        }
    }
}

impl From<audit::Fork> for Fork {
    fn from(fork: audit::Fork) -> Self {
        let audit::Fork { seq, actor, at, lost, reason } = fork;
        let (first_lost, last_lost) = match lost {
            audit::LostRange::Entries { first, last } => (Some(first), Some(last)),
            audit::LostRange::Unknown => (None, None),
        };
        let (declared_in, declared_by, declared_at) = (seq, actor, at);
        Self { first_lost, last_lost, declared_in, declared_by, declared_at, reason }
    }
}

impl fmt::Display for Fork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fork { declared_in, declared_by, declared_at, reason, .. } = self;
        let lost = match (self.first_lost, self.last_lost) {
            (Some(first), Some(last)) => format!("{}: lost", EntryPlace::Range { first, last }),
            (_, _) => "not known whether entries were lost, for want of a checkpoint".to_owned(),
        };
        write!(
            f,
            "{lost}; {declared_by} declared the fork in entry {declared_in} at \
             {declared_at}: {reason}"
        )
    }
}

impl Finding {
    fn new(place: Option<EntryPlace>, what: String) -> Self {
        let (mut entry, mut last_entry, mut named) = (None, None, None);
        match &place {
            Some(EntryPlace::Entry { seq, stream, position }) => {
                entry = Some(*seq);
                named = Some((stream.clone(), *position));
            }
            Some(EntryPlace::Range { first, last }) => {
                entry = Some(*first);
                last_entry = (first != last).then_some(*last);
            }
            None => {}
        }
        Self {
            entry,
            last_entry,
            teamspace: named.as_ref().map(|(stream, _)| stream.teamspace.to_string()),
            stream: named.as_ref().map(|(stream, _)| stream.subject.to_string()),
            position: named.map(|(_, position)| position),
            what,
            place,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}
