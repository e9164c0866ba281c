//! Outgoing work of the server: files for people, programs and auditors, and looks at the artifacts
//! of a handoff.
//!
//! Nothing here decides anything; it follows the ledger and stores what it is given. It uses no SQL
//! and no web framework. Everything that must survive a power cut is written through `std::fs`, so
//! that the power-loss recorder sees it. Read in this order:
//!
//! 1. [`audit_log`]: the ledger as `handoffs.jsonl`, one file for each teamspace.
//! 2. [`ledger_key`], [`checkpoint_file`]: the key that signs checkpoints, and where they are kept
//!    outside the database; [`remote_witness`]: the same over a network, as an object
//!    ([`http_witness`]) or by C2SP's protocol ([`c2sp_witness`]). [`s3_signature`],
//!    [`s3_refusal`]: what an object store asks for. [`witness_records`]: what we remember as a
//!    witness of others. [`aaep_keys`]: the keys that sign our manifest.
//! 3. [`artifacts`]: what is behind the paths and URLs of a package. [`workq`]: the work queue
//!    whose items follow a task. [`effect_runner`] runs the effects of the engine's outbox.
//! 4. [`files`]: the bytes of stored files.

pub mod aaep_keys;
pub mod artifacts;
pub mod audit_log;
pub mod c2sp_witness;
pub mod checkpoint_file;
pub mod durable;
pub mod effect_runner;
pub mod files;
pub mod free_space;
pub mod http_witness;
pub mod ledger_key;
pub mod message_archive;
pub mod remote_witness;
pub mod s3_refusal;
pub mod s3_signature;
pub mod webhook;
pub mod witness_call;
pub mod witness_records;
pub mod workq;
