//! The times that the server watches in a conversation: `miss_answer`, when a bot did not answer or
//! did not transfer as it said; `remind_person`, when a person did not reply; and `show_progress`,
//! by which a bot that is working gets more time.

use super::fallback::{Failure, next_hands};
use super::human::{self, AskedBy};
use super::shared::open_to;
use crate::caller::Principal;
use crate::conversation::event::{Event, Extended, Fallback, HolderSilent, ReplyOverdue};
use crate::conversation::not_heard::Why;
use crate::conversation::state::{Conversation, Side};
use crate::conversation::wait::{Owed, OwedKind};
use crate::facts::Context;
use crate::rejection::Rejection;
use crate::time::Time;

/// The holder let its time pass: the customer is told, and the next fallback gets the conversation.
pub fn miss_answer(
    state: Option<&Conversation>,
    due: Time,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    let conversation = watched(state, context)?;
    // The state may have changed since the deadline was armed. What it owes now may be overdue too:
    // a bot that changes it faster than the deadlines are looked at gains no time.
    let is_over = |owed: &Owed| owed.until <= context.now && due <= context.now;
    let owed = conversation.wait.owed.filter(is_over);
    let (Some(owed), None) = (owed, &conversation.closed) else { return Ok(Vec::new()) };
    let failure = Failure {
        by: AskedBy::Silent,
        reason: reason(owed),
        may_call_people: true,
        passed_over: conversation.wait.circle(context.now),
        entry: |next| silent(conversation, owed, next, context),
    };
    Ok(next_hands(conversation, &failure, context))
}

fn silent(
    conversation: &Conversation,
    owed: Owed,
    next: Option<Fallback>,
    context: Context<'_>,
) -> Event {
    Event::HolderSilent(HolderSilent {
        holder: conversation.holder.clone(),
        epoch: conversation.epoch,
        number: conversation.transcript.count + 1,
        owed: owed.what,
        since: owed.since,
        within: owed.within,
        no_person: next.is_none() && !human::can_be_asked(context),
        next: next.unwrap_or(Fallback::Nothing),
    })
}

/// Why, for the next holder.
fn reason(owed: Owed) -> String {
    match owed.what {
        OwedKind::Answer => format!("the agent did not answer within {}", owed.within),
        OwedKind::Transfer => {
            format!("the agent said it would transfer the customer, and did not in {}", owed.within)
        }
    }
}

/// A person left the customer without a reply. They and their supervisors are told; nothing moves.
pub fn remind_person(
    state: Option<&Conversation>,
    due: Time,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    let conversation = watched(state, context)?;
    let is_due = conversation.wait.reply_at == Some(due) && due <= context.now;
    let transfer = conversation.open_transfer().filter(|_| is_due);
    let unanswered = conversation.wait.unanswered;
    let (Some(transfer), Some(unanswered), None) = (transfer, unanswered, &conversation.closed)
    else {
        return Ok(Vec::new());
    };
    let Some(within) = transfer.limits.reply_target else { return Ok(Vec::new()) };
    Ok(vec![Event::ReplyOverdue(ReplyOverdue {
        holder: conversation.holder.clone(),
        epoch: conversation.epoch,
        queue: transfer.queue.clone(),
        message: unanswered.number,
        since: unanswered.since,
        within,
    })])
}

/// The holder shows that it is working on its answer. Only some signs are recorded; the others
/// change nothing. A client that shows no epoch speaks of the current one.
pub fn show_progress(
    state: Option<&Conversation>,
    epoch: Option<u64>,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    let (conversation, side) = open_to(state, context, "show_progress")?;
    let Side::Agent(agent) = side else {
        let who = "the agent that holds the conversation";
        return Err(Rejection::NotAllowed { action: "show that it is working", who });
    };
    let refused = |why| {
        let holder = conversation.holder.clone();
        Err(Rejection::NotHeard { why, holder, epoch: conversation.epoch })
    };
    if epoch.is_some_and(|epoch| epoch != conversation.epoch) {
        return refused(Why::EpochOutdated);
    }
    if conversation.speaker() != Some(agent) {
        return refused(Why::NotHolder);
    }
    let until = conversation.wait.extended(context.now);
    let (holder, epoch) = (conversation.holder.clone(), conversation.epoch);
    let extended = until.map(|until| Event::Extended(Extended { holder, epoch, until }));
    Ok(extended.into_iter().collect())
}

fn watched<'a>(
    state: Option<&'a Conversation>,
    context: Context<'_>,
) -> Result<&'a Conversation, Rejection> {
    match context.caller.principal {
        Principal::System => state.ok_or(Rejection::NotFound { what: "conversation" }),
        Principal::Agent(_) | Principal::Operator(_) | Principal::Customer(_) => {
            let action = "say that an answer is overdue";
            Err(Rejection::NotAllowed { action, who: "the server" })
        }
    }
}
