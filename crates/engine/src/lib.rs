//! The one road that every change takes, whichever caller asks, and the loops that run beside it.
//!
//! The road knows streams, commands and changes, but not what a handoff is: the rules are in
//! `protocol`. The engine does not know how a store works: that is behind [`ports::store::Store`].
//! It does not know HTTP. Read in this order:
//!
//! 1. [`ports`]: what the engine needs from outside: a store, a clock, randomness.
//! 2. [`road`]: `submit`, and how commands on one stream take turns.
//! 3. [`ledger`]: following it, sealing it, resuming after lost entries, erasing.
//!    [`Engine::ledger`].
//! 4. [`loops`]: what the server does by itself. [`Engine::queues`], [`Engine::outbox`].
//! 5. [`read`]: reading, who may, and what a decision looks at. [`Engine::read`],
//!    [`Engine::access`].
//! 6. [`files`]: the bytes of files, which lie beside the ledger. [`Engine::files`].
//! 7. [`usage`]: what each caller uses, against its quotas. [`Engine::usage`].
//! 8. [`aaep`]: what agents announce, who hears it, and the answers. [`Engine::sessions`],
//!    [`Engine::listeners`].

pub mod aaep;
pub mod files;
mod heavy_lanes;
pub mod ledger;
pub mod loops;
pub mod ports;
pub mod read;
pub mod road;
pub mod slow_thread;
mod turns;
pub mod usage;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64};

use protocol::checkpoint::Signer;
use protocol::quota::Limits;
use protocol::row_mac::RowKey;
use protocol::sealed_cursor::CursorKey;
use protocol::session::reply_token::ReplyKey;
use protocol::step::EffectKind;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use aaep::{announce, listening, narrator};
use ledger::feed::{Caches, Feed};
use ledger::seal::CheckpointSink;
use ledger::{fork, seal};
use loops::retention::Retention;
use loops::{
    connections, deadlines, destinations, dispatch, notices, outbox, outbox_pools, retention,
    webhooks,
};
use ports::adapter::Adapter;
use ports::clock::Clock;
use ports::ids::Ids;
use ports::store::Store;
use read::{access, graphs, settings};
use road::slots::Slots;
use usage::Usage;

/// A cheap handle; clones share everything.
#[derive(Clone)]
pub struct Engine {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    slots: Arc<Slots>,
    feed: Arc<Feed>,
    access: Arc<access::KnownBearers>,
    settings: Arc<settings::KnownSettings>,
    graphs: Arc<graphs::KnownGraphs>,
    signal_reader: Arc<dyn graphs::SignalReader>,
    completeness: Arc<fork::Completeness>,
    /// Whether the last write found the disk full.
    is_disk_full: Arc<AtomicBool>,
    /// When a write was last tried to see whether the disk is full, in milliseconds.
    write_tried_at: Arc<AtomicI64>,
    connections: Arc<connections::Connections>,
    counts: Arc<Counts>,
    usage: Arc<Usage>,
    flows: Arc<dispatch::Flows>,
    roster: Arc<dispatch::Roster>,
    /// Rung when there is a new effect to carry out.
    outbox_bells: Arc<outbox_pools::Bells>,
    outside: Arc<outbox::CurrentAdapter>,
    destinations: Arc<destinations::Destinations>,
    reply_key: Arc<ReplyKey>,
    cursor_key: Arc<CursorKey>,
    row_key: Option<Arc<RowKey>>,
    asked: Arc<listening::AnswerableQuestions>,
    announcing: Arc<announce::Announcing>,
    webhooks: Arc<webhooks::Webhooks>,
    notices: Arc<read::notices::NoticeIndex>,
    /// Where the bytes of files are, if there is such a place.
    shelf: Option<Arc<files::Shelf>>,
}

/// What the metrics page shows about the road.
#[derive(Debug, Default)]
pub struct Counts {
    pub committed: std::sync::atomic::AtomicU64,
    pub rejected: std::sync::atomic::AtomicU64,
    pub retried: std::sync::atomic::AtomicU64,
    pub failed: std::sync::atomic::AtomicU64,
    pub escalated: std::sync::atomic::AtomicU64,
    /// Rows that were read and that this server did not write.
    pub rows_refused: std::sync::atomic::AtomicU64,
    /// Rows that were checked in the background, and what was wrong with them.
    pub rows_scrubbed: std::sync::atomic::AtomicU64,
    pub scrub_findings: std::sync::atomic::AtomicU64,
    /// Checkpoints that the witness did not take, and how many entries it does not know of since.
    pub witness_failures: std::sync::atomic::AtomicU64,
    pub witness_lag: std::sync::atomic::AtomicU64,
    /// The same of the places where the ledger is sealed: the data folder, and a witness folder.
    pub seal_lag: std::sync::atomic::AtomicU64,
}

/// The loops of a running engine, and the way to stop them.
#[derive(Debug)]
pub struct Loops {
    /// Stopped first, so that their last writes are sealed with the rest.
    notices: Loop,
    others: Loop,
}

/// Wakes the followers of teamspaces that have many, until the server stops.
async fn wake_followers(feed: Arc<Feed>, mut stopped: watch::Receiver<bool>) {
    tokio::select! {
        () = feed.wake_late() => {}
        _ = stopped.wait_for(|stopped| *stopped) => {}
    }
}

/// Tasks that end together.
#[derive(Debug)]
struct Loop {
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("feed", &self.feed).finish_non_exhaustive()
    }
}

