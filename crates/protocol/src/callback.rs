//! A callback: a person of a queue calls the customer later, because the queue is closed or the
//! wait too long.
//!
//! A callback lives inside its conversation, as a transfer does, and at most one is open. The
//! conversation stays with its holder. A transfer that waits for a person is cancelled. The
//! callback outlives the chat: a customer who leaves is still called.

pub mod command;
mod decide;
pub mod event;
mod evolve;
pub mod state;

pub use command::{Ask, CONTACT_BYTES_MAX, Command, Settle};
pub use decide::{NOT_BEFORE_MAX, decide};
pub use event::{Asked, Event, Settled};
pub use evolve::evolve;
pub use state::Callback;
