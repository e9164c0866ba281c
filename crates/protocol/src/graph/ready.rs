//! A version of a graph, made ready for many turns.

use crate::ids::{AgentId, GraphId};
use crate::route::{AgentGraph, Compiled, GraphProblem};
use crate::signal::EscalationRules;

/// Compiled once for each version: with ten thousand rules that takes far longer than a turn may.
#[derive(Debug)]
pub struct Ready {
    pub id: GraphId,
    pub version: u64,
    compiled: Compiled,
}

impl PartialEq for Ready {
    /// A version is what it is.
    fn eq(&self, other: &Self) -> bool {
        (&self.id, self.version) == (&other.id, other.version)
    }
}

impl Ready {
    pub fn new(id: GraphId, version: u64, text: &str) -> Result<Self, Vec<GraphProblem>> {
        let compiled = Compiled::new(AgentGraph::read(text.as_bytes())?)?;
        Ok(Self { id, version, compiled })
    }

    pub fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// When a person is called.
    pub fn signals(&self) -> &EscalationRules {
        &self.compiled.graph().signals
    }

    /// Which people are asked, if the graph says so.
    pub fn queue(&self) -> Option<AgentId> {
        self.compiled.graph().queue.as_ref().and_then(|queue| queue.parse().ok())
    }

    /// Whether a customer may ask for the people of a queue.
    pub fn lets_customers_name(&self, queue: &AgentId) -> bool {
        self.compiled.graph().customer_queues.iter().any(|named| named == queue.as_str())
    }
}
