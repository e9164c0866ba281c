//! A copy of the database as it is at one moment, made while a server goes on writing.
//!
//! Pages are copied by SQLite's backup API within one read transaction, so the copy is of that
//! moment and never starts over. `VACUUM INTO` would do as well and leave a smaller file, but it
//! builds every index again: its read transaction lasts several times as long, during which the
//! write-ahead log cannot be restarted, and it reports no progress.

use std::path::Path;

use engine::ports::store::StoreError;
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::{ReadOnly, broken};

/// Two mebibytes: short steps, and visible progress.
const STEP_PAGES: i32 = 256;

impl ReadOnly {
    /// Fills an empty file. The copy needs no file beside it. The caller syncs it.
    pub fn copy_to(
        &self,
        path: &Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), StoreError> {
        self.pin()?;
        let copied = self.copy_pages(path, progress);
        self.unpin()?;
        let copy = copied?;
        // The copy has the journal mode of its source, which would need two more files.
        let mode: String =
            copy.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0)).map_err(broken)?;
        assert_eq!(mode, "delete", "no other connection has the copy open");
        copy.close().map_err(|(_, error)| broken(error))
    }

    fn copy_pages(
        &self,
        path: &Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Connection, StoreError> {
        let mut copy = Connection::open(path).map_err(broken)?;
        // A copy that was cut short is thrown away, so it needs no journal.
        copy.execute_batch("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF;")
            .map_err(broken)?;
        let backup = Backup::new(&self.connection, &mut copy).map_err(broken)?;
        loop {
            let step = backup.step(STEP_PAGES).map_err(broken)?;
            let pages = backup.progress();
            let all = u64::from(pages.pagecount.unsigned_abs());
            progress(all.saturating_sub(u64::from(pages.remaining.unsigned_abs())), all);
            if step == StepResult::Done {
                break;
            }
            if step != StepResult::More {
                // Readers meet no locks in this mode, and no other connection has the copy open.
                return Err(StoreError::Broken(format!("the copy stopped: {step:?}")));
            }
        }
        drop(backup);
        Ok(copy)
    }
}
