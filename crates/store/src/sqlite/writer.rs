//! The one writer. It takes all queued commits, writes those that do not conflict, commits them
//! with one sync, and only then notifies listeners and answers callers.
//!
//! A conflict is found before anything of its commit is written, so it fails alone. If the schema
//! forbids what a commit writes, the group is written again with a savepoint around each commit.
//! Savepoints are not used otherwise: SQLite copies every page that is touched after one, which is
//! a third of the work.

use std::cmp::Ordering;
use std::path::Path;
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;

use engine::ports::outbox::{Claim, Claimed, OutboxWrite};
use engine::ports::store::{
    Answer, Commit, CommitError, Committed, Listener, Receipt, Sealed, Sequenced, StoreError,
};
use protocol::time::Time;
use rusqlite::{Connection, ErrorCode, ffi};
use tokio::sync::{mpsc, oneshot};

use super::checkpointer::{Checkpointer, move_log};
use super::document_places::DocumentPlaces;
use super::sweep::Sweep;
use super::turns::Turns;
use super::write::Statements;
use super::{OpenError, broken, marks, outbox_rows, rows};
use crate::listeners::Listeners;

/// Commits that may wait. At some ten thousand a second the last of them waits under a second.
pub const WAITING_COMMITS_MAX: usize = 8_192;

/// Commits in one transaction. Larger groups gain nothing and make the first of them wait.
pub const GROUP_COMMITS_MAX: usize = 512;

#[derive(Debug)]
pub struct Writer {
    queue: Option<mpsc::Sender<Job>>,
    listeners: Arc<Listeners>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

enum Job {
    Commit(Box<Commit>, oneshot::Sender<DecidedCommit>),
    /// All of them or none.
    Together(Vec<Commit>, oneshot::Sender<Verdict>),
    Seal(Sealed, oneshot::Sender<Result<(), StoreError>>),
    /// The claimed effects are kept here until the group is written.
    Claim(Claim, Vec<Claimed>, oneshot::Sender<Result<Vec<Claimed>, StoreError>>),
    Outbox(OutboxWrite, oneshot::Sender<Result<(), StoreError>>),
    Place(String, u64, oneshot::Sender<Result<(), StoreError>>),
    Trial(oneshot::Sender<Result<(), StoreError>>),
}

/// The commit goes back to its caller: memory is cheapest to free on the thread that allocated it.
type DecidedCommit = (Verdict, Box<Commit>);

impl Writer {
    pub fn start(
        mut connection: Connection,
        path: &Path,
        documents: Arc<DocumentPlaces>,
    ) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Sqlite { path: path.to_owned(), source };
        let next_seq = rows::newest(&connection).map_err(failed)? + 1;
        connection.set_prepared_statement_cache_capacity(64);
        let checkpointer = Checkpointer::start(path, &mut connection)?;
        let (queue, jobs) = mpsc::channel(WAITING_COMMITS_MAX);
        let listeners = Arc::<Listeners>::default();
        let told = Arc::clone(&listeners);
        let thread = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || match Statements::prepare(&connection, documents) {
                Ok(statements) => {
                    let work = Work {
                        connection: &connection,
                        statements,
                        checkpointer,
                        listeners: told,
                        next_seq,
                        newest_at: None,
                        sweep: Sweep::default(),
                    };
                    work.run(jobs);
                }
                // Callers are answered that the store is closed.
                Err(error) => tracing::error!(%error, "the database has not the right tables"),
            })
            .map_err(|source| OpenError::Io { path: path.to_owned(), source })?;
        Ok(Self { queue: Some(queue), listeners, thread: Mutex::new(Some(thread)) })
    }

    pub fn commit(&self, commit: Commit) -> Receipt {
        assert!(!commit.entries.is_empty(), "a change without events is not committed");
        let (reply, answer) = oneshot::channel();
        let sent = self.send(Job::Commit(Box::new(commit), reply));
        Box::pin(async move {
            sent?;
            let (verdict, _spent) = answer.await.map_err(|_| StoreError::Unknown)?;
            verdict
        })
    }

    pub fn commit_together(&self, commits: Vec<Commit>) -> Receipt {
        let all_say_something = commits.iter().all(|commit| !commit.entries.is_empty());
        assert!(all_say_something, "a change without events is not committed");
        let (reply, answer) = oneshot::channel();
        let sent = self.send(Job::Together(commits, reply));
        Box::pin(async move {
            sent?;
            answer.await.map_err(|_| StoreError::Unknown)?
        })
    }

    pub fn listen(&self, listener: Weak<dyn Listener>) {
        self.listeners.add(listener);
    }

    pub fn seal(&self, sealed: Sealed) -> Answer<()> {
        let (reply, answer) = oneshot::channel();
        let sent = self.send(Job::Seal(sealed, reply));
        Box::pin(async move {
            sent?;
            answer.await.unwrap_or(Err(StoreError::Unknown))
        })
    }

    pub fn write_place(&self, follower: &str, seq: u64) -> Answer<()> {
        let (reply, answer) = oneshot::channel();
        let sent = self.send(Job::Place(follower.to_owned(), seq, reply));
        Box::pin(async move {
            sent?;
            answer.await.unwrap_or(Err(StoreError::Unknown))
        })
    }

    pub fn try_write(&self) -> Answer<()> {
        let (reply, answer) = oneshot::channel();
        let sent = self.send(Job::Trial(reply));
        Box::pin(async move {
            sent?;
            answer.await.unwrap_or(Err(StoreError::Unknown))
        })
    }

    pub fn claim(&self, claim: Claim) -> Answer<Vec<Claimed>> {
        let (reply, answer) = oneshot::channel();
        let sent = self.send(Job::Claim(claim, Vec::new(), reply));
        Box::pin(async move {
            sent?;
            answer.await.unwrap_or(Err(StoreError::Unknown))
        })
    }

    pub fn write_outbox(&self, write: OutboxWrite) -> Answer<()> {
        let (reply, answer) = oneshot::channel();
        let sent = self.send(Job::Outbox(write, reply));
        Box::pin(async move {
            sent?;
            answer.await.unwrap_or(Err(StoreError::Unknown))
        })
    }

    fn send(&self, job: Job) -> Result<(), StoreError> {
        let queue = self.queue.as_ref().expect("the queue lives as long as we do");
        queue.try_send(job).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => StoreError::Overloaded,
            mpsc::error::TrySendError::Closed(_) => StoreError::Closed,
        })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        let thread = self.thread.lock().expect("nothing panics while holding the handle").take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!("the writer of the store ended in a panic");
        }
    }
}

