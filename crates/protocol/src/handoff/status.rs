//! The states of a handoff, by name.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The states, by the names of the ACP design.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Draft,
    Proposed,
    Validating,
    Accepted,
    Rejected,
    Activated,
    Completed,
    Closed,
}

impl Status {
    pub const ALL: [Status; 8] = [
        Status::Draft,
        Status::Proposed,
        Status::Validating,
        Status::Accepted,
        Status::Rejected,
        Status::Activated,
        Status::Completed,
        Status::Closed,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Status::Draft => "draft",
            Status::Proposed => "proposed",
            Status::Validating => "validating",
            Status::Accepted => "accepted",
            Status::Rejected => "rejected",
            Status::Activated => "activated",
            Status::Completed => "completed",
            Status::Closed => "closed",
        }
    }

    /// Whether a handoff in this state blocks others of the same task.
    pub fn is_active(self) -> bool {
        match self {
            Status::Proposed | Status::Validating | Status::Accepted | Status::Activated => true,
            Status::Draft | Status::Rejected | Status::Completed | Status::Closed => false,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Status {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Status::ALL.into_iter().find(|status| status.as_str() == text).ok_or_else(|| {
            "expected draft, proposed, validating, accepted, rejected, activated, completed or \
             closed"
                .to_owned()
        })
    }
}
