//! `pickup` and `ring`: a person takes a waiting transfer, or is offered it. The first person wins,
//! and the others learn who that is.

use super::answer;
use super::shared::{TransferAct, events, is_in_queue, on_the_record};
use crate::agent::{Agent, Kind as AgentKind, Presence};
use crate::caller::Principal;
use crate::conversation::Conversation;
use crate::conversation::event::Event as ConversationEvent;
use crate::facts::Context;
use crate::ids::{AgentId, TransferId};
use crate::needs::SlotOf;
use crate::rejection::Rejection;
use crate::transfer::event::{Event, Ringing};
use crate::transfer::state::{Claim, Leg, LegStage, Transfer};
use crate::transfer::status::{Action, Status, next};

pub fn pickup(asked: &TransferAct<'_>, accept: bool) -> Result<Vec<ConversationEvent>, Rejection> {
    let who = "a person of the queue";
    let not_allowed = Rejection::NotAllowed { action: "pick up a transfer", who };
    let person = asked.context.facts.caller.as_ref();
    let Some(person) = person.filter(|it| it.kind == AgentKind::Human) else {
        return Err(asked.side().map_or_else(|no_such| no_such, |_| not_allowed));
    };
    let queue = asked.context.facts.queue.as_ref();
    if !queue.is_some_and(|queue| is_in_queue(person, queue)) {
        return Err(asked.side().map_or_else(|no_such| no_such, |_| not_allowed));
    }
    // It already rings for this person: picking it up means answering it.
    if let Ok((place, claim)) = answer::rung(asked, "pickup") {
        asked.has_seen()?;
        return Ok(if accept { answer::answered(asked, place, claim) } else { Vec::new() });
    }
    if asked.transfer.people().any(|it| *it == person.id) {
        return Err(Rejection::AlreadyClaimed { by: person.id.clone() });
    }
    let place = vacant(asked.transfer)?;
    // The loss of a person who is offline would go unnoticed.
    if person.presence() == Presence::Offline {
        let who = "a person whose presence is available, busy or away";
        return Err(Rejection::NotAllowed { action: "pick up a transfer", who });
    }
    asked.has_seen()?;
    let slot = slot(person, asked.context.facts.slot(&SlotOf::Caller))?;
    let ringing = ringing(asked.conversation, asked.transfer, place, person, slot, asked.context);
    let ringing = Ringing { picked: true, ..ringing };
    let claim = Claim { agent: person.id.clone(), slot };
    let mut all = events([Event::Ringing(ringing)]);
    if accept {
        all.extend(answer::answered(asked, place, &claim));
    }
    Ok(all)
}

/// The server offers it to a person.
pub fn ring(
    conversation: &Conversation,
    id: TransferId,
    agent: &AgentId,
    context: Context<'_>,
) -> Result<Vec<ConversationEvent>, Rejection> {
    match context.caller.principal {
        Principal::System => {}
        Principal::Agent(_) | Principal::Operator(_) | Principal::Customer(_) => {
            return Err(Rejection::NotAllowed { action: "offer a transfer", who: "the server" });
        }
    }
    let transfer = on_the_record(conversation, id, context)?;
    let place = vacant(transfer)?;
    let unknown = Rejection::UnknownAgent { field: "agent", agent: agent.clone() };
    let person = context.facts.agent.as_ref().ok_or(unknown)?;
    let declined = match place {
        RingingPlace::Transfer => &transfer.declined,
        RingingPlace::Leg(leg) => &leg.declined,
    };
    if !person.is_available() || declined.contains(agent) {
        return Err(Rejection::NoCapacity { agent: agent.clone() });
    }
    // An overdue transfer stays until its deadline is handled.
    let is_overdue = match place {
        RingingPlace::Transfer => {
            let overflows = transfer.overflow.as_ref().map(|overflow| overflow.at);
            transfer.limits.gives_up_at <= context.now
                || overflows.is_some_and(|at| at <= context.now)
        }
        RingingPlace::Leg(leg) => leg.limits.gives_up_at <= context.now,
    };
    if is_overdue {
        let status = transfer.status();
        return Err(Rejection::WrongTransferState { action: "ring", status });
    }
    let slot = slot(person, context.facts.slot(&SlotOf::Agent(person.id.clone())))?;
    Ok(events([Event::Ringing(ringing(conversation, transfer, place, person, slot, context))]))
}

/// What waits: the transfer itself, or its leg.
#[derive(Clone, Copy)]
pub(super) enum RingingPlace<'a> {
    Transfer,
    Leg(&'a Leg),
}

/// Where a person is needed; otherwise an error that says who has it, or that it is over.
fn vacant(transfer: &Transfer) -> Result<RingingPlace<'_>, Rejection> {
    let status = transfer.status();
    if next(status, Action::Pickup).is_some() {
        return Ok(RingingPlace::Transfer);
    }
    if status.is_over() {
        return Err(Rejection::TransferGone { status: Some(status) });
    }
    match &transfer.leg {
        Some(leg) if leg.stage == LegStage::Queued => return Ok(RingingPlace::Leg(leg)),
        Some(_) | None => {}
    }
    let leg = transfer.leg.as_ref().and_then(Leg::claim);
    match leg.or(transfer.claim()) {
        Some(claim) => Err(Rejection::AlreadyClaimed { by: claim.agent.clone() }),
        None => Err(Rejection::WrongTransferState { action: "pickup", status: Status::Requested }),
    }
}

pub(super) fn slot(person: &Agent, free: Option<u16>) -> Result<Option<u16>, Rejection> {
    match (person.capacity(), free) {
        (None, _) => Ok(None),
        (Some(_), Some(slot)) => Ok(Some(slot)),
        (Some(_), None) => Err(Rejection::NoCapacity { agent: person.id.clone() }),
    }
}

fn ringing(
    conversation: &Conversation,
    transfer: &Transfer,
    place: RingingPlace<'_>,
    person: &Agent,
    slot: Option<u16>,
    context: Context<'_>,
) -> Ringing {
    let (leg, limits) = match place {
        RingingPlace::Transfer => (0, transfer.limits),
        RingingPlace::Leg(leg) => (leg.number, leg.limits),
    };
    Ringing {
        holder: conversation.holder.clone(),
        transfer: transfer.id,
        leg,
        agent: person.id.clone(),
        slot,
        until: context.now.plus(limits.ring),
        picked: false,
    }
}
