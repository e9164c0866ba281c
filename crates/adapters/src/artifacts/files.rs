//! Files below the roots, opened without ever leaving them and read through the one handle that
//! was checked.
//!
//! A path outside a root gets the same answer whether it exists or not, and so does a link that
//! leads out: the answer does not reveal what is on this machine.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use engine::ports::clock::Stopwatch;
use protocol::handoff::artifact::Finding;
use protocol::handoff::package::ArtifactRef;
use rustix::fs::{Mode, OFlags, ResolveFlags, fcntl_getfl, fcntl_setfl, openat, openat2};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::hashing::Hashing;
use super::{Content, RootError, check_size, forbidden, mismatch, missing, too_large, unavailable};

/// A slice of this many buffers takes about a millisecond, which is how long a dropped call goes on
/// and how long another one waits for its turn.
const BUFFERS_PER_SLICE: usize = 4;

/// A slice that took much longer waited for the disk or for other threads, and does not rest that
/// long.
const REST_MAX: Duration = Duration::from_millis(4);

/// From this size on a file is read past the cache of the system. Caching gigabytes that are read
/// once costs milliseconds at a time, which block other threads, and evicts what is read often.
/// Smaller files were mostly just written, and are still cached.
const PAST_CACHE_BYTES_MIN: u64 = 8 * 1024 * 1024;

/// The kernel asks for another try if a folder is renamed meanwhile. This many tries are enough
/// unless a program renames folders all the time.
const OPENINGS_MAX: usize = 16;

/// Links that stay below the root are followed, those that lead out or begin at `/` are not, and
/// neither are the ones of `/proc`, which lead to open files. Mount points are crossed: only an
/// administrator makes them, and a volume below a root is meant to be there.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

/// Names a file without opening it: opening a device can do something by itself.
const NAMING: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// Nothing that is opened this way can block, or become the terminal of the server.
const READING: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC).union(OFlags::NOCTTY);

/// The folders that may be looked into, open since the start: renaming one later changes nothing.
#[derive(Debug)]
pub struct Roots {
    roots: Vec<Root>,
    way: Way,
}

#[derive(Debug)]
struct Root {
    path: PathBuf,
    folder: OwnedFd,
}

/// How a path is resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// By the kernel, which keeps it below the root.
    Kernel,
    /// Component by component, and every link is refused: the kernel is old, or a sandbox keeps
    /// `openat2` from us.
    Steps,
}

/// Opens a file, reads it slice by slice, and gives its digest.
pub async fn look(
    roots: &Arc<Roots>,
    hashing: &Hashing,
    reference: &ArtifactRef,
    bytes_max: u64,
) -> Result<Content, Finding> {
    let (roots, path) = (Arc::clone(roots), reference.path.clone());
    let mut reading = hashing.run(move |_| roots.begin(&path, bytes_max)).await??;
    check_size(reference, reading.before.size_bytes)?;
    loop {
        match hashing.run(move |buffer| reading.slice(buffer)).await?? {
            FileProgress::More(more) => reading = more,
            FileProgress::End(content) => return Ok(content),
        }
    }
}

impl Roots {
    pub fn open(paths: &[PathBuf]) -> Result<Self, RootError> {
        let roots = paths.iter().map(|path| Root::open(path)).collect::<Result<Vec<_>, _>>()?;
        let lacks_openat2 = |root: &Root| {
            let opened = openat2(&root.folder, ".", NAMING, Mode::empty(), BENEATH);
            matches!(opened, Err(Errno::NOSYS | Errno::PERM))
        };
        let way = if roots.iter().any(lacks_openat2) { Way::Steps } else { Way::Kernel };
        Ok(Self { roots, way })
    }

    #[cfg(test)]
    pub fn with_way(mut self, way: Way) -> Self {
        self.way = way;
        self
    }

    /// Opens a regular file of an acceptable size.
    pub fn begin(&self, path: &str, bytes_max: u64) -> Result<FileReading, Finding> {
        let (root, below) = self.place(path).ok_or_else(outside)?;
        if below.as_os_str().is_empty() {
            return Err(not_regular());
        }
        let file = File::from(self.resolve(root, below, NAMING).map_err(refusal)?);
        let metadata = file.metadata().map_err(|_| unreadable_now())?;
        if metadata.is_symlink() {
            return Err(outside());
        }
        if !metadata.is_file() {
            return Err(not_regular());
        }
        // The file behind the name may have been replaced since: only this handle counts.
        let file = File::from(self.resolve(root, below, READING).map_err(refusal)?);
        let metadata = file.metadata().map_err(|_| unreadable_now())?;
        if !metadata.is_file() {
            return Err(not_regular());
        }
        let before = Stamp::of(&metadata);
        if before.size_bytes > bytes_max {
            return Err(too_large(bytes_max));
        }
        if before.size_bytes >= PAST_CACHE_BYTES_MIN {
            // Not every file system supports this; then the file is read through the cache.
            let _ = fcntl_setfl(&file, OFlags::NONBLOCK | OFlags::DIRECT);
        }
        Ok(FileReading { file, before, n_read: 0, hasher: Sha256::new() })
    }

