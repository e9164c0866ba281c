//! A commit that is in line at the store. The client may disconnect, but the commit stands. A task
//! then waits for it, and reports the result to the commands that build on it.

use tokio::runtime::Handle;

use crate::ports::store::{CommitError, Committed, Receipt};
use crate::road::slots::CommitNotifier;

pub struct PendingCommit {
    waiting: Option<(Receipt, Heralds)>,
}

/// Nearly always there is one.
enum Heralds {
    One(CommitNotifier),
    Several(Vec<CommitNotifier>),
}

impl PendingCommit {
    pub fn new(receipt: Receipt, notifier: CommitNotifier) -> Self {
        Self { waiting: Some((receipt, Heralds::One(notifier))) }
    }

    pub fn of_several(receipt: Receipt, heralds: Vec<CommitNotifier>) -> Self {
        Self { waiting: Some((receipt, Heralds::Several(heralds))) }
    }

    /// Waits for the store, and announces the result.
    pub async fn settle(mut self) -> Result<Committed, CommitError> {
        let (receipt, _) = self.waiting.as_mut().expect("it is settled once");
        let result = receipt.await;
        if let Some((_, heralds)) = self.waiting.take() {
            announce(heralds, &result);
        }
        result
    }
}

impl Drop for PendingCommit {
    fn drop(&mut self) {
        if let Some((receipt, heralds)) = self.waiting.take()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(async move { announce(heralds, &receipt.await) });
        }
    }
}

/// A notifier that is dropped without an announcement counts as failed.
fn announce(heralds: Heralds, result: &Result<Committed, CommitError>) {
    if result.is_err() {
        return;
    }
    match heralds {
        Heralds::One(notifier) => notifier.durable(),
        Heralds::Several(heralds) => heralds.into_iter().for_each(CommitNotifier::durable),
    }
}
