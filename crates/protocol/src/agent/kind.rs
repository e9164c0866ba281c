//! The kinds of agents.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An AI specialist.
    Worker,
    /// A supervisor or router: never the target of a handoff.
    System,
    Human,
    /// A named pool of humans.
    Queue,
}

/// What an agent must be to be given a conversation.
pub const TARGET_EXPECTED: &str = "a worker that takes conversations; this one only has a token: \
     register it, set its endpoint, or let it connect";

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Worker, Kind::System, Kind::Human, Kind::Queue];

    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Worker => "worker",
            Kind::System => "system",
            Kind::Human => "human",
            Kind::Queue => "queue",
        }
    }
}

impl FromStr for Kind {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Kind::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| "expected worker, system, human or queue".to_owned())
    }
}
