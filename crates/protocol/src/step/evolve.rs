//! The state after an event, for every aggregate.

use super::{BadHistory, Event, State, derived};
use crate::ids::{AgentId, QuestionId, SessionId};
use crate::ledger::{Stream, Subject};
use crate::time::Time;
use crate::{
    agent, conversation, file, fork, graph, handoff, message, question, session, subscription,
    teamspace, token, webhook,
};
use std::sync::Arc;

/// The state after one more event of a stream.
pub fn evolve(
    stream: &Stream,
    state: Option<State>,
    event: &Event,
    at: Time,
) -> Result<State, BadHistory> {
    let bad = BadHistory { event: event.name() };
    match (&stream.subject, state, event) {
        (_, Some(state), Event::Erased(_)) => Ok(derived::without_texts(state, at)),
        (Subject::Handoff(id), None, Event::Handoff(event)) => {
            Ok(State::Handoff(Box::new(handoff::evolve(*id, None, event, at)?)))
        }
        (Subject::Handoff(id), Some(State::Handoff(handoff)), Event::Handoff(event)) => {
            Ok(State::Handoff(Box::new(handoff::evolve(*id, Some(*handoff), event, at)?)))
        }
        (Subject::Agent(id), state, Event::Agent(event)) => evolve_agent(id, state, event),
        (Subject::Token(id), None, Event::Token(event)) => {
            Ok(State::Token(token::evolve(*id, None, event, at)?))
        }
        (Subject::Token(id), Some(State::Token(token)), Event::Token(event)) => {
            Ok(State::Token(token::evolve(*id, Some(token), event, at)?))
        }
        (Subject::Ledger, state, Event::Forked(forked)) => {
            let known = if let Some(State::Ledger(forks)) = state { Some(forks) } else { None };
            Ok(State::Ledger(fork::evolve(known, forked)))
        }
        (Subject::Message(id), None, Event::Message(event)) => {
            Ok(State::Message(message::evolve(*id, None, event, at)?))
        }
        (Subject::Message(id), Some(State::Message(message)), Event::Message(event)) => {
            Ok(State::Message(message::evolve(*id, Some(message), event, at)?))
        }
        (Subject::Conversation(id), None, Event::Conversation(event)) => {
            Ok(State::Conversation(Arc::new(conversation::evolve(*id, None, event, at)?)))
        }
        (Subject::Conversation(id), Some(State::Conversation(it)), Event::Conversation(event)) => {
            let it = Arc::unwrap_or_clone(it);
            Ok(State::Conversation(Arc::new(conversation::evolve(*id, Some(it), event, at)?)))
        }
        (Subject::Teamspace, state, Event::Teamspace(event)) => evolve_teamspace(state, event),
        (Subject::Graph(_), state, Event::Graph(event)) => evolve_graph(state, event),
        (Subject::Subscription(_), state, Event::Subscription(event)) => {
            evolve_subscription(state, event)
        }
        (Subject::Session(id), state, Event::Session(it)) => evolve_session(id, state, it, at),
        (Subject::Webhook(_), state, Event::Webhook(event)) => evolve_webhook(state, event, at),
        (Subject::File(_), state, Event::File(it)) => evolve_file(state, it, at),
        (Subject::Question(id), state, Event::Question(it)) => evolve_question(*id, state, it, at),
        (
            Subject::Handoff(_)
            | Subject::Agent(_)
            | Subject::Token(_)
            | Subject::Message(_)
            | Subject::Conversation(_)
            | Subject::Teamspace
            | Subject::Graph(_)
            | Subject::Subscription(_)
            | Subject::Session(_)
            | Subject::File(_)
            | Subject::Webhook(_)
            | Subject::Question(_)
            | Subject::Ledger,
            _,
            _,
        ) => Err(bad),
    }
}

fn evolve_agent(
    id: &AgentId,
    state: Option<State>,
    event: &agent::Event,
) -> Result<State, BadHistory> {
    let known = if let Some(State::Agent(known)) = state { Some(known) } else { None };
    agent::evolve(id.clone(), known, event).map(State::Agent)
}

fn evolve_session(
    id: &SessionId,
    state: Option<State>,
    event: &session::Event,
    at: Time,
) -> Result<State, BadHistory> {
    let known = if let Some(State::Session(known)) = state { Some(*known) } else { None };
    session::evolve(id, known, event, at).map(Box::new).map(State::Session)
}

fn evolve_teamspace(state: Option<State>, event: &teamspace::Event) -> Result<State, BadHistory> {
    let known = if let Some(State::Teamspace(known)) = state { Some(known) } else { None };
    teamspace::evolve(known, event).map(State::Teamspace)
}

fn evolve_graph(state: Option<State>, event: &graph::Event) -> Result<State, BadHistory> {
    let known = if let Some(State::Graph(known)) = state { Some(known) } else { None };
    graph::evolve(known, event).map(State::Graph)
}

fn evolve_subscription(
    state: Option<State>,
    event: &subscription::Event,
) -> Result<State, BadHistory> {
    let known = if let Some(State::Subscription(known)) = state { Some(*known) } else { None };
    subscription::evolve(known, event).map(Box::new).map(State::Subscription)
}

fn evolve_webhook(
    state: Option<State>,
    event: &webhook::Event,
    at: Time,
) -> Result<State, BadHistory> {
    let known = if let Some(State::Webhook(known)) = state { Some(*known) } else { None };
    webhook::evolve(known, event, at).map(Box::new).map(State::Webhook)
}

fn evolve_file(state: Option<State>, event: &file::Event, at: Time) -> Result<State, BadHistory> {
    let known = if let Some(State::File(known)) = state { Some(*known) } else { None };
    file::evolve(known, event, at).map(Box::new).map(State::File)
}

fn evolve_question(
    id: QuestionId,
    state: Option<State>,
    event: &question::Event,
    at: Time,
) -> Result<State, BadHistory> {
    let known = if let Some(State::Question(known)) = state { Some(*known) } else { None };
    question::evolve(id, known, event, at).map(Box::new).map(State::Question)
}
