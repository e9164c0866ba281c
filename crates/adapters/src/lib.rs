//! What the server does to the outside: files for people, programs and auditors.
//!
//! Nothing here decides anything; it follows the ledger and keeps what it is handed. It knows no
//! SQL and no web framework. Everything that must survive a power cut is written through
//! `std::fs`, so that the power-loss recorder sees it. Read in this order:
//!
//! 1. [`audit_log`]: the ledger as `handoffs.jsonl`, one file for each teamspace.
//! 2. [`ledger_key`], [`checkpoint_file`]: the key that signs checkpoints, and where they are kept
//!    outside the database.

pub mod audit_log;
pub mod checkpoint_file;
pub mod durable;
pub mod ledger_key;
