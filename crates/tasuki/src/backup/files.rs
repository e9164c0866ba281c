//! The files of a backup: their names, and a file that gets its name when it is whole.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use adapters::durable;
use anyhow::Context;
use protocol::canonical;
use protocol::time::Time;
use serde::Serializer;
use sha2::{Digest, Sha256};

/// One read of a file that is hashed.
const READ_BYTES: usize = 1024 * 1024;

/// The files beside the database of a backup, each named after it with a suffix.
#[derive(Debug)]
pub struct FileNames {
    pub checkpoint: PathBuf,
    pub public_key: PathBuf,
    pub signing_key: PathBuf,
    /// In the form that `sha256sum --check` reads.
    pub digest: PathBuf,
    /// A folder with the files whose bytes lie beside the database.
    pub files: PathBuf,
    /// Which files of the database are not in that folder, if there are any.
    pub missing: PathBuf,
}

impl FileNames {
    pub fn of(backup: &Path) -> Self {
        Self {
            checkpoint: backup.with_added_extension("checkpoint"),
            public_key: backup.with_added_extension("pub"),
            signing_key: backup.with_added_extension("key"),
            digest: backup.with_added_extension("sha256"),
            files: backup.with_added_extension("files"),
            missing: backup.with_added_extension("missing"),
        }
    }
}

/// A file under a temporary name. Removed if it never gets its final name.
#[derive(Debug)]
pub struct Beginning {
    path: PathBuf,
    is_finished: bool,
}

impl Beginning {
    /// An empty temporary file for `target`.
    pub fn create(target: &Path) -> anyhow::Result<Self> {
        let path = target.with_added_extension("partial");
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(durable::PRIVATE)
            .open(&path)
            .with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self { path, is_finished: false })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn n_bytes(&self) -> io::Result<u64> {
        Ok(fs::metadata(&self.path)?.len())
    }

    pub fn sync(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    /// Gives it its name, durably.
    pub fn finish(mut self, target: &Path) -> anyhow::Result<()> {
        durable::rename(&self.path, target)
            .with_context(|| format!("cannot make {}", target.display()))?;
        self.is_finished = true;
        Ok(())
    }
}

impl Drop for Beginning {
    fn drop(&mut self) {
        if !self.is_finished {
            // The failure that led here is the one to report.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The SHA-256 of a file, in hexadecimal.
pub fn digest(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; READ_BYTES];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(canonical::hex(&hasher.finalize())),
            n_read => hasher.update(&buffer[..n_read]),
        }
    }
}

/// A time as a part of a file name: `20261115T105215Z`.
pub fn compact(now: Time) -> String {
    let text = now.to_string();
    let seconds = text.split(['.', 'Z']).next().unwrap_or_default();
    format!("{}Z", seconds.replace(['-', ':'], ""))
}

/// A path in JSON. Bytes that are not valid text are replaced.
pub fn as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// The file if it is there.
pub fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// What is in a folder; nothing if it is not there.
pub fn list(folder: &Path) -> io::Result<Vec<OsString>> {
    match fs::read_dir(folder) {
        Ok(listed) => listed.map(|entry| Ok(entry?.file_name())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
