//! What is asked about one message of the customer.

use std::collections::BTreeMap;

use crate::ids::{AgentId, GraphId};

/// What a graph and the signals are asked about one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnAsked {
    /// `None` if only the signals of the message matter.
    pub graph: Option<GraphId>,
    pub holder: AgentId,
    pub text: String,
    pub language: Option<String>,
    /// The values of the conversation, by name.
    pub attributes: BTreeMap<String, String>,
}
