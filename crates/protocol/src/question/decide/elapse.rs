//! `elapse`: the time for an answer is over, or a claim's.

use super::parties;
use crate::caller::Principal;
use crate::facts::Context;
use crate::question::event::{ClaimLapsed, Defaulted, Event, Unanswered};
use crate::question::state::Question;
use crate::rejection::Rejection;
use crate::time::Time;

pub fn decide(
    question: &Question,
    due: Time,
    context: Context<'_>,
) -> Result<Option<Event>, Rejection> {
    if context.caller.principal != Principal::System {
        let who = "the server";
        return Err(Rejection::NotAllowed { action: "let the time of a question pass", who });
    }
    let is_due = |until: Time| until == due && until <= context.now;
    let parties = parties(question);
    if question.is_open() {
        if !is_due(question.asked.until) {
            return Ok(None);
        }
        let workers = question.asked.workers.clone();
        return Ok(Some(match question.default() {
            Some(given) => Event::Defaulted(Defaulted { parties, given: given.clone(), workers }),
            None => Event::Unanswered(Unanswered { parties, workers }),
        }));
    }
    let claim = question.continuation.claim.as_ref();
    let is_over = claim.is_some_and(|claim| !claim.lapsed && is_due(claim.until));
    let epoch = question.continuation.epoch;
    Ok(is_over.then_some(Event::ClaimLapsed(ClaimLapsed { parties, epoch })))
}
