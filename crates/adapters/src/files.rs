//! The folder of the files: `files/<teamspace>/<xx>/<sha256>`, where `xx` are the first two digits,
//! and `files/.incoming/` for uploads. A file gets its name once its bytes are synced, and has it
//! for good once its folder is.
//!
//! An upload is two files: its bytes, and a note of how many of them are durable. After a power cut
//! only the note is believed. Names come from ids, never from what a caller calls a file.

mod opening;
#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use engine::ports::files::{Content, Files, Stored, Upload};
use protocol::file::Image;
use protocol::ids::{FileId, TeamspaceId, UploadId};
use sha2::{Digest, Sha256};

use crate::durable;
use opening::open;

/// The folder within the data folder.
pub const FOLDER: &str = "files";

/// Teamspaces have no names that begin with a dot.
const INCOMING: &str = ".incoming";

/// One read of a file that is hashed.
const READ_BYTES: usize = 256 * 1024;

/// A folder of files.
#[derive(Debug, Clone)]
pub struct FileFolder {
    root: Arc<PathBuf>,
}

impl FileFolder {
    /// Makes the folder if need be.
    pub fn open(data: &Path) -> io::Result<Self> {
        let root = data.join(FOLDER);
        durable::create_folder(&root)?;
        durable::create_folder(&root.join(INCOMING))?;
        Ok(Self { root: Arc::new(root) })
    }

    /// The uploads in the folder. What is left over of others is removed, so nothing may be under
    /// way in it.
    pub fn open_uploads(&self) -> io::Result<Vec<Upload>> {
        let found = self.read_uploads()?;
        let incoming = self.root.join(INCOMING);
        // A note is written before its bytes, and whole: what no note names is left over.
        for name in names(&incoming)? {
            let id = name.strip_suffix(".json").unwrap_or(&name).parse::<UploadId>().ok();
            if !found.iter().any(|upload| Some(upload.id) == id) {
                remove(&incoming.join(name))?;
            }
        }
        // Those of a file are the file's. After a crash they may be here too, and would outlive it.
        for upload in found.iter().filter(|upload| upload.file.is_some()) {
            remove(&self.bytes_of(upload.id))?;
        }
        Ok(found)
    }

    fn read_uploads(&self) -> io::Result<Vec<Upload>> {
        let mut found = Vec::new();
        for name in names(&self.root.join(INCOMING))? {
            let id = name.strip_suffix(".json").and_then(|id| id.parse::<UploadId>().ok());
            let Some(id) = id else { continue };
            found.extend(read_note(&self.note_of(id))?.filter(|upload| upload.id == id));
        }
        Ok(found)
    }

    /// Where a file is.
    fn path(&self, teamspace: &TeamspaceId, file: &FileId) -> PathBuf {
        path_of(&self.root, teamspace, file)
    }

    fn bytes_of(&self, id: UploadId) -> PathBuf {
        self.root.join(INCOMING).join(id.to_string())
    }

    fn note_of(&self, id: UploadId) -> PathBuf {
        self.bytes_of(id).with_added_extension("json")
    }

    /// Runs beside the requests: a disk may be slow.
    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> io::Result<T> + Send + 'static,
    ) -> Stored<T> {
        let folder = self.clone();
        Box::pin(async move {
            let ended = tokio::task::spawn_blocking(move || work(&folder)).await;
            ended.unwrap_or_else(|error| Err(io::Error::other(error)))
        })
    }
}

/// Where a file is below the folder `root`.
pub fn path_of(root: &Path, teamspace: &TeamspaceId, file: &FileId) -> PathBuf {
    let digits = file.digits();
    root.join(teamspace.as_str()).join(&digits[..2]).join(digits)
}

