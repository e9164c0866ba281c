//! The pure rules of Tasuki: which commands are allowed, and the state that results.
//!
//! Nothing here waits, reads a clock, draws a random number, touches a file or knows how a request
//! arrived. Time, ids and facts are arguments; the result is a value. Read in this order:
//!
//! 1. [`ids`], [`time`], [`caller`]: the basic types of everything else.
//! 2. [`step`]: one command against one aggregate, and the [`step::Change`] that follows.
//!    [`aggregate`]: which aggregates exist. [`needs`], [`facts`]: what a decision looks at besides
//!    its own. [`stored`]: what the store keeps besides the entries.
//! 3. [`handoff`]: a task moves to a new owner. [`message`]: agents tell each other things.
//!    [`conversation`]: a chat with a customer, held by one agent at a time.
//!    [`agent`] and [`token`]: who takes part. [`teamspace`]: the tenant they all work in.
//!    [`route`]: which agent answers a turn of a conversation. [`graph`]: a saved routing graph.
//!    [`signal`]: the mood of a conversation. [`queue`]: waiting for a person.
//!    [`session`]: what an agent announces. [`question`]: what an agent asks a human.
//!    [`visibility`]: who may read what.
//! 4. [`ledger`], [`merkle`], [`checkpoint`]: how the record is chained, summed up and signed;
//!    [`audit`]: how it is checked; [`fork`]: how it continues after a loss. [`witness`],
//!    [`cosignature`]: how one server vouches for the record of another.
//! 5. [`tools`]: how a model asks for a handoff, and how its history continues.
//! 6. [`json`], [`canonical`]: JSON input, and JSON to be hashed. [`keyed`]: hashes with a key.
//!    [`sealed_cursor`]: positions in the ledger that reveal nothing to a caller.

pub use base::{canonical, form, hidden, ids, json, keyed, strict, time};

pub mod agent;
pub mod aggregate;
pub mod audit;
pub mod callback;
pub mod caller;
pub mod checkpoint;
pub mod codec;
pub mod conversation;
pub mod cosignature;
pub mod entry_names;
pub mod erasure;
pub mod facts;
pub mod file;
pub mod fixed;
pub mod fork;
pub mod graph;
pub mod handoff;
pub mod ledger;
pub mod merkle;
pub mod message;
pub mod narrator;
pub mod needs;
pub mod notes;
pub mod problem;
pub mod question;
pub mod queue;
pub mod quota;
pub mod rejection;
pub mod roles;
pub mod route;
pub mod row_mac;
pub mod sealed_cursor;
pub mod session;
pub mod signal;
mod signed_note;
pub mod step;
pub mod stored;
pub mod subscription;
pub mod teamspace;
pub mod token;
pub mod tools;
pub mod transfer;
pub mod visibility;
pub mod waiting;
pub mod wake;
pub mod warning;
pub mod webhook;
pub mod witness;

#[cfg(test)]
mod form_tests;
