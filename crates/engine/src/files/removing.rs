//! Deleting bytes: those of a file that the record has removed, those that no record names, and
//! uploads that were not finished.

use std::sync::Arc;

use protocol::caller::Caller;
use protocol::file::{self, Kept, UNUSED_KEPT};
use protocol::ids::{FileId, TeamspaceId};
use protocol::step::{Command, State};
use protocol::time::Span;
use tokio::sync::watch;

use super::admission::is_over;
use super::uploading::whole;
use super::{FileError, FileShelf, stream};
use crate::Engine;
use crate::ports::files::Upload;

/// An upload without a new piece for so long is given up. It is as long as a file is kept that
/// nothing refers to.
pub const UPLOAD_KEPT: Span = UNUSED_KEPT;

/// Something is left over only after a crash, so there is no hurry.
const SWEEP_EVERY: Span = Span::from_hours(1);

/// What a sweep removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    pub n_files: usize,
    pub n_uploads: usize,
}

pub(crate) async fn run(engine: Engine, mut stopped: watch::Receiver<bool>) {
    if engine.shelf.is_none() {
        return;
    }
    let sweeping = async {
        engine.ledger().until_not_behind().await;
        loop {
            match engine.files().sweep().await {
                Ok(swept) if swept == Swept::default() => {}
                Ok(Swept { n_files, n_uploads }) => {
                    tracing::info!(n_files, n_uploads, "left-over files were removed");
                }
                Err(error) => tracing::error!(%error, "left-over files could not be removed"),
            }
            engine.clock.sleep(SWEEP_EVERY).await;
        }
    };
    tokio::select! {
        () = sweeping => {}
        () = async { let _ = stopped.wait_for(|stopped| *stopped).await; } => {}
    }
}

impl FileShelf<'_> {
    /// Deletes the bytes of a file, if the record still says so.
    pub(crate) async fn delete(
        self,
        teamspace: &TeamspaceId,
        file: &FileId,
    ) -> Result<(), FileError> {
        let (engine, shelf) = (self.engine.clone(), self.shelf()?);
        let (teamspace, file) = (teamspace.clone(), file.clone());
        whole(async move {
            // Nothing can store the same bytes meanwhile.
            let _turn = shelf.of_files.take(file.as_str()).await;
            let stream = stream(&teamspace, &file);
            let state = engine.read().current(&stream).await?;
            let known = state.as_deref().and_then(State::as_file);
            if known.is_none_or(|known| known.kept != Kept::Removed) {
                return Ok(());
            }
            shelf.forget_checked(&teamspace, &file);
            shelf.folder.remove(teamspace.clone(), file).await?;
            let caller = Caller::system(teamspace);
            let note = Command::File(file::Command::NoteDeleted);
            engine.submit(&caller, stream, note, None).await?;
            Ok(())
        })
        .await
    }

    /// Removes files that no record names or that the record has removed, and uploads past their
    /// time.
    pub async fn sweep(self) -> Result<Swept, FileError> {
        let shelf = self.shelf()?;
        let mut swept = Swept::default();
        for (teamspace, file) in shelf.folder.list().await? {
            let stream = stream(&teamspace, &file);
            let state = self.engine.read().current(&stream).await?;
            let removed = match kept(state.as_deref()) {
                Some(Kept::Yes) => Ok(false),
                // The outbox gives up after many attempts.
                Some(Kept::Removed) => self.delete(&teamspace, &file).await.map(|()| true),
                Some(Kept::Deleted) | None => self.remove_unnamed(&teamspace, &file).await,
            };
            // One file that cannot be removed does not keep the others.
            let is_removed = removed.unwrap_or_else(|error| {
                tracing::error!(%error, %file, "a left-over file could not be removed");
                false
            });
            swept.n_files += usize::from(is_removed);
        }
        for upload in shelf.folder.uploads().await? {
            if !is_over(&upload, self.engine.clock.now()) {
                continue;
            }
            let (id, shelf) = (upload.id, Arc::clone(&shelf));
            whole(async move {
                let _turn = shelf.of_uploads.take(&id.to_string()).await;
                let now_kept = shelf.folder.upload(upload.teamspace.clone(), id).await?;
                // A piece may have come meanwhile.
                let is_same = |it: &Upload| *it == upload;
                if let Some(left) = now_kept.filter(is_same) {
                    shelf.folder.drop_upload(left, true).await?;
                    shelf.open().remove(&id);
                }
                Ok(())
            })
            .await?;
            swept.n_uploads += 1;
        }
        Ok(swept)
    }

    /// Removes a file, if no record names it.
    async fn remove_unnamed(
        self,
        teamspace: &TeamspaceId,
        file: &FileId,
    ) -> Result<bool, FileError> {
        let (engine, shelf) = (self.engine.clone(), self.shelf()?);
        let (teamspace, file) = (teamspace.clone(), file.clone());
        whole(async move {
            // Nothing can store the same bytes meanwhile.
            let _turn = shelf.of_files.take(file.as_str()).await;
            let state = engine.read().current(&stream(&teamspace, &file)).await?;
            let is_unnamed = match kept(state.as_deref()) {
                Some(Kept::Yes | Kept::Removed) => false,
                Some(Kept::Deleted) | None => true,
            };
            if is_unnamed {
                shelf.forget_checked(&teamspace, &file);
                shelf.folder.remove(teamspace, file).await?;
            }
            Ok(is_unnamed)
        })
        .await
    }
}

/// What the record says about the bytes, if it has them.
fn kept(state: Option<&State>) -> Option<Kept> {
    state.and_then(State::as_file).map(|file| file.kept)
}
