//! Keeps the write-ahead log short: a thread of its own moves it into the database beside the
//! writer, so that the writer only has to finish the rest when it starts the log anew.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use super::{BUSY_MS_MAX, OpenError, PAGE_BYTES};

/// The log is moved into the database each time it has grown by this much, and then begins anew.
pub const LOG_BYTES_MAX: u64 = 32 * 1024 * 1024;

const LOG_PAGES_MAX: u64 = LOG_BYTES_MAX / PAGE_BYTES as u64;

/// A reader of the log keeps it from beginning anew. Nearly all are gone within a millisecond, so
/// the next try comes after a little more was written; each costs a sync of the database.
const LOG_BYTES_RETRY: u64 = 1024 * 1024;

const LOG_PAGES_RETRY: u64 = LOG_BYTES_RETRY / PAGE_BYTES as u64;

/// A log that grew beyond this because of a long reader, such as a backup, is cut to it when it
/// begins anew. It is more than the log usually takes, because growing a file costs more than
/// writing to it.
pub const LOG_BYTES_KEPT: u64 = 2 * LOG_BYTES_MAX;

#[derive(Debug)]
pub struct Checkpointer {
    /// The length of the log after the writer's last commit.
    n_pages: Arc<AtomicU64>,
    /// The length of which the thread was last asked to move it.
    n_pages_asked: u64,
    /// The length at which a long reader was last logged.
    n_pages_logged: u64,
    wake: Option<SyncSender<()>>,
    moved: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    /// For the one connection that writes to this database.
    pub fn start(path: &Path, writer: &mut Connection) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Sqlite { path: path.to_owned(), source };
        let n_pages = Arc::<AtomicU64>::default();
        let counted = Arc::clone(&n_pages);
        writer
            .wal_hook(Some(move |_: &mut Wal, n_pages: i32| {
                counted.store(u64::from(n_pages.unsigned_abs()), Ordering::Relaxed);
                Ok(())
            }))
            .map_err(failed)?;
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
                        Ok(_) => announce.store(true, Ordering::Release),
                        Err(error) => {
                            super::writer::end_if_unsafe(&error);
                            tracing::warn!(%error, "the write-ahead log could not be moved");
                        }
                    }
                }
            })
            .map_err(|source| OpenError::Io { path: path.to_owned(), source })?;
        Ok(Self {
            n_pages,
            n_pages_asked: 0,
            n_pages_logged: 0,
            wake: Some(wake),
            moved,
            thread: Some(thread),
        })
    }

    /// To be called by the writer between two transactions. It does not wait for the thread.
    pub fn keep_short(&mut self, writer: &Connection) -> rusqlite::Result<()> {
        let n_pages = self.n_pages.load(Ordering::Relaxed);
        if n_pages < self.n_pages_asked {
            // The log was restarted.
            (self.n_pages_asked, self.n_pages_logged) = (0, 0);
        }
        if n_pages - self.n_pages_asked >= LOG_PAGES_MAX
            && let Some(wake) = &self.wake
        {
            self.n_pages_asked = n_pages;
            // A full channel means that the thread is already awake.
            let _ = wake.try_send(());
        }
        if self.moved.swap(false, Ordering::AcqRel) {
            match restart_log(writer)? {
                Moved::Completely => {}
                Moved::UpToReaders => self.try_again_soon(n_pages),
            }
        }
        Ok(())
    }

    fn try_again_soon(&mut self, n_pages: u64) {
        self.n_pages_asked = (n_pages + LOG_PAGES_RETRY).saturating_sub(LOG_PAGES_MAX);
        if n_pages >= self.n_pages_logged + 2 * LOG_PAGES_MAX {
            self.n_pages_logged = n_pages;
            let n_mib = n_pages * u64::from(PAGE_BYTES) / (1024 * 1024);
            tracing::warn!(n_mib, "the write-ahead log grows: a long reader holds on to it");
        }
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

/// How far a log was moved into the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved {
    Completely,
    /// A reader still needs the log, so it cannot begin anew.
    UpToReaders,
}

/// Lets the next commit restart the log, if there is no reader on it. It does not wait for a long
/// reader: commits must go on, and the log may grow meanwhile.
fn restart_log(connection: &Connection) -> rusqlite::Result<Moved> {
    connection.busy_timeout(Duration::ZERO)?;
    let restarted = move_log(connection, "RESTART");
    connection.busy_timeout(Duration::from_millis(u64::from(BUSY_MS_MAX)))?;
    restarted
}

/// `PASSIVE` moves the pages that no connection uses; `RESTART` and `TRUNCATE` move all of them.
pub fn move_log(connection: &Connection, how: &str) -> rusqlite::Result<Moved> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |row| {
        let is_busy: bool = row.get(0)?;
        Ok(if is_busy { Moved::UpToReaders } else { Moved::Completely })
    })
}
