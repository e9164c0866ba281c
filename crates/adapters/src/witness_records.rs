//! What this server remembers as a witness of others: a file for each log in the folder `witness`,
//! with the newest checkpoint that was cosigned. It is read each time, so an operator who removes a
//! file makes the witness forget that log.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use engine::ledger::witness::WitnessRecords;

use crate::checkpoint_file::part_name;
use crate::durable;

/// The folder beside the database.
pub const FOLDER: &str = "witness";

#[derive(Debug)]
pub struct RecordFiles {
    folder: PathBuf,
}

impl RecordFiles {
    /// Makes the folder if it is not there.
    pub fn open(data: &Path) -> io::Result<Self> {
        let folder = data.join(FOLDER);
        durable::create_folder(&folder)?;
        Ok(Self { folder })
    }

    fn file(&self, origin: &str) -> PathBuf {
        self.folder.join(part_name(origin))
    }
}

impl WitnessRecords for RecordFiles {
    fn newest(&self, origin: &str) -> io::Result<Option<String>> {
        match fs::read(self.file(origin)) {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn keep(&self, origin: &str, note: &str) -> io::Result<()> {
        durable::replace(&self.file(origin), note.as_bytes(), durable::PUBLIC)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_outlives_its_server_and_can_be_removed() {
        let data = tempfile::tempdir().unwrap();
        let records = RecordFiles::open(data.path()).unwrap();
        assert_eq!(records.newest("tasuki-1/a").unwrap(), None);
        records.keep("tasuki-1/a", "one").unwrap();
        records.keep("tasuki-1/a", "two").unwrap();
        let again = RecordFiles::open(data.path()).unwrap();
        assert_eq!(again.newest("tasuki-1/a").unwrap().as_deref(), Some("two"));
        assert_eq!(again.newest("tasuki-2/a").unwrap(), None);
        fs::remove_file(data.path().join("witness/ledger-tasuki-1_a")).unwrap();
        assert_eq!(again.newest("tasuki-1/a").unwrap(), None);
    }
}
