//! `observe_signals`: a program outside, such as a classifier, scores how a message of the customer
//! sounds. The scores count like those of the word lists: they may call a person, and nothing else.

use super::human::{self, Ask, AskedBy};
use super::shared::open_to;
use crate::agent::Kind;
use crate::aggregate;
use crate::conversation::command::ObserveSignals;
use crate::conversation::event::{Event, SignalsObserved, Speaker};
use crate::conversation::evolve::evolve;
use crate::conversation::state::{Conversation, Side};
use crate::facts::Context;
use crate::rejection::Rejection;
use crate::signal::Escalate;

pub fn decide(
    state: Option<&Conversation>,
    observe: &ObserveSignals,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    let (conversation, side) = open_to(state, context, "observe_signals")?;
    match side {
        Side::Agent(_) | Side::Overseer => {}
        Side::Customer => {
            let who = "an agent of the conversation or an operator";
            return Err(Rejection::NotAllowed { action: "score messages", who });
        }
    }
    check(observe, context)?;
    let ObserveSignals { message, signals } = observe;
    let after = conversation.signals.scored(*message, signals);
    // A classifier may be asked again; the same scores are recorded once.
    if after == Some(conversation.signals) {
        return Ok(Vec::new());
    }
    let mut observed = SignalsObserved {
        holder: conversation.holder.clone(),
        epoch: conversation.epoch,
        message: *message,
        signals: signals.clone(),
        escalation: None,
    };
    let graph = context.facts.graph.as_deref();
    let rules = graph.map_or(&conversation.setup.signals, |graph| graph.signals());
    let escalation = after.and_then(|after| rules.escalation(&after));
    if let Some(escalation) = escalation.filter(|_| !is_with_people(conversation, context)) {
        observed.escalation = Some(escalation.clone());
        if let Some(asked) = ask_after(conversation, &observed, escalation, context) {
            return Ok([Event::SignalsObserved(observed)].into_iter().chain(asked).collect());
        }
    }
    Ok(vec![Event::SignalsObserved(observed)])
}

fn check(observe: &ObserveSignals, context: Context<'_>) -> Result<(), Rejection> {
    let invalid = |field: String, expected: &str| {
        Err(Rejection::SchemaInvalid { field, expected: expected.to_owned() })
    };
    let is_of_customer = match context.facts.line.as_deref() {
        Some(aggregate::Event::Conversation(Event::Said(said))) => said.by == Speaker::Customer,
        Some(_) | None => false,
    };
    if !is_of_customer {
        return invalid("message".to_owned(), "the number of a message of the customer");
    }
    if observe.signals.is_empty() {
        return invalid("signals".to_owned(), "1 to 4 scores");
    }
    for (index, scored) in observe.signals.iter().enumerate() {
        if !(0.0..=1.0).contains(&scored.score) {
            return invalid(format!("signals[{index}].score"), "a number from 0 to 1");
        }
        if observe.signals[..index].iter().any(|other| other.signal == scored.signal) {
            return invalid(format!("signals[{index}].signal"), "a signal named only once");
        }
    }
    Ok(())
}

/// Asks for a person with the scores already part of the conversation.
fn ask_after(
    conversation: &Conversation,
    observed: &SignalsObserved,
    escalation: Escalate,
    context: Context<'_>,
) -> Option<Vec<Event>> {
    let event = Event::SignalsObserved(observed.clone());
    let after = evolve(conversation.id, Some(conversation.clone()), &event, context.now);
    let queue = context.facts.graph.as_ref().and_then(|graph| graph.queue());
    let ask = Ask { by: AskedBy::Signal, reason: escalation.reason, queue, instead_of: None };
    human::ask(&after.expect("the conversation goes on"), &ask, context)
}

/// Whether a person or a queue holds it.
fn is_with_people(conversation: &Conversation, context: Context<'_>) -> bool {
    match context.facts.kinds.get(&conversation.holder) {
        Some(Kind::Human | Kind::Queue) => true,
        Some(Kind::Worker | Kind::System) | None => false,
    }
}
