//! A recall: the sender asks an accepted handoff back. The owner agrees by rejecting it, or
//! completes it first. If it does neither in time, a coordinator decides.

use serde::{Deserialize, Serialize};

use crate::time::{Span, Time};

/// For the owner to stop and to give the task back: as long as an accepted task may wait for its
/// start. If the running stage ends sooner, the recall does too.
pub const RECALL_LIMIT: Span = Span::from_minutes(15);

/// The deadline of a recall, and the trigger of the escalation that follows.
pub const RECALL: &str = "recall";

/// An open recall.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recall {
    pub reason: String,
    pub since: Time,
    /// When it escalates.
    pub until: Time,
    pub escalated: bool,
}

impl Recall {
    /// A coordinator gave the owner more time. The limit moves to a later time only.
    pub fn extend(&mut self, due: Time) {
        if self.until < due {
            self.until = due;
            self.escalated = false;
        }
    }
}
