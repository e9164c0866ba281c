//! The upper limit for benchmarks: a bare writer that puts the rows of a commit into the same
//! tables of the same file, in groups, and does nothing else. It compares nothing, reads nothing
//! and undoes nothing, and it writes the texts of a prepared commit. Only `bench` uses it.

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use engine::ports::store::{Commit, StoreError};
use protocol::handoff::Handoff;
use protocol::ledger::Body;
use protocol::step::State;
use rusqlite::{Connection, Result, Statement, params};
use tokio::sync::{mpsc, oneshot};

use super::checkpointer::{Checkpointer, move_log};
use super::writer::{GROUP_COMMITS_MAX, WAITING_COMMITS_MAX};
use super::{Durability, FILE_NAME, OpenError, broken, migrate, open_for_writing, rows};

/// A bare writer on a database of its own.
#[derive(Debug)]
pub struct RawWriter {
    queue: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

/// The rows of one transition of a handoff.
#[derive(Debug, Clone)]
pub struct RawTransition {
    /// The source of every text and number except those below.
    pub rows: Arc<Commit>,
    /// The id of the handoff, and the names that are unique to it.
    pub id: String,
    pub task_id: String,
    pub key: String,
    /// Where the handoff is kept, if it was written before.
    pub place: Option<RawPlace>,
}

/// Where the rows of a handoff are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawPlace {
    row: i64,
    last_seq: u64,
}

struct Job {
    transition: RawTransition,
    reply: oneshot::Sender<std::result::Result<RawPlace, StoreError>>,
}

impl RawWriter {
    /// Opens or makes the database in a folder, with the settings of the real store.
    pub fn open(folder: &Path) -> std::result::Result<Self, OpenError> {
        let path = folder.join(FILE_NAME);
        let failed = |source| OpenError::Sqlite { path: path.clone(), source };
        let mut connection = open_for_writing(&path, Durability::Full)?;
        migrate::run(&mut connection, &path)?;
        let next_seq = rows::newest(&connection).map_err(failed)? + 1;
        let mut checkpointer = Checkpointer::start(&path, &mut connection)?;
        let (queue, jobs) = mpsc::channel(WAITING_COMMITS_MAX);
        let thread = std::thread::Builder::new()
            .name("raw-writer".to_owned())
            .spawn(move || {
                if let Err(error) = run(&connection, &mut checkpointer, next_seq, jobs) {
                    tracing::error!(%error, "the bare writer ended");
                }
            })
            .map_err(|source| OpenError::Io { path: path.clone(), source })?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// `Ok` means durable.
    pub async fn write(
        &self,
        transition: RawTransition,
    ) -> std::result::Result<RawPlace, StoreError> {
        let queue = self.queue.as_ref().expect("the queue lives as long as we do");
        let (reply, answer) = oneshot::channel();
        queue.try_send(Job { transition, reply }).map_err(|_| StoreError::Overloaded)?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }
}

impl Drop for RawWriter {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the bare writer ended in a panic");
        }
    }
}

fn run(
    connection: &Connection,
    checkpointer: &mut Checkpointer,
    mut next_seq: u64,
    mut jobs: mpsc::Receiver<Job>,
) -> Result<()> {
    let mut statements = Statements::prepare(connection)?;
    let mut group: Vec<Job> = Vec::with_capacity(GROUP_COMMITS_MAX);
    let mut places = Vec::with_capacity(GROUP_COMMITS_MAX);
    while jobs.blocking_recv_many(&mut group, GROUP_COMMITS_MAX) > 0 {
        let written = statements.begin.execute([]).and_then(|_| {
            for job in &group {
                places.push(statements.write(&job.transition, next_seq)?);
                next_seq += job.transition.rows.entries.len() as u64;
            }
            statements.commit.execute([])
        });
        if let Err(error) = written {
            let failure = broken(error);
            for job in group.drain(..) {
                // The caller may have gone; then the error is dropped.
                let _ = job.reply.send(Err(failure.clone()));
            }
            return connection.execute_batch("ROLLBACK");
        }
        for (job, place) in group.drain(..).zip(places.drain(..)) {
            // The caller may have gone; the rows are written all the same.
            let _ = job.reply.send(Ok(place));
        }
        checkpointer.keep_short(connection)?;
    }
    move_log(connection, "TRUNCATE").map(|_| ())
}

/// Every statement, prepared once.
struct Statements<'c> {
    begin: Statement<'c>,
    commit: Statement<'c>,
    outcome: Statement<'c>,
    hold: Statement<'c>,
    entry: Statement<'c>,
    document: Statement<'c>,
    disarm: Statement<'c>,
    arm: Statement<'c>,
    insert: Statement<'c>,
    update: Statement<'c>,
}

