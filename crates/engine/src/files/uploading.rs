//! Uploads: they begin, get their bytes in pieces, and become files. An upload is durable, so a
//! client goes on after a restart of the server where it was.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use protocol::caller::Caller;
use protocol::file;
use protocol::ids::{FileId, TeamspaceId, UploadId};
use protocol::step::Command;

use super::admission::{Admitted, admit};
use super::{FileError, FileShelf, Shelf, UPLOADS_PER_CALLER_MAX, stream};
use crate::Engine;
use crate::ports::files::{Content, Upload};
use crate::road::submit::SubmitError;
use crate::usage::RoomFor;

impl FileShelf<'_> {
    /// Begins an upload of so many bytes, if there is room for them.
    pub async fn begin(
        self,
        caller: &Caller,
        size_bytes: u64,
        expected: Option<FileId>,
    ) -> Result<Upload, FileError> {
        let shelf = self.shelf()?;
        if let Some(behind) = self.engine.ledger().behind() {
            return Err(FileError::Submit(behind.into()));
        }
        if size_bytes > shelf.bytes_max {
            return Err(FileError::TooLarge { bytes_max: shelf.bytes_max });
        }
        let upload = Upload {
            id: self.engine.new_upload_id(),
            teamspace: caller.teamspace.clone(),
            owner: caller.principal.to_string(),
            size_bytes,
            expected,
            offset: 0,
            touched_at: self.engine.clock.now(),
            file: None,
        };
        let Admitted { own_open, all_open, leaving } = shelf.admit(&upload)?;
        let now = self.engine.clock.now();
        let room = RoomFor { n_bytes: size_bytes, own_open, all_open };
        if let Err(rejection) = self.engine.usage.check_bytes(caller, room, now) {
            shelf.dismiss(&upload, leaving);
            return Err(FileError::Submit(rejection.into()));
        }
        let begun = async {
            if !leaving.is_empty() {
                let shelf = Arc::clone(&shelf);
                whole(async move { shelf.forget_all(leaving).await }).await?;
            }
            shelf.folder.put_upload(upload.clone()).await.map_err(FileError::from)
        };
        if let Err(error) = begun.await {
            shelf.dismiss(&upload, Vec::new());
            return Err(error);
        }
        Ok(upload)
    }

    /// An upload of the caller.
    pub async fn upload(self, caller: &Caller, id: UploadId) -> Result<Upload, FileError> {
        let shelf = self.shelf()?;
        owned(&shelf, &caller.teamspace, &caller.principal.to_string(), id).await
    }

    /// Adds a piece. It is durable when the answer is `Ok`.
    pub async fn append(
        self,
        caller: &Caller,
        id: UploadId,
        offset: u64,
        bytes: Bytes,
    ) -> Result<Upload, FileError> {
        let shelf = self.shelf()?;
        let (teamspace, owner) = (caller.teamspace.clone(), caller.principal.to_string());
        let now = self.engine.clock.now();
        let appending = async move {
            let _turn = shelf.of_uploads.take(&id.to_string()).await;
            let upload = owned(&shelf, &teamspace, &owner, id).await?;
            if upload.offset != offset || upload.file.is_some() {
                return Err(FileError::OtherOffset { offset: upload.offset });
            }
            let n_bytes = bytes.len() as u64;
            if n_bytes > upload.size_bytes - offset {
                return Err(FileError::MoreThanAnnounced { size_bytes: upload.size_bytes });
            }
            shelf.folder.write(upload.clone(), bytes).await?;
            let next = Upload { offset: offset + n_bytes, touched_at: now, ..upload };
            shelf.folder.put_upload(next.clone()).await?;
            shelf.open().insert(id, next.clone());
            Ok(next)
        };
        whole(appending).await
    }

    /// Turns an upload into a file. A retry gets the same answer.
    pub async fn finish(self, caller: &Caller, id: UploadId) -> Result<FileId, FileError> {
        let (engine, caller, shelf) = (self.engine.clone(), caller.clone(), self.shelf()?);
        whole(async move {
            let turn = shelf.of_uploads.take(&id.to_string()).await;
            let finished = finish(&engine, &shelf, &caller, id).await;
            drop(turn);
            if let Some(oldest) = shelf.oldest_finished(&caller) {
                shelf.forget(oldest).await?;
            }
            finished
        })
        .await
    }

    /// Ends an upload of the caller that is not to be finished.
    pub async fn abandon(self, caller: &Caller, id: UploadId) -> Result<(), FileError> {
        let (caller, shelf) = (caller.clone(), self.shelf()?);
        whole(async move {
            let _turn = shelf.of_uploads.take(&id.to_string()).await;
            let owner = caller.principal.to_string();
            let upload = owned(&shelf, &caller.teamspace, &owner, id).await?;
            shelf.folder.drop_upload(upload, true).await?;
            shelf.open().remove(&id);
            Ok(())
        })
        .await
    }

    /// Stores a file that arrives in one piece.
    pub async fn store(
        self,
        caller: &Caller,
        bytes: Bytes,
        expected: Option<FileId>,
    ) -> Result<(FileId, u64), FileError> {
        let size_bytes = bytes.len() as u64;
        let upload = self.begin(caller, size_bytes, expected).await?;
        let stored = async {
            self.append(caller, upload.id, 0, bytes).await?;
            self.finish(caller, upload.id).await
        };
        match stored.await {
            Ok(file) => Ok((file, size_bytes)),
            Err(error) => {
                // The client starts anew; what is left after a failure here is swept.
                let _ = self.abandon(caller, upload.id).await;
                Err(error)
            }
        }
    }
}

