//! A commit that is in line at the store. The client may disconnect, but the commit stands. A task
//! then waits for it, and reports the result to the commands that build on it.

use tokio::runtime::Handle;

use crate::ports::store::{CommitError, Committed, Receipt};
use crate::road::slots::CommitNotifier;

pub struct PendingCommit {
    waiting: Option<(Receipt, CommitNotifiers)>,
}

/// The notifiers of a commit: one for each stream, and nearly every commit has one stream.
enum CommitNotifiers {
    One(CommitNotifier),
    Several(Vec<CommitNotifier>),
}

impl PendingCommit {
    pub fn new(receipt: Receipt, notifier: CommitNotifier) -> Self {
        Self { waiting: Some((receipt, CommitNotifiers::One(notifier))) }
    }

    pub fn of_several(receipt: Receipt, notifiers: Vec<CommitNotifier>) -> Self {
        Self { waiting: Some((receipt, CommitNotifiers::Several(notifiers))) }
    }

    /// Waits for the store, and announces the result.
    pub async fn settle(mut self) -> Result<Committed, CommitError> {
        let (receipt, _) = self.waiting.as_mut().expect("it is settled once");
        let result = receipt.await;
        if let Some((_, notifiers)) = self.waiting.take() {
            announce(notifiers, &result);
        }
        result
    }
}

impl Drop for PendingCommit {
    fn drop(&mut self) {
        if let Some((receipt, notifiers)) = self.waiting.take()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(async move { announce(notifiers, &receipt.await) });
        }
    }
}

/// A notifier that is dropped without an announcement counts as failed.
fn announce(notifiers: CommitNotifiers, result: &Result<Committed, CommitError>) {
    if result.is_err() {
        return;
    }
    match notifiers {
        CommitNotifiers::One(notifier) => notifier.durable(),
        CommitNotifiers::Several(notifiers) => {
            notifiers.into_iter().for_each(CommitNotifier::durable)
        }
    }
}
