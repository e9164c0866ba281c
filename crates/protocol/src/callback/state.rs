//! An open callback.

use serde::{Deserialize, Serialize};

use crate::ids::AgentId;
use crate::time::Time;

/// An open callback. A person of its queue settles it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Callback {
    pub queue: AgentId,
    /// The caller who asked for it, as the record names them.
    pub by: String,
    pub asked_at: Time,
    /// How to reach the customer; empty once erased.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub contact: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Time>,
}

impl Callback {
    /// The earliest time of the call. Callbacks are sorted by it.
    pub fn due(&self) -> Time {
        self.not_before.map_or(self.asked_at, |not_before| not_before.max(self.asked_at))
    }
}
