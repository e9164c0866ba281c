//! One disk that a power cut could have left: the durable part, and a choice of the rest.
//!
//! A sector is written whole or not at all, and at any time: of its unsynced versions the disk may
//! hold any one, independently of its neighbours. So each sector has a history that may be cut
//! short but has no gaps. The length of a file is one more such history.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::disk::{
    Disk, FileOnDisk, Names, Target, apply_change, apply_name, drop_what_lies_nowhere, overlay,
    with_what_they_need,
};
use super::log::Change;
use super::random::Random;

/// The unit that disks write as a whole. Those with 4096-byte sectors tear less, not more.
const SECTOR: usize = 512;

/// What happens to the part that no sync covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    NothingUnsynced,
    EverythingUnsynced,
    /// Any subset of sectors, lengths and names.
    RandomSectors,
    /// Everything up to a random write, of which only the first sectors arrived.
    TornPrefix,
}

#[derive(Debug)]
pub struct Image<'disk> {
    pub files: BTreeMap<PathBuf, Cow<'disk, [u8]>>,
    pub directories: BTreeSet<PathBuf>,
    pub traits: Traits,
}

/// What happened to this image, to count what a run has reached.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Traits {
    /// Of some write one sector was kept and another was not.
    pub is_torn: bool,
    pub has_lost_writes: bool,
    pub has_lost_names: bool,
    /// The write-ahead log of a database had unsynced frames.
    pub is_in_wal_commit: bool,
    /// A database that has a write-ahead log had unsynced pages.
    pub is_in_checkpoint: bool,
    /// The files that had unsynced changes, under their names in memory.
    pub unsynced: BTreeSet<PathBuf>,
}

impl Image<'_> {
    /// Writes the image as `directory`, replacing what is there.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        if directory.exists() {
            fs::remove_dir_all(directory)?;
        }
        fs::create_dir_all(directory)?;
        for path in &self.directories {
            fs::create_dir_all(directory.join(path))?;
        }
        for (path, bytes) in &self.files {
            let path = directory.join(path);
            fs::create_dir_all(path.parent().expect("it is below the directory"))?;
            fs::write(path, bytes)?;
        }
        Ok(())
    }
}

impl Disk<'_> {
    /// The image of this moment that `mode` and `seed` choose.
    pub fn image(&self, mode: Mode, seed: u64) -> Image<'_> {
        let mut random = Random::from_seed(seed);
        let keep_percent = [10, 50, 90][random.below(3)];
        let pending: Vec<usize> = self
            .files
            .iter()
            .flat_map(|file| file.pending.iter().map(|(index, _)| *index))
            .collect();
        let torn_at = match pending.len() {
            0 => usize::MAX,
            n_pending => pending[random.below(n_pending)],
        };
        let mut fate = Fate { mode, random, keep_percent, torn_at, traits: self.traits() };
        let mut image = Image {
            files: BTreeMap::new(),
            directories: BTreeSet::new(),
            traits: Traits::default(),
        };
        for (path, target) in fate.names(self) {
            match target {
                Target::Directory => {
                    image.directories.insert(path);
                }
                Target::File(file) => {
                    image.files.insert(path, fate.contents(&self.files[file.0]));
                }
            }
        }
        image.traits = fate.traits;
        let is_missing = |path: &PathBuf| !image.files.contains_key(path);
        image.traits.has_lost_writes |= image.traits.unsynced.iter().any(is_missing);
        image
    }

    /// The traits that are known before anything is lost.
    fn traits(&self) -> Traits {
        let mut traits = Traits::default();
        for (path, target) in &self.names_in_memory {
            let Target::File(file) = target else { continue };
            if self.files[file.0].pending.is_empty() {
                continue;
            }
            let wal = path.with_file_name(format!("{}-wal", last_part(path)));
            traits.is_in_wal_commit |= last_part(path).ends_with("-wal");
            traits.is_in_checkpoint |= self.names_in_memory.contains_key(&wal);
            traits.unsynced.insert(path.clone());
        }
        traits
    }
}

