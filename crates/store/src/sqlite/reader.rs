//! Read-only connections, each on its own thread, and one for reads that are done on the spot. A
//! read never waits for the writer.

use std::fmt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use engine::ports::store::{Answer, Due, Sealed, Sequenced, Snapshot, StoreError};
use engine::slow_thread;
use engine::usage::{OpenCount, StoredCount};
use protocol::canonical::Hash;
use protocol::ids::{AgentId, TeamspaceId};
use protocol::ledger::Stream;
use protocol::step::{Deadline, HoldState};
use protocol::time::Time;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::audit_rows::{self, DocumentRow, LedgerRow, SnapshotPlace, SnapshotRow, TranscriptRow};
use super::derived_rows::{self, HoldRow, OutboxRow, OutcomeRow, PartyRow};
use super::transfer_rows::{self, StoredTransfer, TransferEntries};
use super::usage_rows::KeptFile;
use super::{OpenError, broken, marks, migrate, open_for_reading, rows, usage_rows};

/// One per core of a small machine: reads are short and come from the page cache. One more is for
/// the reads of slow threads.
const READERS: usize = 2;

/// Reads that may wait on one connection. More than this and the answer would come too late.
const WAITING_READS_MAX: usize = 4_096;

type Read = Box<dyn FnOnce(&Connection) + Send>;

#[derive(Debug)]
pub struct Readers {
    threads: Vec<Reader>,
    turn: AtomicUsize,
    at_hand: Mutex<Connection>,
}

#[derive(Debug)]
struct Reader {
    queue: Option<SyncSender<Read>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Readers {
    pub fn start(path: &Path) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Sqlite { path: path.to_owned(), source };
        let at_hand = Mutex::new(open_for_reading(path).map_err(failed)?);
        let mut threads = Vec::with_capacity(READERS + 1);
        for number in 0..=READERS {
            let is_slow = number == READERS;
            let connection = open_for_reading(path).map_err(failed)?;
            let (queue, reads) = sync_channel::<Read>(WAITING_READS_MAX);
            let thread = std::thread::Builder::new()
                .name(format!("store-reader-{number}"))
                .spawn(move || {
                    if is_slow {
                        slow_thread::give_way();
                    }
                    while let Ok(read) = reads.recv() {
                        read(&connection);
                    }
                })
                .map_err(|source| OpenError::Io { path: path.to_owned(), source })?;
            threads.push(Reader { queue: Some(queue), thread: Mutex::new(Some(thread)) });
        }
        Ok(Self { threads, turn: AtomicUsize::new(0), at_hand })
    }

    /// Reads on the calling thread. For a few rows that were just written, so that the read does
    /// not wait for a disk: passing it to another thread costs several times as much. If the
    /// connection is in use, another thread reads after all.
    pub fn ask_briefly<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Answer<T> {
        match self.at_hand.try_lock() {
            Ok(connection) if !slow_thread::is_slow() => {
                let answer = read(&connection).map_err(broken);
                Box::pin(std::future::ready(answer))
            }
            Ok(_) | Err(_) => self.ask(read),
        }
    }

    pub fn ask<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Answer<T> {
        let (reply, answer) = oneshot::channel();
        let turn = match slow_thread::is_slow() {
            true => READERS,
            false => self.turn.fetch_add(1, Ordering::Relaxed) % READERS,
        };
        let job: Read = Box::new(move |connection| {
            // The caller may have gone; then the answer is dropped.
            let _ = reply.send(read(connection).map_err(broken));
        });
        let queue = self.threads[turn].queue.as_ref().expect("the queue lives as long as we do");
        let sent = queue.try_send(job);
        Box::pin(async move {
            match sent {
                Ok(()) => answer.await.unwrap_or(Err(StoreError::Closed)),
                Err(TrySendError::Full(_)) => Err(StoreError::Overloaded),
                Err(TrySendError::Disconnected(_)) => Err(StoreError::Closed),
            }
        })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.queue = None;
        let thread = self.thread.lock().expect("nothing panics while holding the handle").take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!("a reader of the store ended in a panic");
        }
    }
}

/// How far the migrations of a database are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Migrated {
    Completely,
    /// An older release wrote it, and the next start migrates it.
    Partly {
        found: u32,
        known: u32,
    },
    /// It is empty: its first start was interrupted, and the next one finishes it.
    NotBegun,
}

