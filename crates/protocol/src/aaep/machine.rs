//! The rules of a session, over all its events. Pure: what came before is in [`Session`], which
//! stays small; what grows with the session (ids that were used, outputs that are complete) is
//! asked for as [`Used`] and answered by whoever keeps it.

use serde::{Deserialize, Serialize};

use super::event::Event;
use super::flaw::Flaw;

/// What a session is so far, as far as its rules need it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Session {}

/// An id that may occur once in a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Used {
    Event(String),
    Call(String),
    /// An output that is complete.
    Output(String),
    Token(String),
}

impl Session {
    /// The session after one more event, or the rule that it breaks; then nothing has changed.
    /// `is_used` tells whether an id was used by an earlier event. What the event uses is added to
    /// `uses`.
    pub fn follow(
        &mut self,
        _event: &Event<'_>,
        _is_used: &dyn Fn(&Used) -> bool,
        _uses: &mut Vec<Used>,
    ) -> Result<(), Flaw> {
        Ok(())
    }
}
