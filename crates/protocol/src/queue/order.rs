//! The order of a queue. Each level of priority counts as a fixed waiting time, and all items age
//! at the same pace. So the order of two items never changes, and one number per item expresses it.

use serde::{Deserialize, Serialize};

use crate::time::{Span, Time};

/// Priorities are clamped to this range.
pub const PRIORITY_MAX: i32 = 100;

/// The sort key of a queue, smallest first. Of two equal keys, the smaller id is next.
///
/// The key is made once, when an item enters. An item that returns, because the ringing timed out
/// or a connection broke, keeps its key and so its place.
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
