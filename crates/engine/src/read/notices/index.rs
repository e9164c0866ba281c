//! The index of notices: the mailboxes of all teamspaces, in memory, and the loop that keeps them
//! close to the end of the ledger.

use std::sync::{Mutex, MutexGuard, PoisonError};

use protocol::time::Span;
use tokio::sync::{Notify, watch};

use super::mailboxes::Mailboxes;
use crate::Engine;
use crate::ledger::feed::Follower;
use crate::ports::store::StoreError;
use crate::read::Read;

/// After a start, this many entries of the ledger are read for notices.
pub const NOTICE_ENTRIES_MAX: u64 = 500_000;

/// Between two looks at the ledger while it grows. A reader does not wait for it. At the rates of
/// one server the entries of this time are still in memory.
const PAUSE: Span = Span::from_millis(50);

/// The notices of all mailboxes.
#[derive(Debug, Default)]
pub(crate) struct NoticeIndex {
    /// Where the index reads on. The lock is held while a page is read.
    follower: tokio::sync::Mutex<Option<Follower>>,
    mailboxes: Mutex<Mailboxes>,
    /// Rung by a reader that waits for newer entries than the index has.
    wanted: Notify,
    /// The newest entry that the loop has read for the index; `None` while no loop runs.
    reached: watch::Sender<Option<u64>>,
}

/// Keeps the index close to the end of the ledger. While it runs, readers wait for this loop and
/// read nothing themselves: a reader of a teamspace that is served slowly would hold the lock, and
/// all other readers would wait for it.
pub(crate) async fn run(engine: Engine, mut stopped: watch::Receiver<bool>) {
    let index = &engine.notices;
    index.reached.send_replace(Some(0));
    let mut bell = engine.ledger().newest_bell();
    let keeping_up = async {
        loop {
            bell.mark_unchanged();
            if let Err(error) = engine.read().read_all_notices().await {
                tracing::error!(%error, "the ledger could not be read for notices");
                engine.clock.sleep(PAUSE).await;
                continue;
            }
            let grown = async {
                // The bell outlives the loop: the engine has it.
                let _ = bell.changed().await;
                engine.clock.sleep(PAUSE).await;
            };
            tokio::select! {
                () = grown => {}
                () = index.wanted.notified() => {}
            }
        }
    };
    tokio::select! {
        () = keeping_up => {}
        _ = stopped.wait_for(|stopped| *stopped) => {}
    }
    index.reached.send_replace(None);
}

impl Read<'_> {
    /// Waits until the index has this entry. Without a loop it is read here.
    pub(super) async fn notices_reach(self, newest: u64) -> Result<(), StoreError> {
        let index = &self.engine.notices;
        let mut reached = index.reached.subscribe();
        if reached.borrow().is_some() {
            index.wanted.notify_one();
            let is_there = |reached: &Option<u64>| reached.is_none_or(|it| it >= newest);
            let found = reached.wait_for(is_there).await;
            if found.is_ok_and(|reached| reached.is_some()) {
                return Ok(());
            }
        }
        self.keep_notices_up(newest).await
    }

    /// Reads all that there is, and tells the readers that wait.
    async fn read_all_notices(self) -> Result<(), StoreError> {
        let newest = self.engine.store.newest().await?;
        self.keep_notices_up(u64::MAX).await?;
        let reached = &self.engine.notices.reached;
        reached.send_modify(|reached| *reached = (*reached).max(Some(newest)));
        Ok(())
    }

    /// Reads on at least until this entry, if there is one.
    async fn keep_notices_up(self, until: u64) -> Result<(), StoreError> {
        let index = &self.engine.notices;
        loop {
            // Others may look at the index between two pages.
            let mut following = index.follower.lock().await;
            let follower = match &mut *following {
                Some(follower) => follower,
                None => {
                    let newest = self.engine.store.newest().await?;
                    let begins_after = newest.saturating_sub(NOTICE_ENTRIES_MAX);
                    index.mailboxes().begins_after = begins_after;
                    following.insert(self.engine.ledger().follow(begins_after))
                }
            };
            if follower.cursor() >= until {
                return Ok(());
            }
            let page = follower.available().await?;
            if page.is_empty() {
                return Ok(());
            }
            let mut mailboxes = index.mailboxes();
            for followed in &page {
                mailboxes.take_in(followed);
            }
        }
    }
}

impl NoticeIndex {
    pub(super) fn mailboxes(&self) -> MutexGuard<'_, Mailboxes> {
        self.mailboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