impl Engine {
    /// An engine without loops: commands and queries work, deadlines do not fire by themselves.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, ids: Arc<dyn Ids>) -> Self {
        let settings = Arc::<settings::KnownSettings>::default();
        let seed = ids.bytes();
        let reply_key = Arc::new(ReplyKey::from_seed(&seed));
        let cursor_key = Arc::new(CursorKey::from_seed(&seed));
        let graphs = Arc::<graphs::KnownGraphs>::default();
        let access = Arc::<access::KnownBearers>::default();
        let webhooks = Arc::<webhooks::Webhooks>::default();
        let caches = Caches {
            access: Arc::clone(&access),
            settings: Arc::clone(&settings),
            graphs: Arc::clone(&graphs),
            webhooks: Arc::clone(&webhooks),
        };
        let feed = Arc::new(Feed::new(Arc::clone(&store), caches));
        Self {
            store,
            clock,
            ids,
            slots: Arc::default(),
            feed,
            access,
            settings,
            graphs,
            signal_reader: Arc::new(graphs::Lexicon),
            completeness: Arc::default(),
            is_disk_full: Arc::default(),
            write_tried_at: Arc::default(),
            connections: Arc::default(),
            counts: Arc::default(),
            usage: Arc::new(Usage::new(Limits::NONE)),
            flows: Arc::default(),
            roster: Arc::default(),
            outbox_bells: Arc::default(),
            outside: Arc::default(),
            destinations: Arc::default(),
            reply_key,
            cursor_key,
            row_key: None,
            asked: Arc::default(),
            announcing: Arc::default(),
            webhooks,
            notices: Arc::default(),
            shelf: None,
        }
    }

    /// Replaces the built-in word lists that score how a message sounds.
    pub fn with_signal_reader(mut self, signal_reader: Arc<dyn graphs::SignalReader>) -> Self {
        self.signal_reader = signal_reader;
        self
    }

    /// Makes the tokens of questions with a key that outlives the process. Without one, tokens that
    /// were issued before a restart are invalid after it.
    pub fn asking_with(mut self, key: ReplyKey) -> Self {
        self.reply_key = Arc::new(key);
        self
    }

    /// Makes cursors with a key that outlives the process. Without one, those that were given out
    /// before a restart are refused after it.
    pub fn sealing_cursors_with(mut self, key: CursorKey) -> Self {
        self.cursor_key = Arc::new(key);
        self
    }

    /// Authenticates the rows of the store: those with another MAC, or none, are not believed.
    /// Without a key, rows are written without MACs, and all are believed.
    pub fn authenticating_rows_with(mut self, key: RowKey) -> Self {
        self.row_key = Some(Arc::new(key));
        self
    }

    /// Limits what each caller may use. Without this, everything is counted and nothing refused.
    pub fn with_quotas(mut self, limits: Limits) -> Self {
        self.usage = Arc::new(Usage::new(limits));
        self
    }

    /// What each teamspace and principal uses.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// The key with which cursors are made and read.
    pub fn cursor_key(&self) -> &CursorKey {
        &self.cursor_key
    }

    /// Starts the loops: deadlines, notices, connections, dispatch, the narrator, webhooks, the
    /// outbox, retention, and the sealing of the ledger.
    pub fn start(
        &self,
        signer: Signer,
        sink: Arc<dyn CheckpointSink>,
        adapter: Arc<dyn Adapter>,
        retention: Retention,
    ) -> Loops {
        self.outside.set(Arc::clone(&adapter));
        let (stop, stopped) = watch::channel(false);
        let tasks = vec![
            tokio::spawn(wake_followers(Arc::clone(&self.feed), stopped.clone())),
            tokio::spawn(announce::run(self.clone(), stopped.clone())),
            tokio::spawn(notices::run(self.clone(), stopped.clone())),
            tokio::spawn(read::notices::run(self.clone(), stopped.clone())),
            tokio::spawn(connections::run(self.clone(), stopped.clone())),
            tokio::spawn(dispatch::run(self.clone(), stopped.clone())),
            tokio::spawn(narrator::run(self.clone(), stopped.clone())),
            tokio::spawn(webhooks::run(self.clone(), Arc::clone(&adapter), stopped.clone())),
            tokio::spawn(files::removing::run(self.clone(), stopped.clone())),
            tokio::spawn(retention::run(self.clone(), retention, stopped)),
        ];
        let notices = Loop { stop, tasks };
        let (stop, stopped) = watch::channel(false);
        let tasks = vec![
            tokio::spawn(deadlines::run(self.clone(), stopped.clone())),
            tokio::spawn(seal::run(self.clone(), signer, sink, stopped.clone())),
        ];
        let outside = EffectKind::ALL.map(|kind| {
            let adapter = Arc::clone(&adapter);
            tokio::spawn(outbox::run(self.clone(), kind, adapter, stopped.clone()))
        });
        let tasks = tasks.into_iter().chain(outside).collect();
        Loops { notices, others: Loop { stop, tasks } }
    }

    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// How fast the queues move.
    pub fn flows(&self) -> &dispatch::Flows {
        &self.flows
    }
}

impl Loops {
    /// Ends the loops; the last checkpoint is written before this returns.
    pub async fn stop(self) {
        self.notices.end().await;
        self.others.end().await;
    }
}

impl Loop {
    async fn end(self) {
        self.stop.send_replace(true);
        for task in self.tasks {
            if let Err(error) = task.await {
                tracing::error!(%error, "a loop of the engine did not end cleanly");
            }
        }
    }
}