    /// The innermost root that a path is below, and the rest of the path.
    fn place<'p>(&self, path: &'p str) -> Option<(&Root, &'p Path)> {
        if path.contains('\0') || !is_plain(Path::new(path)) {
            return None;
        }
        let below = |root: &Root| Path::new(path).strip_prefix(&root.path).ok();
        let places = self.roots.iter().filter_map(|root| Some((root, below(root)?)));
        places.min_by_key(|(_, below)| below.components().count())
    }

    fn resolve(&self, root: &Root, below: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let folder = root.folder.as_fd();
        if self.way == Way::Steps {
            return step_down(folder, below, flags);
        }
        for _ in 1..OPENINGS_MAX {
            match openat2(folder, below, flags, Mode::empty(), BENEATH) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                opened => return opened,
            }
        }
        openat2(folder, below, flags, Mode::empty(), BENEATH)
    }
}

impl Root {
    fn open(path: &Path) -> Result<Self, RootError> {
        let path = path.to_owned();
        if !is_plain(&path) {
            return Err(RootError::NotAbsolute { path });
        }
        // The path to a root is the operator's own, links included.
        match rustix::fs::open(&path, NAMING | OFlags::DIRECTORY, Mode::empty()) {
            Ok(folder) => Ok(Self { path, folder }),
            Err(Errno::NOTDIR | Errno::NOENT) => Err(RootError::NotAFolder { path }),
            Err(error) => Err(RootError::Io { path, source: error.into() }),
        }
    }
}

/// Absolute, and without steps upwards.
fn is_plain(path: &Path) -> bool {
    path.is_absolute() && !path.components().any(|part| part == Component::ParentDir)
}

fn step_down(root: BorrowedFd<'_>, below: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut folder: Option<File> = None;
    let mut names = below.iter().peekable();
    while let Some(name) = names.next() {
        let at = folder.as_ref().map_or(root, File::as_fd);
        if names.peek().is_none() {
            return openat(at, name, flags | OFlags::NOFOLLOW, Mode::empty());
        }
        // Opens a link itself, not its target.
        let next = File::from(openat(at, name, NAMING | OFlags::NOFOLLOW, Mode::empty())?);
        if next.metadata().map_err(|_| Errno::IO)?.is_symlink() {
            return Err(Errno::LOOP);
        }
        folder = Some(next);
    }
    Err(Errno::NOENT)
}

/// What the kernel says when it does not open a file.
fn refusal(error: Errno) -> Finding {
    match error {
        Errno::XDEV | Errno::LOOP => outside(),
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => missing("there is no such file"),
        Errno::ACCESS | Errno::PERM => missing("the server may not read it"),
        Errno::NXIO | Errno::ISDIR | Errno::NODEV => not_regular(),
        _ => unreadable_now(),
    }
}

fn outside() -> Finding {
    forbidden("it is not below a folder that may be looked into")
}

fn not_regular() -> Finding {
    missing("not a regular file")
}

fn changed() -> Finding {
    mismatch("changed while it was read")
}

fn unreadable_now() -> Finding {
    unavailable("it cannot be read just now")
}

/// Metadata that differs after a write to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    size_bytes: u64,
    modified: (i64, i64),
    status_changed: (i64, i64),
}

impl Stamp {
    fn of(metadata: &std::fs::Metadata) -> Self {
        Self {
            size_bytes: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            status_changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// A file that is being read.
#[derive(Debug)]
pub struct FileReading {
    file: File,
    before: Stamp,
    n_read: u64,
    hasher: Sha256,
}

pub enum FileProgress {
    More(FileReading),
    End(Content),
}

impl FileReading {
    /// Reads a few buffers, and then rests as long: even a thread of the lowest priority delays
    /// others until it is preempted. A file that grows is given up at once.
    pub fn slice(mut self, buffer: &mut [u8]) -> Result<FileProgress, Finding> {
        let at_work = Stopwatch::start();
        for _ in 0..BUFFERS_PER_SLICE {
            match self.file.read(buffer) {
                Ok(0) => return self.end().map(FileProgress::End),
                Ok(n) => {
                    self.hasher.update(&buffer[..n]);
                    self.n_read += n as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                    self.through_cache()?
                }
                Err(_) => return Err(unreadable_now()),
            }
            if self.n_read > self.before.size_bytes {
                return Err(changed());
            }
        }
        at_work.rest(REST_MAX);
        Ok(FileProgress::More(self))
    }

    /// Past the cache, some file systems read only whole blocks of their own size.
    fn through_cache(&self) -> Result<(), Finding> {
        let flags = fcntl_getfl(&self.file).map_err(|_| unreadable_now())?;
        if !flags.contains(OFlags::DIRECT) {
            return Err(unreadable_now());
        }
        fcntl_setfl(&self.file, OFlags::NONBLOCK).map_err(|_| unreadable_now())
    }

    fn end(self) -> Result<Content, Finding> {
        let after = Stamp::of(&self.file.metadata().map_err(|_| unreadable_now())?);
        if after != self.before || self.n_read != self.before.size_bytes {
            return Err(changed());
        }
        Ok(Content { digest: self.hasher.finalize().into(), size_bytes: self.n_read })
    }
}
