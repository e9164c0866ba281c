//! The ledger in a SQLite file: one writer thread that commits all queued commits in one
//! transaction, read-only connections, and one more thread that moves the write-ahead log into the
//! database while the writer goes on.
//!
//! `synchronous=FULL`: a commit that was answered survives a power cut. Each sync is slow, so
//! queued commits share one.

mod audit_rows;
mod checkpointer;
mod conversation_rows;
mod copy;
mod deadline_rows;
mod derived_rows;
mod document_places;
mod erase;
mod handoff_rows;
mod list_rows;
mod marks;
mod message_rows;
mod migrate;
mod outbox_rows;
pub mod raw_limit;
mod reader;
mod row_order;
mod rows;
mod sign;
mod sweep;
mod transfer_rows;
mod turns;
mod usage_rows;
mod write;
mod writer;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use engine::ports::outbox::{Claim, Claimed, OutboxList, Outstanding};
use engine::ports::store::{
    Answer, Commit, Count, Due, Entries, KeyScope, List, Listed, Listener, OldestMessages, Receipt,
    RecordedOutcome, Sealed, Sequenced, Snapshot, Store, StoreError, StoreWrite, StoredNames,
};
use engine::ports::transfers::{TransferList, TransferRow};
use protocol::ids::{AgentId, TeamspaceId};
use protocol::ledger::Stream;
use protocol::step::HoldState;
use protocol::time::Time;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use checkpointer::LOG_BYTES_KEPT;

pub use audit_rows::{
    Columns, ConversationColumns, DocumentRow, HandoffColumns, LedgerRow, MessageColumns,
    SnapshotPlace, SnapshotRow, TranscriptRow,
};
pub use derived_rows::{HoldRow, OutboxRow, OutcomeRow, PartyRow};
use document_places::DocumentPlaces;
use reader::Readers;
pub use reader::{Migrated, Pace, ReadOnly};
pub use sign::sign_rows;
pub use transfer_rows::{StoredTransfer, TransferColumns, TransferEntries};
pub use usage_rows::KeptFile;
use writer::Writer;

/// The name of the database in a data folder.
pub const FILE_NAME: &str = "tasuki.db";

/// Held by the one process that may write.
pub const LOCK_FILE: &str = "tasuki.lock";

/// Filled pages are 8 KiB: fewer of them are touched by a group of commits than with 4 KiB.
const PAGE_BYTES: u32 = 8_192;

/// The writer waits only for a checkpoint in progress, which is short.
const BUSY_MS_MAX: u32 = 5_000;

/// What a commit survives. Only tests use another value than `Full`, to show the difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    #[default]
    Full,
    /// Survives a crash of the process, not of the machine.
    ProcessCrashOnly,
}

#[derive(Debug, Clone)]
pub struct Sqlite {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    // Dropped in this order: first the work ends, then other processes may open the file.
    writer: Writer,
    readers: Readers,
    documents: Arc<DocumentPlaces>,
    _lock: FolderLock,
}

/// Why a database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{} is in use by another server", .0.display())]
    InUse(PathBuf),
    #[error("{} is of a newer release: schema {found}, not {known}", .path.display())]
    Newer { path: PathBuf, found: u32, known: u32 },
    #[error("{} is of an older release: schema {found}, not {known}", .path.display())]
    Older { path: PathBuf, found: u32, known: u32 },
    #[error("{} is no database of Tasuki: schema {version} does not fit it", .path.display())]
    NotOurs { path: PathBuf, version: i64 },
    #[error("{} says schema {found}, but was changed: {difference}", .path.display())]
    Changed { path: PathBuf, found: u32, difference: String },
    #[error("cannot open {}", .path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("cannot open {}", .path.display())]
    Sqlite { path: PathBuf, source: rusqlite::Error },
}

impl Sqlite {
    /// Opens or makes the database in a folder, and locks it against other servers.
    pub fn open(folder: &Path) -> Result<Self, OpenError> {
        Self::open_with(folder, Durability::Full)
    }

    pub fn open_with(folder: &Path, durability: Durability) -> Result<Self, OpenError> {
        let path = folder.join(FILE_NAME);
        let lock =
            FolderLock { _folder: lock(&folder.join(LOCK_FILE))?, _file: Some(lock(&path)?) };
        let mut connection = open_for_writing(&path, durability)?;
        migrate::run(&mut connection, &path)?;
        sync_folder(folder)?;
        let readers = Readers::start(&path)?;
        let documents = Arc::<DocumentPlaces>::default();
        let writer = Writer::start(connection, &path, Arc::clone(&documents))?;
        Ok(Self { inner: Arc::new(Inner { writer, readers, documents, _lock: lock }) })
    }
}