struct Work<'c> {
    connection: &'c Connection,
    statements: Statements<'c>,
    checkpointer: Checkpointer,
    listeners: Arc<Listeners>,
    next_seq: u64,
    newest_at: Option<Time>,
    sweep: Sweep,
}

/// How the commits of a group are isolated from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Isolation {
    /// Not at all: none fails once its first row is written.
    Never,
    BySavepoint,
}

/// The result of a commit of a group, before it is known whether the group was written.
type Verdict = Result<Committed, CommitError>;

impl Work<'_> {
    fn run(mut self, mut jobs: mpsc::Receiver<Job>) {
        let mut group = Vec::with_capacity(GROUP_COMMITS_MAX);
        let mut turns = Turns::default();
        while jobs.blocking_recv_many(&mut group, GROUP_COMMITS_MAX) > 0 {
            while !group.is_empty() || !turns.is_empty() {
                while let Ok(job) = jobs.try_recv() {
                    group.push(job);
                }
                group.drain(..).for_each(|job| wait(&mut turns, job));
                turns.take(&mut group, GROUP_COMMITS_MAX);
                self.write(&mut group);
                self.keep_house();
            }
        }
        let finished = self
            .connection
            .execute_batch("PRAGMA optimize;")
            .and_then(|()| move_log(self.connection, "TRUNCATE").map(|_| ()));
        if let Err(error) = finished {
            end_if_unsafe(&error);
        }
    }

    fn write(&mut self, group: &mut Vec<Job>) {
        let first_seq = self.next_seq;
        let mut written = self.apply(group, Isolation::Never);
        if written.as_ref().is_err_and(is_forbidden) {
            self.roll_back(first_seq);
            written = self.apply(group, Isolation::BySavepoint);
        }
        let written = written.map_err(|error| failure(error, broken)).and_then(|verdicts| {
            run_cached(self.connection, "COMMIT").map_err(|error| failure(error, uncommitted))?;
            Ok(verdicts)
        });
        match written {
            Ok(verdicts) => self.tell_and_answer(group, verdicts),
            Err(failure) => {
                self.roll_back(first_seq);
                self.next_seq = rows::newest(self.connection).map_or(first_seq, |seq| seq + 1);
                for job in group.drain(..) {
                    answer(job, Err(failure.clone().into()));
                }
            }
        }
    }

    fn roll_back(&mut self, first_seq: u64) {
        self.next_seq = first_seq;
        self.statements.forget();
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            end_if_unsafe(&error);
        }
    }

    fn apply(&mut self, group: &mut [Job], isolation: Isolation) -> rusqlite::Result<Vec<Verdict>> {
        run_cached(self.connection, "BEGIN IMMEDIATE")?;
        let mut verdicts = Vec::with_capacity(group.len());
        for job in group {
            let verdict = match (&mut *job, isolation) {
                (Job::Commit(commit, _), Isolation::Never) => {
                    self.statements.write_commit(commit, self.next_seq)?
                }
                (Job::Commit(commit, _), Isolation::BySavepoint) => {
                    self.apply_in_savepoint(commit)?
                }
                (Job::Together(commits, _), _) => self.apply_together(commits)?,
                (Job::Seal(sealed, _), _) => {
                    marks::write_sealed(self.connection, sealed)?;
                    Ok(self.nothing_new())
                }
                (Job::Place(follower, seq, _), _) => {
                    marks::write_place(self.connection, follower, *seq)?;
                    Ok(self.nothing_new())
                }
                (Job::Trial(_), _) => self.try_write()?,
                (Job::Claim(claim, claimed, _), _) => {
                    *claimed = outbox_rows::claim(self.connection, claim)?;
                    Ok(self.nothing_new())
                }
                (Job::Outbox(write, _), _) => {
                    outbox_rows::write(self.connection, write)?;
                    Ok(self.nothing_new())
                }
            };
            if let (Some(commit), Ok(committed)) = (commits_of(job).last(), &verdict) {
                self.next_seq = committed.last_seq + 1;
                self.newest_at = commit.entries.last().map(|entry| entry.at);
                self.sweep.n_written += 1;
            }
            verdicts.push(verdict);
        }
        Ok(verdicts)
    }

    fn try_write(&self) -> rusqlite::Result<Verdict> {
        let newest = rows::newest(self.connection)?;
        marks::write_place(self.connection, "readiness", newest)?;
        Ok(match newest.cmp(&(self.next_seq - 1)) {
            Ordering::Equal => Ok(self.nothing_new()),
            Ordering::Less => Err(StoreError::Corrupt("entries were removed".to_owned()).into()),
            Ordering::Greater => {
                let foreign = format!("entry {newest} was not written by this server");
                Err(StoreError::Corrupt(foreign).into())
            }
        })
    }

    fn nothing_new(&self) -> Committed {
        Committed { last_seq: self.next_seq - 1 }
    }

    fn apply_in_savepoint(&mut self, commit: &Commit) -> rusqlite::Result<Verdict> {
        self.apply_together(std::slice::from_ref(commit))
    }

    fn apply_together(&mut self, commits: &[Commit]) -> rusqlite::Result<Verdict> {
        run_cached(self.connection, "SAVEPOINT one")?;
        let verdict = match self.write_all(commits) {
            // A breach of the schema is an error of this commit, not of its group.
            Err(error) if is_forbidden(&error) => {
                Err(StoreError::Corrupt(error.to_string()).into())
            }
            written => written?,
        };
        if verdict.is_err() {
            self.statements.forget();
            run_cached(self.connection, "ROLLBACK TO one")?;
        }
        run_cached(self.connection, "RELEASE one")?;
        Ok(verdict)
    }

    /// Writes the commits up to the first conflict.
    fn write_all(&mut self, commits: &[Commit]) -> rusqlite::Result<Verdict> {
        let mut last = self.nothing_new();
        for commit in commits {
            match self.statements.write_commit(commit, last.last_seq + 1)? {
                Ok(committed) => last = committed,
                Err(conflict) => return Ok(Err(conflict)),
            }
        }
        Ok(Ok(last))
    }

    fn tell_and_answer(&self, group: &mut Vec<Job>, verdicts: Vec<Verdict>) {
        let mut entries = Vec::with_capacity(group.len());
        for (job, verdict) in group.iter_mut().zip(&verdicts) {
            let Ok(committed) = verdict else { continue };
            let commits = commits_of(job);
            let n_entries: usize = commits.iter().map(|commit| commit.entries.len()).sum();
            let first_seq = committed.last_seq + 1 - n_entries as u64;
            let written = commits.iter_mut().flat_map(|commit| commit.entries.drain(..));
            let numbered = (first_seq..).zip(written);
            entries.extend(numbered.map(|(seq, entry)| Sequenced { seq, entry }));
        }
        self.listeners.tell(entries);
        for (job, verdict) in group.drain(..).zip(verdicts) {
            answer(job, verdict);
        }
    }

    /// Keeps the files small. Runs between groups, and does little at a time.
    fn keep_house(&mut self) {
        let mut done = self.checkpointer.keep_short(self.connection);
        if let Some(now) = self.newest_at {
            done = done.and_then(|()| self.sweep.go_on(self.connection, now));
        }
        if let Err(error) = done {
            end_if_unsafe(&error);
            tracing::warn!(%error, "the store could not be tidied up");
        }
    }
}

