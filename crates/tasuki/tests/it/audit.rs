//! Whether `audit` finds what was done to a ledger: in the database, in an export, in the audit
//! log. Each test damages a copy of one small ledger and reads the report.

mod database;
mod erasure;
mod export;
mod follower;
mod jsonl;
mod ledger;
mod sound;
