//! A loop of the server that follows the ledger and keeps its cursor in the store: after a restart
//! it goes on where it was. After a crash it reads some entries again, so what it does about an
//! entry must be safe to repeat.
//!
//! The ledger is read in its order, which costs little. The entries that the loop acts on are
//! served in turns by teamspace, and the cursor stays before the first of them that is not done.

use std::convert::Infallible;
use std::sync::Arc;

use protocol::ledger::Entry;
use protocol::time::Span;
use tokio::sync::watch;

use crate::Engine;
use crate::ledger::backlog::{Backlog, Done};
use crate::ledger::feed::{Followed, Follower, PAGE_ENTRIES_MAX, is_full};
use crate::ports::store::{Sequenced, StoreError, StoreWrites};
use crate::road::submit::SubmitError;

/// The cursor is written after at most this many entries that need no action.
const CURSOR_EVERY: u64 = 8 * PAGE_ENTRIES_MAX as u64;

/// While more is to be done, it is written after this many.
const BUSY_CURSOR_EVERY: u64 = PAGE_ENTRIES_MAX as u64;

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
    /// Whether an entry may need action. Only these get a turn.
    pub wants: fn(&Entry) -> bool,
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
    backlog: Backlog,
    /// The cursor that the store has.
    written: u64,
    has_acted: bool,
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
        Ok(DurableFollower {
            engine: self.clone(),
            of,
            follower: self.ledger().follow(written),
            backlog: Backlog::default(),
            written,
            has_acted: false,
            is_pause_due: false,
        })
    }
}

impl DurableFollower {
    /// Waits for the next turn. It can be dropped and called again without losing any entry.
    pub async fn next(&mut self) -> Result<Vec<Arc<Followed>>, StoreError> {
        loop {
            // All that is there is read first: the next entry may be of another teamspace.
            while is_full(&self.read_on().await?) {
                self.write_cursor().await?;
            }
            let turn = self.turn().await?;
            if !turn.is_empty() {
                return Ok(turn);
            }
            self.write_cursor().await?;
        }
    }

    /// The next turn of the entries that exist now; empty if all of them are done.
    pub async fn available(&mut self) -> Result<Vec<Arc<Followed>>, StoreError> {
        while !self.read_available().await?.is_empty() {}
        self.turn().await
    }

    /// Reads one page of new entries, of all kinds. Waits for one if there is nothing else to do.
    pub async fn read_on(&mut self) -> Result<Vec<Arc<Followed>>, StoreError> {
        if !self.backlog.is_empty() {
            return self.read_available().await;
        }
        if self.is_pause_due {
            self.engine.clock.sleep(self.of.pause).await;
        }
        let page = self.follower.next().await?;
        self.is_pause_due = !is_full(&page);
        self.remember(&page);
        Ok(page)
    }

    /// The same, without waiting.
    pub async fn read_available(&mut self) -> Result<Vec<Arc<Followed>>, StoreError> {
        let page = self.follower.available().await?;
        self.remember(&page);
        Ok(page)
    }

    /// The entries of the next turn, all of one teamspace.
    pub async fn turn(&mut self) -> Result<Vec<Arc<Followed>>, StoreError> {
        while let Some(from) = self.backlog.read_again_from() {
            self.read_again(from).await?;
            if !self.backlog.turn().is_empty() {
                break;
            }
        }
        let mut turn = Vec::new();
        for seq in self.backlog.turn() {
            turn.extend(self.follower.at(*seq).await?);
        }
        Ok(turn)
    }

    /// What was done in the turn. The entries after the last that is done get another turn.
    pub async fn done(&mut self, done: Done) -> Result<(), StoreError> {
        self.backlog.done(done);
        self.has_acted |= done.n_writes > 0;
        self.write_cursor().await
    }

    /// Writes the cursor, if it is time.
    async fn write_cursor(&mut self) -> Result<(), StoreError> {
        let cursor = self.backlog.done_until(self.follower.cursor());
        let n_done = cursor - self.written;
        // A loop without a cursor would begin anew.
        let is_first = self.written == 0;
        let is_due = match (self.has_acted, self.backlog.is_empty()) {
            (true, true) => true,
            (true, false) => n_done >= BUSY_CURSOR_EVERY,
            (false, _) => n_done >= CURSOR_EVERY,
        };
        if n_done > 0 && (is_first || is_due) {
            self.engine.store.write_place(self.of.name, cursor).await?;
            (self.written, self.has_acted) = (cursor, false);
        }
        Ok(())
    }

    fn remember(&mut self, page: &[Arc<Followed>]) {
        for Sequenced { seq, entry } in page.iter().map(|followed| &followed.sequenced) {
            if (self.of.wants)(entry) {
                self.backlog.push(&entry.stream.teamspace, *seq);
            }
        }
    }

    async fn read_again(&mut self, from: u64) -> Result<(), StoreError> {
        let newest = self.follower.cursor();
        let page = self.follower.page_after(from - 1).await?;
        let known = page.iter().map(|followed| &followed.sequenced).filter(|it| it.seq <= newest);
        let Some(until) = known.clone().next_back().map(|last| last.seq) else { return Ok(()) };
        let wanted = known.filter(|it| (self.of.wants)(&it.entry));
        let wanted = wanted.map(|it| (&it.entry.stream.teamspace, it.seq));
        self.backlog.push_again(wanted, (from, until), newest);
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
