//! A subscription: a listener follows what agents announce, on agreed terms. The terms are
//! recorded, so that a listener that reconnects, even after a restart of the server, continues with
//! them.
//!
//! A subscription is a name and not a credential: its user is identified by a token, and must be
//! the principal that opened it.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::caller::{Caller, Principal};
use crate::facts::Context;
use crate::ledger::BadHistory;
use crate::needs::{Needs, SlotOf};
use crate::rejection::Rejection;
use crate::stored::{Deadline, Hold};
use crate::time::{Span, Time};
use aaep::capabilities::Capabilities;

/// How long one lasts unless new terms renew it. A listener that is still there then opens another
/// one.
pub const LASTS: Span = Span::from_hours(7 * 24);

/// How many one bearer may have open at once. A tab, a braille display and a caption bar each have
/// one; a bridge has one for each of its users.
pub const OPEN_MAX: u16 = 256;

/// The longest reason for closing one.
pub const REASON_BYTES_MAX: usize = 4_096;

/// The state of a subscription.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subscription {
    /// The listener, as the record names principals.
    pub listener: String,
    pub subscriber_id: String,
    /// The version of the protocol that both sides speak.
    pub version: String,
    /// The terms: never looser than what was asked for.
    pub honored: Capabilities,
    /// The listener's slot that it occupies.
    slot: u16,
    pub until: Time,
    pub closed: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    Open(Box<Open>),
    /// New terms, which replace the old ones.
    Agree {
        /// The terms that the new ones are based on, so that two concurrent changes do not mix.
        before: Box<Capabilities>,
        honored: Box<Capabilities>,
    },
    Close {
        code: String,
        message: String,
    },
    /// Its time may be over.
    Elapse {
        due: Time,
    },
}

/// The terms that a handshake agreed on.
#[derive(Debug, Clone, PartialEq)]
pub struct Open {
    pub subscriber_id: String,
    pub subscriber_name: Option<String>,
    pub version: String,
    pub honored: Capabilities,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Opened(Opened),
    Agreed(Agreed),
    Closed(Closed),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    pub listener: String,
    pub subscriber_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscriber_name: Option<String>,
    pub version: String,
    pub honored: Capabilities,
    pub slot: u16,
    pub until: Time,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Agreed {
    pub honored: Capabilities,
    pub until: Time,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    pub code: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// The prefix of the slots of all listeners, among the holds.
pub const LISTENERS: &str = "listener/";

/// The prefix of the slots of one listener.
pub fn slot_prefix(listener: &Principal) -> String {
    format!("{LISTENERS}{listener}/")
}

/// The lowest free slot of a listener.
pub fn free_slot(listener: &Principal, occupied: &[String]) -> Option<u16> {
    let prefix = slot_prefix(listener);
    (1..=OPEN_MAX).find(|k| !occupied.contains(&format!("{prefix}{k:03}")))
}

impl Command {
    pub fn name(&self) -> &'static str {
        match self {
            Command::Open(_) => "open_subscription",
            Command::Agree { .. } => "renegotiate_subscription",
            Command::Close { .. } => "close_subscription",
            Command::Elapse { .. } => "elapse",
        }
    }

    pub fn needs(&self) -> Needs {
        match self {
            Command::Open(_) => Needs { slots: vec![SlotOf::Listener], ..Needs::default() },
            Command::Agree { .. } | Command::Close { .. } | Command::Elapse { .. } => {
                Needs::default()
            }
        }
    }
}

impl Event {
    pub fn name(&self) -> &'static str {
        match self {
            Event::Opened(_) => "subscription.opened",
            Event::Agreed(_) => "subscription.agreed",
            Event::Closed(_) => "subscription.closed",
        }
    }
}

impl Subscription {
    pub fn is_of(&self, caller: &Caller) -> bool {
        self.listener == caller.principal.to_string()
    }

    pub fn deadlines(&self) -> Vec<Deadline> {
        match self.closed {
            true => Vec::new(),
            false => vec![Deadline { name: "until".into(), due: self.until }],
        }
    }

    /// The slot that it occupies.
    pub fn hold(&self) -> Hold {
        let key = format!("listener/{}/{:03}", self.listener, self.slot);
        Hold { key, occupied: !self.closed, value: None }
    }
}

pub fn decide(
    state: Option<&Subscription>,
    command: &Command,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    let no_such = Rejection::NotFound { what: "subscription" };
    let caller = context.caller;
    match (state, command) {
        (None, Command::Open(open)) => opened(open, context).map(|opened| vec![opened]),
        (Some(_), Command::Open(_)) => Err(Rejection::AlreadyExists { what: "the subscription" }),
        (None, _) => Err(no_such),
        (Some(it), Command::Elapse { due }) => {
            let is_over = !it.closed && it.until == *due && context.now >= it.until;
            let closed = Closed { code: "expired".to_owned(), message: String::new() };
            Ok(is_over.then_some(Event::Closed(closed)).into_iter().collect())
        }
        (Some(it), Command::Agree { .. }) if !it.is_of(caller) || it.closed => Err(no_such),
        (Some(it), Command::Agree { before, honored }) => {
            if it.honored != **before {
                return Err(Rejection::AlreadyExists { what: "another change of these terms" });
            }
            let until = context.now.plus(LASTS);
            Ok(vec![Event::Agreed(Agreed { honored: honored.as_ref().clone(), until })])
        }
        (Some(it), Command::Close { code, message }) => {
            if !it.is_of(caller) && !caller.is_coordinator() {
                return Err(no_such);
            }
            let (code, message) = (code.clone(), message.clone());
            let closed = (!it.closed).then_some(Event::Closed(Closed { code, message }));
            Ok(closed.into_iter().collect())
        }
    }
}

fn opened(open: &Open, context: Context<'_>) -> Result<Event, Rejection> {
    match context.caller.principal {
        Principal::Agent(_) | Principal::Operator(_) | Principal::Customer(_) => {}
        Principal::System => {
            let who = "a caller with its own token";
            return Err(Rejection::NotAllowed { action: "listen", who });
        }
    }
    let Some(slot) = context.facts.slot(&SlotOf::Listener) else {
        return Err(Rejection::TooManySubscriptions { n_max: OPEN_MAX });
    };
    Ok(Event::Opened(Opened {
        listener: context.caller.principal.to_string(),
        subscriber_id: open.subscriber_id.clone(),
        subscriber_name: open.subscriber_name.clone(),
        version: open.version.clone(),
        honored: open.honored.clone(),
        slot,
        until: context.now.plus(LASTS),
    }))
}

pub fn evolve(state: Option<Subscription>, event: &Event) -> Result<Subscription, BadHistory> {
    match (state, event) {
        (None, Event::Opened(opened)) => Ok(Subscription {
            listener: opened.listener.clone(),
            subscriber_id: opened.subscriber_id.clone(),
            version: opened.version.clone(),
            honored: opened.honored.clone(),
            slot: opened.slot,
            until: opened.until,
            closed: false,
        }),
        (Some(it), Event::Agreed(agreed)) if !it.closed => {
            Ok(Subscription { honored: agreed.honored.clone(), until: agreed.until, ..it })
        }
        (Some(it), Event::Closed(_)) if !it.closed => Ok(Subscription { closed: true, ..it }),
        (Some(_), Event::Opened(_) | Event::Agreed(_) | Event::Closed(_))
        | (None, Event::Agreed(_) | Event::Closed(_)) => Err(BadHistory { event: event.name() }),
    }
}