impl Shelf {
    /// Counts an upload as open, if there are not too many. Those that give way count no more.
    fn admit(&self, upload: &Upload) -> Result<Admitted, FileError> {
        let mut open = self.open();
        let admitted = admit(&open, upload, upload.touched_at)?;
        for leaving in &admitted.leaving {
            open.remove(&leaving.id);
        }
        open.insert(upload.id, upload.clone());
        Ok(admitted)
    }

    /// The reverse of [`admit`](Self::admit): the upload does not begin, and none gives way.
    fn dismiss(&self, upload: &Upload, leaving: Vec<Upload>) {
        let mut open = self.open();
        open.remove(&upload.id);
        open.extend(leaving.into_iter().map(|upload| (upload.id, upload)));
    }

    /// The oldest finished upload of a caller, if there are more than are kept for retries.
    fn oldest_finished(&self, caller: &Caller) -> Option<Upload> {
        let owner = caller.principal.to_string();
        let open = self.open();
        let own = open.values().filter(|it| {
            it.file.is_some() && it.owner == owner && it.teamspace == caller.teamspace
        });
        let own: Vec<&Upload> = own.collect();
        let is_full = own.len() > UPLOADS_PER_CALLER_MAX;
        let oldest = own.into_iter().min_by_key(|it| (it.touched_at, it.id));
        oldest.filter(|_| is_full).cloned()
    }

    async fn forget_all(&self, uploads: Vec<Upload>) -> Result<(), FileError> {
        for upload in uploads {
            self.forget(upload).await?;
        }
        Ok(())
    }

    /// Removes what is kept of an upload, unless a piece has come meanwhile.
    async fn forget(&self, upload: Upload) -> Result<(), FileError> {
        let _turn = self.of_uploads.take(&upload.id.to_string()).await;
        let kept = self.folder.upload(upload.teamspace.clone(), upload.id).await?;
        if kept.is_some_and(|kept| kept != upload) {
            return Ok(());
        }
        self.open().remove(&upload.id);
        Ok(self.folder.drop_upload(upload, true).await?)
    }
}

/// An upload, if it is of this caller.
async fn owned(
    shelf: &Shelf,
    teamspace: &TeamspaceId,
    owner: &str,
    id: UploadId,
) -> Result<Upload, FileError> {
    let known = shelf.open().get(&id).cloned();
    let found = known.filter(|it| it.teamspace == *teamspace && it.owner == owner);
    let found = found.ok_or(FileError::NoUpload)?;
    // The folder has the last word: what is open in memory may have been removed.
    let kept = shelf.folder.upload(found.teamspace, id).await?;
    kept.filter(|it| it.owner == owner).ok_or(FileError::NoUpload)
}

async fn finish(
    engine: &Engine,
    shelf: &Arc<Shelf>,
    caller: &Caller,
    id: UploadId,
) -> Result<FileId, FileError> {
    let upload = owned(shelf, &caller.teamspace, &caller.principal.to_string(), id).await?;
    if let Some(file) = upload.file {
        return Ok(file);
    }
    if upload.offset != upload.size_bytes {
        let Upload { offset, size_bytes, .. } = upload;
        return Err(FileError::NotComplete { offset, size_bytes });
    }
    let Content { digest, size_bytes, image } = shelf.folder.measure(upload.clone()).await?;
    let file = FileId::of_digest(&digest);
    if size_bytes != upload.size_bytes {
        let offset = size_bytes;
        return Err(FileError::NotComplete { offset, size_bytes: upload.size_bytes });
    }
    if upload.expected.as_ref().is_some_and(|expected| *expected != file) {
        return Err(FileError::OtherBytes { actual: file });
    }
    // Until the record is durable, the bytes must not be taken for left over.
    let turn = shelf.of_files.take(file.as_str()).await;
    shelf.folder.keep(upload.clone(), file.clone()).await?;
    shelf.forget_damage(&caller.teamspace, &file);
    let store = Command::File(file::Command::Store { size_bytes, image });
    let stored = engine.submit(caller, stream(&caller.teamspace, &file), store, None).await;
    if let Err(SubmitError::Rejected(_)) = &stored
        && engine.files().kept(&caller.teamspace, &file).await?.is_none()
    {
        shelf.folder.remove(caller.teamspace.clone(), file.clone()).await?;
    }
    stored?;
    drop(turn);
    let done = Upload { file: Some(file.clone()), ..upload };
    shelf.folder.put_upload(done.clone()).await?;
    shelf.open().insert(id, done.clone());
    shelf.folder.drop_upload(done, false).await?;
    Ok(file)
}

/// Runs to its end, also if the request that waits for it is given up.
pub(super) async fn whole<T: Send + 'static>(
    work: impl Future<Output = Result<T, FileError>> + Send + 'static,
) -> Result<T, FileError> {
    let ended = tokio::spawn(work).await;
    ended.unwrap_or_else(|error| Err(FileError::Folder(io::Error::other(error))))
}
