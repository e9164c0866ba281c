//! Files and uploads as JSON, and what goes wrong with them as problems.

use engine::files::FileError;
use engine::ports::files::Upload;
use protocol::file::{File, Image};
use protocol::ids::FileId;
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::shared::problem::Problem;

/// How long a caller with too many uploads should wait: until one of them is finished.
const UPLOADS_RETRY_SECONDS: u64 = 10;

/// A stored file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileView {
    /// Its name: use it in messages, and in the paths of artifacts as `tasuki:<file>`.
    pub file: FileId,
    pub size_bytes: u64,
    /// The format, if browsers may show it within a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    pub stored_at: String,
    /// How many messages and packages refer to it; for operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_references: Option<u64>,
    /// Until when it is kept if nothing comes to refer to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unused_until: Option<String>,
}

/// An upload that is not finished, or just was.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UploadView {
    pub upload_id: String,
    /// How many bytes have arrived. The next piece begins here.
    pub offset: u64,
    pub size_bytes: u64,
    /// The largest piece that the server takes at once.
    pub piece_bytes_max: usize,
    /// The file that it became.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FileId>,
}

pub fn file_view(file: FileId, known: &File, is_operator: bool) -> FileView {
    let unused_until = known.deadlines().pop().map(|unused| unused.due.to_string());
    FileView {
        file,
        size_bytes: known.size_bytes,
        image: known.image,
        stored_at: known.stored_at.to_string(),
        n_references: is_operator.then_some(known.n_references),
        unused_until,
    }
}

pub fn upload_view(upload: Upload, piece_bytes_max: usize) -> UploadView {
    UploadView {
        upload_id: upload.id.to_string(),
        offset: upload.offset,
        size_bytes: upload.size_bytes,
        piece_bytes_max,
        file: upload.file,
    }
}

impl From<FileError> for Problem {
    fn from(error: FileError) -> Self {
        match error {
            FileError::NoFile => Problem::not_found("file"),
            FileError::NoUpload => Problem::not_found("upload"),
            FileError::TooManyUploads => {
                let detail = "too many uploads are not finished: finish or abandon one";
                Problem::new("rate_limited", detail).retry_after(UPLOADS_RETRY_SECONDS)
            }
            FileError::OtherOffset { offset } => {
                let detail = format!("offset: expected {offset}, the bytes that have arrived");
                Problem::new("revision_outdated", detail).field("offset").fact("offset", offset)
            }
            FileError::TooLarge { bytes_max } => {
                let detail = format!(
                    "size_bytes: expected no more than this server stores, {bytes_max} bytes"
                );
                Problem::new("payload_too_large", detail).field("size_bytes")
            }
            FileError::MoreThanAnnounced { size_bytes } => {
                let detail =
                    format!("body: expected no more than the {size_bytes} bytes of the file");
                Problem::new("body_too_large", detail).field("body")
            }
            FileError::NotComplete { offset, size_bytes } => {
                let detail = format!("{offset} of {size_bytes} bytes have arrived");
                Problem::new("revision_outdated", detail).field("offset").fact("offset", offset)
            }
            FileError::OtherBytes { actual } => {
                let detail = format!("file: the bytes that arrived are {actual}");
                Problem::new("hash_mismatch", detail).field("file")
            }
            FileError::Folder(error) => {
                tracing::error!(%error, "the folder of the files failed a request");
                match error.kind() {
                    std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                        Problem::new("storage_full", "the disk is full; nothing was changed")
                    }
                    _ => Problem::new("internal", "the server failed; its log says why"),
                }
            }
            FileError::Submit(error) => error.into(),
        }
    }
}
