//! What follows from a message of the customer: where the graph routes it, and whether a person is
//! called. This is decided together with the message, so no agent can answer in between.

use serde_json::Map;

use super::human::{self, Ask, AskedBy};
use crate::agent::{Agent, Kind};
use crate::conversation::event::{Event, How, Routed, Said};
use crate::conversation::evolve::evolve;
use crate::conversation::graph::{TurnAnswer, TurnFacts};
use crate::conversation::silence::limit_of;
use crate::conversation::state::Conversation;
use crate::conversation::turn_route::{TurnOutcome, TurnRoute};
use crate::facts::Context;
use crate::ids::GraphId;

/// The message and the events that follow from it, in order.
pub fn follow(conversation: &Conversation, mut said: Said, context: Context<'_>) -> Vec<Event> {
    let Some(turn) = context.facts.turn.as_deref() else {
        return vec![Event::Said(said)];
    };
    said.signals = turn.heard.scores();
    if is_with_people(turn) {
        return vec![Event::Said(said)];
    }
    let signals = conversation.signals.after(said.number, &said.signals);
    let rules = turn.rules().unwrap_or(&conversation.setup.signals);
    said.escalation = rules.escalation(&signals);
    if let Some(escalation) = &said.escalation {
        let (by, reason) = (AskedBy::Signal, escalation.reason.clone());
        let ask = Ask { by, reason, queue: turn.queue(), instead_of: None };
        if let Some(asked) = ask_after(conversation, &said, &ask, context) {
            return joined(said, asked);
        }
    }
    match &conversation.setup.graph {
        Some(graph) => route(conversation, said, graph, turn, context),
        None => vec![Event::Said(said)],
    }
}

fn route(
    conversation: &Conversation,
    mut said: Said,
    graph: &GraphId,
    turn: &TurnFacts,
    context: Context<'_>,
) -> Vec<Event> {
    let Some(answer) = &turn.answer else {
        said.route = Some(TurnRoute::no_graph(graph.clone()));
        return vec![Event::Said(said)];
    };
    let outcome = match answer.agent() {
        None => return to_a_person(conversation, said, turn, answer, context),
        Some(agent) if *agent == conversation.holder => TurnOutcome::Stayed,
        Some(agent) if turn.target.as_ref().is_some_and(Agent::is_target) => {
            let route = answer.route(TurnOutcome::Moved);
            let routed = Routed {
                holder: conversation.holder.clone(),
                to: agent.clone(),
                number: said.number + 1,
                epoch: conversation.epoch + 1,
                how: How::Graph,
                reason: String::new(),
                context: String::new(),
                customer_text: String::new(),
                update: Map::new(),
                instead_of: None,
                route: Some(route),
                deliver: turn.target.as_ref().is_some_and(|agent| agent.endpoint.is_some()),
                answer_within: limit_of(agent, Some(&answer.graph), context.facts),
            };
            return joined(said, vec![Event::Routed(routed)]);
        }
        Some(_) => TurnOutcome::UnknownAgent,
    };
    said.route = Some(answer.route(outcome));
    vec![Event::Said(said)]
}

fn to_a_person(
    conversation: &Conversation,
    mut said: Said,
    turn: &TurnFacts,
    answer: &TurnAnswer,
    context: Context<'_>,
) -> Vec<Event> {
    let route = answer.route(TurnOutcome::HumanAsked);
    let (reason, queue) = (route.reason(), turn.queue());
    let ask = Ask { by: AskedBy::Graph, reason, queue, instead_of: None };
    said.route = Some(route);
    match ask_after(conversation, &said, &ask, context) {
        Some(asked) => joined(said, asked),
        None => {
            said.route = Some(answer.route(TurnOutcome::NobodyToAsk));
            vec![Event::Said(said)]
        }
    }
}

/// Asks for a person with the message already part of the conversation.
fn ask_after(
    conversation: &Conversation,
    said: &Said,
    ask: &Ask,
    context: Context<'_>,
) -> Option<Vec<Event>> {
    let said = Event::Said(said.clone());
    let heard = evolve(conversation.id, Some(conversation.clone()), &said, context.now);
    human::ask(&heard.expect("the conversation goes on"), ask, context)
}

/// A graph never routes a conversation away from a person, or from a queue.
fn is_with_people(turn: &TurnFacts) -> bool {
    turn.holder.as_ref().is_some_and(|holder| match holder.kind {
        Kind::Human | Kind::Queue => true,
        Kind::Worker | Kind::System => false,
    })
}

fn joined(said: Said, then: Vec<Event>) -> Vec<Event> {
    [Event::Said(said)].into_iter().chain(then).collect()
}
