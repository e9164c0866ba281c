//! A conversation passes to a person: asked for, queued, ringing, connected, and back again.
//!
//! A transfer lives inside its conversation, because who holds the conversation is what it changes:
//! from the request on its queue does, from the moment a person accepts that person does, and in
//! the end whoever held it before. Read [`status`] first, which is the machine itself, then
//! [`state`], [`command`] and [`event`], then one file per command in [`decide`]. [`bundle`] is
//! what the person gets to know beforehand.

pub mod bundle;
pub mod command;
pub mod decide;
pub mod event;
pub mod evolve;
pub mod state;
pub mod status;

#[cfg(test)]
mod table_tests;

pub use bundle::Bundle;
pub use command::Command;
pub use decide::decide;
pub use event::Event;
pub use evolve::evolve;
pub use state::{Kind, Transfer};
pub use status::{Action, Status};
