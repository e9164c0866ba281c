//! Whether `audit` finds tampering with a ledger: in the database, in an export, in the audit log.
//! Each test damages a copy of one small ledger and reads the report.

#![expect(clippy::unwrap_used, reason = "what helps a test fails like the test")]

mod database;
mod erasure;
mod export;
mod follower;
mod forgeries;
mod jsonl;
mod ledger;
mod scrubbed;
mod sent_counts;
mod sound;
mod tamperings;
mod trail;
mod transcripts;
