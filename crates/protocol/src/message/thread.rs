//! How long an exchange may get. Two programs can answer each other for ever, so a thread counts
//! its messages. The count is the value of a hold that every message of the thread compares and
//! sets, so two concurrent senders cannot both take the last place.

use serde::{Deserialize, Serialize};

use super::event::Sent;
use crate::ids::ThreadId;
use crate::rejection::Rejection;
use crate::stored::{HoldState, HoldWrite};
use crate::time::{Span, Time};

/// A lively exchange of a few agents stays below it; a loop reaches it within seconds.
pub const RECENT_MAX: usize = 64;
pub const RECENT: Span = Span::from_minutes(10);

/// An exchange this long should become a task or a new thread.
pub const MESSAGES_MAX: u32 = 200;

/// The counters of a thread. It is small: it holds the times of recent messages only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    n: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sequence: Option<u64>,
    /// Milliseconds, oldest first.
    recent: Vec<i64>,
}

pub fn key(id: &ThreadId) -> String {
    format!("thread/{id}")
}

impl Thread {
    /// Decodes the hold. An unreadable one counts as a new thread.
    pub fn of(hold: &HoldState) -> Self {
        let value = hold.value.as_deref().unwrap_or_default();
        serde_json::from_str(value).unwrap_or_default()
    }

    /// How many messages were sent in it.
    pub fn n(&self) -> u32 {
        self.n
    }

    /// Whether one more message may be sent.
    pub fn check(&self, sequence: Option<u64>, now: Time) -> Result<(), Rejection> {
        if self.n >= MESSAGES_MAX {
            return Err(Rejection::LoopGuard { n_max: MESSAGES_MAX as usize, within: None });
        }
        let since = now.as_millis() - RECENT.as_millis();
        let n_recent = self.recent.iter().filter(|at| **at > since).count();
        if n_recent >= RECENT_MAX {
            return Err(Rejection::LoopGuard { n_max: RECENT_MAX, within: Some(RECENT) });
        }
        match (sequence, self.sequence) {
            (Some(given), Some(last)) if given <= last => {
                Err(Rejection::SequenceOutOfOrder { given, last })
            }
            (Some(_) | None, _) => Ok(()),
        }
    }

    /// Whether these are the times of its messages, in milliseconds and in their order.
    pub fn has_times(&self, times: &[i64]) -> bool {
        let mut derived = Self::default();
        times.iter().for_each(|at| derived.note(*at));
        derived.recent == self.recent
    }

    fn with(mut self, sent: &Sent, at: Time) -> Self {
        self.n = self.n.saturating_add(1);
        self.sequence = sent.sequence.max(self.sequence);
        self.note(at.as_millis());
        self
    }

    fn note(&mut self, at: i64) {
        let since = at - RECENT.as_millis();
        self.recent.retain(|at| *at > since);
        self.recent.push(at);
        let n_over = self.recent.len().saturating_sub(RECENT_MAX);
        self.recent.drain(..n_over);
    }
}

/// How a message changes the hold of its thread. The hold is never occupied.
pub fn hold_write(sent: &Sent, at: Time, found: &HoldState) -> HoldWrite {
    let thread = Thread::of(found).with(sent, at);
    let value = serde_json::to_string(&thread).expect("a thread is numbers");
    HoldWrite {
        key: key(&sent.thread_id),
        expected: found.clone(),
        next: HoldState { holder: None, value: Some(value) },
    }
}
