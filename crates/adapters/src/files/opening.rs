//! Opening a stored file. Only a regular file in the folders of its name is one: what lies behind a
//! symbolic link may be a secret of the server, and a pipe would keep a reader waiting for ever.

use std::fs::File;
use std::io;
use std::path::Path;

use protocol::ids::{FileId, TeamspaceId};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

/// What lies under the name of a file and is none.
#[derive(Debug, thiserror::Error)]
#[error("is no regular file")]
struct NoRegularFile;

/// Opens a file below the folder `root`; `None` if it is not there, and an error of the kind
/// `InvalidData` if it is no regular file. Only `root` itself may be a link: an operator may keep
/// all files on another disk.
pub fn open(root: &Path, teamspace: &TeamspaceId, file: &FileId) -> io::Result<Option<File>> {
    let digits = file.digits();
    let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let own = folder | OFlags::NOFOLLOW;
    let opened = openat(CWD, root, folder, Mode::empty())
        .and_then(|root| openat(root, teamspace.as_str(), own, Mode::empty()))
        .and_then(|folder| openat(folder, &digits[..2], own, Mode::empty()))
        // A pipe without a writer is opened at once too.
        .and_then(|folder| {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            openat(folder, digits, flags, Mode::empty())
        });
    let file = match opened {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        // A link, a folder that is none, and a socket.
        Err(Errno::LOOP | Errno::NOTDIR | Errno::NXIO) => return Err(no_regular_file()),
        Err(error) => return Err(error.into()),
    };
    if !file.metadata()?.is_file() {
        return Err(no_regular_file());
    }
    Ok(Some(file))
}

fn no_regular_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, NoRegularFile)
}
