//! Where the graph routed a message, as recorded.

use serde::{Deserialize, Serialize};

use crate::ids::GraphId;

/// Where the graph routed a message, and the result, as recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnRoute {
    pub graph: GraphId,
    /// `None` if the graph does not exist any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    pub outcome: TurnOutcome,
    #[serde(default, rename = "routeDecision", skip_serializing_if = "Option::is_none")]
    pub decision: Option<TurnDecision>,
    /// The nodes on the path, in order.
    #[serde(default, rename = "graphPath", skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
}

/// The deciding choice, in the shape that chat clients know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnDecision {
    pub from: String,
    /// A node's id, or `human`.
    pub to: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_index: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent_label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent_confidence: Option<f64>,
    #[serde(default)]
    pub latency_ms: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnOutcome {
    /// Another agent holds the conversation now.
    Moved,
    /// The holder is the agent that should answer.
    Stayed,
    /// A person was asked.
    HumanAsked,
    /// A person should answer, but none can be asked; the holder stays.
    NobodyToAsk,
    /// The graph names an agent that is no worker of the directory; the holder stays.
    UnknownAgent,
    /// The graph does not exist any more; the holder stays.
    NoGraph,
}
