//! How far a file was written, in a way that survives a torn write: two slots of one sector each,
//! written in turns, each with a checksum. If one is damaged, the other is still valid.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use protocol::canonical::{Hash, sha256};

use crate::durable;

/// The smallest unit that disks write atomically.
const SLOT_BYTES: usize = 512;

const MAGIC: &[u8; 8] = b"tasuki02";

/// Magic, counter, length and sequence, each of eight bytes, and the hash of the entry; the
/// checksum over them follows.
const FIELDS_BYTES: usize = 64;

/// The file is `length` bytes long and holds everything up to entry `sequence`. That entry's hash
/// tells whether the ledger is still the one that the file was derived from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    pub length: u64,
    pub sequence: u64,
    pub hash: Hash,
}

/// A position on disk.
#[derive(Debug)]
pub struct PositionFile {
    path: PathBuf,
    newest: Option<Slot>,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    /// Grows with every record; its lowest bit says which slot it is in.
    counter: u64,
    position: Position,
}

impl PositionFile {
    /// A file that is not there, or whose slots are both damaged, has no position.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut bytes = Vec::new();
        match File::open(path) {
            Ok(file) => file.take(2 * SLOT_BYTES as u64).read_to_end(&mut bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        let slots = bytes.chunks(SLOT_BYTES).filter_map(Slot::from_bytes);
        let newest = slots.max_by_key(|slot| slot.counter);
        Ok(Self { path: path.to_owned(), newest })
    }

    pub fn position(&self) -> Option<Position> {
        self.newest.map(|slot| slot.position)
    }

    /// Durable once this returns. If it fails, the position before it is still valid.
    pub fn record(&mut self, position: Position) -> io::Result<()> {
        let counter = self.newest.map_or(0, |slot| slot.counter.wrapping_add(1));
        let slot = Slot { counter, position };
        let file = match OpenOptions::new().write(true).open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => durable::create(&self.path)?,
            opened => opened?,
        };
        let offset = (counter % 2) * SLOT_BYTES as u64;
        file.write_all_at(&slot.to_bytes(), offset)?;
        file.sync_data()?;
        self.newest = Some(slot);
        Ok(())
    }
}

impl Slot {
    fn to_bytes(self) -> [u8; SLOT_BYTES] {
        let mut bytes = [0; SLOT_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..16].copy_from_slice(&self.counter.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.position.length.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.position.sequence.to_le_bytes());
        bytes[32..64].copy_from_slice(&self.position.hash);
        let checksum = sha256(&[&bytes[..FIELDS_BYTES]]);
        bytes[FIELDS_BYTES..FIELDS_BYTES + 32].copy_from_slice(&checksum);
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Slot> {
        let (fields, rest) = bytes.split_at_checked(FIELDS_BYTES)?;
        let number = |at: usize| -> Option<u64> {
            Some(u64::from_le_bytes(*fields.get(at..)?.first_chunk()?))
        };
        if !fields.starts_with(MAGIC) || rest.get(..32)? != sha256(&[fields]) {
            return None;
        }
        let hash = *fields.get(32..)?.first_chunk()?;
        let position = Position { length: number(16)?, sequence: number(24)?, hash };
        Some(Slot { counter: number(8)?, position })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_newest_record_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("position");
        assert_eq!(PositionFile::open(&path).unwrap().position(), None);
        for number in 1..6 {
            let position = Position { length: number * 100, ..at(number) };
            PositionFile::open(&path).unwrap().record(position).unwrap();
            assert_eq!(PositionFile::open(&path).unwrap().position(), Some(position));
        }
        assert_eq!(fs::metadata(&path).unwrap().len(), 1_024);
    }

    #[test]
    fn a_torn_record_leaves_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("position");
        let mut file = PositionFile::open(&path).unwrap();
        let positions = [1, 2, 3].map(at);
        file.record(positions[0]).unwrap();
        file.record(positions[1]).unwrap();
        let before = fs::read(&path).unwrap();
        file.record(positions[2]).unwrap();
        let after = fs::read(&path).unwrap();
        for torn_at in 0..after.len() {
            for torn in [
                [&after[..torn_at], &before[torn_at..]].concat(),
                [&before[..torn_at], &after[torn_at..]].concat(),
            ] {
                fs::write(&path, &torn).unwrap();
                let found = PositionFile::open(&path).unwrap().position();
                assert!(found == Some(positions[1]) || found == Some(positions[2]), "{torn_at}");
            }
            // A slot of the first record was never written: the file just ends.
            fs::write(&path, &after[..torn_at]).unwrap();
            let found = PositionFile::open(&path).unwrap().position();
            let whole = [None, Some(positions[2]), Some(positions[1])];
            assert!(whole.contains(&found), "{torn_at}");
        }
    }

    #[test]
    fn every_changed_byte_spoils_its_slot() {
        let slot = Slot { counter: 4, position: at(6) };
        for at in 0..FIELDS_BYTES + 32 {
            let mut bytes = slot.to_bytes();
            bytes[at] ^= 0x10;
            assert!(Slot::from_bytes(&bytes).is_none(), "{at}");
        }
    }

    #[test]
    fn both_slots_spoilt_is_no_position() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("position");
        fs::write(&path, [7; 1_024]).unwrap();
        let mut file = PositionFile::open(&path).unwrap();
        assert_eq!(file.position(), None);
        file.record(at(2)).unwrap();
        let found = PositionFile::open(&path).unwrap().position();
        assert_eq!(found, Some(at(2)));
    }

    fn at(number: u64) -> Position {
        Position { length: number, sequence: number, hash: [7; 32] }
    }
}
