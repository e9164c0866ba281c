//! A commit that is in line at the store. Whoever asked for it may go away, but the commit stands:
//! somebody must wait for it all the same, and tell those who build on it.

use tokio::runtime::Handle;

use crate::port::{CommitError, Committed, Receipt};
use crate::slots::Herald;

pub struct InLine {
    waiting: Option<(Receipt, Heralds)>,
}

/// Nearly always there is one.
enum Heralds {
    One(Herald),
    Several(Vec<Herald>),
}

impl InLine {
    pub fn new(receipt: Receipt, herald: Herald) -> Self {
        Self { waiting: Some((receipt, Heralds::One(herald))) }
    }

    pub fn of_several(receipt: Receipt, heralds: Vec<Herald>) -> Self {
        Self { waiting: Some((receipt, Heralds::Several(heralds))) }
    }

    /// Waits for the store, and announces what it says.
    pub async fn settle(mut self) -> Result<Committed, CommitError> {
        let (receipt, _) = self.waiting.as_mut().expect("it is settled once");
        let result = receipt.await;
        if let Some((_, heralds)) = self.waiting.take() {
            announce(heralds, &result);
        }
        result
    }
}

impl Drop for InLine {
    fn drop(&mut self) {
        if let Some((receipt, heralds)) = self.waiting.take()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(async move { announce(heralds, &receipt.await) });
        }
    }
}

/// Without a word, the herald counts as the bearer of bad news.
fn announce(heralds: Heralds, result: &Result<Committed, CommitError>) {
    if result.is_err() {
        return;
    }
    match heralds {
        Heralds::One(herald) => herald.durable(),
        Heralds::Several(heralds) => heralds.into_iter().for_each(Herald::durable),
    }
}
