//! A session that an agent announces: one request of somebody, from `session.started` to its end.
//! The events are in the ledger as they were sent; the state is what the rules need, and the
//! questions that wait for an answer.

pub mod command;
mod decide;
pub mod event;
mod evolve;
pub mod handover;
pub mod reply_token;
mod silence;
pub mod state;

pub use command::{Answer, Command, Given, Response};
pub use decide::{Decision, Known, MODIFIED_ACTION_BYTES_MAX, Unanswered, decide};
pub use event::Event;
pub use evolve::evolve;
pub use state::{Question, Session, Status};

use crate::time::Span;

/// As many events as one entry of the ledger carries. A batch larger than this saves nothing more,
/// and it must be read and kept as a whole.
pub const ANNOUNCED_EVENTS_MAX: usize = 256;

/// The most events of one session. A long answer, chunk by chunk, has a few thousand.
pub const SESSION_EVENTS_MAX: u64 = 20_000;

/// Critical events interrupt whoever listens, and nothing may hold them back: more than one each
/// second for a minute is an attack or a fault.
pub const CRITICAL_EVENTS_MAX: u32 = 60;

/// For how long an action that somebody refused is not asked about again in its session. Who is
/// asked the same thing until they say yes does not decide.
pub const REFUSED_RESTS: Span = Span::from_millis(30_000);

/// Refused actions that a session remembers for that while. The oldest is forgotten first; how many
/// questions there are in a minute is limited besides.
pub const REFUSED_KEPT_MAX: usize = 16;

/// How far ahead of ours the clock of a producer may be. Clocks that anybody looks after differ by
/// less, and who hears what comes next year trusts none of it.
pub const CLOCK_AHEAD_MAX: Span = Span::from_minutes(5);

/// The while for which critical events are counted.
pub const CRITICAL_WINDOW: Span = Span::from_minutes(1);

/// How the deadline of a question is called, before its token.
pub const ANSWER_DEADLINE: &str = "answer/";

/// The longest that a question may wait, by the specification.
pub const ANSWER_WAIT_MAX: Span = Span::from_hours(24);
