//! What happens to a callback.

use serde::{Deserialize, Serialize};

use crate::ids::AgentId;
use crate::time::Time;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Asked(Asked),
    Settled(Settled),
}

/// A callback was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    pub holder: AgentId,
    pub queue: AgentId,
    pub by: String,
    pub contact: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Time>,
}

/// The customer was called, or the callback is not needed any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    pub holder: AgentId,
    pub queue: AgentId,
    /// The agent who settled it, if it was an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    pub outcome: String,
}

impl Event {
    /// The agents that may read it: the holder at the time, and who settled it.
    pub fn parties(&self) -> [Option<&AgentId>; 3] {
        match self {
            Event::Asked(it) => [Some(&it.holder), None, None],
            Event::Settled(it) => [Some(&it.holder), it.agent.as_ref(), None],
        }
    }
}

impl Event {
    /// The durable name.
    pub fn name(&self) -> &'static str {
        match self {
            Event::Asked(_) => "callback.asked",
            Event::Settled(_) => "callback.settled",
        }
    }
}
