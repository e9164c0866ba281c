//! Files and uploads as JSON, and what goes wrong with them as problems.

use std::io::ErrorKind;

use engine::files::FileError;
use engine::ports::files::Upload;
use protocol::caller::Caller;
use protocol::file::{File, Image, UNUSED_KEPT};
use protocol::ids::FileId;
use protocol::time::Time;
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
    /// When the caller stored it; for operators, when it was stored first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored_at: Option<String>,
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

/// The file as a caller sees it. Only an operator learns what others did with the same bytes.
pub fn file_view(file: FileId, known: &File, caller: &Caller) -> FileView {
    let is_operator = caller.is_operator();
    let principal = caller.principal.to_string();
    let own = known.uploaders.iter().find(|it| it.principal == principal);
    let (stored_at, unused_until) = match is_operator {
        true => {
            let unused = known.deadlines().pop();
            (Some(known.stored_at), unused.map(|unused| unused.due))
        }
        false => {
            let began = |until: Time| until.as_millis() - UNUSED_KEPT.as_millis();
            let stored_at = own.map(|own| Time::from_millis(began(own.until)));
            (stored_at, own.map(|own| own.until))
        }
    };
    FileView {
        file,
        size_bytes: known.size_bytes,
        image: known.image,
        stored_at: stored_at.map(|at| at.to_string()),
        n_references: is_operator.then_some(known.n_references),
        unused_until: unused_until.map(|until| until.to_string()),
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
            FileError::Damaged => {
                let detail = "the stored bytes of the file are damaged: store it again, or have \
                              the operator put it back from a backup";
                Problem::new("file_damaged", detail)
            }
            FileError::Folder(error) => {
                tracing::error!(%error, "the folder of the files failed a request");
                let full = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded];
                if full.contains(&error.kind()) {
                    return Problem::new("storage_full", "the disk is full; nothing was changed");
                }
                Problem::new("internal", "the server failed; its log says why")
            }
            FileError::Submit(error) => error.into(),
        }
    }
}