/// Makes the two folders of a file. A link in place of one is refused with the kind `InvalidData`:
/// bytes that are written behind it could not be read again.
fn own_folders(path: &Path) -> io::Result<&Path> {
    let parts = path.parent().expect("a file is in a folder");
    for folder in [parts.parent().expect("as deep as a teamspace"), parts] {
        durable::create_folder(folder)?;
        if fs::symlink_metadata(folder)?.is_symlink() {
            let problem = format!("{} is a link", folder.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
    }
    Ok(parts)
}

/// Reads and hashes the first `n_bytes_max` bytes of a file below the folder `root`, and says how
/// many it has; `None` if it is not there. What is no regular file is an error of the kind
/// `InvalidData`.
pub fn inspect(
    root: &Path,
    teamspace: &TeamspaceId,
    file: &FileId,
    n_bytes_max: u64,
) -> io::Result<Option<Content>> {
    let Some(file) = open(root, teamspace, file)? else { return Ok(None) };
    let size_bytes = file.metadata()?.len();
    content(file, n_bytes_max).map(|content| Some(Content { size_bytes, ..content }))
}

/// All files below the folder `root`; other things that lie there are passed over.
pub fn list(root: &Path) -> io::Result<Vec<(TeamspaceId, FileId)>> {
    let mut found = Vec::new();
    for teamspace in names(root)? {
        let Ok(id) = teamspace.parse::<TeamspaceId>() else { continue };
        let folder = root.join(&teamspace);
        for part in names(&folder)? {
            let files = names(&folder.join(part))?.into_iter();
            let files = files.filter_map(|digits| format!("sha256:{digits}").parse().ok());
            found.extend(files.map(|file| (id.clone(), file)));
        }
    }
    Ok(found)
}

impl Files for FileFolder {
    fn put_upload(&self, upload: Upload) -> Stored<()> {
        self.run(move |folder| {
            let note = serde_json::to_vec(&upload).map_err(io::Error::other)?;
            durable::replace(&folder.note_of(upload.id), &note, durable::PRIVATE)
        })
    }

    fn upload(&self, teamspace: TeamspaceId, id: UploadId) -> Stored<Option<Upload>> {
        self.run(move |folder| {
            let upload = read_note(&folder.note_of(id))?;
            Ok(upload.filter(|it| it.teamspace == teamspace && it.id == id))
        })
    }

    fn uploads(&self) -> Stored<Vec<Upload>> {
        self.run(Self::read_uploads)
    }

    fn write(&self, upload: Upload, bytes: Bytes) -> Stored<()> {
        self.run(move |folder| {
            let path = folder.bytes_of(upload.id);
            let file = durable::create(&path)?;
            file.write_all_at(&bytes, upload.offset)?;
            file.sync_data()
        })
    }

    fn measure(&self, upload: Upload) -> Stored<Content> {
        self.run(move |folder| {
            let file = durable::create(&folder.bytes_of(upload.id))?;
            // Beyond the offset may be a piece that was cut short.
            file.set_len(upload.offset)?;
            file.sync_all()?;
            content(file, upload.offset)
        })
    }

    fn keep(&self, upload: Upload, file: FileId) -> Stored<()> {
        self.run(move |folder| {
            let path = folder.path(&upload.teamspace, &file);
            let parts = own_folders(&path)?;
            // The bytes of the upload are verified; those of an older file may have changed. There
            // is a file at every moment. Renaming does nothing if both are the same file already.
            let fresh = folder.bytes_of(upload.id).with_added_extension("link");
            remove(&fresh)?;
            fs::hard_link(folder.bytes_of(upload.id), &fresh)?;
            fs::rename(&fresh, &path)?;
            remove(&fresh)?;
            sync_folder(parts)
        })
    }

    fn drop_upload(&self, upload: Upload, whole: bool) -> Stored<()> {
        self.run(move |folder| {
            remove(&folder.bytes_of(upload.id))?;
            if whole {
                remove(&folder.note_of(upload.id))?;
            }
            Ok(())
        })
    }

    fn read(
        &self,
        teamspace: TeamspaceId,
        file: FileId,
        offset: u64,
        n_bytes_max: usize,
    ) -> Stored<Bytes> {
        self.run(move |folder| {
            let opened = open(&folder.root, &teamspace, &file)?;
            let mut opened = opened.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
            opened.seek(SeekFrom::Start(offset))?;
            let mut bytes = Vec::with_capacity(n_bytes_max);
            opened.take(n_bytes_max as u64).read_to_end(&mut bytes)?;
            Ok(bytes.into())
        })
    }

    fn size(&self, teamspace: TeamspaceId, file: FileId) -> Stored<Option<u64>> {
        self.run(move |folder| match open(&folder.root, &teamspace, &file)? {
            Some(file) => Ok(Some(file.metadata()?.len())),
            None => Ok(None),
        })
    }

    fn inspect(
        &self,
        teamspace: TeamspaceId,
        file: FileId,
        n_bytes_max: u64,
    ) -> Stored<Option<Content>> {
        self.run(move |folder| inspect(&folder.root, &teamspace, &file, n_bytes_max))
    }

    fn remove(&self, teamspace: TeamspaceId, file: FileId) -> Stored<()> {
        self.run(move |folder| {
            let path = folder.path(&teamspace, &file);
            remove(&path)?;
            match sync_folder(path.parent().expect("a file is in a folder")) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                Ok(()) | Err(_) => Ok(()),
            }
        })
    }

    fn list(&self) -> Stored<Vec<(TeamspaceId, FileId)>> {
        self.run(|folder| list(&folder.root))
    }
}

/// Copies a file from one folder of files to another, durably. The copy gets its name once its
/// bytes are those that the name says; `false` if they are not, if they cannot be read, or if there
/// is no such file.
pub fn copy(from: &Path, to: &Path, teamspace: &TeamspaceId, file: &FileId) -> io::Result<bool> {
    let target = path_of(to, teamspace, file);
    durable::create_folder(to)?;
    own_folders(&target)?;
    let fresh = target.with_added_extension("new");
    remove(&fresh)?;
    let mut bytes = match open(from, teamspace, file) {
        Ok(Some(bytes)) => Source(bytes),
        Ok(None) => return Ok(false),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(false),
        Err(error) => return Err(error),
    };
    let mut options = OpenOptions::new();
    let mut copied =
        options.read(true).write(true).create_new(true).mode(durable::PRIVATE).open(&fresh)?;
    match io::copy(&mut bytes, &mut copied) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            remove(&fresh)?;
            return Ok(false);
        }
        Err(error) => return Err(error),
    }
    copied.sync_all()?;
    copied.seek(SeekFrom::Start(0))?;
    if FileId::of_digest(&content(copied, u64::MAX)?.digest) != *file {
        remove(&fresh)?;
        return Ok(false);
    }
    durable::rename(&fresh, &target)?;
    Ok(true)
}

