//! Files: uploading, reading, checking and sweeping. The bytes are in a folder ([`Files`]), the
//! record is in the ledger. Bytes are durable before the record names them, and are deleted after
//! the record says that nothing refers to them. `engine.files()`.
//!
//! What must not be cut short runs as a task of its own, so that a client that disconnects cannot
//! stop it half-way.

pub mod admission;
mod looking;
pub mod removing;
mod uploading;

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use protocol::caller::Caller;
use protocol::file::File;
use protocol::ids::{FileId, TeamspaceId, UploadId};
use protocol::ledger::{Stream, Subject};
use protocol::step::State;
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

use crate::Engine;
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
    open: Mutex<HashMap<UploadId, Upload>>,
}

impl Shelf {
    pub fn new(folder: Arc<dyn Files>, bytes_max: u64) -> Self {
        let (of_files, of_uploads) = (Turns::default(), Turns::default());
        Self { folder, bytes_max, of_files, of_uploads, open: Mutex::default() }
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

    /// The record of a file whose bytes are kept, if the caller may read it under its own name:
    /// what it stored and has not used yet, and what the newest readable references name. An
    /// unknown file and one that the caller may not read are the same.
    pub async fn readable(self, caller: &Caller, file: &FileId) -> Result<File, FileError> {
        let known = self.kept(&caller.teamspace, file).await?.ok_or(FileError::NoFile)?;
        let now = self.engine.clock.now();
        if known.is_upload_of(&caller.principal.to_string(), now) {
            return Ok(known);
        }
        match self.engine.may_read_any(caller, &known.referring()).await? {
            true => Ok(known),
            false => Err(FileError::NoFile),
        }
    }

    /// The record of a file whose bytes are kept. Whether a caller may know it is not asked.
    pub async fn kept(
        self,
        teamspace: &TeamspaceId,
        file: &FileId,
    ) -> Result<Option<File>, StoreError> {
        let state = self.engine.read().current(&stream(teamspace, file)).await?;
        let known = state.as_deref().and_then(State::as_file).cloned();
        Ok(known.filter(File::is_kept))
    }

    /// Some bytes of a file, for a caller that was found to be a reader.
    pub async fn read(
        self,
        teamspace: &TeamspaceId,
        file: &FileId,
        offset: u64,
    ) -> Result<Bytes, FileError> {
        let folder = Arc::clone(&self.shelf()?.folder);
        let read = folder.read(teamspace.clone(), file.clone(), offset, READ_BYTES).await;
        read.map_err(|error| {
            let is_missing = error.kind() == io::ErrorKind::NotFound;
            if is_missing { FileError::NoFile } else { error.into() }
        })
    }
}

pub(crate) fn stream(teamspace: &TeamspaceId, file: &FileId) -> Stream {
    Stream { teamspace: teamspace.clone(), subject: Subject::File(file.clone()) }
}
