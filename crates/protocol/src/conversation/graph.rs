//! A turn of a conversation that has a graph: the question to the graph, the facts with its answer,
//! and the record of it. The engine asks the graph; the rules here see the answer.

use super::turn_asked::TurnAsked;
use super::turn_route::{TurnDecision, TurnOutcome, TurnRoute};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::command::Say;
use super::part::Part;
use super::state::Conversation;
use crate::agent::Agent;
use crate::graph::Ready;
use crate::ids::{AgentId, GraphId};
use crate::route::graph::Scalar;
use crate::route::spent::IsSpent;
use crate::route::words::looked_at;
use crate::route::{IntentClassification, Routed, Target, Turn};
use crate::signal::{EscalationRules, Heard};

/// The facts about a message when it is decided.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnFacts {
    /// `None` if there is no graph, or it does not exist any more.
    pub answer: Option<TurnAnswer>,
    pub heard: Heard,
    /// The directory entry of the agent that the graph names.
    pub target: Option<Agent>,
    pub holder: Option<Agent>,
}

/// Where a graph routes a message.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnAnswer {
    pub graph: Arc<Ready>,
    pub routed: Routed,
    pub intent: Option<IntentClassification>,
    /// How long the graph took; the engine measures it.
    pub latency_ms: f64,
}

impl TurnAsked {
    /// The question about a message, if the conversation has a graph or rules about signals, and
    /// is not closed.
    pub fn about(conversation: &Conversation, say: &Say) -> Option<Box<Self>> {
        if conversation.closed.is_some() || !conversation.remembers_signals() {
            return None;
        }
        Some(Box::new(Self {
            graph: conversation.setup.graph.clone(),
            holder: conversation.holder.clone(),
            text: text_of(&say.parts),
            language: conversation.setup.customer.language.clone(),
            attributes: attributes(conversation),
        }))
    }

    /// Asks the graph while there is time. Once it is spent, the defaults of the graph decide.
    pub fn answered_by(&self, graph: Arc<Ready>, is_spent: IsSpent<'_>) -> TurnAnswer {
        let (intent, looked) = graph.compiled().classify_within(&self.text, is_spent);
        let turn = Turn {
            text: &self.text,
            language: self.language.as_deref(),
            intent: intent.as_ref().map(|intent| (intent.label.as_str(), intent.confidence)),
            attributes: &self.attributes,
        };
        let mut routed = graph.compiled().route_within(&turn, is_spent);
        routed.is_cut_short = looked.is_err();
        TurnAnswer { graph, routed, intent, latency_ms: 0.0 }
    }
}

/// Copies no more of a text than is looked at.
fn text_of(parts: &[Part]) -> String {
    let mut text = String::new();
    for part in parts {
        let Part::Text(part) = part else { continue };
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(looked_at(&part.text));
    }
    text.truncate(looked_at(&text).len());
    text
}

/// The attributes that the backend gave at the start and the data that the agents share, as far as
/// they are single values.
fn attributes(conversation: &Conversation) -> BTreeMap<String, String> {
    let given = conversation.setup.attributes.iter();
    let mut attributes: BTreeMap<String, String> =
        given.map(|(name, value)| (name.clone(), value.as_str().to_owned())).collect();
    let shared = conversation.shared.iter();
    attributes.extend(shared.filter_map(|(name, value)| {
        let value = Scalar::of(value)?;
        Some((name.clone(), value.as_str().to_owned()))
    }));
    attributes
}

impl TurnAnswer {
    /// The agent that should answer; `None` for a person.
    pub fn agent(&self) -> Option<&AgentId> {
        match &self.routed.target {
            Target::Specialist { agent, .. } => Some(agent),
            Target::Human => None,
        }
    }

    pub fn route(&self, outcome: TurnOutcome) -> TurnRoute {
        let intent = self.intent.as_ref();
        let intent = intent.map(|intent| (intent.label.as_str(), intent.confidence));
        let decision = self.routed.decision(intent, self.latency_ms);
        TurnRoute {
            graph: self.graph.id.clone(),
            version: Some(self.graph.version),
            outcome,
            decision: Some(TurnDecision {
                from: decision.from,
                to: decision.to,
                reason: decision.reason,
                rule_index: decision.rule_index,
                intent_label: decision.intent_label,
                intent_confidence: decision.intent_confidence,
                latency_ms: decision.latency_ms,
            }),
            path: self.routed.path.clone(),
        }
    }
}

impl TurnRoute {
    /// The record of a turn without a graph.
    pub fn no_graph(graph: GraphId) -> Self {
        let outcome = TurnOutcome::NoGraph;
        Self { graph, version: None, outcome, decision: None, path: Vec::new() }
    }

    /// Why, for later readers.
    pub fn reason(&self) -> String {
        self.decision.as_ref().and_then(|decision| decision.reason.clone()).unwrap_or_default()
    }
}

impl TurnFacts {
    /// The rules of the graph that call a person.
    pub fn rules(&self) -> Option<&EscalationRules> {
        self.answer.as_ref().map(|answer| answer.graph.signals())
    }

    /// The graph that answered, if it exists.
    pub fn graph(&self) -> Option<&Ready> {
        self.answer.as_ref().map(|answer| answer.graph.as_ref())
    }

    /// The queue whose people are asked, if the graph names one.
    pub fn queue(&self) -> Option<AgentId> {
        self.answer.as_ref().and_then(|answer| answer.graph.queue())
    }
}