fn open_for_writing(path: &Path, durability: Durability) -> Result<Connection, OpenError> {
    let failed = |source| OpenError::Sqlite { path: path.to_owned(), source };
    // Created here first, so that other users can never read it.
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
        .map_err(|source| OpenError::Io { path: path.to_owned(), source })?;
    let connection = Connection::open(path).map_err(failed)?;
    refuse_others(&connection, path)?;
    let synchronous = match durability {
        Durability::Full => "FULL",
        Durability::ProcessCrashOnly => "NORMAL",
    };
    connection
        .execute_batch(&format!(
            "PRAGMA page_size = {PAGE_BYTES};
             PRAGMA busy_timeout = {BUSY_MS_MAX};
             PRAGMA journal_mode = WAL;
             PRAGMA synchronous = {synchronous};
             PRAGMA foreign_keys = ON;
             PRAGMA secure_delete = FAST;
             PRAGMA wal_autocheckpoint = 0;
             PRAGMA journal_size_limit = {LOG_BYTES_KEPT};
             PRAGMA cache_size = -8192;
             PRAGMA temp_store = MEMORY;"
        ))
        .and_then(|()| keep_plans(&connection))
        .map_err(failed)?;
    Ok(connection)
}

/// Before the first write, so that a database that is not ours, or of a newer release, stays as it
/// is: also its write-ahead log, which SQLite would move into it at the end.
fn refuse_others(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let move_at_end = |is_wanted: bool| {
        connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !is_wanted)
            .map_err(|source| OpenError::Sqlite { path: path.to_owned(), source })
    };
    move_at_end(false)?;
    migrate::known_version(connection, path)?;
    move_at_end(true)?;
    Ok(())
}

/// SQLite prepares a statement on a table with partial indexes again whenever a bound value might
/// make another index usable. Our values never do.
fn keep_plans(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(|_| ())
}

fn open_for_reading(path: &Path) -> Result<Connection, rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.execute_batch(&format!(
        "PRAGMA busy_timeout = {BUSY_MS_MAX}; PRAGMA query_only = ON; PRAGMA cache_size = -2048;"
    ))?;
    keep_plans(&connection)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// Keeps servers out of a folder for as long as it lives: by a file of its own, so that the
/// database can be replaced meanwhile, and by the database itself, which may be reached from
/// another folder, or from this one after that file was removed.
///
/// It must outlive every connection: once a process closes a file, SQLite's own locks on it are
/// gone.
#[derive(Debug)]
pub struct FolderLock {
    _folder: File,
    _file: Option<File>,
}

impl FolderLock {
    pub fn take(folder: &Path) -> Result<Self, OpenError> {
        let path = folder.join(FILE_NAME);
        let folder = lock(&folder.join(LOCK_FILE))?;
        let is_there =
            path.try_exists().map_err(|source| OpenError::Io { path: path.clone(), source })?;
        let file = is_there.then(|| lock(&path)).transpose()?;
        Ok(Self { _folder: folder, _file: file })
    }
}

fn lock(path: &Path) -> Result<File, OpenError> {
    let failed = |source| OpenError::Io { path: path.to_owned(), source };
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(path)
        .map_err(failed)?;
    match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(OpenError::InUse(path.to_owned())),
        Err(errno) => Err(failed(errno.into())),
    }
}

/// A new file is there after a power cut only when its folder was synced.
fn sync_folder(folder: &Path) -> Result<(), OpenError> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|source| OpenError::Io { path: folder.to_owned(), source })
}

impl Store for Sqlite {
    fn commit(&self, commit: Commit) -> Receipt {
        self.inner.writer.commit(commit)
    }

    fn commit_together(&self, commits: Vec<Commit>) -> Receipt {
        self.inner.writer.commit_together(commits)
    }

    fn listen(&self, listener: Weak<dyn Listener>) {
        self.inner.writer.listen(listener);
    }

    fn write(&self, write: StoreWrite) -> Answer<()> {
        let writer = &self.inner.writer;
        match write {
            StoreWrite::Seal(sealed) => writer.seal(sealed),
            StoreWrite::Place { follower, seq } => writer.write_place(&follower, seq),
            StoreWrite::Outbox(write) => writer.write_outbox(write),
            StoreWrite::Trial => writer.try_write(),
        }
    }

    fn sealed(&self) -> Answer<Option<Sealed>> {
        self.inner.readers.ask(marks::sealed)
    }

    fn place(&self, follower: &str) -> Answer<u64> {
        let follower = follower.to_owned();
        self.inner.readers.ask(move |connection| marks::place(connection, &follower))
    }

    fn load(&self, stream: &Stream) -> Answer<Option<Snapshot>> {
        let stream = stream.clone();
        self.inner.readers.ask(move |connection| rows::load_newest(connection, &stream))
    }

    fn token_stream(&self, secret_hash: &str) -> Answer<Option<Stream>> {
        let secret_hash = secret_hash.to_owned();
        self.inner.readers.ask(move |connection| rows::token_stream(connection, &secret_hash))
    }

    fn hold(&self, teamspace: &TeamspaceId, key: &str) -> Answer<HoldState> {
        let (teamspace, key) = (teamspace.clone(), key.to_owned());
        self.inner.readers.ask(move |connection| rows::hold(connection, &teamspace, &key))
    }

