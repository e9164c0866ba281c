//! The witnesses of a ledger: places outside the data folder that keep its checkpoints. At a start
//! the ledger must match them. While the server runs, a witness over HTTP gets the newest
//! checkpoint in the background, so that no commit and no seal waits for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use adapters::checkpoint_file::{self, Newest, size_of};
use adapters::remote_witness::RemoteWitness;
use anyhow::{Context, Result};
use engine::Engine;
use engine::ledger::behind::{Behind, Doubt};
use engine::ledger::seal::NotKept;
use protocol::checkpoint::{Signer, Verifier};
use protocol::fork::Lost;
use protocol::row_mac::RowKey;
use protocol::time::Span;
use tokio::sync::watch;

use crate::checkpoint_check::{self, Testimony};
use crate::config;

/// A witness that fails is tried again after a second, and after twice as long each time up to a
/// minute: an operator who repairs it sees it at once, and one that is down costs little.
const RETRY_MS_MIN: i64 = 1_000;
const RETRY_MS_MAX: i64 = 60_000;

/// All witnesses of the configuration.
#[derive(Debug)]
pub struct Witnesses {
    /// The part of the folder that belongs to this ledger.
    folder: Option<PathBuf>,
    pub http: Option<Arc<RemoteWitness>>,
}

impl Witnesses {
    pub fn open(ledger: &config::Ledger, data: &Path, key_name: &str) -> Result<Self> {
        let folder = ledger.witness().map(|it| checkpoint_file::part_of(it, key_name));
        Ok(Self { folder, http: ledger.open_http_witness(data, key_name)?.map(Arc::new) })
    }

    /// What each of them knows about the ledger.
    pub fn ask(&self) -> Result<Vec<Testimony>> {
        let mut testimonies = Vec::new();
        if let Some(folder) = &self.folder {
            let found = checkpoint_file::newest_of(folder);
            let cannot = || format!("cannot read the witness {}", folder.display());
            testimonies.push(Testimony::Notes(found.with_context(cannot)?));
        }
        if let Some(http) = &self.http {
            testimonies.push(match http.ask() {
                Ok(note) => Testimony::Notes(Newest { note, logged: None }),
                Err(NotKept::Ahead { size } | NotKept::Split { size }) => {
                    Testimony::Differs { size }
                }
                Err(error @ (NotKept::Failed(_) | NotKept::Replaced(_))) => {
                    tracing::error!(%error, "the ledger cannot be compared with its witness");
                    Testimony::Unreached
                }
            });
        }
        Ok(testimonies)
    }
}

/// The comparison of a ledger with all its checkpoints.
#[derive(Debug)]
pub struct Completeness {
    folder: PathBuf,
    witnesses: Witnesses,
    verifier_key: String,
    row_key: RowKey,
}

impl Completeness {
    pub fn new(folder: PathBuf, witnesses: Witnesses, signer: &Signer) -> Self {
        let (verifier_key, row_key) = (signer.verifier_key(), signer.row_key());
        Self { folder, witnesses, verifier_key, row_key }
    }

    pub fn check(&self) -> Result<Option<Behind>> {
        let testimonies = self.witnesses.ask()?;
        match checkpoint_check::behind(&self.folder, testimonies, &self.verifier_key)? {
            Some(behind) => Ok(Some(behind)),
            None => checkpoint_check::foreign_tail(&self.folder, &self.row_key),
        }
    }
}

/// Sends each new checkpoint to the witness over HTTP, if there is one, until told to stop; then
/// once more, so that it has the last one.
pub async fn push(engine: Engine, check: Arc<Completeness>, mut stopped: watch::Receiver<bool>) {
    let Some(witness) = check.witnesses.http.clone() else { return };
    let mut due = witness.due();
    until_reached(&engine, &check, &mut stopped).await;
    let pusher = Pusher { engine, witness, verifier_key: check.verifier_key.clone() };
    let mut n_failures = 0;
    loop {
        let is_kept = n_failures == 0;
        let is_stopping = tokio::select! {
            _ = stopped.wait_for(|stopped| *stopped) => true,
            changed = due.changed(), if is_kept => changed.is_err(),
            () = pusher.engine.clock().sleep(pause_after(n_failures)), if !is_kept => false,
        };
        let is_due = !is_kept || !is_stopping || due.has_changed().unwrap_or(false);
        let note = due.borrow_and_update().clone();
        if let Some(note) = note.filter(|_| is_due) {
            n_failures = if pusher.push(&note).await { 0 } else { n_failures + 1 };
        }
        if is_stopping {
            return;
        }
    }
}

