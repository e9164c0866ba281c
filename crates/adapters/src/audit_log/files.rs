//! The files of a log: one for each teamspace with its position beside it, and one position for all
//! of them.
//!
//! The order of a write: the lines, a sync, the file's position, and now and then the position of
//! all. Whatever a crash leaves after a recorded length is cut off on the next start and written
//! again from the ledger, so no line is lost and none is doubled.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use engine::ports::store::Sequenced;
use protocol::canonical::Hash;
use protocol::ids::TeamspaceId;
use protocol::ledger::{Entry, Erased, GENESIS};

use super::Error;
use super::log::Log;
pub use super::log::TEAMSPACES_FOLDER;
use super::position::{Position, PositionFile};
use crate::durable;

/// The common position saves the next start from reading what is already in the files, and costs a
/// sync. Reading this many entries takes almost no time.
const COMMON_EVERY_ENTRIES: u64 = 10_000;

/// The `handoffs.jsonl` of one teamspace.
pub fn lines_path(folder: &Path, teamspace: &TeamspaceId) -> PathBuf {
    Log::Handoffs.lines_path(folder, teamspace)
}

/// The teamspaces that have a folder.
pub fn teamspaces(folder: &Path) -> io::Result<Vec<TeamspaceId>> {
    let listed = match fs::read_dir(folder.join(TEAMSPACES_FOLDER)) {
        Ok(listed) => listed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in listed {
        // A name that is no teamspace is not ours.
        let name = entry?.file_name();
        if let Some(teamspace) = name.to_str().and_then(|name| name.parse().ok()) {
            found.push(teamspace);
        }
    }
    found.sort();
    Ok(found)
}

#[derive(Debug)]
pub struct Files {
    log: Log,
    folder: PathBuf,
    common: PositionFile,
    files: BTreeMap<TeamspaceId, LinesFile>,
    /// Where to follow the ledger from, and how far it was followed.
    cursor: Cursor,
}

/// An entry and its hash; the beginning has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cursor {
    sequence: u64,
    hash: Hash,
}

impl From<Cursor> for Position {
    fn from(Cursor { sequence, hash }: Cursor) -> Self {
        Self { length: 0, sequence, hash }
    }
}

const BEGINNING: Cursor = Cursor { sequence: 0, hash: GENESIS };

/// The files that were derived from another ledger than the one that is there now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outdated {
    pub teamspaces: BTreeSet<TeamspaceId>,
    /// Whether the common position is of another ledger.
    pub is_common: bool,
}

#[derive(Debug)]
struct LinesFile {
    path: PathBuf,
    position_file: PositionFile,
    position: Position,
    /// Its lines were derived from a ledger that already had this entry, so they contain nothing
    /// that was erased before it.
    derived_at: u64,
}

impl Files {
    /// Opens what is there, and cuts every file to its recorded length.
    pub fn open(folder: &Path, log: Log) -> io::Result<Self> {
        durable::create_folder(&folder.join(TEAMSPACES_FOLDER))?;
        let common = PositionFile::open(&log.common_position_path(folder))?;
        let mut files = BTreeMap::new();
        let mut is_complete = true;
        for teamspace in teamspaces(folder)? {
            if !log.lines_path(folder, &teamspace).exists()
                && PositionFile::open(&log.position_path(folder, &teamspace))?.position().is_none()
            {
                continue;
            }
            let (file, found) = LinesFile::open(folder, log, &teamspace)?;
            is_complete &= found == Found::Whole;
            files.insert(teamspace, file);
        }
        let Position { length: n_files, sequence, hash } = common.position().unwrap_or_default();
        // A folder may have been removed; then its file is derived again from the beginning, and
        // the other files skip the entries that they already have.
        is_complete &= files.len() as u64 >= n_files;
        let cursor = if is_complete { Cursor { sequence, hash } } else { BEGINNING };
        let mut files = Self { log, folder: folder.to_owned(), common, files, cursor };
        if !is_complete {
            // Before anything is written: else a crash in the middle of the derivation would leave
            // a file that looks complete.
            files.record()?;
        }
        Ok(files)
    }

    pub fn cursor(&self) -> u64 {
        self.cursor.sequence
    }

    /// The entries that the files and the cursor rest on.
    pub fn foundations(&self) -> BTreeSet<u64> {
        let of_files = self.files.values().map(|file| file.position.sequence);
        of_files.chain([self.cursor.sequence]).filter(|sequence| *sequence > 0).collect()
    }

    /// Compares the entries that the files rest on with those of the ledger. A restore may have
    /// replaced the ledger by a shorter one, which may have grown since.
    pub fn outdated_against(&self, found: &BTreeMap<u64, Hash>) -> Outdated {
        let is_there =
            |sequence: u64, hash: &Hash| sequence == 0 || found.get(&sequence) == Some(hash);
        let differing = self.files.iter().filter(|(_, file)| {
            let Position { sequence, hash, .. } = &file.position;
            !is_there(*sequence, hash)
        });
        Outdated {
            teamspaces: differing.map(|(teamspace, _)| teamspace.clone()).collect(),
            is_common: !is_there(self.cursor.sequence, &self.cursor.hash),
        }
    }

