//! The road under pressure: races, retries, callers that go away, followers that fall behind,
//! deadlines across restarts, credentials that end. Everything runs on the engine, on a store that
//! a restart can reopen.

mod access;
mod deadlines;
mod feed;
mod graphs;
mod idempotency;
mod messages;
mod outbox;
mod presence;
mod races;
mod sessions;
mod settings;
mod silence;
mod streaming;

use std::sync::Arc;

use engine::Engine;
use engine::clock::ManualClock;
use engine::ids::SeededIds;
use engine::port::Sequenced;
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
    engine: Engine,
}

impl Server {
    fn start() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let clock = Arc::new(ManualClock::starting_at(support::start()));
        let ids = Arc::new(SeededIds::new(7));
        let store = Sqlite::open(folder.path()).expect("a new database");
        let engine = Engine::new(Arc::new(store), clock.clone(), ids.clone());
        Self { folder, clock, ids, engine }
    }

    async fn with_agents(names: &[&str]) -> Self {
        let server = Self::start();
        support::register(&server.engine, names).await;
        server
    }

    /// Nothing but the folder, the clock and the source of ids survives.
    fn restart(self) -> Self {
        let Self { folder, clock, ids, engine } = self;
        drop(engine);
        let store = Sqlite::open(folder.path()).expect("everybody has let go of the database");
        let engine = Engine::new(Arc::new(store), clock.clone(), ids.clone());
        Self { folder, clock, ids, engine }
    }

    async fn ledger(&self) -> Vec<Sequenced> {
        let read = self.engine.store().entries(0, usize::MAX).await;
        read.expect("the ledger can be read")
    }
}

/// The names of the events of a stream, oldest first. The chain is checked on the way.
async fn story(engine: &Engine, stream: &Stream) -> Vec<String> {
    let mut entries = engine.store().history(stream, u64::MAX, usize::MAX).await.expect("history");
    entries.reverse();
    let mut head: Hash = GENESIS;
    for (position, kept) in (1..).zip(&entries) {
        assert_eq!(kept.entry.position, position, "positions have no gaps");
        assert_eq!(kept.entry.hash, kept.entry.expected_hash(&head), "the chain holds");
        head = kept.entry.hash;
    }
    entries.into_iter().map(|kept| kept.entry.name.into_owned()).collect()
}