/// Puts a job in line.
fn wait(turns: &mut Turns<Job>, mut job: Job) {
    let commits = commits_of(&mut job);
    let n_bytes = commits.iter().map(size).sum();
    let Some(first) = commits.first() else { return turns.push_own(job) };
    let teamspace = first.stream.teamspace.clone();
    if let Err(job) = turns.push(&teamspace, n_bytes, job) {
        answer(job, Err(StoreError::Overloaded.into()));
    }
}

/// About what a commit writes.
fn size(commit: &Commit) -> usize {
    let bodies = commit.entries.iter().map(|entry| entry.body.text().map_or(0, str::len));
    let document = commit.document.as_ref().map_or(0, |document| document.text.len());
    bodies.sum::<usize>() + commit.state_text.len() + document
}

fn commits_of(job: &mut Job) -> &mut [Commit] {
    match job {
        Job::Commit(commit, _) => std::slice::from_mut(commit),
        Job::Together(commits, _) => commits,
        Job::Seal(..) | Job::Claim(..) | Job::Outbox(..) | Job::Place(..) | Job::Trial(_) => {
            &mut []
        }
    }
}

fn answer(job: Job, verdict: Verdict) {
    // The caller may have gone; the commit stands all the same.
    match job {
        Job::Commit(commit, reply) => {
            let _ = reply.send((verdict, commit));
        }
        Job::Together(_, reply) => {
            let _ = reply.send(verdict);
        }
        Job::Seal(_, reply)
        | Job::Outbox(_, reply)
        | Job::Place(_, _, reply)
        | Job::Trial(reply) => {
            let _ = reply.send(verdict.map(|_| ()).map_err(why_failed));
        }
        Job::Claim(_, claimed, reply) => {
            let _ = reply.send(verdict.map(|_| claimed).map_err(why_failed));
        }
    }
}

