//! `accept` and `decline`: the person for whom it rings says yes or no.

use super::pickup::RingingPlace;
use super::shared::{TransferAct, events, may_know};
use crate::conversation::event::Event as ConversationEvent;
use crate::ids::AgentId;
use crate::notes::check_text;
use crate::rejection::Rejection;
use crate::transfer::event::{
    Connected, Consulted, Event, LegEnded, Returned, WhyLegEnded, WhyReturned,
};
use crate::transfer::kind::Kind;
use crate::transfer::state::{Claim, Leg, LegStage, Passed, Stage, Target};
use crate::transfer::status::Status;

pub fn accept(asked: &TransferAct<'_>) -> Result<Vec<ConversationEvent>, Rejection> {
    let (place, claim) = rung(asked, "accept")?;
    asked.has_seen()?;
    Ok(answered(asked, place, claim))
}

pub fn decline(
    asked: &TransferAct<'_>,
    reason: Option<&str>,
) -> Result<Vec<ConversationEvent>, Rejection> {
    let (place, claim) = rung(asked, "decline")?;
    asked.has_seen()?;
    let reason = check_text("reason", reason)?.unwrap_or_default();
    Ok(returned(asked, place, claim, WhyReturned::Declined, reason))
}

/// The ringing transfer or leg of the caller.
pub(super) fn rung<'a>(
    asked: &TransferAct<'a>,
    action: &'static str,
) -> Result<(RingingPlace<'a>, &'a Claim), Rejection> {
    let status = asked.transfer.status();
    if status.is_over() {
        return Err(match may_know(asked.conversation, asked.context) {
            true => Rejection::TransferGone { status: Some(status) },
            false => Rejection::NotFound { what: "transfer" },
        });
    }
    let caller = asked.context.caller.agent();
    if let Some(leg) = &asked.transfer.leg
        && let LegStage::Ringing { claim, .. } = &leg.stage
        && Some(&claim.agent) == caller
    {
        return Ok((RingingPlace::Leg(leg), claim));
    }
    if let Stage::Ringing { claim, .. } = &asked.transfer.stage
        && Some(&claim.agent) == caller
    {
        return Ok((RingingPlace::Transfer, claim));
    }
    Err(not_rung(asked, action))
}

/// A person who answers too late learns who has it.
fn not_rung(asked: &TransferAct<'_>, action: &'static str) -> Rejection {
    let transfer = asked.transfer;
    let wrong_state = Rejection::WrongTransferState { action, status: transfer.status() };
    let caller = asked.context.caller.agent();
    let is_caller = |agent: &AgentId| Some(agent) == caller;
    if transfer.people().any(is_caller) {
        return wrong_state;
    }
    if transfer.missed.iter().chain(&transfer.declined).any(is_caller) {
        let claim = transfer.claim().map(|claim| claim.agent.clone());
        return claim.map_or(wrong_state, |by| Rejection::AlreadyClaimed { by });
    }
    if asked.may_pick_up() {
        return Rejection::NotPickedUp { action };
    }
    let who = "the person for whom it rings";
    let not_allowed = Rejection::NotAllowed { action: "answer a transfer", who };
    asked.side().map_or_else(|no_such| no_such, |_| not_allowed)
}

/// The person gets the conversation, or advises its holder.
pub(super) fn answered(
    asked: &TransferAct<'_>,
    place: RingingPlace<'_>,
    claim: &Claim,
) -> Vec<ConversationEvent> {
    let transfer = asked.transfer;
    let (leg, kind, bundle, reason, customer_text) = match place {
        RingingPlace::Transfer => {
            (0, transfer.kind(), transfer.bundle(), String::new(), String::new())
        }
        RingingPlace::Leg(it) => {
            let (reason, customer_text) = (it.reason.clone(), it.customer_text.clone());
            (it.number, it.kind, it.bundle.as_deref(), reason, customer_text)
        }
    };
    let is_blind = |passed: &&Passed| leg == 0 && passed.kind == Kind::Blind;
    let passed = transfer.passed.as_deref().filter(is_blind);
    if leg != 0 && kind == Kind::SupervisorConsult {
        return events([Event::Consulted(Consulted {
            holder: asked.holder(),
            transfer: asked.transfer.id,
            leg,
            agent: claim.agent.clone(),
        })]);
    }
    events([Event::Connected(Connected {
        holder: asked.holder(),
        transfer: asked.transfer.id,
        leg,
        agent: claim.agent.clone(),
        epoch: asked.next_epoch(),
        number: asked.next_number(),
        kind,
        bundle_id: bundle.map(|bundle| bundle.bundle_id.clone()),
        passed_by: passed.map(|passed| passed.by.clone()),
        reason,
        customer_text: match passed {
            Some(passed) if passed.was_told => String::new(),
            Some(passed) => passed.customer_text.clone(),
            None => customer_text,
        },
        was_told: passed.is_some_and(|passed| passed.was_told),
    })])
}

/// It stops ringing and waits again; a leg to a single person is over.
pub(super) fn returned(
    asked: &TransferAct<'_>,
    place: RingingPlace<'_>,
    claim: &Claim,
    why: WhyReturned,
    reason: String,
) -> Vec<ConversationEvent> {
    if let RingingPlace::Leg(Leg { number, target: Target::Human(_), .. }) = place {
        return events([Event::LegEnded(LegEnded {
            holder: asked.holder(),
            transfer: asked.transfer.id,
            leg: *number,
            agent: Some(claim.agent.clone()),
            why: match why {
                WhyReturned::Declined | WhyReturned::Blind => WhyLegEnded::Declined,
                WhyReturned::NotAnswered => WhyLegEnded::NotAnswered,
                WhyReturned::AgentLost => WhyLegEnded::AgentLost,
            },
            reason,
        })]);
    }
    let leg = match place {
        RingingPlace::Transfer => 0,
        RingingPlace::Leg(leg) => leg.number,
    };
    // The holder changes back to the queue only if a person had answered.
    let was_answered = match asked.transfer.status() {
        Status::Connected | Status::OnHold => leg == 0,
        Status::Idle
        | Status::Requested
        | Status::Queued
        | Status::Ringing
        | Status::Completed
        | Status::Ended
        | Status::Failed
        | Status::Cancelled => false,
    };
    events([Event::Returned(Returned {
        holder: asked.holder(),
        transfer: asked.transfer.id,
        leg,
        agent: claim.agent.clone(),
        why,
        epoch: if was_answered { asked.next_epoch() } else { asked.conversation.epoch },
        reason,
        customer_text: String::new(),
    })])
}
