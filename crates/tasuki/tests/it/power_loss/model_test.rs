//! The model of a disk, tested on short histories: all the states that a cut may leave.

use std::collections::BTreeSet;
use std::path::Path;

use super::disk::Disk;
use super::images::Mode;
use super::log::{Change, Entry, FileId, Log, NameChange, Operation, SyncTarget};

const MODES: [Mode; 4] =
    [Mode::NothingUnsynced, Mode::EverythingUnsynced, Mode::RandomSectors, Mode::TornPrefix];

/// After the script the power fails; the outcomes are all the disks that may be left.
#[track_caller]
fn check(script: &[Step], outcomes: &[&str]) {
    let log = log_of(script);
    let mut disk = Disk::empty(&log);
    disk.advance_to(log.entries.len());
    let mut seen = BTreeSet::new();
    for seed in 0..400 {
        for mode in MODES {
            let files = disk.image(mode, seed).files;
            let words: Vec<String> = files
                .iter()
                .map(|(path, bytes)| format!("{}={}", path.display(), summary(bytes)))
                .collect();
            seen.insert(words.join(" "));
        }
    }
    let expected: BTreeSet<String> = outcomes.iter().map(|&outcome| outcome.to_owned()).collect();
    assert_eq!(seen, expected);
}

#[test]
fn a_write_is_durable_once_its_sync_has_ended() {
    let written = [Create("f", 0), SyncDirectory(""), Write(0, 0, "a")];
    check(&written, &["f=", "f=a", "f=0"]);
    check(&[&written[..], &[StartSync(0)]].concat(), &["f=", "f=a", "f=0"]);
    check(&[&written[..], &[StartSync(0), EndSync(0)]].concat(), &["f=a"]);
}

#[test]
fn a_write_during_a_sync_is_not_covered_by_it() {
    let script = [Create("f", 0), Write(0, 0, "a"), StartSync(0), Write(0, 0, "b"), EndSync(0)];
    check(&script, &["f=a", "f=b"]);
}

#[test]
fn the_sectors_of_a_write_arrive_independently() {
    let script = [Create("f", 0), Write(0, 0, "aa"), Sync(0), Write(0, 0, "bb")];
    check(&script, &["f=aa", "f=ba", "f=ab", "f=bb"]);
}

#[test]
fn a_sector_holds_one_of_its_versions() {
    let script = [Create("f", 0), Write(0, 0, "a"), Sync(0), Write(0, 0, "b"), Write(0, 0, "c")];
    check(&script, &["f=a", "f=b", "f=c"]);
}

#[test]
fn a_truncation_may_be_lost() {
    let script = [Create("f", 0), Write(0, 0, "ab"), Sync(0), Truncate(0, 1)];
    check(&script, &["f=ab", "f=a"]);
}

#[test]
fn a_new_file_needs_a_sync_of_itself_or_of_its_directory() {
    check(&[Create("f", 0)], &["", "f="]);
    check(&[Create("f", 0), Sync(0)], &["f="]);
    check(&[Create("f", 0), SyncDirectory("")], &["f="]);
    check(&[Create("d/f", 0), SyncDirectory("")], &["", "d/f="]);
    check(&[Create("d/f", 0), SyncDirectory("d")], &["d/f="]);
}

#[test]
fn a_file_in_a_new_folder_needs_a_sync_of_the_folders_parent() {
    let made = [MakeDirectory("d"), Create("d/f", 0), SyncDirectory("d")];
    check(&made, &["", "d/f="]);
    check(&[&made[..], &[Sync(0)]].concat(), &["", "d/f="]);
    check(&[&made[..], &[SyncDirectory("")]].concat(), &["d/f="]);
}

#[test]
fn a_further_name_needs_a_sync_of_its_directory() {
    let old = [Create("t", 0), Write(0, 0, "a"), Sync(0)];
    let linked = [&old[..], &[Link("f", 0)]].concat();
    check(&linked, &["t=a", "f=a t=a"]);
    check(&[&linked[..], &[Sync(0)]].concat(), &["t=a", "f=a t=a"]);
    let moved = [&linked[..], &[Unlink("t", 0), SyncDirectory("")]].concat();
    check(&moved, &["f=a"]);
}

