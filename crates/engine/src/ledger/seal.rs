//! Sealing: the Merkle root over all entries so far, signed, kept in the store and handed to a sink
//! outside of it. An attacker who rewrites sealed entries in the store is detected.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use protocol::checkpoint::{Checkpoint, Signer, Verifier};
use protocol::fork::Lost;
use protocol::merkle::Edge;
use protocol::time::Span;
use tokio::sync::watch;

use crate::Engine;
use crate::ledger::behind::{Behind, Doubt};
use crate::ledger::feed::Follower;
use crate::ports::store::{Sealed, StoreError, StoreWrites};

/// The newest entries may be unsealed for this long.
const LAG_MAX: Span = Span::from_millis(1_000);

/// They are sealed earlier if there are this many.
const LAG_ENTRIES_MAX: u64 = 1_000;

/// A place for checkpoints outside the store.
pub trait CheckpointSink: Send + Sync + 'static {
    /// Returns once the note is durable there.
    fn keep(&self, note: &str) -> Result<(), NotKept>;

    /// An operator has declared that what is there may be replaced.
    fn accept(&self) {}
}

/// Why a checkpoint was not kept.
#[derive(Debug, thiserror::Error)]
pub enum NotKept {
    #[error("the checkpoint cannot be written: {0}")]
    Failed(#[from] std::io::Error),
    /// The place has a note that this server did not write: another one runs on a copy of the
    /// ledger, or the note was changed.
    #[error("the witness has a checkpoint that this server did not write")]
    Replaced(String),
    /// The place has a checkpoint of more entries than the one that was sent. It tells only the
    /// size.
    #[error("the witness has a checkpoint of {size} entries, which is a later one")]
    Ahead { size: u64 },
    /// The place has a checkpoint of this size that is not one of this ledger.
    #[error("the witness has a checkpoint of {size} entries that this ledger does not continue")]
    Split { size: u64 },
}

/// Why a seal failed.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    NotKept(#[from] NotKept),
}

/// Seals as the ledger grows.
pub struct Sealer {
    engine: Engine,
    signer: Signer,
    origin: String,
    sink: Arc<dyn CheckpointSink>,
    edge: Edge,
    /// The size that both the store and the sink are known to have.
    sealed_size: u64,
    follower: Follower,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sealer").field("size", &self.edge.size()).finish_non_exhaustive()
    }
}

pub(crate) async fn run(
    engine: Engine,
    signer: Signer,
    sink: Arc<dyn CheckpointSink>,
    mut stopped: watch::Receiver<bool>,
) {
    let was_behind = engine.ledger().behind().is_some();
    let watched = engine.clone();
    let counts = watched.counts();
    tokio::select! {
        biased;
        () = engine.ledger().until_not_behind() => {}
        // The checkpoint outside is the only witness of what was lost, so it stays.
        () = until_stopped(&mut stopped) => return,
    }
    let mut sealer = match Sealer::resume(engine, signer, sink).await {
        Ok(sealer) => sealer,
        Err(error) => {
            counts.seal_lag.store(1, Ordering::Relaxed);
            tracing::error!(%error, "the ledger cannot be sealed");
            return;
        }
    };
    // The first checkpoint after a fork should vouch for its declaration, and one of a tree that is
    // built again must not be smaller than those before.
    while was_behind || sealer.edge.size() == 0 {
        let Err(error) = sealer.drain().await else { break };
        counts.seal_lag.store(1, Ordering::Relaxed);
        tracing::error!(%error, "the ledger could not be read for sealing");
        tokio::select! {
            () = sealer.engine.clock.sleep(LAG_MAX) => {}
            () = until_stopped(&mut stopped) => return,
        }
    }
    loop {
        sealer.seal_or_say_why().await;
        tokio::select! {
            () = sealer.wait() => {}
            () = until_stopped(&mut stopped) => break,
        }
        if sealer.engine.ledger().behind().is_some() {
            tokio::select! {
                () = sealer.engine.ledger().until_not_behind() => {}
                () = until_stopped(&mut stopped) => return,
            }
        }
    }
    if let Err(error) = sealer.drain().await {
        tracing::error!(%error, "the last entries could not be sealed");
    }
    sealer.seal_or_say_why().await;
}

/// The edge of the tree in the store, if it is the one that was signed with this key.
pub fn signed_edge(sealed: &Sealed, verifier_key: &str) -> Option<Edge> {
    let edge = Edge::from_bytes(sealed.size, &sealed.edge)?;
    let signed = Verifier::new(verifier_key).ok()?.open(&sealed.note).ok()?;
    ((signed.size, signed.root) == (edge.size(), edge.root())).then_some(edge)
}

