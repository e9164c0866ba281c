//! How a decision is reported: to the calling program, to people, and on the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::graph::{AgentGraph, HUMAN, NodeKind};
use crate::ids::AgentId;

/// Where a turn ended, and its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routed {
    pub target: Target,
    /// The nodes on the path, from the entry to the specialist. A person is no node.
    pub path: Vec<String>,
    /// One choice per router, in order.
    pub hops: Vec<Hop>,
    /// Whether the time was spent before the intent was known.
    pub is_cut_short: bool,
}

/// Exactly one of these answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Specialist { node: String, agent: AgentId },
    Human,
}

/// One router's choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Hop {
    pub from: String,
    /// A node's id, or `human`.
    pub to: String,
    /// None if no rule matched.
    pub rule_index: Option<usize>,
    pub reason: Option<String>,
}

/// The reason for a default that was chosen because the time was spent.
pub const SPENT: &str = "the time for matching the rules was spent";

impl Hop {
    fn is_spent(&self) -> bool {
        self.rule_index.is_none() && self.reason.as_deref() == Some(SPENT)
    }
}

/// The choice that decided where the turn went, in the shape that chat clients know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RouteDecision {
    /// The router that chose last; the entry itself, if it is a specialist.
    pub from: String,
    /// A node's id, or `human`.
    pub to: String,
    /// How long it took. The caller measures it, because there is no clock here.
    #[schemars(range(min = 0.0))]
    pub latency_ms: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_index: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent_label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub intent_confidence: Option<f64>,
}

impl Target {
    /// A node's id, or `human`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Specialist { node, .. } => node,
            Self::Human => HUMAN,
        }
    }
}

impl Routed {
    /// The last choice, in its published form. It also says if the time was spent before.
    pub fn decision(&self, intent: Option<(&str, f64)>, latency_ms: f64) -> RouteDecision {
        let last = self.hops.last();
        let entry = self.path.first().cloned().unwrap_or_default();
        let rule_index = last.and_then(|hop| hop.rule_index);
        let reason = last.and_then(|hop| hop.reason.clone());
        let n_spent = self.hops.iter().filter(|hop| hop.is_spent()).count();
        let is_said = last.is_some_and(Hop::is_spent);
        let is_cut_short = self.is_cut_short || n_spent > 0;
        let reason = match reason {
            reason if is_said || !is_cut_short => reason,
            Some(reason) => Some(format!("{SPENT}; {reason}")),
            None => Some(SPENT.to_owned()),
        };
        RouteDecision {
            from: last.map_or(entry, |hop| hop.from.clone()),
            to: self.target.as_str().to_owned(),
            latency_ms: latency_ms.max(0.0),
            reason,
            rule_index: rule_index.and_then(|index| u32::try_from(index).ok()),
            intent_label: intent.map(|(label, _)| label.to_owned()),
            intent_confidence: intent.map(|(_, confidence)| confidence),
        }
    }
}

/// A graph in its published form: which node can lead to which, without the rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentGraphSnapshot {
    pub entry: String,
    pub nodes: Vec<NodeSnapshot>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeSnapshot {
    pub id: String,
    pub kind: NodeKind,
    /// Nodes' ids or `human`, each once, in the order of the rules.
    pub handoff_to: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The intent that leads here, if there is exactly one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent_name: Option<String>,
}

impl AgentGraph {
    pub fn snapshot(&self) -> AgentGraphSnapshot {
        let intents = self.intents_by_target();
        let nodes = self.nodes.iter().map(|node| {
            let mut handoff_to: Vec<String> = Vec::new();
            let mut is_listed = std::collections::HashSet::new();
            for (_, to) in node.ways().filter(|(_, to)| is_listed.insert(*to)) {
                handoff_to.push(to.to_owned());
            }
            let intent_name = match intents.get(node.id.as_str()) {
                Some(Intents::One(label)) => Some((*label).to_owned()),
                Some(Intents::Several) | None => None,
            };
            let (id, description) = (node.id.clone(), node.description.clone());
            NodeSnapshot { id, kind: node.kind, handoff_to, description, intent_name }
        });
        AgentGraphSnapshot { entry: self.entry.clone(), nodes: nodes.collect() }
    }

    fn intents_by_target(&self) -> std::collections::HashMap<&str, Intents<'_>> {
        let mut intents = std::collections::HashMap::new();
        for rule in self.nodes.iter().flat_map(|node| &node.rules) {
            let Some(intent) = &rule.intent else { continue };
            let label = intent.label.as_str();
            let known = intents.entry(rule.goto.as_str()).or_insert(Intents::One(label));
            if *known != Intents::One(label) {
                *known = Intents::Several;
            }
        }
        intents
    }
}

#[derive(Debug, PartialEq)]
enum Intents<'g> {
    One(&'g str),
    Several,
}
