//! Damaged files: bytes that a disk no longer reads as they were written, or that were changed past
//! the server. The scrub, a download or the gate finds one; from then on it is refused until its
//! bytes are right again. What is known of it is in memory: after a restart it is found again.

use std::collections::HashSet;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};

use protocol::ids::{FileId, TeamspaceId};

use super::checked::Checked;
use super::uploading::whole;
use super::{FileError, FileShelf, Shelf};
use crate::Engine;
use crate::ports::files::Content;

/// Stored files that are read as a whole at once, before a part of them is sent. One of each
/// teamspace; the other requests wait. Downloads and commits need the disk and the cores too.
pub const CHECKS_MAX: usize = 2;

/// What is wrong with the bytes of a file, of which so many were stored.
pub fn problem(
    found: io::Result<Option<Content>>,
    file: &FileId,
    size_bytes: u64,
) -> io::Result<Option<String>> {
    Ok(match found {
        Ok(None) => Some("is missing".to_owned()),
        Ok(Some(content)) if content.size_bytes != size_bytes => {
            Some(format!("has {} bytes, and {size_bytes} were stored", content.size_bytes))
        }
        Ok(Some(content)) if FileId::of_digest(&content.digest) != *file => {
            Some("has other bytes than were stored".to_owned())
        }
        Ok(Some(_)) => None,
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Some(error.to_string()),
        Err(error) => return Err(error),
    })
}

impl Shelf {
    pub(super) fn is_damaged(&self, teamspace: &TeamspaceId, file: &FileId) -> bool {
        self.damaged().contains(&(teamspace.clone(), file.clone()))
    }

    /// Its bytes are right, or gone with its record.
    pub(super) fn forget_damage(&self, teamspace: &TeamspaceId, file: &FileId) {
        self.damaged().remove(&(teamspace.clone(), file.clone()));
    }

    /// Whether its bytes were read and found to be right since the server started.
    pub(super) fn is_checked(&self, teamspace: &TeamspaceId, file: &FileId) -> bool {
        self.checked().contains(teamspace, file)
    }

    /// All of its bytes were read, and are right.
    pub(super) fn note_checked(&self, teamspace: &TeamspaceId, file: &FileId) {
        self.checked().insert(teamspace, file);
    }

    /// A part of it is not sent before all of it is read again.
    pub(super) fn forget_checked(&self, teamspace: &TeamspaceId, file: &FileId) {
        self.checked().remove(teamspace, file);
    }

    fn checked(&self) -> MutexGuard<'_, Checked> {
        self.checked.lock().expect("nothing panics in here")
    }

    fn damaged(&self) -> MutexGuard<'_, HashSet<(TeamspaceId, FileId)>> {
        self.damaged.lock().expect("nothing panics in here")
    }
}

impl FileShelf<'_> {
    /// Whether a file is refused because its bytes are damaged.
    pub fn is_damaged(self, teamspace: &TeamspaceId, file: &FileId) -> bool {
        self.shelf().is_ok_and(|shelf| shelf.is_damaged(teamspace, file))
    }

    /// Reads all bytes of a file, while nothing can store them anew. A damaged one is counted,
    /// logged, and refused from then on; one that is right is refused no longer.
    pub async fn check(self, teamspace: &TeamspaceId, file: &FileId) -> Result<(), FileError> {
        let turn = self.shelf()?.of_files.take(file.as_str()).await;
        check_whole(self.engine, teamspace, file, turn).await
    }

    /// The same for a reader that waits: not if the bytes were found to be right or damaged before
    /// it is its turn.
    pub(super) async fn check_unless_known(
        self,
        teamspace: &TeamspaceId,
        file: &FileId,
    ) -> Result<(), FileError> {
        let shelf = self.shelf()?;
        // Each teamspace waits for a place with one file at most, so they take turns.
        let of_teamspace = shelf.of_checks.take(teamspace.as_str()).await;
        let place = Arc::clone(&shelf.checks).acquire_owned().await.expect("it is never closed");
        let of_file = shelf.of_files.take(file.as_str()).await;
        if shelf.is_damaged(teamspace, file) {
            return Err(FileError::Damaged);
        }
        if shelf.is_checked(teamspace, file) {
            return Ok(());
        }
        check_whole(self.engine, teamspace, file, (of_teamspace, place, of_file)).await
    }
}

/// Goes on if the request that asks is given up: what was begun is read once. What is held is held
/// to the end of it.
async fn check_whole(
    engine: &Engine,
    teamspace: &TeamspaceId,
    file: &FileId,
    held: impl Send + 'static,
) -> Result<(), FileError> {
    let (engine, teamspace, file) = (engine.clone(), teamspace.clone(), file.clone());
    whole(async move {
        let checked = read_whole(&engine, &teamspace, &file).await;
        drop(held);
        checked
    })
    .await
}

async fn read_whole(
    engine: &Engine,
    teamspace: &TeamspaceId,
    file: &FileId,
) -> Result<(), FileError> {
    let shelf = engine.files().shelf()?;
    let Some(known) = engine.files().kept(teamspace, file).await? else {
        shelf.forget_damage(teamspace, file);
        shelf.forget_checked(teamspace, file);
        return Err(FileError::NoFile);
    };
    let size_bytes = known.size_bytes;
    let found = shelf.folder.inspect(teamspace.clone(), file.clone(), size_bytes).await;
    match problem(found, file, size_bytes)? {
        None => {
            shelf.forget_damage(teamspace, file);
            shelf.note_checked(teamspace, file);
            Ok(())
        }
        Some(problem) => {
            shelf.damaged().insert((teamspace.clone(), file.clone()));
            shelf.forget_checked(teamspace, file);
            engine.counts.scrub_findings.fetch_add(1, Ordering::Relaxed);
            tracing::error!(
                "the file {file} in {teamspace} {problem}; it is refused until its bytes are \
                 right again; see tasuki audit verify"
            );
            Err(FileError::Damaged)
        }
    }
}