async fn until_stopped(stopped: &mut watch::Receiver<bool>) {
    // A sender that is gone cannot ask for more work either.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

impl Sealer {
    /// Continues after the last seal, and hands that one to the sink again: the process may have
    /// ended before the sink had it.
    pub async fn resume(
        engine: Engine,
        signer: Signer,
        sink: Arc<dyn CheckpointSink>,
    ) -> Result<Self, StoreError> {
        let newest = engine.store.newest().await?;
        let edge = match engine.store.sealed().await? {
            // Only after a fork: entries of the tree are gone, so it is built again.
            Some(sealed) if sealed.size > newest => Edge::empty(),
            Some(sealed) => signed_edge(&sealed, &signer.verifier_key()).unwrap_or_else(|| {
                tracing::error!("the seal in the database was changed; it is made again");
                Edge::empty()
            }),
            None => Edge::empty(),
        };
        let follower = engine.ledger().follow(edge.size());
        let origin = signer.key_name().to_owned();
        Ok(Self { engine, signer, origin, sink, edge, sealed_size: 0, follower })
    }

    /// Waits until it is time to seal. After a failure it does not wait for more entries, but takes
    /// those that there are: a witness that is away must not keep the others from new checkpoints.
    async fn wait(&mut self) {
        if self.edge.size() != self.sealed_size {
            self.engine.clock.sleep(LAG_MAX).await;
            if let Err(error) = self.drain().await {
                tracing::error!(%error, "the ledger could not be read for sealing");
            }
        } else if let Err(error) = self.fill().await {
            tracing::error!(%error, "the ledger could not be read for sealing");
            self.engine.clock.sleep(LAG_MAX).await;
        }
    }

    /// Collects entries until one of the limits says that it is time to seal.
    async fn fill(&mut self) -> Result<(), StoreError> {
        let page = self.follower.next().await?;
        self.push(&page);
        let mut time_is_up = self.engine.clock.sleep(LAG_MAX);
        while self.edge.size() - self.sealed_size < LAG_ENTRIES_MAX {
            tokio::select! {
                page = self.follower.next() => {
                    let page = page?;
                    self.push(&page);
                }
                () = &mut time_is_up => break,
            }
        }
        Ok(())
    }

    /// Collects everything there is.
    pub async fn drain(&mut self) -> Result<(), StoreError> {
        loop {
            let page = self.follower.available().await?;
            if page.is_empty() {
                return Ok(());
            }
            self.push(&page);
        }
    }

    fn push(&mut self, page: &[Arc<crate::ledger::feed::Followed>]) {
        for followed in page {
            assert_eq!(
                followed.seq(),
                self.edge.size() + 1,
                "the ledger has no gaps, so the next entry is the next leaf"
            );
            self.edge.push(&followed.sequenced.entry.hash);
        }
    }

    /// Signs what was collected and keeps it in both places.
    pub async fn seal(&self) -> Result<(), SealError> {
        let checkpoint = Checkpoint {
            origin: self.origin.clone(),
            size: self.edge.size(),
            root: self.edge.root(),
        };
        let note = self.signer.sign(&checkpoint);
        let sealed = Sealed { size: checkpoint.size, edge: self.edge.to_bytes(), note };
        let note = sealed.note.clone();
        self.engine.store.seal(sealed).await?;
        let sink = Arc::clone(&self.sink);
        let kept = tokio::task::spawn_blocking(move || sink.keep(&note)).await;
        Ok(kept.map_err(|error| NotKept::Failed(std::io::Error::other(error)))??)
    }

    /// Two servers on copies of one ledger: the one that comes second stops writing.
    fn fall_behind(&self, note: &str) {
        let verifier = Verifier::new(&self.signer.verifier_key());
        let opened = verifier.and_then(|verifier| verifier.open(note));
        let Ok(Checkpoint { size, root, .. }) = opened else { return };
        let lost = Lost { size, root };
        let ledger_size = self.edge.size();
        self.engine.ledger().fall_behind(Behind { ledger_size, lost, doubt: Doubt::Lost });
    }

    async fn seal_or_say_why(&mut self) {
        if self.edge.size() == self.sealed_size {
            return;
        }
        if self.engine.ledger().take_fork() {
            self.sink.accept();
        }
        match self.seal().await {
            Ok(()) => {
                self.sealed_size = self.edge.size();
                self.engine.counts().seal_lag.store(0, Ordering::Relaxed);
            }
            Err(error) => {
                let lag = self.edge.size().saturating_sub(self.sealed_size).max(1);
                self.engine.counts().seal_lag.store(lag, Ordering::Relaxed);
                self.engine.counts().witness_failures.fetch_add(1, Ordering::Relaxed);
                if let SealError::NotKept(NotKept::Replaced(note)) = &error {
                    self.fall_behind(note);
                }
                tracing::error!(%error, size = self.edge.size(), "the ledger could not be sealed");
            }
        }
    }
}
