//! Files and folders that are still there after a power cut. A name is durable only once the
//! folder that holds it was synced.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Readable by everyone who may enter the folder: checkpoints and public keys are made to be
/// carried elsewhere.
pub const PUBLIC: u32 = 0o644;

pub const PRIVATE: u32 = 0o600;

/// Folders whose names are known to be durable: about 1 MB. Beyond it all are forgotten, and are
/// synced once more.
const SYNCED_MAX: usize = 10_000;

/// The folders whose names this process has synced.
static SYNCED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Writes a file as a whole: afterwards it is the new one or, after a crash, the old one.
pub fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let fresh = path.with_added_extension("new");
    match fs::remove_file(&fresh) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&fresh)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&fresh, path)?;
    sync_name(path)
}

/// Gives a file another name in its folder. The caller syncs its content.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync_name(to)
}

/// Makes the file if it is not there. The caller syncs its content.
pub fn create(path: &Path) -> io::Result<File> {
    let open = || OpenOptions::new().read(true).write(true).open(path);
    match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    let file =
        OpenOptions::new().read(true).write(true).create_new(true).mode(PRIVATE).open(path)?;
    sync_name(path)?;
    Ok(file)
}

/// Makes the folder if it is not there. Its parent must be. A folder that another thread has just
/// made, or a process that was killed, may not have a durable name yet; so a name is synced unless
/// this process has done it.
pub fn create_folder(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if synced().contains(path) {
                return Ok(());
            }
        }
        Err(error) => return Err(error),
    }
    sync_name(path)?;
    let mut synced = synced();
    if synced.len() >= SYNCED_MAX {
        synced.clear();
    }
    synced.insert(path.to_owned());
    Ok(())
}

fn synced() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    SYNCED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn sync_name(path: &Path) -> io::Result<()> {
    let folder = path.parent().expect("a file of ours is in a folder of ours");
    File::open(folder)?.sync_all()
}
