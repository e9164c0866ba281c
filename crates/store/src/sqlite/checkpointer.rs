//! Moves the write-ahead log into the database beside the writer, so that the writer only has to
//! finish the rest when it starts the log anew.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use super::{BUSY_MS_MAX, OpenError};

#[derive(Debug)]
pub struct Checkpointer {
    wake: Option<SyncSender<()>>,
    moved: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    pub fn start(path: &Path) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Sqlite { path: path.to_owned(), source };
        let connection = Connection::open(path).map_err(failed)?;
        connection
            .execute_batch(&format!(
                "PRAGMA busy_timeout = {BUSY_MS_MAX};
                 PRAGMA synchronous = FULL;
                 PRAGMA wal_autocheckpoint = 0;
                 PRAGMA cache_size = -256;"
            ))
            .map_err(failed)?;
        let (wake, woken) = sync_channel::<()>(1);
        let moved = Arc::new(AtomicBool::new(false));
        let announce = Arc::clone(&moved);
        let thread = std::thread::Builder::new()
            .name("store-checkpointer".to_owned())
            .spawn(move || {
                while woken.recv().is_ok() {
                    match move_log(&connection, "PASSIVE") {
                        Ok(()) => announce.store(true, Ordering::Release),
                        Err(error) => {
                            super::writer::end_if_unsafe(&error);
                            tracing::warn!(%error, "the write-ahead log could not be moved");
                        }
                    }
                }
            })
            .map_err(|source| OpenError::Io { path: path.to_owned(), source })?;
        Ok(Self { wake: Some(wake), moved, thread: Some(thread) })
    }

    /// The log has grown. Returns at once.
    pub fn wake(&self) {
        if let Some(wake) = &self.wake {
            // A full channel means that it is awake already.
            let _ = wake.try_send(());
        }
    }

    /// Whether a round ended since the last call: then little of the log is left to move.
    pub fn take_moved(&self) -> bool {
        self.moved.swap(false, Ordering::AcqRel)
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the checkpointer of the store ended in a panic");
        }
    }
}

/// Lets the next commit start the log anew, if nobody is reading it. A long reader is not waited
/// for: commits are, and the log may grow meanwhile.
pub fn restart_log(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(Duration::ZERO)?;
    let restarted = move_log(connection, "RESTART");
    connection.busy_timeout(Duration::from_millis(u64::from(BUSY_MS_MAX)))?;
    restarted
}

/// `PASSIVE` moves what nobody is using; `RESTART` and `TRUNCATE` all of it.
pub fn move_log(connection: &Connection, how: &str) -> rusqlite::Result<()> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |_| Ok(()))
}
