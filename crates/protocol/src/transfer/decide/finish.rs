//! `complete`, `end`, `cancel` and `fail`: it is over. After all but `end` the previous holder has
//! the conversation again, and learns what happened meanwhile.

use super::hold::gone_or;
use super::shared::{TransferAct, events};
use crate::agent::Kind;
use crate::agent::kind::TARGET_EXPECTED;
use crate::caller::Principal;
use crate::conversation::Conversation;
use crate::conversation::event::{Closed, Event as ConversationEvent};
use crate::conversation::silence::limit_of;
use crate::conversation::state::Side;
use crate::facts::Context;
use crate::ids::{AgentId, Disposition};
use crate::notes::check_text;
use crate::rejection::Rejection;
use crate::time::Span;
use crate::transfer::event::{Event, LegEnded, Over, WhyLegEnded};
use crate::transfer::state::{LegStage, Outcome, Transfer};
use crate::transfer::status::Action;

pub fn complete(
    asked: &TransferAct<'_>,
    summary: Option<&str>,
    disposition: Option<&Disposition>,
    to: Option<&AgentId>,
) -> Result<Vec<ConversationEvent>, Rejection> {
    // A person who only advises leaves, and the customer notices nothing.
    if let Some(ended) = consultation_ended(asked)? {
        let left_out = "to be left out when advice ends";
        let noted = "to be left out when advice ends; a note keeps what was said";
        for (field, is_given, expected) in [
            ("summary", summary.is_some(), noted),
            ("disposition", disposition.is_some(), left_out),
            ("to", to.is_some(), left_out),
        ] {
            if is_given {
                let (field, expected) = (field.to_owned(), expected.to_owned());
                return Err(Rejection::SchemaInvalid { field, expected });
            }
        }
        return Ok(ended);
    }
    check_answers_or_oversees(asked, "complete a transfer")?;
    asked.may(Action::Complete)?;
    asked.has_seen()?;
    let summary = check_text("summary", summary)?.unwrap_or_default();
    let disposition = disposition.cloned();
    let Some(to) = to else {
        let over = Over { summary, disposition, ..goes_back(asked, Outcome::Completed) };
        return Ok(events([Event::Over(over)]));
    };
    let known = asked.context.facts.agent.as_ref();
    let unknown = Rejection::UnknownAgent { field: "to", agent: to.clone() };
    let known = known.ok_or(unknown)?;
    if known.kind == Kind::Worker && !known.is_target() {
        let expected = TARGET_EXPECTED.to_owned();
        return Err(Rejection::SchemaInvalid { field: "to".to_owned(), expected });
    }
    if known.kind != Kind::Worker {
        let expected = "a worker; people and queues are asked with `transfer`".to_owned();
        return Err(Rejection::SchemaInvalid { field: "to".to_owned(), expected });
    }
    let deliver = known.endpoint.is_some();
    let answer_within = limit_of(to, None, asked.context.facts);
    let reason = String::new();
    let handed = HandOn { to, reason, summary, disposition, deliver, answer_within };
    Ok(hand_on(asked.conversation, asked.transfer, handed))
}

/// The bot to which a person hands the customer, and what it must know.
#[derive(Debug)]
pub struct HandOn<'a> {
    pub to: &'a AgentId,
    pub reason: String,
    pub summary: String,
    pub disposition: Option<Disposition>,
    /// It is told at its endpoint.
    pub deliver: bool,
    /// How long it has to answer what is unanswered.
    pub answer_within: Option<Span>,
}

/// The transfer is completed, and another bot than the one before gets the conversation.
pub fn hand_on(
    conversation: &Conversation,
    transfer: &Transfer,
    handed: HandOn<'_>,
) -> Vec<ConversationEvent> {
    let HandOn { to, reason, summary, disposition, deliver, answer_within } = handed;
    let over = over(conversation, transfer, Outcome::Completed);
    let to = to.clone();
    let handed = Over { to, reason, summary, disposition, deliver, answer_within, ..over };
    events([Event::Over(handed)])
}

pub fn end(
    asked: &TransferAct<'_>,
    reason: Option<&str>,
) -> Result<Vec<ConversationEvent>, Rejection> {
    check_answers_or_oversees(asked, "end a conversation")?;
    asked.may(Action::End)?;
    asked.has_seen()?;
    let reason = check_text("reason", reason)?.unwrap_or_default();
    let holder = asked.holder();
    let over = on_close(asked.conversation, &reason).into_iter();
    let closed = ConversationEvent::Closed(Closed { holder, reason });
    Ok(over.chain([closed]).collect())
}

