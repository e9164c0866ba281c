//! Where the ledger is kept: in a SQLite file or in memory, behind the engine's one port. A store
//! compares and writes what it is told; it knows no rule about handoffs.
//!
//! Read [`sqlite`] for the real one; [`memory`] is the plainest program that keeps the same
//! promises, and the two are checked against one suite.

mod listeners;
pub mod memory;
pub mod sqlite;

pub use memory::Memory;
pub use sqlite::Sqlite;
