//! A webhook: the server posts the events of a teamspace to a URL, in order and at least once, as
//! far as its owner may read them.
//!
//! The record has what was agreed on, and what went wrong for good. How far a webhook has come is a
//! cursor of the server, and single deliveries are not recorded.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::aggregate;
use crate::caller::{Caller, Principal};
use crate::codec;
use crate::facts::Context;
use crate::ids::{AgentId, TokenId};
use crate::ledger::{BadHistory, Entry, Subject};
use crate::needs::Needs;
use crate::notes::check_text;
use crate::rejection::Rejection;
use crate::stored::Hold;
use crate::time::{Span, Time};
use crate::visibility::parties::concerns;
use crate::wake::check_url;

/// How many one bearer may have.
pub const OWNED_MAX: u16 = 8;

/// Names of events or families of one webhook.
pub const EVENTS_MAX: usize = 64;

/// Deliveries that are set aside at once. One more pauses the webhook instead.
pub const SET_ASIDE_MAX: usize = 100;

/// How long the key before the current one signs too, unless the caller says otherwise.
pub const ROTATION_DEFAULT: Span = Span::from_hours(24);

/// And at most.
pub const ROTATION_MAX: Span = Span::from_hours(7 * 24);

/// The state of a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    /// As the record names principals.
    pub owner: String,
    /// The token that it was made with: it may read what that may. `None` on the control socket.
    pub token: Option<TokenId>,
    pub terms: Terms,
    pub created_at: Time,
    /// From 1. Each has a secret of its own, which derives from a key of the server.
    pub key: u32,
    /// Until when the key before it signs too.
    pub previous_key_until: Option<Time>,
    /// Deliveries begin after the event with this cursor.
    pub after: String,
    /// Grows when deliveries begin anew somewhere else.
    pub round: u32,
    /// When it was made, changed or resumed: since then it may fail.
    pub since: Time,
    pub paused: Option<Paused>,
    pub set_aside: Vec<SetAside>,
    pub removed: bool,
    /// The owner's slot that it occupies.
    slot: u16,
}

/// What is delivered, and where to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    pub url: String,
    /// Names of events, such as `handoff.accepted`, or families, such as `handoff`. Empty means
    /// all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
    /// Only events of this stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// Only events that this agent caused or is a party to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    Create {
        terms: Terms,
        after: String,
        /// From the credential.
        token: Option<TokenId>,
    },
    Change {
        terms: Terms,
    },
    RotateKey {
        /// How long the old key signs too.
        overlap: Span,
    },
    Pause {
        cause: PauseCause,
        detail: String,
    },
    Resume {
        /// Where deliveries begin anew; without it, they go on where they were.
        after: Option<String>,
        token: Option<TokenId>,
    },
    /// The endpoint does not take this delivery. The others go on.
    SetAside(SetAside),
    Settle {
        event: String,
        how: Settlement,
    },
    Remove,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Created(Box<Created>),
    Changed(Box<Changed>),
    KeyRotated(KeyRotated),
    Paused(Paused),
    Resumed(Resumed),
    SetAside(SetAside),
    Settled(Settled),
    Removed(Removed),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
    pub owner: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenId>,
    pub terms: Terms,
    pub after: String,
    pub slot: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    pub owner: String,
    pub terms: Terms,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRotated {
    pub key: u32,
    pub previous_until: Time,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    pub cause: PauseCause,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseCause {
    /// A caller wanted it.
    Asked,
    /// It failed for days.
    Failing,
    /// The endpoint answered that it is gone for good.
    Gone,
    /// As many deliveries are set aside as may be.
    SetAside,
    /// The token it was made with was revoked or has expired.
    TokenEnded,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed {
    /// The owner's token, if the owner resumed it with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// A delivery that the endpoint did not take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetAside {
    /// The cursor of the event.
    pub event: String,
    pub name: String,
    pub attempts: u32,
    pub detail: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    pub event: String,
    pub how: Settlement,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    Delivered,
    Discarded,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removed {}

/// The prefix of the slots of one owner, among the holds.
pub fn slot_prefix(owner: &Principal) -> String {
    format!("webhook/{owner}/")
}

/// The lowest free slot of an owner.
pub fn free_slot(owner: &Principal, occupied: &[String]) -> Option<u16> {
    let prefix = slot_prefix(owner);
    (1..=OWNED_MAX).find(|k| !occupied.contains(&format!("{prefix}{k:03}")))
}

impl Command {
    pub fn name(&self) -> &'static str {
        match self {
            Command::Create { .. } => "create_webhook",
            Command::Change { .. } => "change_webhook",
            Command::RotateKey { .. } => "rotate_webhook_key",
            Command::Pause { .. } => "pause_webhook",
            Command::Resume { .. } => "resume_webhook",
            Command::SetAside(_) => "set_delivery_aside",
            Command::Settle { .. } => "settle_delivery",
            Command::Remove => "remove_webhook",
        }
    }

    pub fn needs(&self) -> Needs {
        Needs { webhook_slot: matches!(self, Command::Create { .. }), ..Needs::default() }
    }
}

impl Event {
    pub fn name(&self) -> &'static str {
        match self {
            Event::Created(_) => "webhook.created",
            Event::Changed(_) => "webhook.changed",
            Event::KeyRotated(_) => "webhook.key_rotated",
            Event::Paused(_) => "webhook.paused",
            Event::Resumed(_) => "webhook.resumed",
            Event::SetAside(_) => "webhook.set_aside",
            Event::Settled(_) => "webhook.settled",
            Event::Removed(_) => "webhook.removed",
        }
    }
}

impl PauseCause {
    pub fn as_str(self) -> &'static str {
        match self {
            PauseCause::Asked => "asked",
            PauseCause::Failing => "failing",
            PauseCause::Gone => "gone",
            PauseCause::SetAside => "set_aside",
            PauseCause::TokenEnded => "token_ended",
        }
    }
}

