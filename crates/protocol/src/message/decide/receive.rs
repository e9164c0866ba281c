//! `deliver` and `read`: a recipient was shown the message, a recipient has read it. Both happen
//! once; a repeat, or a call after the end, does nothing.

use crate::facts::Context;
use crate::ids::AgentId;
use crate::message::event::{Delivered, Event, Read};
use crate::message::state::{Delivery, Message, mailboxes};
use crate::rejection::Rejection;

pub fn deliver(state: Option<&Message>, context: Context<'_>) -> Result<Vec<Event>, Rejection> {
    let (message, mine) = own(state, context, "be delivered this message")?;
    let pending = those(&mine, |status| status == Delivery::Pending);
    Ok(delivered(message, pending).into_iter().collect())
}

/// A message that is read counts as delivered, however the reader got it.
pub fn read(state: Option<&Message>, context: Context<'_>) -> Result<Vec<Event>, Rejection> {
    let (message, mine) = own(state, context, "mark this message as read")?;
    let pending = those(&mine, |status| status == Delivery::Pending);
    let open = those(&mine, Delivery::is_in_inbox);
    let from = message.sent.from.clone();
    let read = (!open.is_empty()).then_some(Event::Read(Read { from, to: open }));
    Ok(delivered(message, pending).into_iter().chain(read).collect())
}

/// The caller's own mailboxes among the recipients.
type Mine = Vec<(AgentId, Delivery)>;

/// The message and the caller's own mailboxes among its recipients.
fn own<'a>(
    state: Option<&'a Message>,
    context: Context<'_>,
    action: &'static str,
) -> Result<(&'a Message, Mine), Rejection> {
    let message = state
        .filter(|message| message.is_visible_to(context.caller))
        .ok_or(Rejection::NotFound { what: "message" })?;
    let mine: Vec<_> = mailboxes(context.caller)
        .into_iter()
        .filter_map(|name| message.recipients.get(&name).map(|status| (name.clone(), *status)))
        .collect();
    if mine.is_empty() {
        return Err(Rejection::NotAllowed { action, who: "a recipient" });
    }
    Ok((message, mine))
}

fn those(mine: &[(AgentId, Delivery)], are: impl Fn(Delivery) -> bool) -> Vec<AgentId> {
    mine.iter().filter(|(_, status)| are(*status)).map(|(name, _)| name.clone()).collect()
}

fn delivered(message: &Message, to: Vec<AgentId>) -> Option<Event> {
    let from = message.sent.from.clone();
    (!to.is_empty()).then_some(Event::Delivered(Delivered { from, to }))
}