    fn names(&self, of: StoredNames, limit: usize) -> Answer<Vec<String>> {
        fn texts<T: ToString>(names: Vec<T>) -> Vec<String> {
            names.iter().map(ToString::to_string).collect()
        }
        self.inner.readers.ask(move |connection| match &of {
            StoredNames::Held { teamspace, prefix } => {
                rows::held(connection, teamspace, prefix, limit)
            }
            StoredNames::WaitingQueues { teamspace, after } => {
                conversation_rows::waiting_queues(connection, teamspace, after.as_ref(), limit)
                    .map(texts)
            }
            StoredNames::CallingQueues { teamspace, after } => {
                conversation_rows::calling_queues(connection, teamspace, after.as_ref(), limit)
                    .map(texts)
            }
            StoredNames::Teamspaces { after } => {
                rows::teamspaces(connection, after.as_ref(), limit).map(texts)
            }
        })
    }

    fn transfers(&self, list: TransferList) -> Answer<Vec<TransferRow>> {
        self.inner.readers.ask(move |connection| transfer_rows::list(connection, &list))
    }

    fn last_rings(
        &self,
        teamspace: &TeamspaceId,
        after: Option<&AgentId>,
        limit: usize,
    ) -> Answer<Vec<(AgentId, Time)>> {
        let (teamspace, after) = (teamspace.clone(), after.cloned());
        self.inner.readers.ask(move |connection| {
            transfer_rows::last_rings(connection, &teamspace, after.as_ref(), limit)
        })
    }

    fn document(&self, stream: &Stream, hash: &str) -> Answer<Option<String>> {
        let place = self.inner.documents.of(stream);
        let (stream, hash) = (stream.clone(), hash.to_owned());
        self.inner.readers.ask_briefly(move |connection| {
            let found = place.map(|seq| rows::document_at(connection, seq, &hash)).transpose()?;
            match found.flatten() {
                Some(text) => Ok(Some(text)),
                None => rows::document(connection, &stream, &hash),
            }
        })
    }

    fn document_bytes(&self, seq: u64) -> Answer<u64> {
        self.inner.readers.ask(move |connection| usage_rows::document_bytes(connection, seq))
    }

    fn outcome(&self, scope: &KeyScope) -> Answer<Option<RecordedOutcome>> {
        let scope = scope.clone();
        self.inner.readers.ask(move |connection| rows::outcome(connection, &scope))
    }

    fn read_entries(&self, of: Entries, limit: usize) -> Answer<Vec<Sequenced>> {
        self.inner.readers.ask(move |connection| match &of {
            Entries::After(after) => rows::entries(connection, *after, limit),
            Entries::Of { stream, before } => rows::history(connection, stream, *before, limit),
            Entries::From { stream, position } => {
                rows::history_from(connection, stream, *position, limit)
            }
            Entries::Lines { stream, after } => {
                conversation_rows::transcript(connection, stream, *after, limit)
            }
        })
    }

    fn count(&self, teamspace: &TeamspaceId, of: Count) -> Answer<usize> {
        let teamspace = teamspace.clone();
        self.inner.readers.ask(move |connection| match &of {
            Count::Inbox { agent, status } => {
                message_rows::inbox_count(connection, &teamspace, agent, *status)
            }
            Count::Waiting { queue, before } => {
                conversation_rows::n_waiting(connection, &teamspace, queue, *before)
            }
        })
    }

    fn newest(&self) -> Answer<u64> {
        self.inner.readers.ask(rows::newest)
    }

    fn due(&self, now: Time, limit: usize) -> Answer<Vec<Due>> {
        self.inner.readers.ask(move |connection| deadline_rows::due(connection, now, limit))
    }

    fn list(&self, list: List) -> Answer<Vec<Listed>> {
        self.inner.readers.ask(move |connection| list_rows::list(connection, &list))
    }

    fn oldest_messages(&self, oldest: OldestMessages) -> Answer<Vec<Listed>> {
        self.inner.readers.ask(move |connection| message_rows::oldest(connection, &oldest))
    }

    fn claim(&self, claim: Claim) -> Answer<Vec<Claimed>> {
        self.inner.writer.claim(claim)
    }

    fn outstanding(
        &self,
        teamspace: &TeamspaceId,
        list: OutboxList,
        limit: usize,
    ) -> Answer<Vec<Outstanding>> {
        let teamspace = teamspace.clone();
        self.inner
            .readers
            .ask(move |connection| outbox_rows::outstanding(connection, &teamspace, list, limit))
    }
}

fn broken(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DiskFull) => StoreError::Full,
        Some(rusqlite::ErrorCode::DatabaseCorrupt | rusqlite::ErrorCode::NotADatabase) => {
            StoreError::Corrupt(error.to_string())
        }
        Some(_) | None => StoreError::Broken(error.to_string()),
    }
}
