//! Checkpoints, and the key that verifies them. Only signed checkpoints count.

use std::path::Path;
use std::{fs, io, str};

use adapters::ledger_key::FoundRowKey;
use adapters::{checkpoint_file, ledger_key};
use engine::ports::store::Sealed;
use protocol::audit::Auditor;
use protocol::checkpoint::{Checkpoint, Verifier};
use protocol::merkle::Edge;
use protocol::time::{Span, Time};

use super::Options;
use super::report::Findings;

/// The files beside the database. They are read first: a note is written after the entries it
/// seals, so these files never know more than a database that is read later.
#[derive(Debug, Default)]
pub struct Beside {
    pub key: Option<String>,
    pub newest: Option<String>,
    pub log: Option<checkpoint_file::Log>,
    /// Authenticates rows, where the caller has the key of the server.
    pub row_key: FoundRowKey,
}

impl Beside {
    pub fn read(folder: &Path) -> io::Result<Self> {
        let read = |name: &str| match fs::read(folder.join(name)) {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        };
        Ok(Self {
            key: read(ledger_key::PUBLIC_FILE)?,
            newest: read(checkpoint_file::NEWEST_FILE)?,
            log: read(checkpoint_file::LOG_FILE)?.map(|text| checkpoint_file::split_log(&text)),
            row_key: ledger_key::row_key(folder),
        })
    }
}

/// A server seals its entries within a second, and when it stops. If the whole ledger is younger
/// than this, the first run may have been cut short before it sealed anything.
const UNSEALED_MAX: Span = Span::from_millis(10_000);

/// From the first entry to the last.
#[derive(Debug, Default)]
pub struct Lived(Option<(Time, Time)>);

impl Lived {
    pub fn until(&mut self, at: Time) {
        let first = self.0.map_or(at, |(first, _)| first);
        self.0 = Some((first, at));
    }
}

/// Opens notes with one key, and collects what they say.
#[derive(Debug)]
pub struct Notes {
    key: Option<NoteKey>,
    is_key_given: bool,
    /// Set when a note was skipped because there is no key.
    is_key_missed: bool,
    pub checkpoints: Vec<Checkpoint>,
}

/// The checkpoint that was signed last, which is not the largest after a fork.
#[derive(Debug)]
pub struct Newest(pub Checkpoint);

impl Newest {
    pub fn holds_in(&self, auditor: &Auditor) -> bool {
        auditor.root_at(self.0.size) == Some(self.0.root)
    }
}

#[derive(Debug)]
struct NoteKey {
    verifier: Verifier,
    /// A log is named like its key.
    origin: String,
}

impl Notes {
    /// A given key takes precedence over the key found beside the data.
    pub fn new(options: &Options, found: Option<&str>, findings: &mut Findings) -> Self {
        let found = found.map(str::trim_end);
        let given = options.key.as_deref().map(str::trim);
        if let (Some(given), Some(found)) = (given, found)
            && given != found
        {
            findings.general("the key beside the ledger is not the one that was given");
        }
        let key = given.or(found).and_then(|text| match Verifier::new(text) {
            Ok(verifier) => {
                let origin = text.split('+').next().unwrap_or_default().to_owned();
                Some(NoteKey { verifier, origin })
            }
            Err(error) => {
                findings.general(error);
                None
            }
        });
        let is_key_given = given.is_some();
        let mut notes = Self { key, is_key_given, is_key_missed: false, checkpoints: Vec::new() };
        for (number, note) in (1..).zip(&options.notes) {
            notes.add(&format!("given checkpoint {number}"), note, findings);
        }
        notes
    }

    /// Returns the newest.
    pub fn add_beside(&mut self, beside: &Beside, findings: &mut Findings) -> Option<Newest> {
        let newest = beside.newest.as_ref();
        let newest = newest.and_then(|it| self.add(checkpoint_file::NEWEST_FILE, it, findings));
        let logged = beside.log.iter().flat_map(|log| &log.notes);
        for (number, note) in (1..).zip(logged) {
            let source = format!("{}, note {number}", checkpoint_file::LOG_FILE);
            self.add(&source, note, findings);
        }
        newest.map(Newest)
    }

    /// The database's own: the note, and the edge from which sealing goes on.
    pub fn add_sealed(&mut self, sealed: &Sealed, findings: &mut Findings) {
        let source = "the checkpoint in the database";
        let Some(checkpoint) = self.add(source, &sealed.note, findings) else { return };
        let edge = Edge::from_bytes(sealed.size, &sealed.edge);
        if sealed.size != checkpoint.size || edge.is_none_or(|edge| edge.root() != checkpoint.root)
        {
            findings.general(format_args!("{source} does not fit the tree that is kept with it"));
        }
    }

    /// A note counts once its signature holds and it is about this log.
    pub fn add(&mut self, source: &str, note: &str, findings: &mut Findings) -> Option<Checkpoint> {
        let Some(key) = &self.key else {
            self.is_key_missed = true;
            return None;
        };
        match key.verifier.open(note) {
            Ok(checkpoint) if checkpoint.origin == key.origin => {
                self.checkpoints.push(checkpoint.clone());
                Some(checkpoint)
            }
            Ok(checkpoint) => {
                let origin = checkpoint.origin;
                findings.general(format_args!("{source}: it is about another log, {origin}"));
                None
            }
            Err(error) => {
                findings.general(format_args!("{source}: {error}"));
                None
            }
        }
    }

    pub fn sizes(&self) -> impl Iterator<Item = u64> {
        self.checkpoints.iter().map(|checkpoint| checkpoint.size)
    }

    /// Without a checkpoint, entries can be cut off at the end unnoticed.
    pub fn miss_any(&self, lived: &Lived, findings: &mut Findings, remarks: &mut Vec<String>) {
        let Some((first, last)) = lived.0 else { return };
        // The first one is of an empty ledger.
        if self.checkpoints.iter().any(|one| one.size > 0) {
            return;
        }
        let is_overdue = self.key.is_some() && first.plus(UNSEALED_MAX) < last;
        match (self.is_key_given, is_overdue) {
            (true, _) => findings.general("there is no checkpoint that the given key has signed"),
            (false, true) => findings.general(
                "there is no checkpoint, though entries are sealed within a second: it cannot be \
                 told whether the last ones are missing",
            ),
            (false, false) => remarks.push(
                "nothing is sealed: it cannot be told whether the last entries are missing"
                    .to_owned(),
            ),
        }
    }

    /// Says what could not be checked at all.
    pub fn finish(&self, findings: &mut Findings) {
        if self.is_key_missed {
            let file = ledger_key::PUBLIC_FILE;
            findings
                .general(format_args!("there is no key to check the checkpoints with ({file})"));
        }
    }
}
