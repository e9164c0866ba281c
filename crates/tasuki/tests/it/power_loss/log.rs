//! What a process did to its files, in order: the recorder's log, read and put into words.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::disk::Disk;
use super::images::Mode;

/// One file, whatever its name at the time, and even if a deleted file had the same inode number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileId(pub usize);

#[derive(Debug, PartialEq)]
pub struct Entry {
    /// When the operation began; nothing of it had taken effect before.
    pub at_ns: u64,
    pub operation: Operation,
}

#[derive(Debug, PartialEq)]
pub enum Operation {
    Contents {
        file: FileId,
        change: Change,
    },
    Name(NameChange),
    /// Changes to the target before this entry are durable once the sync has ended.
    SyncStarted {
        token: u64,
        target: SyncTarget,
    },
    SyncEnded {
        token: u64,
    },
}

#[derive(Debug, PartialEq)]
pub enum Change {
    Write {
        offset: u64,
        data: Vec<u8>,
    },
    Truncate {
        length: u64,
    },
    /// The file is at least this long from now on.
    Allocate {
        length: u64,
    },
}

/// Paths are relative to the recorded root.
#[derive(Debug, PartialEq)]
pub enum NameChange {
    Create {
        path: PathBuf,
        file: FileId,
    },
    /// One more name of a file.
    Link {
        path: PathBuf,
        file: FileId,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
        file: FileId,
    },
    Unlink {
        path: PathBuf,
        file: FileId,
    },
    MakeDirectory {
        path: PathBuf,
    },
    RemoveDirectory {
        path: PathBuf,
    },
}

#[derive(Debug, PartialEq)]
pub enum SyncTarget {
    File(FileId),
    Directory(PathBuf),
}

#[derive(Debug, Default, PartialEq)]
pub struct Log {
    pub entries: Vec<Entry>,
    pub n_files: usize,
}

impl Log {
    /// Reads the log of a process that was recorded below `root`. A last record that the death of
    /// the process cut off is left out.
    pub fn read(log: &Path, root: &Path) -> Result<Log, String> {
        let bytes =
            fs::read(log).map_err(|error| format!("reading the recorder's log: {error}"))?;
        let root = root.canonicalize().map_err(|error| format!("finding the root: {error}"))?;
        let mut reading = Reading { root, files: HashMap::new(), log: Log::default() };
        let mut rest = bytes.as_slice();
        while let Some(record) = Record::take(&mut rest)? {
            reading.add(&record)?;
        }
        let mut log = reading.log;
        if log.entries.is_empty() {
            return Err("nothing was recorded: is the program linked statically?".to_owned());
        }
        // Several processes may have shared the log. An acknowledgement counts at a cut only if it
        // came before all that is cut off, so each entry starts no later than its successors.
        let mut earliest = u64::MAX;
        for entry in log.entries.iter_mut().rev() {
            earliest = earliest.min(entry.at_ns);
            entry.at_ns = earliest;
        }
        Ok(log)
    }

    /// Files below `root` that differ from what the log says they should be by now: their writes
    /// went past the recorder, and images would be wrong. Empty for a process killed when idle; a
    /// kill in mid-work may leave one, whose last change was made but not yet recorded.
    pub fn unrecorded(&self, root: &Path) -> io::Result<Vec<PathBuf>> {
        let mut disk = Disk::empty(self);
        disk.advance_to(self.entries.len());
        let expected = disk.image(Mode::EverythingUnsynced, 0).files;
        let mut paths: BTreeSet<PathBuf> = expected.keys().cloned().collect();
        collect_files(root, root, &mut paths)?;
        paths.retain(|path| match (expected.get(path), fs::read(root.join(path))) {
            (Some(recorded), Ok(actual)) => recorded[..] != actual[..],
            (Some(_), Err(_)) | (None, _) => true,
        });
        Ok(paths.into_iter().collect())
    }
}

fn collect_files(root: &Path, below: &Path, paths: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(below)? {
        let path = entry?.path();
        if path.is_dir() {
            collect_files(root, &path, paths)?;
        } else if path.is_file() && !path.to_string_lossy().ends_with("-shm") {
            let relative = path.strip_prefix(root).expect("it was found below the root");
            paths.insert(relative.to_owned());
        }
    }
    Ok(())
}

struct Reading {
    root: PathBuf,
    /// Which file an inode number means at this point of the log.
    files: HashMap<u64, FileId>,
    log: Log,
}

