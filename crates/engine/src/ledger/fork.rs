//! A ledger that is behind its checkpoint: entries that a checkpoint vouches for are missing. The
//! rest can be read, but nothing is written or signed until an operator declares that the ledger
//! goes on without the missing entries.

use std::sync::atomic::{AtomicBool, Ordering};

use protocol::caller::Caller;
use protocol::fork::Fork;
use protocol::ledger::Stream;
use protocol::step::Command;
use protocol::time::{Span, Time};
use tokio::sync::{Mutex, watch};

use crate::ledger::Ledger;
use crate::ledger::behind::{Behind, Doubt};
use crate::ports::store::{StoreError, StoreWrites};
use crate::road::submit::{Key, SubmitError};

/// How long one successful write shows that the ledger can be written to. A probe that comes every
/// second costs a sync every ten, and a load balancer hears of a full disk after a few probes.
const TRIAL_EVERY: Span = Span::from_millis(10_000);

/// Whether the ledger is complete.
#[derive(Debug)]
pub struct Completeness {
    behind: watch::Sender<Option<Behind>>,
    /// Held while a fork is declared, so that a loss is declared once.
    declaring: Mutex<()>,
    /// A fork was declared, and the sealer does not know it yet.
    has_forked: AtomicBool,
}

impl Default for Completeness {
    fn default() -> Self {
        let behind = watch::channel(None).0;
        Self { behind, declaring: Mutex::default(), has_forked: AtomicBool::new(false) }
    }
}

impl Ledger<'_> {
    /// From here on every write but the declaration of a fork is refused. A program that finds a
    /// checkpoint the ledger does not match calls this before it starts the loops.
    pub fn fall_behind(self, behind: Behind) {
        self.engine.completeness.behind.send_replace(Some(behind));
    }

    /// A witness that did not answer has answered now: what was found replaces the doubt.
    pub fn settle(self, found: Option<Behind>) {
        self.engine.completeness.behind.send_if_modified(|behind| {
            let is_open = behind.is_some_and(|it| it.doubt == Doubt::Unreached);
            if is_open {
                *behind = found;
            }
            is_open
        });
    }

    pub fn behind(self) -> Option<Behind> {
        *self.engine.completeness.behind.borrow()
    }

    /// Fails if the ledger cannot be written to. A small write shows it: every [`TRIAL_EVERY`], and
    /// each time after a write found the disk full.
    pub async fn check_writable(self) -> Result<(), StoreError> {
        let engine = self.engine;
        let now = engine.clock.now();
        let tried_at = Time::from_millis(engine.write_tried_at.load(Ordering::Relaxed));
        let is_known = (tried_at..tried_at.plus(TRIAL_EVERY)).contains(&now);
        if is_known && !engine.is_disk_full.load(Ordering::Relaxed) {
            return Ok(());
        }
        let tried = engine.store.try_write().await;
        let is_full = matches!(tried, Err(StoreError::Full));
        engine.is_disk_full.store(is_full, Ordering::Relaxed);
        if tried.is_ok() {
            engine.write_tried_at.store(now.as_millis(), Ordering::Relaxed);
        }
        tried
    }

    /// Waits until the ledger is not behind: it never was, an operator has declared a fork, or a
    /// witness has answered at last.
    pub async fn until_not_behind(self) {
        let mut changes = self.engine.completeness.behind.subscribe();
        // The sender lives as long as the engine.
        let _ = changes.wait_for(Option::is_none).await;
    }

    /// Records the fork, and lets the ledger go on. `None` when there was nothing to declare: it is
    /// not behind, or not any more.
    pub async fn declare_fork(
        self,
        caller: &Caller,
        reason: &str,
        key: Option<Key>,
    ) -> Result<Option<Behind>, SubmitError> {
        let _turn = self.engine.completeness.declaring.lock().await;
        let Some(behind) = self.behind() else { return Ok(None) };
        let fork = Fork { lost: behind.lost, reason: reason.to_owned() };
        self.engine.submit(caller, Stream::of_ledger(), Command::Fork(fork), key).await?;
        tracing::warn!(
            ledger_size = behind.ledger_size,
            lost_size = behind.lost.size,
            "a fork of the ledger was declared"
        );
        self.engine.completeness.has_forked.store(true, Ordering::Release);
        self.engine.completeness.behind.send_replace(None);
        Ok(Some(behind))
    }

    /// Whether a fork was declared since the last call.
    pub(crate) fn take_fork(self) -> bool {
        self.engine.completeness.has_forked.swap(false, Ordering::AcqRel)
    }

    pub(crate) fn check_may_write(self, command: &Command) -> Result<(), Behind> {
        match (command, self.behind()) {
            (Command::Fork(_), _) | (_, None) => Ok(()),
            (
                Command::Handoff(_)
                | Command::Agent(_)
                | Command::Token(_)
                | Command::Message(_)
                | Command::Conversation(_)
                | Command::Teamspace(_)
                | Command::Graph(_)
                | Command::Subscription(_)
                | Command::Session(_)
                | Command::File(_)
                | Command::Webhook(_)
                | Command::Question(_)
                | Command::Erase { .. },
                Some(behind),
            ) => Err(behind),
        }
    }
}
