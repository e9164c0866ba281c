//! Files: uploading, reading, checking and sweeping. The bytes are in a folder ([`Files`]), the
//! record is in the ledger. Bytes are durable before the record names them, and are deleted after
//! the record says that nothing refers to them. `engine.files()`.
//!
//! What must not be cut short runs as a task of its own, so that a client that disconnects cannot
//! stop it half-way.

pub mod admission;
pub mod checked;
pub mod damage;
mod looking;
pub mod reading;
pub mod removing;
mod uploading;

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use protocol::ids::{FileId, TeamspaceId, UploadId};
use protocol::ledger::{Stream, Subject};
use tokio::sync::{Mutex as Turn, OwnedMutexGuard, Semaphore};

use crate::Engine;
use crate::files::checked::Checked;
use crate::files::damage::CHECKS_MAX;
use crate::ports::files::{Files, Upload};
use crate::ports::store::StoreError;
use crate::road::submit::SubmitError;

/// Uploads of one caller that are not finished: a person sends a few files at once. The oldest
/// gives way to one more, so that what a client lost does not keep it from uploading.
pub const UPLOADS_PER_CALLER_MAX: usize = 8;

/// Uploads of one teamspace that are not finished: with files of the largest size, some
/// gigabytes. They count against the quota of the teamspace.
pub const UPLOADS_PER_TEAMSPACE_MAX: usize = 256;

/// Uploads of the customers of one teamspace that are not finished. Anyone can be a customer; the
/// rest is for members.
pub const UPLOADS_OF_CUSTOMERS_MAX: usize = UPLOADS_PER_TEAMSPACE_MAX / 4 * 3;

/// What one read of a file holds in memory.
pub const READ_BYTES: usize = 256 * 1024;

/// Files whose names fall together wait for each other, which is rare with this many turns.
const N_TURNS: usize = 256;

/// Why a file was not stored or read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("there is no such file")]
    NoFile,
    #[error("there is no such upload")]
    NoUpload,
    #[error("too many uploads are not finished")]
    TooManyUploads,
    /// The pieces of an upload follow each other.
    #[error("{offset} bytes have arrived")]
    OtherOffset { offset: u64 },
    #[error("the file is larger than {bytes_max} bytes")]
    TooLarge { bytes_max: u64 },
    #[error("the bytes are more than was announced")]
    MoreThanAnnounced { size_bytes: u64 },
    #[error("{offset} of {size_bytes} bytes have arrived")]
    NotComplete { offset: u64, size_bytes: u64 },
    #[error("the bytes are {actual}")]
    OtherBytes { actual: FileId },
    /// Its bytes are gone or not those of its name. It is refused until they are right again.
    #[error("the stored bytes of the file are damaged")]
    Damaged,
    #[error("the folder of the files failed")]
    Folder(#[from] io::Error),
    #[error(transparent)]
    Submit(#[from] SubmitError),
}

impl From<StoreError> for FileError {
    fn from(error: StoreError) -> Self {
        FileError::Submit(error.into())
    }
}

/// The folder, and what is under way in it.
pub(crate) struct Shelf {
    folder: Arc<dyn Files>,
    bytes_max: u64,
    /// One change of a file at a time, and of an upload. An upload's turn is taken first.
    of_files: Turns,
    of_uploads: Turns,
    /// One check of a teamspace at a time for its readers, and few in all. A place is taken after
    /// the turn of the teamspace, and before that of the file.
    of_checks: Turns,
    checks: Arc<Semaphore>,
    open: Mutex<HashMap<UploadId, Upload>>,
    /// Files that were found to be damaged, at most all.
    damaged: Mutex<HashSet<(TeamspaceId, FileId)>>,
    /// Files whose bytes were right when they were last read.
    checked: Mutex<Checked>,
}

impl Shelf {
    pub fn new(folder: Arc<dyn Files>, bytes_max: u64) -> Self {
        Self {
            folder,
            bytes_max,
            of_files: Turns::default(),
            of_uploads: Turns::default(),
            of_checks: Turns::default(),
            checks: Arc::new(Semaphore::new(CHECKS_MAX)),
            open: Mutex::default(),
            damaged: Mutex::default(),
            checked: Mutex::default(),
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<UploadId, Upload>> {
        self.open.lock().expect("nothing panics in here")
    }
}

/// Turns by name. Different names may share a turn.
struct Turns(Vec<Arc<Turn<()>>>);

impl Default for Turns {
    fn default() -> Self {
        Self((0..N_TURNS).map(|_| Arc::default()).collect())
    }
}

impl Turns {
    async fn take(&self, name: &str) -> OwnedMutexGuard<()> {
        let sum = name
            .bytes()
            .fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(byte)));
        Arc::clone(&self.0[sum % N_TURNS]).lock_owned().await
    }
}

/// The files of all teamspaces.
#[derive(Debug, Clone, Copy)]
pub struct FileShelf<'a> {
    pub(crate) engine: &'a Engine,
}

impl Engine {
    pub fn files(&self) -> FileShelf<'_> {
        FileShelf { engine: self }
    }

    /// Keeps files in this folder, up to a size; these uploads in it are not finished. Without a
    /// folder there are no files.
    pub fn keeping_files(
        mut self,
        folder: Arc<dyn Files>,
        uploads: Vec<Upload>,
        bytes_max: u64,
    ) -> Self {
        let shelf = Shelf::new(folder, bytes_max);
        shelf.open().extend(uploads.into_iter().map(|upload| (upload.id, upload)));
        self.shelf = Some(Arc::new(shelf));
        self
    }
}

impl FileShelf<'_> {
    fn shelf(self) -> Result<Arc<Shelf>, FileError> {
        self.engine.shelf.clone().ok_or(FileError::NoFile)
    }
}

pub(crate) fn stream(teamspace: &TeamspaceId, file: &FileId) -> Stream {
    Stream { teamspace: teamspace.clone(), subject: Subject::File(file.clone()) }
}