/// A database opened for reading, without a lock: for `audit` and `doctor`, which also work while a
/// server runs or cannot start.
#[derive(Debug)]
pub struct ReadOnly {
    pub(super) connection: Connection,
    pace: Option<Pace>,
}

/// Is told how many rows an audit has read, after each page of them. It may take its time, so that
/// the audit leaves the disk to others.
pub struct Pace(pub Box<dyn Fn(u64) + Send>);

impl fmt::Debug for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pace")
    }
}

impl ReadOnly {
    pub fn open(folder: &Path) -> Result<Self, OpenError> {
        Self::open_file(&folder.join(super::FILE_NAME))
    }

    /// A database under another name, such as a backup.
    pub fn open_file(path: &Path) -> Result<Self, OpenError> {
        let connection = open_for_reading(path)
            .map_err(|source| OpenError::Sqlite { path: path.to_owned(), source })?;
        Ok(Self { connection, pace: None })
    }

    /// From here on the pages of an audit are read at this pace.
    pub fn at_pace(self, pace: Option<Pace>) -> Self {
        Self { pace, ..self }
    }

    /// Closes the database. What else the audit reads keeps the pace.
    pub fn close(self) -> Option<Pace> {
        self.pace
    }

    fn paced<T>(&self, page: rusqlite::Result<Vec<T>>) -> Result<Vec<T>, StoreError> {
        let page = page.map_err(broken)?;
        self.count_rows(page.len() as u64);
        Ok(page)
    }

    fn count_rows(&self, n_rows: u64) {
        if let Some(Pace(pace)) = &self.pace {
            pace(n_rows);
        }
    }

    /// Which migrations ran. Refuses what is not ours, and what a newer release has written.
    pub fn check_version(&self, path: &Path) -> Result<Migrated, OpenError> {
        let found = migrate::known_version(&self.connection, path)?;
        let known = migrate::newest_version();
        let failed = |source| OpenError::Sqlite { path: path.to_owned(), source };
        if found == known {
            return Ok(Migrated::Completely);
        }
        let is_empty = found == 0 || rows::newest(&self.connection).map_err(failed)? == 0;
        Ok(if is_empty { Migrated::NotBegun } else { Migrated::Partly { found, known } })
    }

    /// From here on every read sees the database as it is now, whatever a server does to it. It
    /// also keeps the server from restarting its log, so it should not be held for long.
    pub fn pin(&self) -> Result<(), StoreError> {
        // A transaction begins with its first read.
        self.connection.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema;").map_err(broken)
    }

    /// From here on reads see later changes again.
    pub fn unpin(&self) -> Result<(), StoreError> {
        self.connection.execute_batch("COMMIT").map_err(broken)
    }

    pub fn entries(&self, after: u64, limit: usize) -> Result<Vec<Sequenced>, StoreError> {
        rows::entries(&self.connection, after, limit).map_err(broken)
    }

    /// The newest entry, if there is one.
    pub fn newest_entry(&self) -> Result<Option<Sequenced>, StoreError> {
        let Some(before) = self.newest()?.checked_sub(1) else { return Ok(None) };
        Ok(self.entries(before, 1)?.pop())
    }

    pub fn newest(&self) -> Result<u64, StoreError> {
        rows::newest(&self.connection).map_err(broken)
    }

    pub fn sealed(&self) -> Result<Option<Sealed>, StoreError> {
        marks::sealed(&self.connection).map_err(broken)
    }

    pub fn due(&self, now: Time, limit: usize) -> Result<Vec<Due>, StoreError> {
        super::deadline_rows::due(&self.connection, now, limit).map_err(broken)
    }

    /// Entries as they lie in the file, from a number on, at most `limit`; empty only at the end.
    pub fn ledger_rows(&self, from: i64, limit: usize) -> Result<Vec<LedgerRow>, StoreError> {
        self.paced(audit_rows::ledger_rows(&self.connection, from, limit))
    }

    /// Documents as they lie in the file, from the number of an entry on, at most `limit`.
    pub fn document_rows(&self, from: i64, limit: usize) -> Result<Vec<DocumentRow>, StoreError> {
        self.paced(audit_rows::document_rows(&self.connection, from, limit))
    }