fn why_failed(error: CommitError) -> StoreError {
    match error {
        CommitError::Failed(error) => error,
        CommitError::Moved | CommitError::HoldTaken { .. } | CommitError::KeyUsed(_) => {
            StoreError::Broken(error.to_string())
        }
    }
}

fn run_cached(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(|_| ())
}

fn is_forbidden(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation)
}

/// Why a group was not written, in the words of `kind`.
fn failure(error: rusqlite::Error, kind: fn(rusqlite::Error) -> StoreError) -> StoreError {
    end_if_unsafe(&error);
    tracing::error!(%error, "a group was not written");
    kind(error)
}

/// If the disk is full, the group's last page is not in the log, so the group is never visible.
/// After another failure all of it may be in the log, because the log's index is written last and
/// its file needs room too: then the next start finds the group, unless a later one replaced it.
fn uncommitted(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::SystemIoFailure) => StoreError::Unknown,
        Some(_) | None => broken(error),
    }
}

/// After a failed sync it is unknown what is on the disk, and a second sync could report a false
/// success. The process ends at once, and the next start reads what is really there.
#[expect(clippy::disallowed_methods, reason = "going on after a failed sync would lose data")]
pub fn end_if_unsafe(error: &rusqlite::Error) {
    let rusqlite::Error::SqliteFailure(failure, _) = error else { return };
    let is_sync =
        matches!(failure.extended_code, ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC);
    if failure.code == ErrorCode::SystemIoFailure && is_sync {
        tracing::error!(%error, "a sync failed; ending at once so that nothing false is answered");
        std::process::abort();
    }
}
