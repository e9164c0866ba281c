//! A compiled version of a graph, for many turns.

use crate::ids::{AgentId, GraphId};
use crate::route::{AgentGraph, Compiled, GraphProblem};
use crate::signal::EscalationRules;
use crate::signal::promise::OwnPromises;
use crate::time::Span;

/// Compiled once for each version: with ten thousand rules that takes far longer than a turn may.
#[derive(Debug)]
pub struct Ready {
    pub id: GraphId,
    pub version: u64,
    compiled: Compiled,
    /// Words by which its bots promise a transfer.
    promises: OwnPromises,
}

impl PartialEq for Ready {
    /// A version never changes, so its number is enough.
    fn eq(&self, other: &Self) -> bool {
        (&self.id, self.version) == (&other.id, other.version)
    }
}

impl Ready {
    pub fn new(id: GraphId, version: u64, text: &str) -> Result<Self, Vec<GraphProblem>> {
        let compiled = Compiled::new(AgentGraph::read(text.as_bytes())?)?;
        let promises = &compiled.graph().silence.promises;
        let promises = OwnPromises::new(promises);
        Ok(Self { id, version, compiled, promises })
    }

    pub fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// The rules that call a person.
    pub fn signals(&self) -> &EscalationRules {
        &self.compiled.graph().signals
    }

    /// The queue whose people are asked, if the graph names one.
    pub fn queue(&self) -> Option<AgentId> {
        self.compiled.graph().queue.as_ref().and_then(|queue| queue.parse().ok())
    }

    /// How long a bot has to answer, if the graph says so.
    pub fn answer_within(&self) -> Option<Span> {
        self.compiled.graph().silence.answer_within
    }

    /// Who is asked when a bot is silent, in this order.
    pub fn fallbacks(&self) -> impl Iterator<Item = AgentId> + '_ {
        let named = self.compiled.graph().silence.fallback.iter();
        named.filter_map(|step| step.as_str().parse().ok()).chain(self.queue())
    }

    /// The words by which its bots promise a transfer, besides ours.
    pub fn promises(&self) -> &OwnPromises {
        &self.promises
    }

    /// The queues that a customer may name.
    pub fn customer_queues(&self) -> impl Iterator<Item = AgentId> + '_ {
        let named = self.compiled.graph().customer_queues.iter();
        named.filter_map(|queue| queue.as_str().parse().ok())
    }

    /// Whether a customer may name this queue.
    pub fn lets_customers_name(&self, queue: &AgentId) -> bool {
        self.compiled.graph().customer_queues.iter().any(|named| named == queue.as_str())
    }
}
