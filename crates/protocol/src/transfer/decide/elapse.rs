//! Events that the server detects itself: the ringing or the wait timed out, or a person is gone.

use super::pickup::RingingPlace;
use super::shared::{TransferAct, events};
use super::{answer, finish, request};
use crate::caller::Principal;
use crate::conversation::Conversation;
use crate::conversation::event::Event as ConversationEvent;
use crate::facts::Context;
use crate::ids::AgentId;
use crate::rejection::Rejection;
use crate::time::Time;
use crate::transfer::event::{Event, LegEnded, Over, Queued, Resumed, WhyLegEnded, WhyReturned};
use crate::transfer::state::{
    GIVES_UP, HOLDS, LEG_GIVES_UP, LEG_RINGS, LegStage, Limits, OVERFLOWS, Outcome, Overflow,
    RINGS, Stage, Transfer,
};

/// Why the bot gets the conversation back.
const NOBODY_CAME: &str = "nobody came in time";

pub fn elapse(
    conversation: &Conversation,
    due: Time,
    context: Context<'_>,
) -> Result<Vec<ConversationEvent>, Rejection> {
    by_the_server(context, "let a time pass")?;
    // The state may have changed since the deadline was armed; then nothing happens.
    let Some(transfer) = conversation.open_transfer() else { return Ok(Vec::new()) };
    let armed = transfer.deadlines();
    let passed = armed.iter().find(|deadline| deadline.due == due && due <= context.now);
    let Some(passed) = passed else { return Ok(Vec::new()) };
    let asked = TransferAct { conversation, transfer, epoch: Some(conversation.epoch), context };
    let not_answered = |place, claim| {
        answer::returned(&asked, place, claim, WhyReturned::NotAnswered, String::new())
    };
    Ok(match (passed.name.as_ref(), &transfer.stage, &transfer.leg) {
        (RINGS, Stage::Ringing { claim, .. }, _) => not_answered(RingingPlace::Transfer, claim),
        (HOLDS, Stage::OnHold { .. }, _) => {
            let (holder, transfer) = (asked.holder(), transfer.id);
            events([Event::Resumed(Resumed { holder, transfer, overdue: true })])
        }
        (GIVES_UP, _, _) => {
            let over = finish::goes_back(&asked, Outcome::Failed);
            events([Event::Over(Over { reason: NOBODY_CAME.to_owned(), ..over })])
        }
        (OVERFLOWS, _, _) => events([Event::Queued(moved_on(&asked))]),
        (LEG_RINGS, _, Some(leg)) => match &leg.stage {
            LegStage::Ringing { claim, .. } => not_answered(RingingPlace::Leg(leg), claim),
            LegStage::Queued | LegStage::Consulting { .. } => Vec::new(),
        },
        (LEG_GIVES_UP, _, Some(leg)) => events([Event::LegEnded(LegEnded {
            holder: asked.holder(),
            transfer: transfer.id,
            leg: leg.number,
            agent: None,
            why: WhyLegEnded::NotAnswered,
            reason: String::new(),
        })]),
        (_, _, _) => Vec::new(),
    })
}

/// Moves to the next queue with its sort key, and with the end of the wait that the customer was
/// promised; or stays, if that queue does not exist, is closed, or was visited before.
fn moved_on(asked: &TransferAct<'_>) -> Queued {
    let (transfer, now) = (asked.transfer, asked.context.now);
    let stays = Queued {
        holder: asked.holder(),
        transfer: transfer.id,
        queue: transfer.queue.clone(),
        epoch: asked.conversation.epoch,
        order: transfer.order,
        limits: transfer.limits,
        overflow: None,
    };
    let wanted = transfer.overflow.as_ref().map(|Overflow { to, .. }| to);
    let next = asked.context.facts.queue.as_ref().filter(|queue| Some(&queue.id) == wanted);
    let Some(next) = next else { return stays };
    let settings = next.queue_settings();
    let is_queue = next.kind == crate::agent::Kind::Queue;
    let is_open = request::check_open("queue", &next.id, settings.hours.as_ref(), now).is_ok();
    if !is_queue || !is_open || transfer.has_visited(&next.id) {
        return stays;
    }
    let is_new = |queue: &AgentId| *queue != next.id && !transfer.has_visited(queue);
    let requested_at = transfer.terms.requested_at;
    let gives_up_at = transfer.limits.gives_up_at;
    Queued {
        queue: next.id.clone(),
        epoch: asked.next_epoch(),
        limits: Limits { gives_up_at, ..request::limits(&settings, now) },
        overflow: request::overflow_to(&settings, requested_at, now, is_new),
        ..stays
    }
}

/// A person is gone for good: their transfer goes back to its place in the queue.
pub fn lose(
    conversation: &Conversation,
    agent: &AgentId,
    context: Context<'_>,
) -> Result<Vec<ConversationEvent>, Rejection> {
    by_the_server(context, "miss a person")?;
    let Some(transfer) = conversation.open_transfer() else { return Ok(Vec::new()) };
    let asked = TransferAct { conversation, transfer, epoch: Some(conversation.epoch), context };
    let lost = |place, claim| {
        answer::returned(&asked, place, claim, WhyReturned::AgentLost, String::new())
    };
    if let Some(claim) = transfer.claim().filter(|claim| claim.agent == *agent) {
        let mut lost = lost(RingingPlace::Transfer, claim);
        if transfer.answering().is_some() {
            lost.extend(events(begins_anew(&asked).map(Event::Queued)));
        }
        return Ok(lost);
    }
    Ok(leg_lost(transfer, agent)
        .map(|(place, claim)| match place {
            RingingPlace::Leg(leg) if matches!(leg.stage, LegStage::Consulting { .. }) => {
                events([Event::LegEnded(LegEnded {
                    holder: asked.holder(),
                    transfer: transfer.id,
                    leg: leg.number,
                    agent: Some(agent.clone()),
                    why: WhyLegEnded::AgentLost,
                    reason: String::new(),
                })])
            }
            place @ (RingingPlace::Leg(_) | RingingPlace::Transfer) => lost(place, claim),
        })
        .unwrap_or_default())
}

/// A person had answered, so a new wait begins in the same queue and place, and the steps of
/// `overflow` are ahead again. `None` in a queue that has no such step.
fn begins_anew(asked: &TransferAct<'_>) -> Option<Queued> {
    let (transfer, now) = (asked.transfer, asked.context.now);
    let queue = asked.context.facts.queue.as_ref().filter(|queue| queue.id == transfer.queue)?;
    let overflow = request::overflow(&queue.queue_settings(), now, now)?;
    Some(Queued {
        holder: transfer.queue.clone(),
        transfer: transfer.id,
        queue: transfer.queue.clone(),
        epoch: asked.next_epoch(),
        order: transfer.order,
        limits: Limits { gives_up_at: now.plus(transfer.limits.wait), ..transfer.limits },
        overflow: Some(overflow),
    })
}

fn leg_lost<'t>(
    transfer: &'t Transfer,
    agent: &AgentId,
) -> Option<(RingingPlace<'t>, &'t crate::transfer::state::Claim)> {
    let leg = transfer.leg.as_ref()?;
    let claim = leg.claim().filter(|claim| claim.agent == *agent)?;
    Some((RingingPlace::Leg(leg), claim))
}

fn by_the_server(context: Context<'_>, action: &'static str) -> Result<(), Rejection> {
    match context.caller.principal {
        Principal::System => Ok(()),
        Principal::Agent(_) | Principal::Operator(_) | Principal::Customer(_) => {
            Err(Rejection::NotAllowed { action, who: "the server" })
        }
    }
}