fn pause_after(n_failures: u32) -> Span {
    // Six doublings of the shortest wait are more than the longest.
    let n_doublings = n_failures.saturating_sub(1).min(6);
    Span::from_millis(RETRY_MS_MAX.min(RETRY_MS_MIN << n_doublings))
}

/// While it is not known whether the ledger is complete, the witness is asked again.
async fn until_reached(
    engine: &Engine,
    check: &Arc<Completeness>,
    stopped: &mut watch::Receiver<bool>,
) {
    let mut n_failures = 1;
    while engine.ledger().behind().is_some_and(|it| it.doubt == Doubt::Unreached) {
        tokio::select! {
            () = engine.clock().sleep(pause_after(n_failures)) => {}
            _ = stopped.wait_for(|stopped| *stopped) => return,
        }
        let check = Arc::clone(check);
        match tokio::task::spawn_blocking(move || check.check()).await {
            Ok(Ok(found)) => engine.ledger().settle(found),
            Ok(Err(error)) => tracing::error!("{error:#}"),
            Err(_) => return,
        }
        n_failures += 1;
    }
}

struct Pusher {
    engine: Engine,
    witness: Arc<RemoteWitness>,
    verifier_key: String,
}

impl Pusher {
    /// Whether there is nothing left to do about this note.
    async fn push(&self, note: &str) -> bool {
        let counts = self.engine.counts();
        let size = size_of(note).unwrap_or_default();
        match self.witness.keep(note).await {
            Ok(()) => {
                if counts.witness_lag.swap(0, Ordering::Relaxed) > 0 {
                    tracing::info!(size, "the witness takes checkpoints again");
                }
                true
            }
            Err(error) => {
                let lag = size.saturating_sub(self.witness.kept_size()).max(1);
                counts.witness_failures.fetch_add(1, Ordering::Relaxed);
                if counts.witness_lag.swap(lag, Ordering::Relaxed) == 0 {
                    tracing::error!(%error, size, "the witness does not take a checkpoint");
                }
                match error {
                    NotKept::Replaced(note) => match self.opened(&note) {
                        Some(lost) => self.fall_behind(lost, size),
                        None => false,
                    },
                    NotKept::Split { size: lost } => self.fall_behind(of_size(lost), size),
                    NotKept::Ahead { size: ahead } => self.compare(ahead, size).await,
                    NotKept::Failed(_) => false,
                }
            }
        }
    }

    /// A later checkpoint than the one that was sent may be of this server: then its entries are
    /// here, and the next checkpoint shows whether they are the same.
    async fn compare(&self, ahead: u64, size: u64) -> bool {
        match self.engine.ledger().newest().await {
            Ok(newest) if newest < ahead => self.fall_behind(of_size(ahead), size),
            Ok(_) | Err(_) => false,
        }
    }

    /// What a note vouches for. One that our key did not sign shows nothing; it stays, for an
    /// operator to look at.
    fn opened(&self, note: &str) -> Option<Lost> {
        let verifier = Verifier::new(&self.verifier_key);
        let found = verifier.and_then(|verifier| verifier.open(note)).ok()?;
        Some(Lost { size: found.size, root: found.root })
    }

    /// Another server runs on a copy of this ledger: this one stops writing.
    fn fall_behind(&self, lost: Lost, ledger_size: u64) -> bool {
        self.engine.ledger().fall_behind(Behind { ledger_size, lost, doubt: Doubt::Lost });
        true
    }
}

fn of_size(size: u64) -> Lost {
    Lost { size, root: Lost::UNKNOWN_ROOT }
}
