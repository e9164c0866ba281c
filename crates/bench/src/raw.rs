//! The raw limit: the rows that the engine writes for a walk, without the engine.

use std::path::Path;
use std::sync::{Arc, Mutex, Weak};

use anyhow::{Context, Result, ensure};
use engine::Engine;
use engine::ports::clock::{Clock, SystemClock};
use engine::ports::ids::{Ids, RandomIds, SeededIds};
use engine::ports::outbox::{Claim, Claimed, OutboxList, Outstanding};
use engine::ports::store::{
    Answer, Commit, Count, Due, Entries, KeyScope, List, Listed, Listener, OldestMessages, Receipt,
    RecordedOutcome, Sealed, Sequenced, Snapshot, Store, StoreWrite, StoredNames,
};
use engine::ports::transfers::{TransferList, TransferRow};
use protocol::ids::{AgentId, TeamspaceId};
use protocol::ledger::{Stream, Subject};
use protocol::step::HoldState;
use protocol::time::Time;
use store::Memory;
use store::sqlite::raw_limit::{RawTransition, RawWriter};

use super::load::{Meter, Seen, Walker, Window, drive};
use super::usage::Process;
use super::work::{EngineWalker, cheap_ids, new_task_id, register_agents};

/// The commits of one walk, in order. Their rows are written again for every handoff.
pub type Rows = Arc<[Arc<Commit>]>;

/// Walks once over a store that records its commits.
pub async fn record_rows() -> Result<Rows> {
    let recorder = Recorder::default();
    let commits = Arc::clone(&recorder.commits);
    let engine = Engine::new(Arc::new(recorder), Arc::new(SystemClock), Arc::new(RandomIds));
    register_agents(&engine).await?;
    EngineWalker::new(engine)?.walk(&mut Meter::idle()).await?;
    let commits = commits.lock().expect("nothing panics while holding the commits");
    let is_handoff = |commit: &&Commit| matches!(commit.stream.subject, Subject::Handoff(_));
    let rows: Rows = commits.iter().filter(is_handoff).cloned().map(Arc::new).collect();
    ensure!(rows.len() == 5, "a walk is five transitions, and {} were recorded", rows.len());
    Ok(rows)
}

/// Lets bare producers write for a while. Blocks; they have a thread of their own, as the load
/// generator of the server has.
pub fn measure(folder: &Path, rows: &Rows, n_callers: usize, window: Window) -> Result<Seen> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let writer = Arc::new(RawWriter::open(folder).context("cannot open the bare database")?);
    let walkers = (0..n_callers)
        .map(|_| RawWalker {
            writer: Arc::clone(&writer),
            rows: Arc::clone(rows),
            ids: cheap_ids(),
        })
        .collect();
    runtime.block_on(drive(walkers, window, Process::Own))
}

struct RawWalker {
    writer: Arc<RawWriter>,
    rows: Rows,
    ids: SeededIds,
}

impl Walker for RawWalker {
    async fn walk(&mut self, meter: &mut Meter) -> Result<()> {
        let now = SystemClock.now();
        let id = self.ids.uuid(now).to_string();
        let task_id = new_task_id(&self.ids, now);
        let mut place = None;
        for rows in self.rows.iter() {
            let transition = RawTransition {
                rows: Arc::clone(rows),
                id: id.clone(),
                task_id: task_id.clone(),
                key: self.ids.uuid(SystemClock.now()).to_string(),
                place,
            };
            let writing = async { anyhow::Ok(self.writer.write(transition).await?) };
            place = Some(meter.time(writing).await?);
        }
        Ok(())
    }
}

/// A store in memory that keeps every commit it was given.
#[derive(Debug, Default)]
struct Recorder {
    inner: Memory,
    commits: Arc<Mutex<Vec<Commit>>>,
}

impl Store for Recorder {
    fn commit(&self, commit: Commit) -> Receipt {
        self.commits.lock().expect("nothing panics in here").push(commit.clone());
        self.inner.commit(commit)
    }

    fn commit_together(&self, commits: Vec<Commit>) -> Receipt {
        self.commits.lock().expect("nothing panics in here").extend(commits.iter().cloned());
        self.inner.commit_together(commits)
    }

    fn listen(&self, listener: Weak<dyn Listener>) {
        self.inner.listen(listener);
    }

    fn write(&self, write: StoreWrite) -> Answer<()> {
        self.inner.write(write)
    }

