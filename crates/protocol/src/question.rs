//! A question: what an agent asks a human, as one durable object. It has the text and the arguments
//! that the human is shown, one answer by a human, and the continuation: the work that goes on with
//! the answer, which one worker at a time claims.

pub mod command;
pub mod decide;
pub mod event;
pub mod evolve;
pub mod notices;
pub mod state;
pub mod waits;

#[cfg(test)]
mod table_tests;

use crate::time::Span;

pub use command::{Answer, Ask, Claim, Command, Finish, Withdraw};
pub use decide::decide;
pub use event::{Addressee, Asked, Decision, Event, Given, Kind, Parties};
pub use evolve::evolve;
pub use state::{Claimed, Continuation, Question, Status, idempotency_key, open_prefix};

/// A person reads the whole question before answering.
pub const TEXT_BYTES_MAX: usize = 8 * 1024;

/// Longer ones are no longer read one by one.
pub const OPTIONS_MAX: usize = 32;

/// An option is shown on one line.
pub const OPTION_BYTES_MAX: usize = 256;

/// The name of a tool or an operation.
pub const ACTION_BYTES_MAX: usize = 200;

/// The arguments of a call, as canonical JSON; as long as the texts that people write. A person is
/// to check them all; files belong into artifacts.
pub const ARGUMENTS_BYTES_MAX: usize = 16 * 1024;

/// A free text answer, and a note to any answer.
pub const ANSWER_BYTES_MAX: usize = 16 * 1024;

/// The name of a run, a thread or a checkpoint in the program that asks.
pub const REFERENCE_BYTES_MAX: usize = 200;

/// Agents besides the asker that may go on with the answer: a pool of workers has one name or few.
pub const WORKERS_MAX: usize = 16;

/// The result of a continuation, for people who look it up.
pub const RESULT_BYTES_MAX: usize = 4 * 1024;

/// A program may wait for a person for at least a moment.
pub const TIMEOUT_MIN: Span = Span::from_millis(1_000);

/// A question that is a month old is about another situation.
pub const TIMEOUT_MAX: Span = Span::from_hours(30 * 24);

/// When the asker does not say how long: until the same time tomorrow.
pub const TIMEOUT_DEFAULT: Span = Span::from_hours(24);

/// A shorter lease ends while the claim is still on its way to the worker.
pub const LEASE_MIN: Span = Span::from_millis(100);

/// A worker that is lost keeps others from going on for at most this long. A live one renews.
pub const LEASE_MAX: Span = Span::from_hours(1);

/// Time for a call or two, and short enough to wait for after a crash.
pub const LEASE_DEFAULT: Span = Span::from_minutes(1);