/// A file whose bytes may not be readable any more, which is no fault of the place for the copy.
struct Source(File);

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer);
        read.map_err(|error| match error.kind() == io::ErrorKind::Interrupted {
            true => error,
            false => io::Error::new(io::ErrorKind::InvalidData, error),
        })
    }
}

fn content(file: File, n_bytes_max: u64) -> io::Result<Content> {
    let mut file = file.take(n_bytes_max);
    let (mut hasher, mut size_bytes) = (Sha256::new(), 0);
    let (mut buffer, mut head) = (vec![0; READ_BYTES], Vec::new());
    loop {
        let n_read = file.read(&mut buffer)?;
        if n_read == 0 {
            break;
        }
        let wanted = Image::HEAD_BYTES.saturating_sub(head.len()).min(n_read);
        head.extend_from_slice(&buffer[..wanted]);
        hasher.update(&buffer[..n_read]);
        size_bytes += n_read as u64;
    }
    Ok(Content { digest: hasher.finalize().into(), size_bytes, image: Image::of(&head) })
}

fn read_note(path: &Path) -> io::Result<Option<Upload>> {
    match fs::read(path) {
        Ok(text) => Ok(serde_json::from_slice(&text).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The names in a folder that are text; none if it is no folder.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let nothing = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if nothing.contains(&error.kind()) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let name = |entry: io::Result<fs::DirEntry>| -> io::Result<Option<String>> {
        Ok(entry?.file_name().into_string().ok())
    };
    listed.map(name).filter_map(Result::transpose).collect()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
