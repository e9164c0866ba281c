//! A chat with a customer. Exactly one agent holds it at any time, and only the holder of the
//! current epoch may speak: a bot that was handed off cannot talk over whoever came after it.
//!
//! Read [`state`] first, then [`command`] and [`event`], then one file per command in [`decide`].
//! [`part`] is what a message is made of, [`topology`] who may hand the conversation to whom,
//! [`graph`] what a graph says about a turn,
//! [`telling`] what the holder is told at its endpoint, [`reader`] who sees what of it,
//! [`customer_text`] what a customer is told of a change of hands.
//! Messages are entries of the ledger and rows of the store; the state knows only how many there
//! are and what they hash to. Nothing here knows how a command arrived.

pub mod command;
pub mod customer_text;
pub mod decide;
pub mod event;
pub mod evolve;
pub mod graph;
pub mod part;
pub mod reader;
pub mod state;
pub mod telling;
pub mod topology;

#[cfg(test)]
mod table_tests;

pub use command::Command;
pub use decide::decide;
pub use event::Event;
pub use evolve::evolve;
pub use state::{Conversation, Status};
