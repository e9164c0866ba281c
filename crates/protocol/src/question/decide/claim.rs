//! `claim`, `renew` and `finish`: one worker at a time goes on with the answer. Each claim has an
//! epoch of its own; what a worker does for an older epoch is refused.

use super::{parties, worker};
use crate::facts::Context;
use crate::hidden::is_blank;
use crate::ids::AgentId;
use crate::question::command::Finish;
use crate::question::event::{ClaimRenewed, Claimed, Event, Finished};
use crate::question::state::Question;
use crate::question::{LEASE_DEFAULT, LEASE_MAX, LEASE_MIN, RESULT_BYTES_MAX};
use crate::rejection::Rejection;
use crate::time::{Span, Time};

pub fn claim(
    question: &Question,
    lease: Option<Span>,
    context: Context<'_>,
) -> Result<Event, Rejection> {
    let by = worker(question, context, "claim this question")?;
    check_is_to_continue(question, "claim")?;
    if let Some(live) = question.continuation.live(context.now) {
        return Err(Rejection::QuestionClaimed { by: live.by.clone(), until: live.until });
    }
    let (epoch, until) = (question.continuation.epoch + 1, end(lease, context.now)?);
    Ok(Event::Claimed(Claimed { parties: parties(question), epoch, by: by.clone(), until }))
}

/// Also after the lease is over, as long as no other worker has claimed it.
pub fn renew(
    question: &Question,
    epoch: u64,
    lease: Option<Span>,
    context: Context<'_>,
) -> Result<Event, Rejection> {
    let by = worker(question, context, "renew this claim")?;
    check_is_to_continue(question, "renew the claim of")?;
    check_is_last(question, by, epoch)?;
    let until = end(lease, context.now)?;
    Ok(Event::ClaimRenewed(ClaimRenewed { parties: parties(question), epoch, until }))
}

/// Also after the lease is over, as long as no other worker has claimed it.
pub fn finish(
    question: &Question,
    finish: &Finish,
    context: Context<'_>,
) -> Result<Event, Rejection> {
    let by = worker(question, context, "finish this question")?;
    check_is_to_continue(question, "finish")?;
    check_is_last(question, by, finish.epoch)?;
    let result = finish.result.clone().filter(|text| !is_blank(text));
    if result.as_ref().is_some_and(|text| text.len() > RESULT_BYTES_MAX) {
        let expected = format!("at most {RESULT_BYTES_MAX} bytes");
        return Err(Rejection::SchemaInvalid { field: "result".to_owned(), expected });
    }
    let (parties, epoch, by) = (parties(question), finish.epoch, by.clone());
    Ok(Event::Finished(Finished { parties, epoch, by, result }))
}

fn check_is_to_continue(question: &Question, action: &'static str) -> Result<(), Rejection> {
    if question.continuation.finished.is_some() {
        return Err(Rejection::QuestionFinished { action });
    }
    match question.is_to_continue() {
        true => Ok(()),
        false => Err(Rejection::WrongQuestionState { action, status: question.status() }),
    }
}

/// Whether it is the caller's claim, and no claim came after it.
fn check_is_last(question: &Question, by: &AgentId, given: u64) -> Result<(), Rejection> {
    let current = question.continuation.epoch;
    let claim = question.continuation.claim.as_ref();
    match claim.is_some_and(|claim| claim.by == *by && given == current) {
        true => Ok(()),
        false => Err(Rejection::ClaimOutdated { given, current }),
    }
}

fn end(lease: Option<Span>, now: Time) -> Result<Time, Rejection> {
    let lease = lease.unwrap_or(LEASE_DEFAULT);
    if !(LEASE_MIN..=LEASE_MAX).contains(&lease) {
        let expected = format!("a span from {LEASE_MIN} to {LEASE_MAX}");
        return Err(Rejection::SchemaInvalid { field: "lease".to_owned(), expected });
    }
    Ok(now.plus(lease))
}
