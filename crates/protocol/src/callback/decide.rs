//! Decides on a command.

use super::{Ask, Asked, CONTACT_BYTES_MAX, Command, Event, Settle, Settled};
use crate::agent::Kind as AgentKind;
use crate::conversation::decide::shared::check_queue;
use crate::conversation::event::Event as ConversationEvent;
use crate::conversation::not_heard::Why;
use crate::conversation::state::{Conversation, Side};
use crate::facts::Context;
use crate::hidden::is_blank;
use crate::notes::check_text;
use crate::rejection::Rejection;
use crate::time::Span;
use crate::transfer::decide::{called_back_instead, is_in_queue, queue_of};

/// A customer who wants a later call has time to ask again.
pub const NOT_BEFORE_MAX: Span = Span::from_hours(30 * 24);

pub fn decide(
    state: Option<&Conversation>,
    command: &Command,
    context: Context<'_>,
) -> Result<Vec<ConversationEvent>, Rejection> {
    let no_such = Rejection::NotFound { what: "conversation" };
    let conversation = state.ok_or(no_such)?;
    match command {
        Command::Ask(asking) => ask(conversation, asking, context),
        Command::Settle(settling) => settle(conversation, settling, context),
    }
}

fn ask(
    conversation: &Conversation,
    ask: &Ask,
    context: Context<'_>,
) -> Result<Vec<ConversationEvent>, Rejection> {
    let no_such = Rejection::NotFound { what: "conversation" };
    let side = conversation.side(context.caller).ok_or(no_such)?;
    if conversation.closed.is_some() {
        return Err(Rejection::ConversationClosed { action: "ask for a callback" });
    }
    may_ask(conversation, ask, &side, context)?;
    if conversation.callback.is_some() {
        return Err(Rejection::AlreadyExists { what: "callback" });
    }
    check(ask, context)?;
    check_queue(conversation, &side, ask.queue.as_ref(), context)?;
    let waits = conversation.waiting_transfer();
    let named = ask.queue.as_ref().or(waits.map(|transfer| &transfer.queue));
    let queue = queue_of(context.facts, named)?;
    // The previous holder has the conversation again, and knows of the callback.
    let holder = waits.map_or(&conversation.holder, |transfer| &transfer.terms.previous);
    let asked = Asked {
        holder: holder.clone(),
        queue: queue.id.clone(),
        by: context.caller.principal.to_string(),
        contact: ask.contact.clone(),
        note: check_text("note", ask.note.as_deref())?.unwrap_or_default(),
        not_before: ask.not_before,
    };
    let over = waits.map(|transfer| called_back_instead(conversation, transfer, context));
    Ok(over.into_iter().chain([ConversationEvent::Callback(Event::Asked(asked))]).collect())
}

fn may_ask(
    conversation: &Conversation,
    ask: &Ask,
    side: &Side<'_>,
    context: Context<'_>,
) -> Result<(), Rejection> {
    let agent = match side {
        Side::Customer | Side::Overseer => return Ok(()),
        Side::Agent(_) if context.caller.is_coordinator() => return Ok(()),
        Side::Agent(agent) => *agent,
    };
    let (holder, current) = (&conversation.holder, conversation.epoch);
    let epoch = ask.epoch.ok_or(Rejection::EpochRequired)?;
    let why = match (epoch == current, agent == holder) {
        (true, true) => return Ok(()),
        (false, _) => Why::EpochOutdated,
        (true, false) => Why::NotHolder,
    };
    Err(Rejection::NotHeard { why, holder: holder.clone(), epoch: current })
}

fn check(ask: &Ask, context: Context<'_>) -> Result<(), Rejection> {
    let contact = &ask.contact;
    let is_unsound = is_blank(contact)
        || contact.len() > CONTACT_BYTES_MAX
        || contact.chars().any(char::is_control);
    if is_unsound {
        return Err(invalid("contact", &format!("one line of 1 to {CONTACT_BYTES_MAX} bytes")));
    }
    let latest = context.now.plus(NOT_BEFORE_MAX);
    if ask.not_before.is_some_and(|not_before| not_before > latest) {
        return Err(invalid("not_before", "a time at most 30 days ahead"));
    }
    Ok(())
}

/// A person of the queue may settle it without having seen the conversation before.
fn settle(
    conversation: &Conversation,
    settle: &Settle,
    context: Context<'_>,
) -> Result<Vec<ConversationEvent>, Rejection> {
    let no_such = Rejection::NotFound { what: "conversation" };
    let side = conversation.side(context.caller);
    let queue = context.facts.queue.as_ref().filter(|it| it.kind == AgentKind::Queue);
    let person = context.facts.caller.as_ref().filter(|it| it.kind == AgentKind::Human);
    let is_of_queue = person.zip(queue).is_some_and(|(person, queue)| is_in_queue(person, queue));
    let is_overseer = context.caller.is_coordinator() || side == Some(Side::Overseer);
    let Some(open) = &conversation.callback else {
        let nothing = Rejection::NotFound { what: "callback" };
        return Err(side.map_or(no_such, |_| nothing));
    };
    if !is_of_queue && !is_overseer {
        let who = "a person of the queue or a coordinator";
        let not_allowed = Rejection::NotAllowed { action: "settle a callback", who };
        return Err(side.map_or(no_such, |_| not_allowed));
    }
    if is_blank(&settle.outcome) {
        return Err(invalid("outcome", "the result of the call"));
    }
    let settled = Settled {
        holder: conversation.holder.clone(),
        queue: open.queue.clone(),
        agent: context.caller.agent().cloned(),
        outcome: check_text("outcome", Some(&settle.outcome))?.unwrap_or_default(),
    };
    Ok(vec![ConversationEvent::Callback(Event::Settled(settled))])
}

fn invalid(field: &str, expected: &str) -> Rejection {
    Rejection::SchemaInvalid { field: field.to_owned(), expected: expected.to_owned() }
}