#[test]
fn a_rename_needs_a_sync_of_its_directory() {
    let old = [Create("f", 0), Write(0, 0, "a"), Sync(0)];
    let new = [Create("t", 1), Write(1, 0, "b"), Sync(1), Rename("t", "f", 1)];
    let script = [&old[..], &new].concat();
    check(&script, &["f=a t=b", "f=b"]);
    check(&[&script[..], &[Sync(1)]].concat(), &["f=a t=b", "f=b"]);
    check(&[&script[..], &[SyncDirectory("")]].concat(), &["f=b"]);
}

#[test]
fn a_rename_may_arrive_before_the_contents() {
    let old = [Create("f", 0), Write(0, 0, "a"), Sync(0)];
    let new = [Create("t", 1), Write(1, 0, "b"), Rename("t", "f", 1), SyncDirectory("")];
    check(&[&old[..], &new].concat(), &["f=", "f=b", "f=0"]);
}

#[test]
fn the_history_of_a_name_has_no_gaps() {
    let first = [Create("t", 0), Write(0, 0, "a"), Sync(0), Rename("t", "f", 0)];
    let second = [Create("t", 1), Write(1, 0, "b"), Sync(1)];
    check(&[&first[..], &second].concat(), &["f=a t=b"]);
    let third = [Rename("t", "f", 1), Unlink("f", 1)];
    check(&[&first[..], &second, &third].concat(), &["f=a t=b", "f=b", ""]);
}

#[derive(Clone, Copy)]
enum Step {
    Create(&'static str, usize),
    /// To a file, at a sector: one sector of each letter.
    Write(usize, usize, &'static str),
    /// A file, to a number of sectors.
    Truncate(usize, usize),
    StartSync(usize),
    EndSync(usize),
    Sync(usize),
    SyncDirectory(&'static str),
    Rename(&'static str, &'static str, usize),
    Unlink(&'static str, usize),
    Link(&'static str, usize),
    MakeDirectory(&'static str),
}
use Step::*;

const SECTOR: usize = 512;

fn log_of(script: &[Step]) -> Log {
    let mut operations = Vec::new();
    for (token, step) in script.iter().enumerate() {
        let contents = |file, change| Operation::Contents { file: FileId(file), change };
        let path = |name: &str| Path::new(name).to_owned();
        let started = |token: usize, target| Operation::SyncStarted { token: token as u64, target };
        let ended = |token: usize| Operation::SyncEnded { token: token as u64 };
        match *step {
            Create(name, file) => operations
                .push(Operation::Name(NameChange::Create { path: path(name), file: FileId(file) })),
            Write(file, sector, letters) => {
                let data = letters.bytes().flat_map(|letter| [letter; SECTOR]).collect();
                let offset = (sector * SECTOR) as u64;
                operations.push(contents(file, Change::Write { offset, data }));
            }
            Truncate(file, n_sectors) => {
                let length = (n_sectors * SECTOR) as u64;
                operations.push(contents(file, Change::Truncate { length }));
            }
            StartSync(file) => {
                operations.push(started(1000 + file, SyncTarget::File(FileId(file))));
            }
            EndSync(file) => operations.push(ended(1000 + file)),
            Sync(file) => {
                operations.push(started(token, SyncTarget::File(FileId(file))));
                operations.push(ended(token));
            }
            SyncDirectory(name) => {
                operations.push(started(token, SyncTarget::Directory(path(name))));
                operations.push(ended(token));
            }
            Rename(from, to, file) => operations.push(Operation::Name(NameChange::Rename {
                from: path(from),
                to: path(to),
                file: FileId(file),
            })),
            Unlink(name, file) => operations
                .push(Operation::Name(NameChange::Unlink { path: path(name), file: FileId(file) })),
            Link(name, file) => operations
                .push(Operation::Name(NameChange::Link { path: path(name), file: FileId(file) })),
            MakeDirectory(name) => {
                operations.push(Operation::Name(NameChange::MakeDirectory { path: path(name) }));
            }
        }
    }
    let entries = operations.into_iter().map(|operation| Entry { at_ns: 0, operation });
    Log { entries: entries.collect(), n_files: 2 }
}

/// One letter for each sector, `0` for one of zeros.
fn summary(bytes: &[u8]) -> String {
    let sectors = bytes.chunks(SECTOR);
    sectors.map(|sector| if sector[0] == 0 { '0' } else { char::from(sector[0]) }).collect()
}
