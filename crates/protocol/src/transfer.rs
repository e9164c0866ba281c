//! The transfer of a conversation to a person: requested, queued, ringing, connected, and back
//! again.
//!
//! A transfer lives inside its conversation, because it changes the holder. From the request on,
//! the queue holds the conversation; once a person accepts, that person does; in the end the
//! previous holder gets it back. Read [`status`] first, which is the state machine, then [`state`],
//! [`command`] and [`event`], then one file per command in [`decide`]. [`bundle`] is what the
//! person learns beforehand, [`record`] what remains of it as names and figures.

pub mod bundle;
pub mod command;
pub mod decide;
pub mod event;
pub mod evolve;
pub mod kind;
pub mod record;
pub mod state;
pub mod status;
pub mod waits;

#[cfg(test)]
mod table_tests;

pub use bundle::Bundle;
pub use command::Command;
pub use decide::decide;
pub use event::Event;
pub use evolve::evolve;
pub use kind::Kind;
pub use record::Record;
pub use state::Transfer;
pub use status::{Action, Status};
