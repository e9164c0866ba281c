//! The engine under pressure: races, retries, callers that disconnect, followers that fall behind,
//! deadlines across restarts, credentials that end. Everything runs on the engine, on a store that
//! a restart can reopen.

mod access;
mod deadlines;
mod feed;
mod graphs;
mod idempotency;
mod long_queue;
mod lost_questions;
mod messages;
mod notice_readers;
mod outbox;
mod presence;
mod races;
mod ranges;
mod recalls;
mod sessions;
mod settings;
mod silence;
mod silent_bots;
mod streaming;
mod turns;

use std::sync::{Arc, Mutex, mpsc};

use engine::Engine;
use engine::ports::clock::ManualClock;
use engine::ports::ids::SeededIds;
use engine::ports::store::{Listener, Sequenced, Store};
use protocol::canonical::Hash;
use protocol::ledger::{GENESIS, Stream};
use store::Sqlite;
use tempfile::TempDir;

use crate::support;

/// A server's folder, and an engine on it that can be stopped and started again.
struct Server {
    folder: TempDir,
    clock: Arc<ManualClock>,
    ids: Arc<SeededIds>,
    store: Arc<dyn Store>,
    engine: Engine,
}

/// Blocks the step after a commit, and so the commits behind it, until it is opened.
struct Gate {
    open: mpsc::SyncSender<()>,
    reached: tokio::sync::mpsc::Receiver<()>,
    _keeper: Arc<Keeper>,
}

/// Is told of commits before all other observers.
struct Keeper {
    open: Mutex<mpsc::Receiver<()>>,
    reached: tokio::sync::mpsc::Sender<()>,
}

/// More than any test lets through.
const GATED_COMMITS_MAX: usize = 16;

impl Listener for Keeper {
    fn committed(&self, _: Vec<Sequenced>) {
        self.reached.try_send(()).expect("the test waits for it");
        self.open.lock().expect("one at a time").recv().expect("the test opens it");
    }
}

impl Gate {
    fn open(&self, n_commits: usize) {
        for _ in 0..n_commits {
            self.open.try_send(()).expect("room for all that a test lets through");
        }
    }

    async fn reached(&mut self, n_commits: usize) {
        for _ in 0..n_commits {
            self.reached.recv().await.expect("the keeper is kept");
        }
    }
}

impl Server {
    fn start() -> Self {
        Self::on(|_| {}).0
    }

    /// A server whose commits are blocked, each by itself.
    fn gated() -> (Self, Gate) {
        Self::on(|store| {
            let (open, opened) = mpsc::sync_channel(GATED_COMMITS_MAX);
            let (reach, reached) = tokio::sync::mpsc::channel(GATED_COMMITS_MAX);
            let keeper = Arc::new(Keeper { open: Mutex::new(opened), reached: reach });
            store.listen(Arc::<Keeper>::downgrade(&keeper));
            Gate { open, reached, _keeper: keeper }
        })
    }

    fn on<T>(prepare: impl FnOnce(&Sqlite) -> T) -> (Self, T) {
        let folder = TempDir::new().expect("a temporary folder");
        let clock = Arc::new(ManualClock::starting_at(support::start()));
        let ids = Arc::new(SeededIds::new(7));
        let store = Sqlite::open(folder.path()).expect("a new database");
        let prepared = prepare(&store);
        let store: Arc<dyn Store> = Arc::new(store);
        let engine = Engine::new(store.clone(), clock.clone(), ids.clone());
        (Self { folder, clock, ids, store, engine }, prepared)
    }

    async fn with_agents(names: &[&str]) -> Self {
        let server = Self::start();
        support::register(&server.engine, names).await;
        server
    }

    /// Nothing but the folder, the clock and the source of ids survives.
    fn restart(self) -> Self {
        let Self { folder, clock, ids, store, engine } = self;
        drop((store, engine));
        let store = Sqlite::open(folder.path()).expect("everybody has let go of the database");
        let store: Arc<dyn Store> = Arc::new(store);
        let engine = Engine::new(store.clone(), clock.clone(), ids.clone());
        Self { folder, clock, ids, store, engine }
    }

    async fn ledger(&self) -> Vec<Sequenced> {
        support::all_after(&*self.store, 0).await.expect("the ledger can be read")
    }
}

/// The names of the events of a stream, oldest first. The chain is checked on the way.
async fn story(engine: &Engine, stream: &Stream) -> Vec<String> {
    let mut entries = engine.read().history(stream, u64::MAX, usize::MAX).await.expect("history");
    entries.reverse();
    let mut head: Hash = GENESIS;
    for (position, kept) in (1..).zip(&entries) {
        assert_eq!(kept.entry.position, position, "positions have no gaps");
        assert_eq!(kept.entry.hash, kept.entry.expected_hash(&head), "the chain holds");
        head = kept.entry.hash;
    }
    entries.into_iter().map(|kept| kept.entry.name.into_owned()).collect()
}
