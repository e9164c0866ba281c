//! A loop of the server that follows the ledger and keeps its cursor in the store: after a restart
//! it goes on where it was. After a crash it reads some entries again, so what it does about an
//! entry must be safe to repeat.

use std::convert::Infallible;
use std::sync::Arc;

use protocol::time::Span;
use tokio::sync::watch;

use crate::Engine;
use crate::ledger::feed::{Followed, Follower, PAGE_ENTRIES_MAX, is_full};
use crate::ports::store::StoreError;
use crate::road::submit::SubmitError;

/// The cursor is written after at most this many entries that need no action.
const CURSOR_EVERY: u64 = 8 * PAGE_ENTRIES_MAX as u64;

/// A store that failed may have recovered by then.
const RETRY_AFTER: Span = Span::from_millis(1_000);

/// One such loop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loop {
    /// Under which the store keeps its cursor.
    pub name: &'static str,
    pub begins: Begins,
    /// Between two pages while it keeps up: on a busy server, waking for every group of entries
    /// costs more than the work itself.
    pub pause: Span,
}

/// Where a loop begins that has no cursor yet.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Begins {
    AtTheFirstEntry,
    /// Entries from before the loop existed are passed over.
    AfterTheNewest,
}

pub(crate) struct DurableFollower {
    engine: Engine,
    of: Loop,
    follower: Follower,
    /// The cursor that the store has.
    written: u64,
    is_pause_due: bool,
}

impl Engine {
    pub(crate) async fn follow_durably(&self, of: Loop) -> Result<DurableFollower, StoreError> {
        let mut written = self.store.place(of.name).await?;
        if let (0, Begins::AfterTheNewest) = (written, of.begins) {
            written = self.ledger().newest().await?;
            if written > 0 {
                self.store.write_place(of.name, written).await?;
            }
        }
        let (engine, follower) = (self.clone(), self.ledger().follow(written));
        Ok(DurableFollower { engine, of, follower, written, is_pause_due: false })
    }
}

impl DurableFollower {
    /// Waits for the next entries. It can be dropped and called again without losing any.
    pub async fn next(&mut self) -> Result<Vec<Arc<Followed>>, StoreError> {
        if self.is_pause_due {
            self.engine.clock.sleep(self.of.pause).await;
        }
        let page = self.follower.next().await?;
        self.is_pause_due = !is_full(&page);
        Ok(page)
    }

    /// Whether there may be more entries to read at once.
    pub fn is_behind(&self) -> bool {
        !self.is_pause_due
    }

    /// The entries that exist now, without waiting.
    pub async fn available(&mut self) -> Result<Vec<Arc<Followed>>, StoreError> {
        self.follower.available().await
    }

    /// The entries so far are processed; `has_acted` if any of the last page needed action.
    pub async fn processed(&mut self, has_acted: bool) -> Result<(), StoreError> {
        let cursor = self.follower.cursor();
        // A loop without a cursor would begin anew.
        let is_first = self.written == 0 && cursor > 0;
        if is_first || has_acted || cursor - self.written >= CURSOR_EVERY {
            self.engine.store.write_place(self.of.name, cursor).await?;
            self.written = cursor;
        }
        Ok(())
    }
}

/// Runs a loop until it is stopped, and again after an error. It writes, so it does not begin while
/// the ledger is behind its checkpoint.
pub(crate) async fn run<F>(
    engine: &Engine,
    of: Loop,
    mut stopped: watch::Receiver<bool>,
    keep_up: impl Fn() -> F,
) where
    F: Future<Output = Result<Infallible, SubmitError>>,
{
    let running = async {
        engine.ledger().until_not_behind().await;
        loop {
            let Err(error) = keep_up().await;
            tracing::error!(%error, name = of.name, "a loop fell behind");
            engine.clock.sleep(RETRY_AFTER).await;
        }
    };
    tokio::select! {
        () = running => {}
        _ = stopped.wait_for(|stopped| *stopped) => {}
    }
}
