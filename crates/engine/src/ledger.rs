//! The ledger as a whole: following it, sealing it, resuming after lost entries, erasing; and
//! vouching for the ledgers of others.

pub(crate) mod announced;
pub(crate) mod backlog;
pub mod behind;
pub(crate) mod durable_follower;
pub(crate) mod entry_places;
pub mod erasing;
pub mod feed;
pub mod fork;
pub mod seal;
pub mod witness;

use crate::Engine;

/// The ledger as a whole.
#[derive(Debug, Clone, Copy)]
pub struct Ledger<'a> {
    pub(crate) engine: &'a Engine,
}

impl Engine {
    pub fn ledger(&self) -> Ledger<'_> {
        Ledger { engine: self }
    }
}
