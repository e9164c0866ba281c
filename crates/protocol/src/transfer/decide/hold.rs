//! `hold` and `resume`: the person looks something up, and comes back.

use super::shared::{TransferAct, events};
use crate::conversation::event::Event as ConversationEvent;
use crate::rejection::Rejection;
use crate::transfer::event::{Event, Held, Resumed};
use crate::transfer::status::Action;

pub fn hold(asked: &TransferAct<'_>) -> Result<Vec<ConversationEvent>, Rejection> {
    gone_or(asked)?;
    asked.as_answering("put the customer on hold")?;
    asked.may(Action::Hold)?;
    asked.has_seen()?;
    let until = asked.context.now.plus(asked.transfer.limits.hold);
    let (holder, transfer) = (asked.holder(), asked.transfer.id);
    Ok(events([Event::Held(Held { holder, transfer, until })]))
}

pub fn resume(asked: &TransferAct<'_>) -> Result<Vec<ConversationEvent>, Rejection> {
    gone_or(asked)?;
    asked.as_answering("go on with the customer")?;
    asked.may(Action::Resume)?;
    asked.has_seen()?;
    let (holder, transfer) = (asked.holder(), asked.transfer.id);
    Ok(events([Event::Resumed(Resumed { holder, transfer, overdue: false })]))
}

/// After the end every participant gets the same error.
pub(super) fn gone_or(asked: &TransferAct<'_>) -> Result<(), Rejection> {
    asked.side()?;
    let status = asked.transfer.status();
    match status.is_over() {
        true => Err(Rejection::TransferGone { status: Some(status) }),
        false => Ok(()),
    }
}
