//! A chat with a customer. Exactly one agent holds it at any time, and only the holder of the
//! current epoch may speak: a bot that handed off cannot talk over the agent that holds it now.
//!
//! Read [`state`] first, then [`command`] and [`event`], then one file per command in [`decide`].
//! [`part`] is what a message is made of, [`topology`] who may hand the conversation to whom,
//! [`graph`] what a graph decides about a turn, [`wait`] what the customer waits for, [`silence`]
//! how long the holder may be silent, [`turn_delivery`] what the holder is told at its endpoint,
//! [`reader`] who may read what, [`customer_text`] what a customer is told when the holder changes.
//! Messages are entries of the ledger and rows of the store; the state holds only their number and
//! their hash. Nothing here depends on how a command arrived.

pub mod answer_within;
pub mod author;
pub mod command;
pub mod customer_text;
pub mod decide;
pub mod event;
pub mod evolve;
pub mod graph;
pub mod loop_guard;
pub mod not_heard;
pub mod part;
pub mod reader;
pub mod silence;
pub mod state;
pub mod told;
pub mod topology;
pub mod transcript_line;
pub mod turn_asked;
pub mod turn_delivery;
pub mod turn_route;
pub mod wait;
pub mod waits;

#[cfg(test)]
mod table_tests;

pub use command::Command;
pub use decide::decide;
pub use event::Event;
pub use evolve::evolve;
pub use state::{Conversation, Status};