impl<'c> Statements<'c> {
    fn prepare(connection: &'c Connection) -> Result<Self> {
        Ok(Self {
            begin: connection.prepare("BEGIN IMMEDIATE")?,
            commit: connection.prepare("COMMIT")?,
            outcome: connection.prepare(
                "INSERT INTO outcomes (teamspace, caller, key, fingerprint, outcome, at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?,
            hold: connection.prepare(
                "INSERT OR REPLACE INTO holds (teamspace, key, holder, value)
                 VALUES (?1, ?2, ?3, ?4)",
            )?,
            entry: connection.prepare(
                "INSERT INTO entries (seq, prev_seq, teamspace, subject, position, name, version,
                                      actor, at, salt, body, commitment, hash)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, NULL, ?12)",
            )?,
            document: connection
                .prepare("INSERT INTO documents (seq, hash, text) VALUES (?1, ?2, ?3)")?,
            disarm: connection.prepare(
                "DELETE FROM deadlines
                 WHERE due = ?1 AND teamspace = ?2 AND subject = ?3 AND name = ?4",
            )?,
            arm: connection.prepare(
                "INSERT INTO deadlines (due, teamspace, subject, name) VALUES (?1, ?2, ?3, ?4)",
            )?,
            insert: connection.prepare(
                "INSERT INTO handoffs
                   (teamspace, id, thread_id, task_id, from_agent, to_agent, title, status,
                    initiated_at, resolved_at, document_seq, position, last_seq, head, at, state)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, NULL, ?10, ?11, ?12, ?13, ?14, ?15)",
            )?,
            update: connection.prepare(
                "UPDATE handoffs SET status = ?2, resolved_at = ?3, position = ?4, last_seq = ?5,
                        head = ?6, at = ?7, state = ?8, title = ?9 WHERE row = ?1",
            )?,
        })
    }

    fn write(&mut self, transition: &RawTransition, next_seq: u64) -> Result<RawPlace> {
        let rows = transition.rows.as_ref();
        let teamspace = rows.stream.teamspace.as_str();
        let subject = format!("handoff/{}", transition.id);
        if let Some(key) = &rows.key {
            let (caller, recorded) = (&key.scope.caller, &key.recorded);
            let at = key.at.as_millis();
            let values = params![
                teamspace,
                caller,
                transition.key,
                recorded.fingerprint,
                recorded.outcome,
                at
            ];
            self.outcome.execute(values)?;
        }
        for hold in &rows.holds {
            let holder = hold.next.holder.as_ref().map(|_| transition.id.as_str());
            let key = format!("task/{}", transition.task_id);
            self.hold.execute(params![teamspace, key, holder, hold.next.value])?;
        }
        let last_seq = self.write_entries(transition, &subject, next_seq)?;
        if let Some(document) = &rows.document {
            self.document.execute(params![last_seq, document.hash, document.text])?;
        }
        for deadline in &rows.disarm {
            let due = deadline.due.as_millis();
            self.disarm.execute(params![due, teamspace, subject, deadline.name])?;
        }
        for deadline in &rows.arm {
            let due = deadline.due.as_millis();
            self.arm.execute(params![due, teamspace, subject, deadline.name])?;
        }
        let State::Handoff(handoff) = rows.state.as_ref() else {
            unreachable!("the bare writer is given handoffs only");
        };
        self.write_handoff(transition, handoff, last_seq)
    }

    fn write_entries(
        &mut self,
        transition: &RawTransition,
        subject: &str,
        next_seq: u64,
    ) -> Result<u64> {
        let mut prev_seq = transition.place.map_or(0, |place| place.last_seq);
        for (seq, entry) in (next_seq..).zip(&transition.rows.entries) {
            let (salt, body) = match &entry.body {
                Body::Kept { salt, text } => (Some(salt), Some(text)),
                Body::Erased { .. } => (None, None),
            };
            self.entry.execute(params![
                seq,
                prev_seq,
                entry.stream.teamspace.as_str(),
                subject,
                entry.position,
                entry.name,
                entry.version,
                entry.actor,
                entry.at.as_millis(),
                salt,
                body,
                entry.hash,
            ])?;
            prev_seq = seq;
        }
        Ok(prev_seq)
    }

    fn write_handoff(
        &mut self,
        transition: &RawTransition,
        handoff: &Handoff,
        last_seq: u64,
    ) -> Result<RawPlace> {
        let rows = transition.rows.as_ref();
        let last = rows.entries.last().expect("a commit has entries");
        let status = handoff.status().as_str();
        if let Some(place) = transition.place {
            self.update.execute(params![
                place.row,
                status,
                handoff.resolved_at().map(|at| at.as_millis()),
                last.position,
                last_seq,
                last.hash,
                last.at.as_millis(),
                rows.state_text,
                handoff.title(),
            ])?;
            return Ok(RawPlace { last_seq, ..place });
        }
        let row = self.insert.insert(params![
            rows.stream.teamspace.as_str(),
            transition.id,
            format!("thread-{}", transition.id),
            transition.task_id,
            handoff.from().as_str(),
            handoff.to().map(|id| id.as_str()),
            handoff.title(),
            status,
            handoff.initiated_at().as_millis(),
            last_seq,
            last.position,
            last_seq,
            last.hash,
            last.at.as_millis(),
            rows.state_text,
        ])?;
        Ok(RawPlace { row, last_seq })
    }
}
