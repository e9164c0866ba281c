//! The state of a message after an event.

use std::collections::{BTreeMap, BTreeSet};

use super::event::{Event, Sent};
use super::state::{Delivery, Message};
use crate::fixed::Fixed;
use crate::ids::{AgentId, MessageId};
use crate::ledger::BadHistory;
use crate::time::Time;

pub fn evolve(
    id: MessageId,
    state: Option<Message>,
    event: &Event,
    at: Time,
) -> Result<Message, BadHistory> {
    let bad = BadHistory { event: event.name() };
    match (state, event) {
        (None, Event::Sent(sent)) => Ok(fresh(id, sent, at)),
        (Some(message), Event::Delivered(delivered)) => {
            moved(message, &delivered.to, at, |before| match before {
                Delivery::Pending => Some(Delivery::Delivered),
                Delivery::Delivered | Delivery::Read | Delivery::Expired | Delivery::Failed => None,
            })
            .ok_or(bad)
        }
        (Some(message), Event::Read(read)) => moved(message, &read.to, at, |before| match before {
            Delivery::Delivered | Delivery::Failed => Some(Delivery::Read),
            Delivery::Pending | Delivery::Read | Delivery::Expired => None,
        })
        .ok_or(bad),
        (Some(message), Event::Expired(expired)) => {
            moved(message, &expired.to, at, |before| match before {
                Delivery::Pending | Delivery::Delivered => Some(Delivery::Expired),
                Delivery::Read | Delivery::Expired | Delivery::Failed => None,
            })
            .ok_or(bad)
        }
        (Some(message), Event::Failed(failed)) => {
            moved(message, &failed.to, at, |before| match before {
                Delivery::Pending => Some(Delivery::Failed),
                Delivery::Delivered | Delivery::Read | Delivery::Expired | Delivery::Failed => None,
            })
            .ok_or(bad)
        }
        (Some(message), Event::Woken(woken)) => called(message, &woken.to, at).ok_or(bad),
        (Some(_), Event::Sent(_))
        | (
            None,
            Event::Delivered(_)
            | Event::Read(_)
            | Event::Expired(_)
            | Event::Woken(_)
            | Event::Failed(_),
        ) => Err(bad),
    }
}

fn fresh(id: MessageId, sent: &Sent, at: Time) -> Message {
    let recipients: BTreeMap<_, _> =
        sent.to.iter().map(|name| (name.clone(), Delivery::Pending)).collect();
    let sent = Fixed::from(sent.clone());
    let woken = BTreeSet::new();
    Message { id, sent, created_at: at, updated_at: at, recipients, woken, purged: false }
}

/// What remains after its content was erased: that it existed, and between whom.
pub fn purged(message: Message, at: Time) -> Message {
    let sent = Sent {
        to: Vec::new(),
        topic: None,
        team: None,
        payload: serde_json::Map::new(),
        context: None,
        ..Sent::clone(&message.sent)
    };
    Message { sent: Fixed::from(sent), updated_at: at, purged: true, ..message }
}

/// `None` if one of them was not to be woken.
fn called(mut message: Message, to: &[AgentId], at: Time) -> Option<Message> {
    for name in to {
        let is_wanted = message.to_wake().any(|wanted| wanted == name);
        message.woken.extend(is_wanted.then(|| name.clone()));
        if !is_wanted {
            return None;
        }
    }
    message.updated_at = at;
    Some(message)
}

/// `None` if one of the recipients cannot reach that status.
fn moved(
    mut message: Message,
    to: &[AgentId],
    at: Time,
    next: impl Fn(Delivery) -> Option<Delivery>,
) -> Option<Message> {
    for name in to {
        let status = message.recipients.get_mut(name)?;
        *status = next(*status)?;
    }
    message.updated_at = at;
    Some(message)
}
