//! The state after an event.

use super::event::Event;
use super::state::{Claimed, Continuation, Finished, Question, Settled};
use crate::ids::QuestionId;
use crate::ledger::BadHistory;
use crate::time::Time;

pub fn evolve(
    id: QuestionId,
    state: Option<Question>,
    event: &Event,
    at: Time,
) -> Result<Question, BadHistory> {
    let bad = BadHistory { event: event.name() };
    let mut question = match (state, event) {
        (None, Event::Asked(asked)) => {
            return Ok(Question {
                id,
                asked: asked.clone(),
                asked_at: at,
                state: Settled::Open,
                continuation: Continuation::default(),
                erased: false,
            });
        }
        (Some(question), _) => question,
        (None, _) => return Err(bad),
    };
    if event.is_settling() != question.is_open() {
        return Err(bad);
    }
    let continuation = &mut question.continuation;
    match event {
        Event::Asked(_) => return Err(bad),
        Event::Answered(it) => {
            let (by, given, note) = (it.by.clone(), it.given.clone(), it.note.clone());
            question.state = Settled::Answered { by, at, given, note };
        }
        Event::Defaulted(it) => {
            question.state = Settled::Defaulted { at, given: it.given.clone() };
        }
        Event::Unanswered(_) => question.state = Settled::Unanswered { at },
        Event::Withdrawn(it) => {
            question.state = Settled::Withdrawn { at, reason: it.reason.clone() };
        }
        Event::Claimed(it) if it.epoch == continuation.epoch + 1 => {
            continuation.epoch = it.epoch;
            let (by, until) = (it.by.clone(), it.until);
            continuation.claim = Some(Claimed { by, since: Some(at), until, lapsed: false });
        }
        Event::ClaimRenewed(it) if it.epoch == continuation.epoch => {
            let claim = continuation.claim.as_mut().ok_or(bad)?;
            (claim.until, claim.lapsed) = (it.until, false);
        }
        Event::ClaimLapsed(it) if it.epoch == continuation.epoch => {
            continuation.claim.as_mut().ok_or(bad)?.lapsed = true;
        }
        Event::Finished(it) if it.epoch == continuation.epoch => {
            continuation.claim = None;
            let (by, result) = (it.by.clone(), it.result.clone());
            continuation.finished = Some(Finished { by, at, result });
        }
        Event::Claimed(_) | Event::ClaimRenewed(_) | Event::ClaimLapsed(_) | Event::Finished(_) => {
            return Err(bad);
        }
    }
    Ok(question)
}
