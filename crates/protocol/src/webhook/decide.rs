//! What a webhook allows.

use super::command::{Command, ROTATION_MAX};
use super::event::{
    Changed, Created, Event, KeyRotated, PauseCause, Paused, Removed, Resumed, Settled,
};
use super::state::{OWNED_MAX, Webhook};
use super::terms::Terms;
use crate::caller::Principal;
use crate::codec;
use crate::facts::Context;
use crate::ids::TokenId;
use crate::ledger::Subject;
use crate::needs::SlotOf;
use crate::notes::check_text;
use crate::rejection::Rejection;
use crate::wake::check_url;

/// Names of events or families of one webhook.
pub const EVENTS_MAX: usize = 64;

pub fn decide(
    state: Option<&Webhook>,
    command: &Command,
    context: Context<'_>,
) -> Result<Option<Event>, Rejection> {
    let caller = context.caller;
    let no_such = Rejection::NotFound { what: "webhook" };
    let webhook = match (state, command) {
        (None, Command::Create { terms, after, token }) => {
            return created(terms, after, *token, context).map(Some);
        }
        (Some(_), Command::Create { .. }) => {
            return Err(Rejection::AlreadyExists { what: "the webhook" });
        }
        (None, _) => return Err(no_such),
        (Some(webhook), _) => webhook,
    };
    let is_server = caller.principal == Principal::System;
    if webhook.removed || !(webhook.is_shown_to(caller) || is_server) {
        return Err(no_such);
    }
    Ok(match command {
        Command::Create { .. } => None,
        Command::Change { terms } => {
            let (owner, terms) = (webhook.owner.clone(), checked(terms)?);
            let is_new = terms != webhook.terms;
            is_new.then(|| Event::Changed(Box::new(Changed { owner, terms })))
        }
        Command::RotateKey { overlap } => {
            let previous_until = context.now.plus((*overlap).min(ROTATION_MAX));
            Some(Event::KeyRotated(KeyRotated { key: webhook.key + 1, previous_until }))
        }
        Command::Pause { cause, detail } => {
            let paused = Paused { cause: *cause, detail: detail.clone() };
            webhook.paused.is_none().then_some(Event::Paused(paused))
        }
        Command::Resume { after, token } => {
            let is_news = webhook.paused.is_some() || after.is_some();
            let token = token.filter(|_| webhook.is_of(caller));
            let is_without_token =
                webhook.paused.as_ref().is_some_and(|it| it.cause == PauseCause::TokenEnded);
            if is_without_token && token.is_none() {
                let action = "resume a webhook whose token has ended";
                return Err(Rejection::NotAllowed {
                    action,
                    who: "a caller with a token of its owner",
                });
            }
            is_news.then(|| Event::Resumed(Resumed { token, after: after.clone() }))
        }
        Command::SetAside(it) => {
            let is_known = webhook.set_aside.iter().any(|known| known.event == it.event);
            (!is_known).then(|| Event::SetAside(it.clone()))
        }
        Command::Settle { event, how } => {
            let is_known = webhook.set_aside.iter().any(|known| known.event == *event);
            if !is_known && !is_server {
                return Err(Rejection::NotFound { what: "delivery that is set aside" });
            }
            is_known.then(|| Event::Settled(Settled { event: event.clone(), how: *how }))
        }
        Command::Remove => Some(Event::Removed(Removed {})),
    })
}

fn created(
    terms: &Terms,
    after: &str,
    token: Option<TokenId>,
    context: Context<'_>,
) -> Result<Event, Rejection> {
    match context.caller.principal {
        Principal::Agent(_) | Principal::Operator(_) => {}
        Principal::Customer(_) | Principal::System => {
            let who = "a member of the teamspace";
            return Err(Rejection::NotAllowed { action: "make a webhook", who });
        }
    }
    let terms = checked(terms)?;
    let Some(slot) = context.facts.slot(&SlotOf::Webhook) else {
        return Err(Rejection::TooManyWebhooks { n_max: OWNED_MAX });
    };
    let (owner, after) = (context.caller.principal.to_string(), after.to_owned());
    Ok(Event::Created(Box::new(Created { owner, token, terms, after, slot })))
}

/// The terms as they are kept. A description that shows nothing counts as left out.
fn checked(terms: &Terms) -> Result<Terms, Rejection> {
    let invalid = |field: &str, expected: &str| Rejection::SchemaInvalid {
        field: field.to_owned(),
        expected: expected.to_owned(),
    };
    check_url(&terms.url)?;
    if terms.events.len() > EVENTS_MAX {
        return Err(invalid("events", &format!("at most {EVENTS_MAX} names")));
    }
    if let Some(index) = terms.events.iter().position(|kind| !codec::is_kind(kind)) {
        let expected = "the name of events, such as handoff.accepted, or a family, such as \
                        handoff";
        return Err(invalid(&format!("events[{index}]"), expected));
    }
    if let Some(stream) = &terms.stream
        && let Err(error) = stream.parse::<Subject>()
    {
        return Err(invalid("stream", &error.to_string()["expected ".len()..]));
    }
    let description = check_text("description", terms.description.as_deref())?;
    Ok(Terms { description, ..terms.clone() })
}
