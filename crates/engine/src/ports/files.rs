//! What the engine needs of a folder for the bytes of files, and of uploads that are not finished.

use std::io;
use std::pin::Pin;

use bytes::Bytes;
use protocol::canonical::Hash;
use protocol::file::Image;
use protocol::ids::{FileId, TeamspaceId, UploadId};
use protocol::time::Time;
use serde::{Deserialize, Serialize};

/// The answer to come.
pub type Stored<T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send>>;

/// An upload as it is kept until it is finished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upload {
    pub id: UploadId,
    pub teamspace: TeamspaceId,
    /// As the record names principals. No other caller can use or see the upload.
    pub owner: String,
    pub size_bytes: u64,
    /// What the bytes must be, if the owner said so.
    pub expected: Option<FileId>,
    /// How many bytes are durable.
    pub offset: u64,
    /// When bytes last arrived.
    pub touched_at: Time,
    /// The file that it became.
    pub file: Option<FileId>,
}

/// What bytes are, by their content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    pub digest: Hash,
    pub size_bytes: u64,
    pub image: Option<Image>,
}

/// A folder for the bytes of files. Files are named by their teamspace and their digest, so bytes
/// are never replaced by others. An answer `Ok` to a write means that it survives a power cut.
///
/// The engine calls it for one file, or for one upload, at a time; reads are at any time.
pub trait Files: Send + Sync + 'static {
    /// Makes the upload, or replaces what is kept of it.
    fn put_upload(&self, upload: Upload) -> Stored<()>;

    fn upload(&self, teamspace: TeamspaceId, id: UploadId) -> Stored<Option<Upload>>;

    /// Every upload.
    fn uploads(&self) -> Stored<Vec<Upload>>;

    /// Writes bytes at the upload's offset. Bytes that are there from a write that was cut short
    /// are overwritten.
    fn write(&self, upload: Upload, bytes: Bytes) -> Stored<()>;

    /// Reads all bytes of the upload up to its offset, and makes them durable.
    fn measure(&self, upload: Upload) -> Stored<Content>;

    /// Gives the bytes of the upload the name of a file. They keep their old name too. A file of
    /// this name is replaced, and there is one at every moment.
    fn keep(&self, upload: Upload, file: FileId) -> Stored<()>;

    /// Removes the bytes of an upload, and the upload too unless it became a file.
    fn drop_upload(&self, upload: Upload, whole: bool) -> Stored<()>;

    /// At most `n_bytes_max` bytes from `offset` on; none past the end, and an error with the kind
    /// `NotFound` if there is no such file. As for the two below, something under its name that is
    /// no regular file, such as a link, is an error of the kind `InvalidData`.
    fn read(
        &self,
        teamspace: TeamspaceId,
        file: FileId,
        offset: u64,
        n_bytes_max: usize,
    ) -> Stored<Bytes>;

    /// How many bytes a file has; `None` if there is no such file.
    fn size(&self, teamspace: TeamspaceId, file: FileId) -> Stored<Option<u64>>;

    /// Reads and hashes the first `n_bytes_max` bytes of a file, and says how many it has; `None`
    /// if there is no such file.
    fn inspect(
        &self,
        teamspace: TeamspaceId,
        file: FileId,
        n_bytes_max: u64,
    ) -> Stored<Option<Content>>;

    /// Removes a file; one that is not there is removed already.
    fn remove(&self, teamspace: TeamspaceId, file: FileId) -> Stored<()>;

    /// All files of the folder.
    fn list(&self) -> Stored<Vec<(TeamspaceId, FileId)>>;
}
