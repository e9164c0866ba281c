//! What a webhook delivers, and where to.

use serde::{Deserialize, Serialize};

use crate::ids::AgentId;

/// What is delivered, and where to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    pub url: String,
    /// Names of events, such as `handoff.accepted`, or families, such as `handoff`. Empty means
    /// all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
    /// Only events of this stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// Only events that this agent caused or is a party to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}
