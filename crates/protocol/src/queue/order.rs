//! Who is next. Each level of priority counts as so much time already waited, and everybody ages at
//! the same pace; so the order of two items never changes, and one number says it for ever.

use serde::{Deserialize, Serialize};

use crate::time::{Span, Time};

/// Priorities beyond are as good as these.
pub const PRIORITY_MAX: i32 = 100;

/// What a queue is sorted by, smallest first. Of two that are the same, the smaller id is next.
///
/// The key is made once, when an item enters. Whoever comes back, because nobody answered or a
/// connection broke, comes back with the same key, and so to the same place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OrderKey(i64);

impl OrderKey {
    pub fn as_millis(self) -> i64 {
        self.0
    }
}

/// The key of an item that entered then. A level of priority is worth `level` of waiting.
pub fn order_key(enqueued_at: Time, priority: i32, level: Span) -> OrderKey {
    let priority = i64::from(priority.clamp(-PRIORITY_MAX, PRIORITY_MAX));
    let lead = priority.saturating_mul(level.as_millis().max(0));
    OrderKey(enqueued_at.as_millis().saturating_sub(lead))
}