    fn sealed(&self) -> Answer<Option<Sealed>> {
        self.inner.sealed()
    }

    fn place(&self, follower: &str) -> Answer<u64> {
        self.inner.place(follower)
    }

    fn load(&self, stream: &Stream) -> Answer<Option<Snapshot>> {
        self.inner.load(stream)
    }

    fn token_stream(&self, secret_hash: &str) -> Answer<Option<Stream>> {
        self.inner.token_stream(secret_hash)
    }

    fn hold(&self, teamspace: &TeamspaceId, key: &str) -> Answer<HoldState> {
        self.inner.hold(teamspace, key)
    }

    fn names(&self, of: StoredNames, limit: usize) -> Answer<Vec<String>> {
        self.inner.names(of, limit)
    }

    fn transfers(&self, list: TransferList) -> Answer<Vec<TransferRow>> {
        self.inner.transfers(list)
    }

    fn last_rings(
        &self,
        teamspace: &TeamspaceId,
        after: Option<&AgentId>,
        limit: usize,
    ) -> Answer<Vec<(AgentId, Time)>> {
        self.inner.last_rings(teamspace, after, limit)
    }

    fn document(&self, stream: &Stream, hash: &str) -> Answer<Option<String>> {
        self.inner.document(stream, hash)
    }

    fn document_bytes(&self, seq: u64) -> Answer<u64> {
        self.inner.document_bytes(seq)
    }

    fn outcome(&self, scope: &KeyScope) -> Answer<Option<RecordedOutcome>> {
        self.inner.outcome(scope)
    }

    fn read_entries(&self, of: Entries, limit: usize) -> Answer<Vec<Sequenced>> {
        self.inner.read_entries(of, limit)
    }

    fn count(&self, teamspace: &TeamspaceId, of: Count) -> Answer<usize> {
        self.inner.count(teamspace, of)
    }

    fn newest(&self) -> Answer<u64> {
        self.inner.newest()
    }

    fn due(&self, now: Time, limit: usize) -> Answer<Vec<Due>> {
        self.inner.due(now, limit)
    }

    fn list(&self, list: List) -> Answer<Vec<Listed>> {
        self.inner.list(list)
    }

    fn oldest_messages(&self, oldest: OldestMessages) -> Answer<Vec<Listed>> {
        self.inner.oldest_messages(oldest)
    }

    fn claim(&self, claim: Claim) -> Answer<Vec<Claimed>> {
        self.inner.claim(claim)
    }

    fn outstanding(
        &self,
        teamspace: &TeamspaceId,
        list: OutboxList,
        limit: usize,
    ) -> Answer<Vec<Outstanding>> {
        self.inner.outstanding(teamspace, list, limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_walk_writes_what_we_say_it_writes() {
        let rows = record_rows().await.unwrap();
        let package = rows[0].document.as_ref().unwrap().text.len();
        assert!((1_900..2_300).contains(&package), "{package} bytes");
        let count = |of: fn(&Commit) -> usize| rows.iter().map(|row| of(row)).collect::<Vec<_>>();
        assert_eq!(count(|row| row.entries.len()), [1, 2, 1, 1, 1]);
        assert_eq!(count(|row| usize::from(row.key.is_some())), [1, 1, 1, 1, 1]);
        assert_eq!(count(|row| row.holds.len()), [1, 0, 1, 1, 0]);
        assert_eq!(count(|row| row.arm.len()), [1, 1, 1, 0, 0]);
        assert_eq!(count(|row| row.disarm.len()), [0, 1, 1, 1, 0]);
    }

    #[test]
    fn the_bare_writer_writes() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let rows = runtime.block_on(record_rows()).unwrap();
        // A busy disk may write nothing in a short time.
        let windows = (0..8).map(|doubled| std::time::Duration::from_millis(50 << doubled));
        let measured = windows.map(|window| {
            let folder = tempfile::tempdir().unwrap();
            let window = Window { warm_up: window, measured: window };
            (measure(folder.path(), &rows, 4, window).unwrap(), folder)
        });
        let written = measured.into_iter().find(|(seen, _)| seen.per_second > 0.0);
        let (_, folder) = written.expect("something is written in six seconds");
        let kept = store::sqlite::ReadOnly::open(folder.path()).unwrap();
        // Six entries to a walk, and every walk that was begun was ended.
        assert_eq!(kept.newest().unwrap() % 6, 0);
    }
}