    /// The entry that is this line of a transcript.
    pub fn transcript_seq(&self, stream: &Stream, number: u64) -> Result<Option<i64>, StoreError> {
        audit_rows::transcript_seq(&self.connection, stream, number).map_err(broken)
    }

    /// The lines of all transcripts after one of them, at most `limit`.
    pub fn transcript_rows(
        &self,
        after: Option<&TranscriptRow>,
        limit: usize,
    ) -> Result<Vec<TranscriptRow>, StoreError> {
        self.paced(audit_rows::transcript_rows(&self.connection, after, limit))
    }

    /// Whether any row carries a MAC.
    pub fn has_signed_rows(&self) -> Result<bool, StoreError> {
        audit_rows::has_signed_rows(&self.connection).map_err(broken)
    }

    /// Where the snapshots are, by the last entry that each knows.
    pub fn snapshot_places(&self) -> Result<Vec<SnapshotPlace>, StoreError> {
        audit_rows::snapshot_places(&self.connection).map_err(broken)
    }

    pub fn snapshot_row(&self, place: SnapshotPlace) -> Result<Option<SnapshotRow>, StoreError> {
        self.count_rows(1);
        audit_rows::snapshot_row(&self.connection, place).map_err(broken)
    }

    /// Whether an entry is the newest of its stream, and has this hash.
    pub fn ends_with(&self, last_seq: u64, head: &Hash) -> Result<bool, StoreError> {
        rows::ends_with(&self.connection, last_seq, head).map_err(broken)
    }

    pub fn load(&self, stream: &Stream) -> Result<Option<Snapshot>, StoreError> {
        rows::load(&self.connection, stream).map_err(broken)
    }

    pub fn hold(&self, teamspace: &TeamspaceId, key: &str) -> Result<HoldState, StoreError> {
        rows::hold(&self.connection, teamspace, key).map_err(broken)
    }

    pub fn has_deadline(&self, stream: &Stream, deadline: &Deadline) -> Result<bool, StoreError> {
        derived_rows::has_deadline(&self.connection, stream, deadline).map_err(broken)
    }

    /// All deadlines after one of them, at most `limit`.
    pub fn deadline_rows(&self, after: Option<&Due>, limit: usize) -> Result<Vec<Due>, StoreError> {
        self.paced(derived_rows::deadline_rows(&self.connection, after, limit))
    }

    /// All holds after one of them, at most `limit`.
    pub fn hold_rows(
        &self,
        after: Option<&HoldRow>,
        limit: usize,
    ) -> Result<Vec<HoldRow>, StoreError> {
        self.paced(derived_rows::hold_rows(&self.connection, after, limit))
    }

    pub fn has_effect(&self, stream: &Stream, name: &str) -> Result<bool, StoreError> {
        derived_rows::has_effect(&self.connection, stream, name).map_err(broken)
    }

    /// All effects after one of them, at most `limit`.
    pub fn outbox_rows(
        &self,
        after: Option<&OutboxRow>,
        limit: usize,
    ) -> Result<Vec<OutboxRow>, StoreError> {
        self.paced(derived_rows::outbox_rows(&self.connection, after, limit))
    }

    /// The part and the status of a party of a message.
    pub fn party(
        &self,
        stream: &Stream,
        agent: &str,
    ) -> Result<Option<(String, String)>, StoreError> {
        derived_rows::party(&self.connection, stream, agent).map_err(broken)
    }

    /// All parties of messages after one of them, at most `limit`.
    pub fn party_rows(
        &self,
        after: Option<&PartyRow>,
        limit: usize,
    ) -> Result<Vec<PartyRow>, StoreError> {
        self.paced(derived_rows::party_rows(&self.connection, after, limit))
    }

    /// All recorded outcomes after one of them, at most `limit`.
    pub fn outcome_rows(
        &self,
        after: Option<&OutcomeRow>,
        limit: usize,
    ) -> Result<Vec<OutcomeRow>, StoreError> {
        self.paced(derived_rows::outcome_rows(&self.connection, after, limit))
    }

    /// The cursors of the loops that follow the ledger.
    pub fn place_rows(&self) -> Result<Vec<(String, i64)>, StoreError> {
        derived_rows::place_rows(&self.connection).map_err(broken)
    }

