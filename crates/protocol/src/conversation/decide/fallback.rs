//! Who gets the conversation from a bot that did not answer or could not be reached: the first of
//! its fallbacks that can take it and was not tried yet. Without one the bot keeps it.

use serde_json::Map;

use super::human::{self, Ask, AskedBy};
use crate::agent::{Agent, Kind};
use crate::conversation::event::{Event, Fallback, How, Routed};
use crate::conversation::evolve::evolve;
use crate::conversation::silence::limit_of;
use crate::conversation::state::Conversation;
use crate::facts::{Context, Facts};
use crate::ids::AgentId;

/// Why the holder loses the conversation.
pub(super) struct Failure<'c, F> {
    pub by: AskedBy,
    /// For the next holder.
    pub reason: String,
    /// Whether people may be called: no person is called about a customer who has left.
    pub may_call_people: bool,
    /// Agents that passed it on in circles.
    pub passed_over: &'c [AgentId],
    /// The entry that records it, from who is next.
    pub entry: F,
}

/// The entry, and the events that give the conversation to who is next.
pub(super) fn next_hands<F: Fn(Option<Fallback>) -> Event>(
    conversation: &Conversation,
    failure: &Failure<'_, F>,
    context: Context<'_>,
) -> Vec<Event> {
    let fallbacks = context.facts.fallbacks.iter();
    let mut next = fallbacks.filter_map(|fallback| tried(conversation, failure, fallback, context));
    next.next().unwrap_or_else(|| vec![(failure.entry)(None)])
}

/// `None` if this fallback cannot take it, or was tried before.
fn tried<F: Fn(Option<Fallback>) -> Event>(
    conversation: &Conversation,
    failure: &Failure<'_, F>,
    fallback: &Agent,
    context: Context<'_>,
) -> Option<Vec<Event>> {
    let was_tried = conversation.wait.tried.contains(&fallback.id)
        || failure.passed_over.contains(&fallback.id);
    if was_tried || fallback.id == conversation.holder {
        return None;
    }
    let entry = (failure.entry)(Some(named(fallback)));
    let known = evolve(conversation.id, Some(conversation.clone()), &entry, context.now);
    let known = known.expect("the conversation goes on");
    let reason = failure.reason.clone();
    let events = match fallback.kind {
        Kind::Queue if !failure.may_call_people => None,
        Kind::Queue => {
            let ask = Ask { by: failure.by, reason, queue: None, instead_of: None };
            let queue = Some(fallback.clone());
            let facts = Facts { queue, ..context.facts.clone() };
            human::ask(&known, &ask, Context { facts: &facts, ..context })
        }
        Kind::Worker if !fallback.is_target() => None,
        Kind::Worker | Kind::System => Some(vec![Event::Routed(Routed {
            holder: conversation.holder.clone(),
            to: fallback.id.clone(),
            number: known.transcript.count + 1,
            epoch: conversation.epoch + 1,
            how: how(conversation, failure.by, fallback),
            reason,
            context: String::new(),
            customer_text: String::new(),
            update: Map::new(),
            instead_of: None,
            route: None,
            deliver: fallback.endpoint.is_some(),
            answer_within: limit_of(&fallback.id, None, context.facts),
        })]),
        Kind::Human => None,
    };
    Some(std::iter::once(entry).chain(events?).collect())
}

fn named(fallback: &Agent) -> Fallback {
    match fallback.kind {
        Kind::Queue => Fallback::Queue(fallback.id.clone()),
        Kind::Worker | Kind::System | Kind::Human => Fallback::Agent(fallback.id.clone()),
    }
}

/// A supervisor steps in for a worker that is out of reach, as it does for a loop.
fn how(conversation: &Conversation, by: AskedBy, fallback: &Agent) -> How {
    let supervises = conversation.setup.topology.supervisor() == Some(&fallback.id);
    match by {
        AskedBy::Unreached if supervises => How::SupervisorRouting,
        AskedBy::Unreached
        | AskedBy::Silent
        | AskedBy::Graph
        | AskedBy::Signal
        | AskedBy::LoopGuard => How::NoAnswer,
    }
}
