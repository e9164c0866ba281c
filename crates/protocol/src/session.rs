//! A session that an agent announces: its work on one request, from `session.started` to the end.
//! The events are in the ledger as they were sent; the state holds what the rules need, and the
//! open questions.

pub mod after_loss;
pub mod command;
mod decide;
pub mod event;
mod evolve;
pub mod handover;
pub mod questions;
pub mod reply_token;
mod silence;
pub mod state;
pub mod unanswered;

pub use command::{Answer, Command};
pub use decide::{Decision, MODIFIED_ACTION_BYTES_MAX, decide};
pub use event::{Event, Given, Response};
pub use evolve::evolve;
pub use questions::Question;
pub use state::{Session, Status, named_entry};
pub use unanswered::Unanswered;

use crate::time::Span;

/// The most events in one entry of the ledger. A larger batch saves nothing more, and it must be
/// read and kept as a whole.
pub const ANNOUNCED_EVENTS_MAX: usize = 256;

/// The most events of one session. A long answer that is streamed in chunks has a few thousand.
pub const SESSION_EVENTS_MAX: u64 = 20_000;

/// The most critical events per [`CRITICAL_WINDOW`]. They interrupt every listener and are never
/// held back, so more than one a second for a minute is an attack or a fault.
pub const CRITICAL_EVENTS_MAX: u32 = 60;

/// How long a session may not ask again about a refused action. A person who is asked the same
/// thing until they say yes does not decide.
pub const REFUSED_RESTS: Span = Span::from_millis(30_000);

/// Refused actions that a session remembers for that long. The oldest is forgotten first. The
/// number of questions in a minute is limited separately.
pub const REFUSED_KEPT_MAX: usize = 16;

/// How far a producer's clock may be ahead of ours. Maintained clocks differ by less, and a
/// listener cannot trust events from next year.
pub const CLOCK_AHEAD_MAX: Span = Span::from_minutes(5);

/// The span in which critical events are counted.
pub const CRITICAL_WINDOW: Span = Span::from_minutes(1);

/// The prefix of the deadline of a question, before its token.
pub const ANSWER_DEADLINE: &str = "answer/";

/// The deadline of a silent session.
pub const SILENCE: &str = "silence";

/// The longest that a question may wait, by the specification.
pub const ANSWER_WAIT_MAX: Span = Span::from_hours(24);