fn last_part(path: &Path) -> Cow<'_, str> {
    path.file_name().expect("a file below the root has a name").to_string_lossy()
}

struct Fate {
    mode: Mode,
    random: Random,
    keep_percent: usize,
    /// For `TornPrefix`: the place in the log of the change that did not fully arrive.
    torn_at: usize,
    traits: Traits,
}

impl Fate {
    fn names(&mut self, disk: &Disk<'_>) -> Names {
        let chosen = disk.pending_names.iter().map(|(index, _)| match self.mode {
            Mode::NothingUnsynced => false,
            Mode::EverythingUnsynced => true,
            Mode::RandomSectors => self.random.happens(self.keep_percent),
            Mode::TornPrefix => *index < self.torn_at,
        });
        let kept = with_what_they_need(&disk.pending_names, chosen.collect());
        self.traits.has_lost_names |= kept.contains(&false);
        let mut names = disk.names.clone();
        for ((_, change), kept) in disk.pending_names.iter().zip(kept) {
            if kept {
                apply_name(&mut names, change);
            }
        }
        drop_what_lies_nowhere(&mut names, &disk.pending_names);
        names
    }

    fn contents<'disk>(&mut self, file: &'disk FileOnDisk<'_>) -> Cow<'disk, [u8]> {
        if file.pending.is_empty() {
            return Cow::Borrowed(&file.durable);
        }
        let mut bytes = file.durable.clone();
        let mut lost = LostHistories::default();
        for (index, change) in &file.pending {
            match change {
                Change::Write { offset, data } => {
                    self.write(&mut bytes, &mut lost, *index, (*offset as usize, data));
                }
                Change::Truncate { .. } | Change::Allocate { .. } => {
                    if self.keeps_length(&mut lost, *index) {
                        apply_change(&mut bytes, change);
                    } else {
                        self.traits.has_lost_writes = true;
                    }
                }
            }
        }
        Cow::Owned(bytes)
    }

    fn write(
        &mut self,
        bytes: &mut Vec<u8>,
        lost: &mut LostHistories,
        index: usize,
        (offset, data): (usize, &[u8]),
    ) {
        let end = offset + data.len();
        let sectors = offset / SECTOR..end.div_ceil(SECTOR);
        let n_sectors = sectors.len();
        let n_arrived = self.random.below(n_sectors.max(1));
        let mut n_kept = 0;
        for (nth, sector) in sectors.enumerate() {
            let keeps = match self.mode {
                Mode::NothingUnsynced => false,
                Mode::EverythingUnsynced => true,
                Mode::RandomSectors => {
                    let keeps = self.random.happens(self.keep_percent);
                    !lost.sectors.contains(&sector) && (keeps || !lost.sectors.insert(sector))
                }
                Mode::TornPrefix => {
                    index < self.torn_at || (index == self.torn_at && nth < n_arrived)
                }
            };
            if keeps {
                n_kept += 1;
                let (from, to) = (offset.max(sector * SECTOR), end.min((sector + 1) * SECTOR));
                overlay(bytes, from, &data[from - offset..to - offset]);
            }
        }
        if n_kept < n_sectors {
            self.traits.has_lost_writes = true;
            self.traits.is_torn |= n_kept > 0;
            // The new length may arrive without the data.
            if self.mode == Mode::RandomSectors && end > bytes.len() && self.random.happens(25) {
                bytes.resize(end, 0);
            }
        }
    }

    fn keeps_length(&mut self, lost: &mut LostHistories, index: usize) -> bool {
        match self.mode {
            Mode::NothingUnsynced => false,
            Mode::EverythingUnsynced => true,
            Mode::RandomSectors => {
                lost.lengths |= !self.random.happens(self.keep_percent);
                !lost.lengths
            }
            Mode::TornPrefix => index < self.torn_at,
        }
    }
}

/// The histories that were cut short: nothing later of them is on the disk.
#[derive(Default)]
struct LostHistories {
    sectors: HashSet<usize>,
    lengths: bool,
}
