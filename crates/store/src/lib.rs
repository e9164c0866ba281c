//! Where the ledger is kept: in a SQLite file or in memory, behind the engine's one port. A store
//! compares and writes what it is told; it knows no rule about handoffs.
//!
//! [`sqlite`] is the real store; [`memory`] is the simplest implementation of the same contract,
//! and both pass the same test suite.

mod listeners;
pub mod memory;
pub mod sqlite;
mod turns;

pub use memory::Memory;
pub use sqlite::Sqlite;
