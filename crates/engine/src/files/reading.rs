//! Reading files: who may, and the bytes. A read of the whole file hashes them on the way and keeps
//! the last ones back until the hash is right, so that no reader takes wrong bytes for good ones.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use protocol::caller::Caller;
use protocol::file::File;
use protocol::ids::{FileId, TeamspaceId};
use protocol::step::State;
use sha2::{Digest, Sha256};

use super::{FileError, FileShelf, READ_BYTES, stream};
use crate::Engine;
use crate::ports::files::Files;
use crate::ports::store::StoreError;

/// A read of a file, or of a part of it, that is under way.
pub struct Reading {
    engine: Engine,
    folder: Arc<dyn Files>,
    teamspace: TeamspaceId,
    file: FileId,
    offset: u64,
    to: u64,
    /// For a read of the whole file.
    hasher: Option<Sha256>,
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reading({} from {} to {})", self.file, self.offset, self.to)
    }
}

impl FileShelf<'_> {
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

    /// Begins to read bytes of a file, for a caller that was found to be a reader. A file that is
    /// known to be damaged, or has another size than its record, is refused. Before the first part
    /// of a file is sent, all of it is read, unless it was found to be right before.
    pub async fn open(
        self,
        teamspace: &TeamspaceId,
        file: &FileId,
        known: &File,
        bytes: Range<u64>,
    ) -> Result<Reading, FileError> {
        let shelf = self.shelf()?;
        if shelf.is_damaged(teamspace, file) {
            return Err(FileError::Damaged);
        }
        let found = shelf.folder.size(teamspace.clone(), file.clone()).await;
        let is_sized = matches!(found, Ok(Some(size_bytes)) if size_bytes == known.size_bytes);
        let is_whole = bytes == (0..known.size_bytes);
        if !is_sized {
            shelf.forget_checked(teamspace, file);
        }
        // A part alone does not show whether the bytes are those of the name.
        if !is_sized || !is_whole && !shelf.is_checked(teamspace, file) {
            self.check_unless_known(teamspace, file).await?;
        }
        Ok(Reading {
            engine: self.engine.clone(),
            folder: Arc::clone(&shelf.folder),
            teamspace: teamspace.clone(),
            file: file.clone(),
            offset: bytes.start,
            to: bytes.end,
            hasher: is_whole.then(Sha256::new),
        })
    }
}

impl Reading {
    /// The next bytes; `None` after the last. The last ones of a whole file come only if all bytes
    /// are those of its name.
    pub async fn next(&mut self) -> Result<Option<Bytes>, FileError> {
        if self.offset >= self.to {
            return Ok(None);
        }
        let left = usize::try_from(self.to - self.offset).unwrap_or(usize::MAX);
        let (teamspace, file) = (self.teamspace.clone(), self.file.clone());
        let read = self.folder.read(teamspace, file, self.offset, left.min(READ_BYTES)).await;
        let Some(bytes) = read.ok().filter(|bytes| !bytes.is_empty()) else {
            return Err(self.reason().await);
        };
        self.offset += bytes.len() as u64;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&bytes);
            if self.offset >= self.to {
                if FileId::of_digest(&hasher.finalize_reset().into()) != self.file {
                    return Err(self.reason().await);
                }
                self.engine.files().shelf()?.note_checked(&self.teamspace, &self.file);
            }
        }
        Ok(Some(bytes))
    }

    /// Why a read failed.
    async fn reason(&self) -> FileError {
        let files = self.engine.files();
        if let Ok(shelf) = files.shelf() {
            shelf.forget_checked(&self.teamspace, &self.file);
        }
        let checked = files.check_unless_known(&self.teamspace, &self.file).await;
        // The bytes were put right meanwhile: the reader may begin again.
        let changed = || FileError::Folder(io::Error::other("it changed while it was read"));
        checked.err().unwrap_or_else(changed)
    }
}
