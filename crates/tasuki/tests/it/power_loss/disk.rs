//! The disk at one moment of a log: what is durable, and what still sits in memory.
//!
//! The promises are those of an ordered file system such as ext4, taken at their narrowest. A
//! sync of a file covers its contents, its length and the name it was created under. A sync of a
//! directory covers the names in it, and not its own. Nothing else is durable; not a rename whose
//! directory was never synced, whatever else was, and nothing in a folder whose name is lost.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::log::{Change, FileId, Log, NameChange, Operation, SyncTarget};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    File(FileId),
    Directory,
}

pub type Names = BTreeMap<PathBuf, Target>;

#[derive(Debug)]
pub struct Disk<'log> {
    log: &'log Log,
    n_applied: usize,
    pub files: Vec<FileOnDisk<'log>>,
    pub names: Names,
    /// The names as the process sees them.
    pub names_in_memory: Names,
    /// With their places in the log, as all that is pending.
    pub pending_names: Vec<(usize, &'log NameChange)>,
    running_syncs: HashMap<u64, (usize, &'log SyncTarget)>,
}

#[derive(Debug, Default)]
pub struct FileOnDisk<'log> {
    pub durable: Vec<u8>,
    pub pending: Vec<(usize, &'log Change)>,
}

impl<'log> Disk<'log> {
    pub fn empty(log: &'log Log) -> Self {
        Self {
            log,
            n_applied: 0,
            files: (0..log.n_files).map(|_| FileOnDisk::default()).collect(),
            names: Names::new(),
            names_in_memory: Names::new(),
            pending_names: Vec::new(),
            running_syncs: HashMap::new(),
        }
    }

    /// Applies the log up to, and without, the entry `cut`. The disk only moves forward.
    pub fn advance_to(&mut self, cut: usize) {
        assert!(self.n_applied <= cut, "cuts are visited in ascending order");
        for index in self.n_applied..cut {
            match &self.log.entries[index].operation {
                Operation::Contents { file, change } => {
                    self.files[file.0].pending.push((index, change));
                }
                Operation::Name(change) => {
                    apply_name(&mut self.names_in_memory, change);
                    self.pending_names.push((index, change));
                }
                Operation::SyncStarted { token, target } => {
                    self.running_syncs.insert(*token, (index, target));
                }
                Operation::SyncEnded { token } => {
                    if let Some((start, target)) = self.running_syncs.remove(token) {
                        self.settle(start, target);
                    }
                }
            }
        }
        self.n_applied = cut;
    }

    fn settle(&mut self, start: usize, target: &SyncTarget) {
        if let SyncTarget::File(file) = target {
            let FileOnDisk { durable, pending } = &mut self.files[file.0];
            let n_covered = pending.partition_point(|(index, _)| *index < start);
            for (_, change) in pending.drain(..n_covered) {
                apply_change(durable, change);
            }
        }
        let covered: Vec<bool> = self
            .pending_names
            .iter()
            .map(|(index, change)| *index < start && is_covered(change, target))
            .collect();
        let covered = with_what_they_need(&self.pending_names, covered);
        let mut covered = covered.into_iter();
        self.pending_names.retain(|(_, change)| {
            let settles = covered.next().expect("one answer for each name");
            if settles {
                apply_name(&mut self.names, change);
            }
            !settles
        });
    }
}

fn is_covered(change: &NameChange, target: &SyncTarget) -> bool {
    match target {
        SyncTarget::File(synced) => match change {
            NameChange::Create { file, .. } => file == synced,
            NameChange::Link { .. }
            | NameChange::Rename { .. }
            | NameChange::Unlink { .. }
            | NameChange::MakeDirectory { .. }
            | NameChange::RemoveDirectory { .. } => false,
        },
        SyncTarget::Directory(synced) => match change {
            NameChange::MakeDirectory { path }
            | NameChange::Create { path, .. }
            | NameChange::Link { path, .. }
            | NameChange::Rename { to: path, .. }
            | NameChange::Unlink { path, .. }
            | NameChange::RemoveDirectory { path } => path.parent() == Some(synced),
        },
    }
}

/// Adds to the chosen changes all earlier ones of the same names: a name's history may be cut
/// short, but has no gaps. Changes of other names commute with it.
pub fn with_what_they_need(pending: &[(usize, &NameChange)], mut chosen: Vec<bool>) -> Vec<bool> {
    let mut needed: HashSet<&Path> = HashSet::new();
    for (place, (_, change)) in pending.iter().enumerate().rev() {
        let paths = paths_of(change);
        chosen[place] |= paths.iter().flatten().any(|path| needed.contains(path));
        if chosen[place] {
            needed.extend(paths.iter().flatten());
        }
    }
    chosen
}

fn paths_of(change: &NameChange) -> [Option<&Path>; 2] {
    match change {
        NameChange::Rename { from, to, .. } => [Some(from), Some(to)],
        NameChange::Create { path, .. }
        | NameChange::Link { path, .. }
        | NameChange::Unlink { path, .. }
        | NameChange::MakeDirectory { path }
        | NameChange::RemoveDirectory { path } => [Some(path), None],
    }
}

pub fn apply_name(names: &mut Names, change: &NameChange) {
    match change {
        NameChange::Create { path, file } | NameChange::Link { path, file } => {
            names.insert(path.clone(), Target::File(*file));
        }
        NameChange::Rename { from, to, file } => {
            remove_if_it_means(names, from, *file);
            names.insert(to.clone(), Target::File(*file));
        }
        NameChange::Unlink { path, file } => remove_if_it_means(names, path, *file),
        NameChange::MakeDirectory { path } => {
            names.insert(path.clone(), Target::Directory);
        }
        NameChange::RemoveDirectory { path } => {
            names.remove(path);
        }
    }
}

/// Removes what lies in folders that were made and are not there: their names never became durable.
pub fn drop_what_lies_nowhere(names: &mut Names, made: &[(usize, &NameChange)]) {
    for (_, change) in made {
        if let NameChange::MakeDirectory { path } = change
            && !names.contains_key(path)
        {
            names.retain(|name, _| !name.starts_with(path));
        }
    }
}

fn remove_if_it_means(names: &mut Names, path: &Path, file: FileId) {
    if names.get(path) == Some(&Target::File(file)) {
        names.remove(path);
    }
}

pub fn apply_change(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write { offset, data } => overlay(bytes, *offset as usize, data),
        Change::Truncate { length } => bytes.resize(*length as usize, 0),
        Change::Allocate { length } => bytes.resize(bytes.len().max(*length as usize), 0),
    }
}

pub fn overlay(bytes: &mut Vec<u8>, offset: usize, data: &[u8]) {
    let end = offset + data.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[offset..end].copy_from_slice(data);
}
