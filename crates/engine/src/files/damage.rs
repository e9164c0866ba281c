//! Damaged files: bytes that a disk no longer reads as they were written, or that were changed past
//! the server. The scrub, a download or the gate finds one; from then on it is refused until its
//! bytes are right again. What is known of it is in memory: after a restart it is found again.

use std::collections::HashSet;
use std::io;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

use protocol::ids::{FileId, TeamspaceId};

use super::{FileError, FileShelf, Shelf};
use crate::ports::files::Content;

/// Files that are known to have been right: about 2 MB. Beyond it all are forgotten, and are read
/// once more before a part of them is sent.
pub const CHECKED_MAX: usize = 10_000;

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
        self.checked().contains(&(teamspace.clone(), file.clone()))
    }

    fn note_checked(&self, teamspace: &TeamspaceId, file: &FileId) {
        let mut checked = self.checked();
        if checked.len() >= CHECKED_MAX {
            checked.clear();
        }
        checked.insert((teamspace.clone(), file.clone()));
    }

    fn checked(&self) -> MutexGuard<'_, HashSet<(TeamspaceId, FileId)>> {
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
        let shelf = self.shelf()?;
        let _turn = shelf.of_files.take(file.as_str()).await;
        let Some(known) = self.kept(teamspace, file).await? else {
            shelf.forget_damage(teamspace, file);
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
                self.engine.counts.scrub_findings.fetch_add(1, Ordering::Relaxed);
                tracing::error!(
                    "the file {file} in {teamspace} {problem}; it is refused until its bytes are \
                     right again; see tasuki audit verify"
                );
                Err(FileError::Damaged)
            }
        }
    }
}