impl Reading {
    fn add(&mut self, record: &Record<'_>) -> Result<(), String> {
        let path = self.relative(record.path)?;
        if record.kind == kind::UNSUPPORTED {
            let Record { other, at_ns, .. } = record;
            return Err(format!("the model cannot express {other} on {path:?} at {at_ns}"));
        }
        if path.as_os_str().is_empty() && record.kind == kind::MAKE_DIRECTORY {
            return Ok(());
        }
        let operation = match record.kind {
            kind::CREATE => {
                self.create(record, path);
                return Ok(());
            }
            kind::SYNC_START if record.is_directory() => {
                Operation::SyncStarted { token: record.value, target: SyncTarget::Directory(path) }
            }
            kind::SYNC_END => Operation::SyncEnded { token: record.value },
            kind::MAKE_DIRECTORY => Operation::Name(NameChange::MakeDirectory { path }),
            kind::REMOVE_DIRECTORY => Operation::Name(NameChange::RemoveDirectory { path }),
            on_a_file => {
                let Some(file) = self.file(record, &path) else {
                    return Ok(());
                };
                let contents = |change| Operation::Contents { file, change };
                let length = record.value;
                match on_a_file {
                    kind::WRITE => {
                        contents(Change::Write { offset: record.value, data: record.data.to_vec() })
                    }
                    kind::TRUNCATE => contents(Change::Truncate { length }),
                    kind::ALLOCATE => contents(Change::Allocate { length }),
                    kind::SYNC_START => Operation::SyncStarted {
                        token: record.value,
                        target: SyncTarget::File(file),
                    },
                    kind::RENAME => Operation::Name(NameChange::Rename {
                        from: path,
                        to: self.relative(record.other)?,
                        file,
                    }),
                    kind::UNLINK => Operation::Name(NameChange::Unlink { path, file }),
                    kind::LINK => Operation::Name(NameChange::Link { path, file }),
                    unknown => return Err(format!("record of unknown kind {unknown}")),
                }
            }
        };
        self.log.entries.push(Entry { at_ns: record.at_ns, operation });
        Ok(())
    }

    /// The file of a record. A file without a recorded creation was opened by a raw system call: it
    /// is created here, unless it has no name any more.
    fn file(&mut self, record: &Record<'_>, path: &Path) -> Option<FileId> {
        match self.files.get(&record.inode) {
            Some(file) => Some(*file),
            None if record.is_deleted() => None,
            None => Some(self.create(record, path.to_owned())),
        }
    }

    fn create(&mut self, record: &Record<'_>, path: PathBuf) -> FileId {
        let file = FileId(self.log.n_files);
        self.log.n_files += 1;
        self.files.insert(record.inode, file);
        let operation = Operation::Name(NameChange::Create { path, file });
        self.log.entries.push(Entry { at_ns: record.at_ns, operation });
        file
    }

    fn relative(&self, path: &str) -> Result<PathBuf, String> {
        let relative = Path::new(path).strip_prefix(&self.root);
        relative.map(Path::to_owned).map_err(|_| format!("{path} is not below the root"))
    }
}

/// The recorder's `enum kind`.
mod kind {
    pub const CREATE: u16 = 1;
    pub const WRITE: u16 = 2;
    pub const TRUNCATE: u16 = 3;
    pub const ALLOCATE: u16 = 4;
    pub const SYNC_START: u16 = 5;
    pub const SYNC_END: u16 = 6;
    pub const RENAME: u16 = 7;
    pub const UNLINK: u16 = 8;
    pub const MAKE_DIRECTORY: u16 = 9;
    pub const REMOVE_DIRECTORY: u16 = 10;
    pub const UNSUPPORTED: u16 = 11;
    pub const LINK: u16 = 12;
}

/// The recorder's `struct header` and what follows it.
struct Record<'bytes> {
    kind: u16,
    flags: u16,
    at_ns: u64,
    inode: u64,
    value: u64,
    path: &'bytes str,
    other: &'bytes str,
    data: &'bytes [u8],
}

impl<'bytes> Record<'bytes> {
    const MAGIC: u32 = 0x736b_7574;

    /// The next record, or none if what is left is not a whole one.
    fn take(rest: &mut &'bytes [u8]) -> Result<Option<Self>, String> {
        let Some(header) = rest.first_chunk::<48>() else {
            return Ok(None);
        };
        let number = |at: usize, n_bytes: usize| {
            let mut wide = [0; 8];
            wide[..n_bytes].copy_from_slice(&header[at..at + n_bytes]);
            u64::from_le_bytes(wide)
        };
        if number(0, 4) != u64::from(Self::MAGIC) {
            return Err("the recorder's log is out of step".to_owned());
        }
        let lengths = [number(32, 4), number(36, 4), number(40, 8)].map(|length| length as usize);
        let body = &rest[header.len()..];
        let total: usize = lengths.iter().sum();
        if body.len() < total {
            return Ok(None);
        }
        let (path, body) = body.split_at(lengths[0]);
        let (other, body) = body.split_at(lengths[1]);
        let (data, after) = body.split_at(lengths[2]);
        *rest = after;
        let text = |bytes| str::from_utf8(bytes).map_err(|_| "a path is not UTF-8".to_owned());
        Ok(Some(Self {
            kind: number(4, 2) as u16,
            flags: number(6, 2) as u16,
            at_ns: number(8, 8),
            inode: number(16, 8),
            value: number(24, 8),
            path: text(path)?,
            other: text(other)?,
            data,
        }))
    }

    fn is_directory(&self) -> bool {
        self.flags & 1 != 0
    }

    fn is_deleted(&self) -> bool {
        self.flags & 2 != 0
    }
}
