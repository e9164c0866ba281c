//! Whether a human is there. The declared presence and the reachability are two things. The
//! declared presence stays until the human changes it. The reachability ends with the last
//! connection, or after a long silence. A human is available only if both say so.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::AgentId;
use crate::time::Time;

/// The name of the one deadline of an agent.
pub const MISSED: &str = "missed";

/// The presence that an agent declares, or the effective one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// Takes conversations.
    Available,
    /// There, but takes no more conversations.
    Busy,
    /// Back soon.
    Away,
    #[default]
    Offline,
}

/// The declared presence and the reachability of a human.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attendance {
    /// The declared presence.
    pub said: Presence,
    /// The agent who set it, if another one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AgentId>,
    pub reach: Reach,
}

/// Whether a human can be reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Not reachable. Ends when it connects or declares a presence.
    #[default]
    Gone,
    /// It has a connection. Ends with the last one.
    Connected,
    /// Its last connection ended. It counts as gone at that time, unless it reconnects before.
    Lost { until: Time },
    /// It has no connection, but declared a presence. It counts as gone at that time, unless it
    /// declares it again.
    Said { until: Time },
}

impl Presence {
    pub const ALL: [Presence; 4] =
        [Presence::Available, Presence::Busy, Presence::Away, Presence::Offline];

    pub fn as_str(self) -> &'static str {
        match self {
            Presence::Available => "available",
            Presence::Busy => "busy",
            Presence::Away => "away",
            Presence::Offline => "offline",
        }
    }
}

impl FromStr for Presence {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Presence::ALL
            .into_iter()
            .find(|presence| presence.as_str() == text)
            .ok_or_else(|| "expected available, busy, away or offline".to_owned())
    }
}

#[cfg(test)]
mod table_tests;
