//! Following the ledger for what listeners are told, and waking for nothing else: there may be
//! thousands of them, and most entries are about something that none of them hears.

use std::sync::Arc;

use protocol::ledger::{Entry, Subject};
use tokio::sync::watch;

use crate::feed::{Feed, Followed, Rung};
use crate::port::StoreError;
use crate::sessions;

/// Entries that are read at once, and what they say together unless the first says more. Whoever
/// does not read on keeps them.
const PAGE_ENTRIES: usize = 16;
const PAGE_BYTES: usize = 64 * 1024;

/// A place in the ledger that moves forward. Entries that concern no listener may be left out.
#[derive(Debug)]
pub struct Ear {
    feed: Arc<Feed>,
    bell: watch::Receiver<Rung>,
    cursor: u64,
}

/// Whether an entry is of interest to those who listen: what is announced, what becomes of their
/// subscriptions, and who takes part in conversations.
pub fn concerns(entry: &Entry) -> bool {
    tells(&entry.name)
        || matches!(entry.stream.subject, Subject::Subscription(_))
        || changes_sides(&entry.name)
}

/// Whether an entry of a session has something to hear: events, or that a question is settled.
pub fn tells(name: &str) -> bool {
    name == "session.announced" || sessions::settles(name)
}

/// Whether somebody else may take part in a conversation now.
pub fn changes_sides(name: &str) -> bool {
    name.starts_with("transfer.") || name == "conversation.routed"
}

impl Ear {
    /// Hears what comes after `cursor`.
    pub fn new(feed: &Arc<Feed>, cursor: u64) -> Self {
        Self { bell: feed.announced_bell(), feed: Arc::clone(feed), cursor }
    }

    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// Waits until there is something after the cursor, and moves past it.
    pub async fn next(&mut self) -> Result<Vec<Arc<Followed>>, StoreError> {
        loop {
            // Looking at the bell before reading: an entry that comes in between rings it again.
            let rung = *self.bell.borrow_and_update();
            self.cursor = rung.passed_over(self.cursor);
            if rung.newest > self.cursor || rung.newest == 0 {
                let mut page = self.feed.after(self.cursor, PAGE_ENTRIES).await?;
                page.truncate(n_that_fit(&page));
                if let Some(last) = page.last() {
                    self.cursor = last.seq();
                    return Ok(page);
                }
            }
            if self.bell.changed().await.is_err() {
                return Err(StoreError::Closed);
            }
        }
    }
}

/// How many of the first entries say no more than is kept; at least one.
fn n_that_fit(page: &[Arc<Followed>]) -> usize {
    let mut n_bytes = 0;
    let fits = |followed: &&Arc<Followed>| {
        n_bytes += followed.n_bytes();
        n_bytes <= PAGE_BYTES
    };
    page.iter().take_while(fits).count().max(1)
}