    /// Writes the lines of the entries that follow the cursor, and moves it.
    pub fn append<'e>(
        &mut self,
        entries: impl IntoIterator<Item = &'e Sequenced>,
    ) -> Result<(), Error> {
        let mut parts: BTreeMap<TeamspaceId, Part> = BTreeMap::new();
        let mut cursor = self.cursor;
        let n_files = self.files.len();
        for Sequenced { seq, entry } in entries {
            cursor = Cursor { sequence: *seq, hash: entry.hash };
            let text =
                self.log.lines(entry).map_err(|error| Error::Unreadable { seq: *seq, error })?;
            let teamspace = &entry.stream.teamspace;
            // An erasure adds no line, but the position records that it was read.
            let is_news = !text.is_empty() || self.is_erasure(entry);
            if !is_news || *seq <= self.file(teamspace)?.position.sequence {
                continue;
            }
            let part = parts.entry(teamspace.clone()).or_default();
            part.text.push_str(&text);
            part.sequence = *seq;
            part.hash = entry.hash;
        }
        for (teamspace, part) in &parts {
            self.file(teamspace)?.append(part)?;
        }
        self.cursor = cursor;
        let recorded = self.common.position().map_or(0, |position| position.sequence);
        if self.files.len() != n_files || cursor.sequence.abs_diff(recorded) >= COMMON_EVERY_ENTRIES
        {
            self.record()?;
        }
        Ok(())
    }

    /// The teamspaces in whose files there may be lines of bodies that these entries erase.
    pub fn outdated_by<'e>(
        &mut self,
        entries: impl IntoIterator<Item = &'e Sequenced>,
    ) -> io::Result<BTreeSet<TeamspaceId>> {
        let mut outdated = BTreeSet::new();
        for Sequenced { seq, entry } in entries {
            if self.is_erasure(entry) {
                let file = self.file(&entry.stream.teamspace)?;
                if *seq > file.position.sequence.max(file.derived_at) {
                    outdated.insert(entry.stream.teamspace.clone());
                }
            }
        }
        Ok(outdated)
    }

    /// Empties the files of these teamspaces and goes back to the beginning of the ledger, whose
    /// newest entry this is now. The other files skip the entries that they already have.
    pub fn derive_again(
        &mut self,
        teamspaces: &BTreeSet<TeamspaceId>,
        newest: u64,
    ) -> io::Result<()> {
        for teamspace in teamspaces {
            self.file(teamspace)?.empty(newest)?;
        }
        self.cursor = BEGINNING;
        self.record()
    }

    /// Records the cursor, if it moved. A file without new lines is complete as well.
    pub fn record(&mut self) -> io::Result<()> {
        if self.cursor != BEGINNING {
            let still_empty = self.files.values_mut().filter(|file| file.position == EMPTIED);
            for file in still_empty {
                file.move_to(Position { length: 0, ..self.cursor.into() })?;
            }
        }
        let position = Position { length: self.files.len() as u64, ..self.cursor.into() };
        if self.common.position() == Some(position) {
            return Ok(());
        }
        self.common.record(position)
    }

    /// Whether it erases a body that this log may contain.
    fn is_erasure(&self, entry: &Entry) -> bool {
        entry.name == Erased::NAME && self.log.is_about(&entry.stream.subject)
    }

    fn file(&mut self, teamspace: &TeamspaceId) -> io::Result<&mut LinesFile> {
        if !self.files.contains_key(teamspace) {
            let (file, _) = LinesFile::open(&self.folder, self.log, teamspace)?;
            self.files.insert(teamspace.clone(), file);
        }
        Ok(self.files.get_mut(teamspace).expect("it was there or put there"))
    }
}

/// The lines for one file.
#[derive(Debug, Default)]
struct Part {
    text: String,
    sequence: u64,
    hash: Hash,
}

/// The record of a file that was emptied in order to be derived again.
const EMPTIED: Position = Position { length: 0, sequence: 0, hash: GENESIS };

#[derive(Debug, PartialEq, Eq)]
enum Found {
    Whole,
    /// It has to be written from the beginning of the ledger.
    Empty,
}

impl LinesFile {
    fn open(folder: &Path, log: Log, teamspace: &TeamspaceId) -> io::Result<(Self, Found)> {
        let of_log = log.folder(folder, teamspace);
        durable::create_folder(of_log.parent().expect("it has the name of the teamspace"))?;
        durable::create_folder(&of_log)?;
        let path = log.lines_path(folder, teamspace);
        let position_file = PositionFile::open(&log.position_path(folder, teamspace))?;
        let file = durable::create(&path)?;
        let length = file.metadata()?.len();
        let (position, found) = match position_file.position() {
            Some(EMPTIED) => (EMPTIED, Found::Empty),
            Some(position) if position.length <= length => (position, Found::Whole),
            None if length == 0 => (Position::default(), Found::Empty),
            Some(_) | None => {
                tracing::warn!(path = %path.display(), "derived from the ledger again");
                (Position::default(), Found::Empty)
            }
        };
        if position.length < length {
            file.set_len(position.length)?;
        }
        Ok((Self { path, position_file, position, derived_at: 0 }, found))
    }

    /// The record goes first: whatever a crash leaves of the lines is cut off on the next start.
    fn empty(&mut self, newest: u64) -> io::Result<()> {
        self.position_file.record(EMPTIED)?;
        self.position = EMPTIED;
        self.derived_at = newest;
        OpenOptions::new().write(true).open(&self.path)?.set_len(0)
    }

    fn append(&mut self, part: &Part) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(&self.path)?;
        if file.metadata()?.len() != self.position.length {
            // Another program wrote to it. The next attempt opens it again, which cuts it or
            // derives it again.
            let path = self.path.display();
            return Err(io::Error::other(format!("{path} does not have its recorded length")));
        }
        file.write_all_at(part.text.as_bytes(), self.position.length)?;
        file.sync_data()?;
        let length = self.position.length + part.text.len() as u64;
        let position = Position { length, sequence: part.sequence, hash: part.hash };
        self.move_to(position)
    }

    fn move_to(&mut self, position: Position) -> io::Result<()> {
        self.position_file.record(position)?;
        self.position = position;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
