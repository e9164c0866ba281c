//! A commit that is in line at the store. Whoever asked for it may go away, but the commit stands:
//! somebody must wait for it all the same, and tell those who build on it.

use std::sync::Arc;

use tokio::runtime::Handle;

use crate::feed::Feed;
use crate::port::{CommitError, Committed, Receipt};
use crate::slots::Herald;

pub struct InLine {
    waiting: Option<(Receipt, Announcer)>,
}

/// Who must hear how it went.
pub struct Announcer {
    pub feed: Arc<Feed>,
    pub herald: Herald,
    pub bodies: Bodies,
}

/// What a commit does to bodies that were written before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bodies {
    Stay,
    /// One is erased, so that copies of it must go, too.
    Erased,
}

impl InLine {
    pub fn new(receipt: Receipt, announcer: Announcer) -> Self {
        Self { waiting: Some((receipt, announcer)) }
    }

    /// Waits for the store, and announces what it says.
    pub async fn settle(mut self) -> Result<Committed, CommitError> {
        let (receipt, _) = self.waiting.as_mut().expect("it is settled once");
        let result = receipt.await;
        if let Some((_, announcer)) = self.waiting.take() {
            announcer.announce(&result);
        }
        result
    }
}

impl Drop for InLine {
    fn drop(&mut self) {
        if let Some((receipt, announcer)) = self.waiting.take()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(async move { announcer.announce(&receipt.await) });
        }
    }
}

impl Announcer {
    fn announce(self, result: &Result<Committed, CommitError>) {
        match result {
            Ok(_) => {
                if self.bodies == Bodies::Erased {
                    self.feed.forget();
                }
                self.herald.durable();
            }
            Err(_) => drop(self.herald),
        }
    }
}
