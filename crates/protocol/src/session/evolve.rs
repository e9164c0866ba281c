//! The state of a session after an event.

use super::event::{Announced, Event, Given, Response};
use super::state::{EventPlace, Session, opening};
use crate::ids::SessionId;
use crate::ledger::BadHistory;
use crate::time::Time;
use aaep::event::Decision;
use aaep::machine::{self, Audience, Lasts, Outcome, Weak};
use aaep::read::read;

pub fn evolve(
    id: &SessionId,
    state: Option<Session>,
    event: &Event,
    at: Time,
) -> Result<Session, BadHistory> {
    let bad = || BadHistory { event: event.name() };
    if let Event::Announced(announced) = event
        && let Some(foreseen) = &announced.foreseen.0
    {
        return Ok(foreseen.as_ref().clone());
    }
    let mut session = match (state, event) {
        (Some(session), _) => session,
        (None, Event::Announced(announced)) => opened(id, announced, at).ok_or_else(bad)?,
        (
            None,
            Event::Answered(_)
            | Event::TimedOut(_)
            | Event::Withdrawn(_)
            | Event::HandedOver(_)
            | Event::Delivered(_),
        ) => return Err(bad()),
    };
    match event {
        Event::Announced(announced) => follow(&mut session, announced, at),
        Event::Answered(answered) => {
            let token = &answered.reply_token;
            let lasts = match answered.expires_at {
                Some(until) => Lasts::Until(until),
                None if answered.automatic => Lasts::NotAtAll,
                None => Lasts::WithoutEnd,
            };
            settle(&mut session.machine, token, &answered.given, (at, lasts)).map_err(|_| bad())?;
            // If a person proposed another action, the producer may ask about that one.
            if answered.outcome == Outcome::Rejected && !answered.modified {
                session.refuse(token, at);
            }
            session.settled(token, &answered.event_id);
            session.heard_at = Some(at);
            session.telling.extend(answered.deliver.then(|| token.clone()));
        }
        Event::TimedOut(over) => {
            let audience = if over.unheard { Audience::NoListener } else { Audience::Able };
            session.machine.elapse(&over.reply_token, at, audience).map_err(|_| bad())?;
            session.settled(&over.reply_token, &over.event_id);
            session.heard_at = Some(at);
            session.telling.extend(over.deliver.then(|| over.reply_token.clone()));
        }
        Event::Withdrawn(withdrawn) => {
            match session.machine.withdraw(&withdrawn.reply_token) {
                Ok(_) => {}
                // An accept of the same action was withdrawn with another question about it.
                Err(_) if withdrawn.accepted => {}
                Err(_) => return Err(bad()),
            }
            session.forget(&withdrawn.reply_token);
            session.forget_used_accepts();
            session.heard_at = Some(at);
            session.telling.extend(withdrawn.deliver.then(|| withdrawn.reply_token.clone()));
        }
        Event::HandedOver(handover) => session.handover = Some(handover.clone()),
        Event::Delivered(told) => session.telling.retain(|token| *token != told.reply_token),
    }
    session.n_entries += 1;
    Ok(session)
}

pub(super) fn settle(
    machine: &mut machine::Session,
    reply_token: &str,
    given: &Given,
    (at, lasts): (Time, Lasts),
) -> Result<machine::Settled, machine::NotSettled> {
    match given {
        Given::Decision(decision) => machine.resolve(reply_token, *decision, at, lasts),
        Given::Response(response) => machine.answer(reply_token, spoken(response), at),
    }
}

fn spoken(response: &Response) -> machine::Response<'_> {
    match response {
        Response::YesNo(yes) => machine::Response::Flag(*yes),
        Response::Number(number) => machine::Response::Number(number.as_f64().unwrap_or(f64::NAN)),
        Response::Text(text) => machine::Response::Text(text),
    }
}

/// A recorded event stays accepted: one that the current rules would refuse is counted, and changes
/// nothing else.
fn follow(session: &mut Session, announced: &Announced, at: Time) {
    let position = session.n_entries + 1;
    for (index, said) in announced.events.iter().enumerate() {
        let place = EventPlace { position, index };
        let Ok(event) = read(said.text()) else { continue };
        let _ = session.follow(&event, (place, at, Weak::Allowed), &|_| false, &mut Vec::new());
        session.asked_in(place, announced.epoch, announced.listed);
    }
}

fn opened(id: &SessionId, announced: &Announced, at: Time) -> Option<Session> {
    let event = read(announced.events.first()?.text()).ok()?;
    let producer = event.envelope.agent_id.parse().ok()?;
    let opening = opening(&event, producer).ok()?;
    let silence_minutes = announced.silence_minutes;
    Some(Session { silence_minutes, ..Session::new(id, opening, at) })
}

impl Given {
    /// The decision that counts: a proposal of another action rejects this one.
    pub(super) fn decision_that_counts(&self, modified: bool) -> Given {
        match self {
            Given::Decision(_) if modified => Given::Decision(Decision::Reject),
            Given::Decision(_) | Given::Response(_) => self.clone(),
        }
    }
}
