//! Follows the ledger for entries that concern the listeners of a teamspace, and wakes for no
//! others: there may be thousands of listeners, and most entries concern none of them.

use std::sync::Arc;

use protocol::ids::TeamspaceId;
use tokio::sync::watch;

use crate::ledger::entry_places::NextPlace;
use crate::ledger::feed::{Feed, Followed, n_that_fit};
use crate::ports::store::StoreError;

/// The limits of a page, in entries and in bytes; the first entry may be larger. A listener that
/// does not read on keeps its page in memory.
const PAGE_ENTRIES: usize = 16;
const PAGE_BYTES: usize = 64 * 1024;

/// A place in the ledger that moves forward. Entries that concern no listener may be left out.
#[derive(Debug)]
pub struct AnnouncementFollower {
    feed: Arc<Feed>,
    teamspace: TeamspaceId,
    bell: watch::Receiver<u64>,
    cursor: u64,
}

impl AnnouncementFollower {
    /// Hears what comes after `cursor`.
    pub fn new(feed: &Arc<Feed>, teamspace: TeamspaceId, cursor: u64) -> Self {
        let bell = feed.announced().bell(&teamspace);
        Self { feed: Arc::clone(feed), teamspace, bell, cursor }
    }

    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// Waits until there is something after the cursor, and moves past it.
    pub async fn next(&mut self) -> Result<Vec<Arc<Followed>>, StoreError> {
        loop {
            // The bell is checked before reading, so an entry that arrives in between rings it
            // again.
            self.bell.borrow_and_update();
            let announced = self.feed.announced();
            let (after, until) =
                match announced.after(&self.teamspace, self.cursor, PAGE_ENTRIES as u64) {
                    NextPlace::From { first, last } => (first - 1, last),
                    NextPlace::Unknown => (self.cursor, self.cursor + PAGE_ENTRIES as u64),
                    NextPlace::Nothing { .. } => (self.cursor, self.cursor),
                };
            if after < until {
                let n_max = usize::try_from(until - after).unwrap_or(PAGE_ENTRIES);
                let mut page = self.feed.after(after, n_max).await?;
                page.truncate(n_that_fit(&page, PAGE_BYTES));
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
