//! How a webhook does, since the server started. The record has what matters for longer.

use std::collections::VecDeque;

use protocol::time::{Span, Time};

use super::TEST;

/// The attempts that are remembered of a webhook.
pub const ATTEMPTS_SHOWN_MAX: usize = 50;

#[derive(Debug, Clone, Default)]
pub struct Status {
    pub n_delivered: u64,
    /// Every event up to now was delivered.
    pub is_caught_up: bool,
    pub failing: Option<Failing>,
    /// The newest last.
    pub attempts: VecDeque<Attempt>,
}

/// A delivery that is tried again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failing {
    pub since: Time,
    pub attempts: u32,
    pub next_at: Time,
    pub detail: String,
}

/// One call of the endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The cursor of the event.
    pub event: String,
    pub name: String,
    pub at: Time,
    pub took: Span,
    /// What went wrong; `None` if it was delivered.
    pub problem: Option<String>,
}

impl Status {
    pub(super) fn note(&mut self, attempt: Attempt) {
        let is_event = attempt.name != TEST;
        self.n_delivered += u64::from(is_event && attempt.problem.is_none());
        if self.attempts.len() == ATTEMPTS_SHOWN_MAX {
            self.attempts.pop_front();
        }
        self.attempts.push_back(attempt);
    }
}
