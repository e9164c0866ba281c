//! What the gate finds for an artifact that is a stored file: its bytes are read and hashed, as
//! those of every other artifact are.

use std::io;

use protocol::caller::Caller;
use protocol::canonical;
use protocol::file::references::of_artifact;
use protocol::handoff::artifact::{Finding, Seen};
use protocol::handoff::package::{Artifact, ArtifactRef};
use protocol::ids::{FileId, TeamspaceId};

use super::{FileError, FileShelf};
use crate::ports::files::Content;

impl FileShelf<'_> {
    /// The findings for the artifacts that are stored files, and the other artifacts. `reader` is
    /// the caller that wants to know, if the artifacts are not proposed yet: it learns only about
    /// files that it may read.
    pub(crate) async fn look(
        self,
        teamspace: &TeamspaceId,
        artifacts: Vec<Artifact>,
        reader: Option<&Caller>,
    ) -> (Vec<Seen>, Vec<Artifact>) {
        let (mut seen, mut others) = (Vec::new(), Vec::new());
        for artifact in artifacts {
            let Some(file) = of_artifact(&artifact.reference) else {
                others.push(artifact);
                continue;
            };
            let may_know = match reader {
                Some(reader) => self.readable(reader, &file).await.map(|_| ()),
                None => Ok(()),
            };
            let finding = match may_know {
                Ok(()) => self.look_at(teamspace, &file, &artifact.reference).await,
                Err(error) => finding_of(&error),
            };
            seen.push(Seen { artifact_id: artifact.artifact_id, path: None, finding });
        }
        (seen, others)
    }

    async fn look_at(
        self,
        teamspace: &TeamspaceId,
        file: &FileId,
        reference: &ArtifactRef,
    ) -> Finding {
        match self.inspect(teamspace, file).await {
            Ok(Some(content)) => judge(reference, &content),
            Ok(None) => finding_of(&FileError::NoFile),
            Err(error) => finding_of(&error),
        }
    }

    /// Reads and hashes the bytes of a file that is kept, if they are those that were stored.
    async fn inspect(
        self,
        teamspace: &TeamspaceId,
        file: &FileId,
    ) -> Result<Option<Content>, FileError> {
        let Some(known) = self.kept(teamspace, file).await? else { return Ok(None) };
        let (shelf, size_bytes) = (self.shelf()?, known.size_bytes);
        let found = shelf.folder.inspect(teamspace.clone(), file.clone(), size_bytes).await;
        if let Ok(Some(content)) = &found
            && content.size_bytes == size_bytes
            && FileId::of_digest(&content.digest) == *file
        {
            shelf.note_checked(teamspace, file);
            return Ok(found?);
        }
        self.check(teamspace, file).await?;
        Err(FileError::Folder(io::Error::other("it changed while it was read")))
    }
}

fn judge(reference: &ArtifactRef, content: &Content) -> Finding {
    let Content { digest, size_bytes, image: _ } = content;
    let sha256 = canonical::hex(digest);
    let mismatch = |detail: String| Finding::Mismatch { detail };
    match (&reference.sha256, reference.size_bytes) {
        (Some(expected), _) if *expected != sha256 => {
            mismatch(format!("its sha256 is {sha256}, the package says {expected}"))
        }
        (_, Some(expected)) if expected != *size_bytes => {
            mismatch(format!("it has {size_bytes} bytes, the package says {expected}"))
        }
        (_, _) => Finding::Verified { sha256, size_bytes: *size_bytes },
    }
}

fn finding_of(error: &FileError) -> Finding {
    if let FileError::NoFile = error {
        return Finding::Missing { detail: "there is no such file".to_owned() };
    }
    if let FileError::Damaged = error {
        return Finding::Mismatch { detail: "the stored bytes changed".to_owned() };
    }
    tracing::error!(%error, "a stored file could not be looked at");
    Finding::Unavailable { detail: "the stored file cannot be read now".to_owned() }
}