    /// The transfer that an entry requested.
    pub fn transfer_row(&self, seq: u64) -> Result<Option<StoredTransfer>, StoreError> {
        transfer_rows::stored_at(&self.connection, seq).map_err(broken)
    }

    /// All transfers after a row, at most `limit`.
    pub fn transfer_rows(
        &self,
        after: i64,
        limit: usize,
    ) -> Result<Vec<StoredTransfer>, StoreError> {
        self.paced(transfer_rows::stored(&self.connection, after, limit))
    }

    /// The entries about transfers in a conversation, from this one on, in order.
    pub fn transfer_entries(
        &self,
        stream: &Stream,
        first: u64,
    ) -> Result<TransferEntries, StoreError> {
        transfer_rows::entries_from(&self.connection, stream, first).map_err(broken)
    }

    /// When a person was last rung.
    pub fn last_ring(
        &self,
        teamspace: &TeamspaceId,
        agent: &AgentId,
    ) -> Result<Option<i64>, StoreError> {
        transfer_rows::stored_ring(&self.connection, teamspace, agent).map_err(broken)
    }

    /// When people were last rung, by teamspace and person, those after one of them.
    pub fn last_rings(
        &self,
        after: (&str, &str),
        limit: usize,
    ) -> Result<Vec<(String, String, i64)>, StoreError> {
        self.paced(transfer_rows::stored_rings(&self.connection, after, limit))
    }

    /// The texts of the states of the messages of a thread that were not purged, in the order in
    /// which they were sent: of one sender, or of all.
    pub fn messages_in_thread(
        &self,
        teamspace: &TeamspaceId,
        thread: &str,
        sender: Option<&str>,
        take: impl FnMut(&str),
    ) -> Result<(), StoreError> {
        derived_rows::messages_in_thread(&self.connection, teamspace, thread, sender, take)
            .map_err(broken)
    }

    /// How many messages of a teamspace were purged.
    pub fn n_purged(&self, teamspace: &TeamspaceId) -> Result<u64, StoreError> {
        derived_rows::n_purged(&self.connection, teamspace).map_err(broken)
    }

    /// Entries of one stream below a position, newest first.
    pub fn history(
        &self,
        stream: &Stream,
        before: u64,
        limit: usize,
    ) -> Result<Vec<Sequenced>, StoreError> {
        rows::history(&self.connection, stream, before, limit).map_err(broken)
    }

    /// How the schema differs from the one that the migrations make.
    pub fn schema_differences(&self) -> Result<Vec<String>, StoreError> {
        migrate::differences(&self.connection).map_err(broken)
    }

    /// The handoffs of a task, each with the text of its state.
    pub fn handoffs_of_task(
        &self,
        teamspace: &TeamspaceId,
        task_id: &str,
    ) -> Result<Vec<(Stream, String)>, StoreError> {
        derived_rows::handoffs_of_task(&self.connection, teamspace, task_id).map_err(broken)
    }

    /// All that is open, by owner.
    pub fn open_counts(&self) -> Result<Vec<OpenCount>, StoreError> {
        usage_rows::open_counts(&self.connection).map_err(broken)
    }

    /// The bytes that are kept of the entries from one to another, by who wrote them.
    pub fn stored_counts(&self, from: u64, to: u64) -> Result<Vec<StoredCount>, StoreError> {
        usage_rows::stored_counts(&self.connection, from, to).map_err(broken)
    }

    /// The bytes of the files that are kept, by who stored them.
    pub fn stored_files(&self) -> Result<Vec<StoredCount>, StoreError> {
        usage_rows::stored_files(&self.connection).map_err(broken)
    }

    /// The files whose bytes lie beside the database.
    pub fn kept_files(&self) -> Result<Vec<KeptFile>, StoreError> {
        usage_rows::kept_files(&self.connection).map_err(broken)
    }

    /// The teamspaces in the order of their names.
    pub fn teamspaces(&self) -> Result<Vec<TeamspaceId>, StoreError> {
        rows::teamspaces(&self.connection, None, usize::MAX).map_err(broken)
    }

    /// SQLite's own check of its file, indexes included: `None` when it is sound.
    pub fn damage(&self) -> Result<Option<String>, StoreError> {
        let verdict: String = self
            .connection
            .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
            .map_err(broken)?;
        Ok((verdict != "ok").then_some(verdict))
    }
}