pub fn cancel(
    asked: &TransferAct<'_>,
    reason: Option<&str>,
) -> Result<Vec<ConversationEvent>, Rejection> {
    gone_or(asked)?;
    asked.may(Action::Cancel)?;
    let reason = check_text("reason", reason)?.unwrap_or_default();
    let oversees = asked.context.caller.is_coordinator();
    if let Some(leg) = &asked.transfer.leg
        && (oversees || asked.as_answering("cancel").is_ok())
    {
        asked.has_seen()?;
        return Ok(events([Event::LegEnded(LegEnded {
            holder: asked.holder(),
            transfer: asked.transfer.id,
            leg: leg.number,
            agent: leg.claim().map(|claim| claim.agent.clone()),
            why: WhyLegEnded::Cancelled,
            reason,
        })]));
    }
    let caller = asked.context.caller;
    let asked_for_it = asked.transfer.terms.requested_by == caller.principal.to_string();
    let is_waiting = asked.transfer.answering().is_none();
    let refused = |who| Err(Rejection::NotAllowed { action: "cancel a transfer", who });
    let may = match asked.side()? {
        Side::Customer => is_waiting,
        Side::Overseer => true,
        Side::Agent(_) if caller.is_coordinator() => true,
        Side::Agent(agent) => {
            let may = is_waiting && asked_for_it;
            let passed_on = asked.conversation.wait.circle(asked.context.now);
            if may && passed_on.contains(agent) {
                return refused("the customer or a coordinator, once a bot's time is used up,");
            }
            may
        }
    };
    if !may {
        return refused("the customer or the requester, while it waits, or a coordinator");
    }
    asked.has_seen()?;
    let over = goes_back(asked, Outcome::Cancelled);
    Ok(events([Event::Over(Over { reason, ..over })]))
}

pub fn fail(asked: &TransferAct<'_>, reason: &str) -> Result<Vec<ConversationEvent>, Rejection> {
    gone_or(asked)?;
    let caller = asked.context.caller;
    let is_server = caller.principal == Principal::System;
    if !is_server && !caller.is_coordinator() {
        let who = "a coordinator or an operator";
        return Err(Rejection::NotAllowed { action: "give a transfer up", who });
    }
    asked.may(Action::Fail)?;
    asked.has_seen()?;
    let reason = check_text("reason", Some(reason))?.unwrap_or_default();
    let over = goes_back(asked, Outcome::Failed);
    Ok(events([Event::Over(Over { reason, ..over })]))
}

/// The end of an open transfer when its conversation is closed: cancelled if no person had
/// answered, ended otherwise.
pub fn on_close(conversation: &Conversation, reason: &str) -> Option<ConversationEvent> {
    let transfer = conversation.open_transfer()?;
    let outcome = match transfer.answering() {
        Some(_) => Outcome::Ended,
        None => Outcome::Cancelled,
    };
    let over = over(conversation, transfer, outcome);
    // No agent gets it back.
    let (to, epoch) = (conversation.holder.clone(), conversation.epoch);
    let over = Over { to, epoch, reason: reason.to_owned(), ..over };
    Some(ConversationEvent::Transfer(Event::Over(over)))
}

/// Gives it back. The previous holder is told at its endpoint, if it has one.
pub(super) fn goes_back(asked: &TransferAct<'_>, outcome: Outcome) -> Over {
    let previous = &asked.transfer.terms.previous;
    let deliver = asked.context.facts.at_endpoint.contains(previous);
    let answer_within = limit_of(previous, None, asked.context.facts);
    Over { deliver, answer_within, ..over(asked.conversation, asked.transfer, outcome) }
}

/// Cancels a transfer that waits, because of another event.
pub fn called_back_instead(
    conversation: &Conversation,
    transfer: &Transfer,
    context: Context<'_>,
) -> ConversationEvent {
    let deliver = context.facts.at_endpoint.contains(&transfer.terms.previous);
    let over = over(conversation, transfer, Outcome::Cancelled);
    let answer_within = limit_of(&transfer.terms.previous, None, context.facts);
    let over = Over { deliver, answer_within, is_for_callback: true, ..over };
    ConversationEvent::Transfer(Event::Over(over))
}

fn over(conversation: &Conversation, transfer: &Transfer, outcome: Outcome) -> Over {
    Over {
        holder: conversation.holder.clone(),
        transfer: transfer.id,
        outcome,
        to: transfer.terms.previous.clone(),
        epoch: conversation.epoch + 1,
        number: conversation.transcript.count + 1,
        reason: String::new(),
        summary: String::new(),
        disposition: None,
        is_for_callback: false,
        deliver: false,
        answer_within: None,
    }
}

fn consultation_ended(
    asked: &TransferAct<'_>,
) -> Result<Option<Vec<ConversationEvent>>, Rejection> {
    let Some(leg) = &asked.transfer.leg else { return Ok(None) };
    let LegStage::Consulting { claim } = &leg.stage else { return Ok(None) };
    if asked.context.caller.agent() != Some(&claim.agent) {
        return Ok(None);
    }
    asked.has_seen()?;
    Ok(Some(events([Event::LegEnded(LegEnded {
        holder: asked.holder(),
        transfer: asked.transfer.id,
        leg: leg.number,
        agent: Some(claim.agent.clone()),
        why: WhyLegEnded::Finished,
        reason: String::new(),
    })])))
}

fn check_answers_or_oversees(
    asked: &TransferAct<'_>,
    action: &'static str,
) -> Result<(), Rejection> {
    gone_or(asked)?;
    let is_overseer = match asked.side()? {
        Side::Overseer => true,
        Side::Agent(_) => asked.context.caller.is_coordinator(),
        Side::Customer => false,
    };
    if is_overseer { Ok(()) } else { asked.as_answering(action).map(|_| ()) }
}
