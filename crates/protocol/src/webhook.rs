//! A webhook: the server posts the events of a teamspace to a URL, in order and at least once, as
//! far as its owner may read them.
//!
//! The record has what was agreed on, and what went wrong for good. How far a webhook has come is a
//! cursor of the server, and single deliveries are not recorded.
//!
//! Read [`terms`] and [`state`] first, then [`command`] and [`event`], then [`decide`]; [`wants`]
//! says which entries are delivered.

pub mod command;
mod decide;
pub mod event;
mod evolve;
pub mod state;
pub mod terms;
#[cfg(test)]
mod tests;
mod wants;

pub use command::{Command, ROTATION_DEFAULT, ROTATION_MAX};
pub use decide::{EVENTS_MAX, decide};
pub use event::{
    Changed, Created, Event, KeyRotated, PauseCause, Paused, Removed, Resumed, SetAside, Settled,
    Settlement,
};
pub use evolve::evolve;
pub use state::{OWNED_MAX, SET_ASIDE_MAX, Webhook, free_slot, slot_prefix};
pub use terms::Terms;
pub use wants::is_of_kind;
