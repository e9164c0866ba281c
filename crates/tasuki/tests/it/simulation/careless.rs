//! Stores that break one promise each, to show that the simulation notices.

use std::pin::pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Waker};

use engine::ports::outbox::{Claim, Claimed, OutboxList, Outstanding};
use engine::ports::store::{
    Answer, Commit, Count, Due, Entries, KeyScope, List, Listed, Listener, OldestMessages, Receipt,
    RecordedOutcome, Sealed, Sequenced, Snapshot, Store, StoreWrite, StoredNames,
};
use engine::ports::transfers::{TransferList, TransferRow};
use protocol::ids::{AgentId, TeamspaceId};
use protocol::ledger::Stream;
use protocol::step::HoldState;
use protocol::time::Time;
use store::Memory;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// Overwrites any existing hold.
    IgnoresHolds,
    /// Writes no idempotency keys.
    ForgetsKeys,
    /// Now and then damages the hash of an entry.
    DamagesHashes,
    /// Acknowledges a commit that is gone after the next crash.
    ForgetsTheLastCommit,
}

#[derive(Debug, Clone)]
pub struct Careless {
    flaw: Flaw,
    memory: Arc<Mutex<Memory>>,
    /// All commits, to rebuild the memory without its last commit.
    commits: Arc<Mutex<Vec<Commit>>>,
}

impl Careless {
    pub fn new(memory: Memory, flaw: Flaw) -> Self {
        Self { flaw, memory: Arc::new(Mutex::new(memory)), commits: Arc::default() }
    }

    fn memory(&self) -> Memory {
        self.memory.lock().expect("nothing panics while holding it").clone()
    }

    pub fn crash(&self) {
        if self.flaw != Flaw::ForgetsTheLastCommit {
            return;
        }
        let mut commits = self.commits.lock().expect("nothing panics while holding it");
        commits.pop();
        let memory = Memory::default();
        for commit in commits.iter() {
            now(memory.commit(commit.clone())).expect("it was committed before");
        }
        *self.memory.lock().expect("nothing panics while holding it") = memory;
    }
}

/// The answer of a store in memory, which never waits.
fn now<T>(answer: impl Future<Output = T>) -> T {
    match pin!(answer).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("memory answers at once"),
    }
}

impl Store for Careless {
    fn commit(&self, mut commit: Commit) -> Receipt {
        let memory = self.memory();
        match self.flaw {
            Flaw::IgnoresHolds => {
                for hold in &mut commit.holds {
                    let current = now(memory.hold(&commit.stream.teamspace, &hold.key));
                    hold.expected = current.expect("memory has an answer");
                }
            }
            Flaw::ForgetsKeys => commit.key = None,
            Flaw::DamagesHashes => {
                let is_unlucky = now(memory.newest()).is_ok_and(|newest| newest % 100 == 99);
                for entry in commit.entries.iter_mut().filter(|_| is_unlucky) {
                    entry.hash[0] ^= 1;
                }
            }
            Flaw::ForgetsTheLastCommit => {}
        }
        let committed = now(memory.commit(commit.clone()));
        if committed.is_ok() {
            self.commits.lock().expect("nothing panics while holding it").push(commit);
        }
        Box::pin(std::future::ready(committed))
    }

    fn commit_together(&self, commits: Vec<Commit>) -> Receipt {
        let memory = self.memory();
        let committed = now(memory.commit_together(commits.clone()));
        if committed.is_ok() {
            self.commits.lock().expect("nothing panics while holding it").extend(commits);
        }
        Box::pin(std::future::ready(committed))
    }

    fn listen(&self, listener: Weak<dyn Listener>) {
        self.memory().listen(listener);
    }

    fn write(&self, write: StoreWrite) -> Answer<()> {
        self.memory().write(write)
    }

    fn sealed(&self) -> Answer<Option<Sealed>> {
        self.memory().sealed()
    }

    fn place(&self, follower: &str) -> Answer<u64> {
        self.memory().place(follower)
    }

    fn load(&self, stream: &Stream) -> Answer<Option<Snapshot>> {
        self.memory().load(stream)
    }

    fn token_stream(&self, secret_hash: &str) -> Answer<Option<Stream>> {
        self.memory().token_stream(secret_hash)
    }

    fn hold(&self, teamspace: &TeamspaceId, key: &str) -> Answer<HoldState> {
        self.memory().hold(teamspace, key)
    }

    fn names(&self, of: StoredNames, limit: usize) -> Answer<Vec<String>> {
        self.memory().names(of, limit)
    }

    fn transfers(&self, list: TransferList) -> Answer<Vec<TransferRow>> {
        self.memory().transfers(list)
    }

    fn last_rings(
        &self,
        teamspace: &TeamspaceId,
        after: Option<&AgentId>,
        limit: usize,
    ) -> Answer<Vec<(AgentId, Time)>> {
        self.memory().last_rings(teamspace, after, limit)
    }

    fn document(&self, stream: &Stream, hash: &str) -> Answer<Option<String>> {
        self.memory().document(stream, hash)
    }

    fn document_bytes(&self, seq: u64) -> Answer<u64> {
        self.memory().document_bytes(seq)
    }

    fn outcome(&self, scope: &KeyScope) -> Answer<Option<RecordedOutcome>> {
        self.memory().outcome(scope)
    }

    fn read_entries(&self, of: Entries, limit: usize) -> Answer<Vec<Sequenced>> {
        self.memory().read_entries(of, limit)
    }

    fn count(&self, teamspace: &TeamspaceId, of: Count) -> Answer<usize> {
        self.memory().count(teamspace, of)
    }

    fn newest(&self) -> Answer<u64> {
        self.memory().newest()
    }

    fn due(&self, now: Time, limit: usize) -> Answer<Vec<Due>> {
        self.memory().due(now, limit)
    }

    fn list(&self, list: List) -> Answer<Vec<Listed>> {
        self.memory().list(list)
    }

    fn oldest_messages(&self, oldest: OldestMessages) -> Answer<Vec<Listed>> {
        self.memory().oldest_messages(oldest)
    }

    fn claim(&self, claim: Claim) -> Answer<Vec<Claimed>> {
        self.memory().claim(claim)
    }

    fn outstanding(
        &self,
        teamspace: &TeamspaceId,
        list: OutboxList,
        limit: usize,
    ) -> Answer<Vec<Outstanding>> {
        self.memory().outstanding(teamspace, list, limit)
    }
}
