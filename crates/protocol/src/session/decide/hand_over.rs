//! `hand_over` and `deliver_decision`: the server has done what a producer asked for, and records
//! the result. Each is recorded once.

use super::shared::{Decision, check_server};
use crate::facts::Context;
use crate::ids::SessionId;
use crate::rejection::Rejection;
use crate::session::event::{Delivered, Event, Handover};
use crate::session::state::{Session, handed_key, handover_key};
use crate::stored::{HoldState, HoldWrite};

pub fn decide(
    id: &SessionId,
    state: Option<&Session>,
    handover: &Handover,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    check_server(context, "record the result of a handoff")?;
    let Some(session) = state else { return Ok(Decision::default()) };
    let key = handover_key(id, &handover.event_id);
    if context.facts.holds.is_taken(&key) || session.handover.as_ref() == Some(handover) {
        return Ok(Decision::default());
    }
    let take = |key, value: String| HoldWrite {
        key,
        expected: HoldState::default(),
        next: HoldState { holder: None, value: Some(value) },
    };
    let mut holds = vec![take(key, handover.outcome.as_str().to_owned())];
    if let (Some(conversation), Some(number)) = (session.conversation, handover.number) {
        // Finds the request by the place in the transcript where the conversation changed hands.
        let value = format!("{id} {} {}", handover.event_id, handover.outcome.as_str());
        holds.push(take(handed_key(conversation, number), value));
    }
    Ok(Decision { events: vec![Event::HandedOver(handover.clone())], holds })
}

pub fn delivered(
    state: Option<&Session>,
    reply_token: &str,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    check_server(context, "say that a producer was told")?;
    let is_wanted = state.is_some_and(|session| session.telling.iter().any(|it| it == reply_token));
    let event = Event::Delivered(Delivered { reply_token: reply_token.to_owned() });
    Ok(Decision { events: is_wanted.then_some(event).into_iter().collect(), holds: Vec::new() })
}
