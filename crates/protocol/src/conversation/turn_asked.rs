//! The question to a graph about one message.

use std::collections::BTreeMap;

use crate::ids::{AgentId, GraphId};

/// What a graph is asked about one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnAsked {
    pub graph: GraphId,
    pub holder: AgentId,
    pub text: String,
    pub language: Option<String>,
    /// The values of the conversation, by name.
    pub attributes: BTreeMap<String, String>,
}
