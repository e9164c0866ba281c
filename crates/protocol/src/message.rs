//! A message from one agent to others: sent once, then delivered to, read by or expired for each of
//! its recipients.
//!
//! Read [`state`] first, then [`command`] and [`event`], then one file per command in [`decide`].
//! [`kind`] lists what a message can be about; [`thread`] bounds how long an exchange may get;
//! [`notice`] makes the server's own messages; [`audit_line`] turns events into the lines of the
//! audit log. Nothing here depends on how a command arrived.

pub mod audit_line;
pub mod command;
pub mod context;
pub mod decide;
pub mod event;
pub mod evolve;
pub mod kind;
pub mod notice;
pub mod state;
pub mod thread;

#[cfg(test)]
mod table_tests;

pub use command::{Address, Command, Outgoing};
pub use decide::decide;
pub use event::Event;
pub use evolve::evolve;
pub use kind::{InvalidKind, Kind};
pub use state::{Delivery, Message};
