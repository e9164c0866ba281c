//! `note`, `whisper` and `rate`: remarks about a transfer.

use super::hold::gone_or;
use super::shared::{TransferAct, events};
use crate::conversation::event::Event as ConversationEvent;
use crate::conversation::part::TEXT_BYTES_MAX;
use crate::conversation::state::Side;
use crate::hidden::is_blank;
use crate::notes::check_text;
use crate::rejection::Rejection;
use crate::transfer::event::{Event, Noted, Rated};
use crate::transfer::state::{Outcome, Stage};

/// From very bad to very good.
pub const SCORE_MAX: u8 = 5;

pub fn note(asked: &TransferAct<'_>, text: &str) -> Result<Vec<ConversationEvent>, Rejection> {
    let who = "a person who has a part in it, or a coordinator";
    check_part(asked, Rejection::NotAllowed { action: "write a note", who }, |_| true)?;
    noted(asked, text, false)
}

/// From the person who was asked in, or a coordinator, to the person who answers.
pub fn whisper(asked: &TransferAct<'_>, text: &str) -> Result<Vec<ConversationEvent>, Rejection> {
    let who = "the person who was asked in, or a coordinator";
    let not_allowed = Rejection::NotAllowed { action: "whisper", who };
    let listens = |asked: &TransferAct<'_>| {
        let leg = asked.transfer.leg.as_ref().and_then(|leg| leg.claim());
        leg.map(|claim| &claim.agent) == asked.context.caller.agent()
    };
    check_part(asked, not_allowed, listens)?;
    if asked.transfer.answering().is_none() {
        let status = asked.transfer.status();
        return Err(Rejection::WrongTransferState { action: "whisper", status });
    }
    noted(asked, text, true)
}

fn check_part(
    asked: &TransferAct<'_>,
    not_allowed: Rejection,
    may: impl Fn(&TransferAct<'_>) -> bool,
) -> Result<(), Rejection> {
    gone_or(asked)?;
    let is_allowed = match asked.side()? {
        Side::Customer => false,
        Side::Overseer => true,
        Side::Agent(_) if asked.context.caller.is_coordinator() => true,
        Side::Agent(agent) => asked.transfer.people().any(|it| it == agent) && may(asked),
    };
    if is_allowed { asked.has_seen() } else { Err(not_allowed) }
}

fn noted(
    asked: &TransferAct<'_>,
    text: &str,
    whispered: bool,
) -> Result<Vec<ConversationEvent>, Rejection> {
    if is_blank(text) || text.len() > TEXT_BYTES_MAX {
        return Err(invalid("text", format!("1 to {TEXT_BYTES_MAX} bytes of text")));
    }
    Ok(events([Event::Noted(Noted {
        holder: asked.holder(),
        transfer: asked.transfer.id,
        number: asked.next_number(),
        by: asked.context.caller.principal.to_string(),
        whispered,
        text: text.to_owned(),
    })]))
}

/// Only for a completed transfer: a customer who was cut off is not asked.
pub fn rate(
    asked: &TransferAct<'_>,
    score: u8,
    comment: Option<&str>,
) -> Result<Vec<ConversationEvent>, Rejection> {
    match asked.side()? {
        Side::Customer => {}
        Side::Agent(_) | Side::Overseer => {
            return Err(Rejection::NotAllowed { action: "rate a transfer", who: "the customer" });
        }
    }
    match &asked.transfer.stage {
        Stage::Over { outcome: Outcome::Completed, .. } if !asked.transfer.rated => {}
        Stage::Over { outcome: Outcome::Completed, .. } => {
            return Err(Rejection::AlreadyExists { what: "a rating of this transfer" });
        }
        Stage::Over { .. }
        | Stage::Requested
        | Stage::Queued
        | Stage::Ringing { .. }
        | Stage::Connected { .. }
        | Stage::OnHold { .. } => {
            let status = asked.transfer.status();
            return Err(Rejection::WrongTransferState { action: "rate", status });
        }
    }
    if !(1..=SCORE_MAX).contains(&score) {
        return Err(invalid("score", format!("a number from 1 to {SCORE_MAX}")));
    }
    let comment = check_text("comment", comment)?.unwrap_or_default();
    let (holder, transfer) = (asked.holder(), asked.transfer.id);
    Ok(events([Event::Rated(Rated { holder, transfer, score, comment })]))
}

fn invalid(field: &str, expected: String) -> Rejection {
    Rejection::SchemaInvalid { field: field.to_owned(), expected }
}
