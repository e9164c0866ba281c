//! A saved graph of a teamspace, which routes the turns of its conversations. Each save is a
//! version. The text is stored beside the entry, which names it by its hash.
//! [`route`](crate::route) checks that a graph is sound.

pub mod ready;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::agent::Kind;
use crate::caller::Caller;
use crate::canonical;
use crate::facts::Context;
use crate::ledger::BadHistory;
use crate::needs::{Directory, Needs};
use crate::rejection::Rejection;
use crate::route::silence::FallbackStep;
use crate::route::{AgentGraph, Compiled, GraphProblem, NodeKind};
use crate::stored::Document;
use crate::warning::{Named, check_kinds};

pub use ready::Ready;

/// The state of a graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Graph {
    /// The last saved version.
    pub saved: Saved,
    /// It routes no turns any more. It can be saved again, and its version number then continues.
    pub removed: bool,
}

/// One version of a graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saved {
    /// From 1, increased by 1 with each save.
    pub version: u64,
    /// SHA-256 of the text.
    pub hash: String,
    pub size_bytes: u64,
    pub n_routers: u64,
    pub n_specialists: u64,
    pub n_rules: u64,
    /// Rules about how a conversation goes.
    pub n_signals: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removed {
    /// The last version.
    pub version: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    Save {
        graph: Arc<Checked>,
        /// The version that the caller has seen, if it wants that checked; 0 for none.
        version: Option<u64>,
    },
    Remove,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Saved(Saved),
    Removed(Removed),
}

/// A document that was read, checked and compiled without a problem, in its stored form.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    graph: AgentGraph,
    text: String,
    hash: String,
}

impl Checked {
    /// Returns all problems together. A large graph takes a while.
    pub fn read(bytes: &[u8]) -> Result<Self, Vec<GraphProblem>> {
        let graph = AgentGraph::read(bytes)?;
        let problems = graph.cost_problems();
        if !problems.is_empty() {
            return Err(problems);
        }
        let graph = Compiled::new(graph)?.into_graph();
        let value = serde_json::to_value(&graph).expect("a document is plain data");
        let text = canonical::canonical(&value);
        let hash = canonical::hex(&canonical::sha256(&[text.as_bytes()]));
        Ok(Self { graph, text, hash })
    }

    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The agents of its specialists, the queue for its people, the queues that customers may
    /// name, and the fallbacks.
    pub fn named(&self) -> Vec<Named> {
        let nodes = self.graph.nodes.iter().enumerate();
        let specialists = nodes.filter_map(|(index, node)| {
            let (field, wanted) = (format!("nodes[{index}].agent"), &[Kind::Worker]);
            Some(Named { field, agent: node.agent.as_ref()?.parse().ok()?, wanted })
        });
        let queue = self.graph.queue.as_ref().and_then(|queue| queue.parse().ok());
        let (field, wanted) = ("queue".to_owned(), &[Kind::Queue]);
        let queue = queue.map(|agent| Named { field, agent, wanted });
        let numbered = self.graph.customer_queues.iter().enumerate();
        let theirs = numbered.filter_map(|(index, queue)| {
            let (field, wanted) = (format!("customer_queues[{index}]"), &[Kind::Queue]);
            Some(Named { field, agent: queue.parse().ok()?, wanted })
        });
        let steps = self.graph.silence.fallback.iter().enumerate();
        let fallbacks = steps.filter_map(|(index, step)| {
            let field = format!("silence.fallback[{index}].{}", step.name());
            let wanted: &[Kind] = match step {
                FallbackStep::Agent(_) => &[Kind::Worker, Kind::System],
                FallbackStep::Queue(_) => &[Kind::Queue],
            };
            Some(Named { field, agent: step.as_str().parse().ok()?, wanted })
        });
        specialists.chain(queue).chain(theirs).chain(fallbacks).collect()
    }

    fn saved(&self, version: u64) -> Saved {
        let count = |n: usize| u64::try_from(n).expect("a graph is limited");
        let of = |kind| self.graph.nodes.iter().filter(|node| node.kind == kind).count();
        Saved {
            version,
            hash: self.hash.clone(),
            size_bytes: count(self.text.len()),
            n_routers: count(of(NodeKind::Router)),
            n_specialists: count(of(NodeKind::Specialist)),
            n_rules: count(self.graph.n_rules()),
            n_signals: count(self.graph.signals.rules.len()),
        }
    }
}

impl Command {
    /// The facts it needs besides the graph: the kinds of the agents that it names.
    pub fn needs(&self) -> Needs {
        let directory = match self {
            Command::Save { graph, .. } => {
                let named = graph.named().into_iter().map(|named| named.agent);
                Some(Directory::Named(named.collect()))
            }
            Command::Remove => None,
        };
        Needs { directory, ..Needs::default() }
    }
}

impl Graph {
    /// The version that routes now; 0 if none does.
    pub fn version(&self) -> u64 {
        if self.removed { 0 } else { self.saved.version }
    }
}

/// The events of a decision, and the text that they name.
pub type Decision = (Vec<Event>, Option<Document>);

/// Whether a caller may save and remove graphs.
pub fn may_change(caller: &Caller) -> bool {
    caller.is_coordinator()
}

pub fn decide(
    state: Option<&Graph>,
    command: &Command,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    if !may_change(context.caller) {
        let action = match command {
            Command::Save { .. } => "save a graph",
            Command::Remove => "remove a graph",
        };
        return Err(Rejection::NotAllowed { action, who: "a coordinator or an operator" });
    }
    let current = state.map_or(0, Graph::version);
    match command {
        Command::Save { graph, version } => {
            if let Some(given) = version.filter(|given| *given != current) {
                return Err(Rejection::RevisionOutdated { field: "version", given, current });
            }
            check_kinds(&graph.named(), &context.facts.kinds)?;
            if state.is_some_and(|known| !known.removed && known.saved.hash == graph.hash) {
                return Ok((Vec::new(), None));
            }
            let saved = graph.saved(state.map_or(0, |known| known.saved.version) + 1);
            let document = Document { hash: graph.hash.clone(), text: graph.text.clone() };
            Ok((vec![Event::Saved(saved)], Some(document)))
        }
        Command::Remove => match state {
            None => Err(Rejection::NotFound { what: "graph" }),
            Some(known) if known.removed => Ok((Vec::new(), None)),
            Some(known) => {
                let removed = Removed { version: known.saved.version };
                Ok((vec![Event::Removed(removed)], None))
            }
        },
    }
}

pub fn evolve(state: Option<Graph>, event: &Event) -> Result<Graph, BadHistory> {
    match (state, event) {
        (_, Event::Saved(saved)) => Ok(Graph { saved: saved.clone(), removed: false }),
        (Some(known), Event::Removed(_)) => Ok(Graph { removed: true, ..known }),
        (None, Event::Removed(_)) => Err(BadHistory { event: event.name() }),
    }
}

impl Event {
    pub fn name(&self) -> &'static str {
        match self {
            Event::Saved(_) => "graph.saved",
            Event::Removed(_) => "graph.removed",
        }
    }
}
