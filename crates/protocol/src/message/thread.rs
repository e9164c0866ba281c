//! How long an exchange may get. Two programs can answer each other for ever, so the messages of
//! each sender in a thread are counted: an exchange of two ends after twice the limit at the
//! latest. The count is the value of a hold that every message of that sender in that thread
//! compares and sets, so two concurrent requests cannot both take the last place.

use serde::{Deserialize, Serialize};

use super::event::Sent;
use crate::ids::{AgentId, ThreadId};
use crate::rejection::Rejection;
use crate::stored::{HoldState, HoldWrite};
use crate::time::{Span, Time};

/// An agent in a lively exchange stays below it; a loop reaches it within seconds.
pub const RECENT_MAX: usize = 64;
pub const RECENT: Span = Span::from_minutes(10);

/// An exchange this long should become a task or a new thread.
pub const MESSAGES_MAX: u32 = 200;

/// The first word of the keys, before the sender and the thread.
pub const SENT: &str = "sent/";

/// The same of earlier versions, which counted all messages of a thread together. These holds stay
/// as they are, and no decision reads them.
pub const WHOLE: &str = "thread/";

/// The counters of one sender in one thread. It is small: it holds the times of recent messages
/// only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    n: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sequence: Option<u64>,
    /// Milliseconds, oldest first.
    recent: Vec<i64>,
}

/// The id of an agent has no `/`, so the key has one reading.
pub fn key(sender: &AgentId, thread_id: &ThreadId) -> String {
    format!("{SENT}{sender}/{thread_id}")
}

/// Where a message counts.
pub fn key_of(sent: &Sent) -> String {
    match sent.per_sender {
        true => key(&sent.from, &sent.thread_id),
        false => format!("{WHOLE}{}", sent.thread_id),
    }
}

impl Count {
    /// Decodes the hold. An unreadable one counts as a new one.
    pub fn of(hold: &HoldState) -> Self {
        let value = hold.value.as_deref().unwrap_or_default();
        serde_json::from_str(value).unwrap_or_default()
    }

    /// How many messages were sent.
    pub fn n(&self) -> u32 {
        self.n
    }

    /// Whether one more message may be sent, in answer to one with the sequence `answered`.
    pub fn check(
        &self,
        sequence: Option<u64>,
        answered: Option<u64>,
        now: Time,
    ) -> Result<(), Rejection> {
        if self.n >= MESSAGES_MAX {
            return Err(Rejection::LoopGuard { n_max: MESSAGES_MAX as usize, within: None });
        }
        let since = now.as_millis() - RECENT.as_millis();
        let n_recent = self.recent.iter().filter(|at| **at > since).count();
        if n_recent >= RECENT_MAX {
            return Err(Rejection::LoopGuard { n_max: RECENT_MAX, within: Some(RECENT) });
        }
        match (sequence, self.sequence.max(answered)) {
            (Some(given), Some(last)) if given <= last => {
                Err(Rejection::SequenceOutOfOrder { given, last })
            }
            (Some(_) | None, _) => Ok(()),
        }
    }

    /// With one more message.
    #[must_use]
    pub fn with(mut self, sent: &Sent, at: Time) -> Self {
        self.n = self.n.saturating_add(1);
        self.sequence = sent.sequence.max(self.sequence);
        let since = at.as_millis() - RECENT.as_millis();
        self.recent.retain(|at| *at > since);
        self.recent.push(at.as_millis());
        let n_over = self.recent.len().saturating_sub(RECENT_MAX);
        self.recent.drain(..n_over);
        self
    }

    /// How many messages it counts that are not among those that are `left`. `None` if it is no
    /// count of those.
    pub fn n_beyond(&self, left: &Self) -> Option<u32> {
        let n_beyond = self.n.checked_sub(left.n)?;
        let is_theirs = match n_beyond {
            0 => self == left,
            _ => self.sequence >= left.sequence,
        };
        is_theirs.then_some(n_beyond)
    }
}

/// How a message changes the hold that counts it. The hold is never occupied.
pub fn hold_write(sent: &Sent, at: Time, found: &HoldState) -> HoldWrite {
    let count = Count::of(found).with(sent, at);
    let value = serde_json::to_string(&count).expect("a count is numbers");
    HoldWrite {
        key: key_of(sent),
        expected: found.clone(),
        next: HoldState { holder: None, value: Some(value) },
    }
}