impl Terms {
    /// Whether an entry is to be delivered. It does not check who may see it. Entries about
    /// webhooks are not delivered: a failed delivery would cause the next.
    pub fn wants(&self, entry: &Entry, event: Option<&aggregate::Event>) -> bool {
        let is_kind = |kind: &String| is_of_kind(&entry.name, kind);
        !matches!(entry.stream.subject, Subject::Webhook(_))
            && (self.events.is_empty() || self.events.iter().any(is_kind))
            && self.stream.as_ref().is_none_or(|it| entry.stream.subject.to_string() == *it)
            && self.agent.as_ref().is_none_or(|agent| concerns(agent, entry, event))
    }

    fn check(&self) -> Result<(), Rejection> {
        let invalid = |field: &str, expected: &str| Rejection::SchemaInvalid {
            field: field.to_owned(),
            expected: expected.to_owned(),
        };
        check_url(&self.url)?;
        if self.events.len() > EVENTS_MAX {
            return Err(invalid("events", &format!("at most {EVENTS_MAX} names")));
        }
        if let Some(index) = self.events.iter().position(|kind| !codec::is_kind(kind)) {
            let expected = "the name of events, such as handoff.accepted, or a family, such as \
                            handoff";
            return Err(invalid(&format!("events[{index}]"), expected));
        }
        if let Some(stream) = &self.stream
            && let Err(error) = stream.parse::<Subject>()
        {
            return Err(invalid("stream", &error.to_string()["expected ".len()..]));
        }
        check_text("description", self.description.as_deref()).map(|_| ())
    }
}

/// Whether an event has this name, or is of this family.
pub fn is_of_kind(name: &str, kind: &str) -> bool {
    name == kind || name.strip_prefix(kind).is_some_and(|rest| rest.starts_with('.'))
}

impl Webhook {
    pub fn is_of(&self, caller: &Caller) -> bool {
        self.owner == caller.principal.to_string()
    }

    /// The slot that it occupies.
    pub fn hold(&self) -> Hold {
        let key = format!("webhook/{}/{:03}", self.owner, self.slot);
        Hold { key, occupied: !self.removed, value: None }
    }
}

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
    if webhook.removed || !(webhook.is_of(caller) || caller.is_operator() || is_server) {
        return Err(no_such);
    }
    Ok(match command {
        Command::Create { .. } => None,
        Command::Change { terms } => {
            terms.check()?;
            let (owner, terms) = (webhook.owner.clone(), terms.clone());
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
                return Err(Rejection::NotAllowed { action, who: "its owner, with a valid token" });
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
    terms.check()?;
    let Some(slot) = context.facts.webhook_slot else {
        return Err(Rejection::TooManyWebhooks { n_max: OWNED_MAX });
    };
    let (owner, after) = (context.caller.principal.to_string(), after.to_owned());
    let terms = terms.clone();
    Ok(Event::Created(Box::new(Created { owner, token, terms, after, slot })))
}

pub fn evolve(state: Option<Webhook>, event: &Event, at: Time) -> Result<Webhook, BadHistory> {
    let bad = BadHistory { event: event.name() };
    let mut webhook = match (state, event) {
        (None, Event::Created(created)) => {
            return Ok(Webhook {
                owner: created.owner.clone(),
                token: created.token,
                terms: created.terms.clone(),
                created_at: at,
                key: 1,
                previous_key_until: None,
                after: created.after.clone(),
                round: 1,
                since: at,
                paused: None,
                set_aside: Vec::new(),
                removed: false,
                slot: created.slot,
            });
        }
        (Some(webhook), _) if !webhook.removed => webhook,
        (Some(_) | None, _) => return Err(bad),
    };
    match event {
        Event::Created(_) => return Err(bad),
        Event::Changed(changed) => {
            webhook.terms.clone_from(&changed.terms);
            webhook.since = at;
        }
        Event::KeyRotated(rotated) => {
            webhook.key = rotated.key;
            webhook.previous_key_until = Some(rotated.previous_until);
        }
        Event::Paused(paused) => webhook.paused = Some(paused.clone()),
        Event::Resumed(resumed) => {
            webhook.paused = None;
            webhook.since = at;
            webhook.token = resumed.token.or(webhook.token);
            if let Some(after) = &resumed.after {
                webhook.after.clone_from(after);
                webhook.round += 1;
            }
        }
        Event::SetAside(it) => webhook.set_aside.push(it.clone()),
        Event::Settled(settled) => webhook.set_aside.retain(|it| it.event != settled.event),
        Event::Removed(_) => webhook.removed = true,
    }
    Ok(webhook)
}
