//! The server's own announcements about a conversation: a transfer from its request to its end, a
//! change of holder, a callback, and a refused request. Each is a session of its own, by an agent
//! that is in no directory. Reasons, notes and the person asked in stay between colleagues.
//!
//! The id of an event derives from its entry, so that announcing it again changes nothing.

pub mod manifest;
pub mod ours;
pub mod settled;
pub mod texts;
mod told;

#[cfg(test)]
mod tests;

pub use ours::{SESSION_PREFIX, is_ours, producer, reads_as_ours};

use std::collections::BTreeMap;

use self::texts::Message;
use crate::callback;
use crate::canonical::{self, Hash};
use crate::conversation::{self, Conversation};
use crate::ids::{AgentId, ConversationId, SessionId, TransferId};
use crate::queue::EstimatedWait;
use crate::session::event::{Handover, HandoverOutcome};
use crate::time::Time;
use aaep::event::TargetKind;
use aaep::{CONNECTED, ON_HOLD, RINGING, WAITING};

/// An entry of a conversation, and what its texts need.
#[derive(Debug, Clone, Copy)]
pub struct Cause<'a> {
    pub conversation: &'a Conversation,
    pub at: Time,
    pub hash: &'a Hash,
    /// The actor, as the record names them.
    pub actor: &'a str,
    /// The display names of agents, by id.
    pub names: &'a BTreeMap<AgentId, String>,
    /// The request of an agent that led to it.
    pub asked: Option<&'a HandoverRequest>,
    /// Where it waits now, if it still does.
    pub line: Option<QueuePlace>,
}

/// A place in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuePlace {
    /// The first is 1.
    pub place: u64,
    /// `None` if it cannot be estimated.
    pub wait: Option<EstimatedWait>,
}

/// A handoff that an agent requested in a session of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoverRequest {
    pub session: SessionId,
    pub handover: Handover,
}

/// The announcements about an entry, and the state of the session after them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcements {
    pub events: Vec<String>,
    pub state: String,
}

impl HandoverRequest {
    /// Parses the value of the key of a change of holder.
    pub fn parse(value: &str) -> Option<Self> {
        let mut words = value.split(' ');
        let (session, event_id) = (words.next()?.parse().ok()?, words.next()?.to_owned());
        let outcome = match words.next()? {
            "requested" => HandoverOutcome::Requested,
            "routed" => HandoverOutcome::Routed,
            "default_queue" => HandoverOutcome::DefaultQueue,
            _ => return None,
        };
        let handover = Handover { event_id, outcome, transfer: None, to: None, number: None };
        Some(Self { session, handover })
    }
}

pub fn transfer_session(id: TransferId) -> SessionId {
    session(&plain(&id.to_string()))
}

pub fn route_session(id: ConversationId, number: u64) -> SessionId {
    session(&format!("{}r{number}", plain(&id.to_string())))
}

/// The session of a callback, by the entry in which it was asked for.
pub fn callback_session(hash: &Hash) -> SessionId {
    session(&canonical::hex(hash)[..32])
}

/// The session of a refused request.
pub fn refusal_session(asked_in: &SessionId, event_id: &str) -> SessionId {
    let parts = [asked_in.as_str().as_bytes(), b"\n", event_id.as_bytes()];
    session(&canonical::hex(&canonical::sha256(&parts))[..32])
}

fn session(rest: &str) -> SessionId {
    format!("{SESSION_PREFIX}{rest}").parse().expect("letters and digits, and few of them")
}

fn plain(uuid: &str) -> String {
    uuid.replace('-', "")
}

/// The status of one of our sessions, by its state, for listeners that join later.
pub fn stands(state: &str) -> Option<Message<'static>> {
    match state {
        WAITING => Some(Message::StateWaiting),
        RINGING => Some(Message::StateRinging),
        CONNECTED => Some(Message::StateConnected),
        ON_HOLD => Some(Message::StateOnHold),
        _ => None,
    }
}

/// The session in which an entry of a conversation is announced; most are not.
pub fn session_of(
    id: ConversationId,
    event: &conversation::Event,
    hash: &Hash,
) -> Option<SessionId> {
    if let conversation::Event::Routed(routed) = event {
        return Some(route_session(id, routed.number));
    }
    if let conversation::Event::Transfer(event) = event {
        return event.moved().map(|_| transfer_session(event.transfer()));
    }
    // The result of a callback is for colleagues only.
    let is_asked = matches!(event, conversation::Event::Callback(callback::Event::Asked(_)));
    is_asked.then(|| callback_session(hash))
}

/// The agents that an entry names.
pub fn named(event: &conversation::Event) -> Vec<&AgentId> {
    if let conversation::Event::Routed(routed) = event {
        return vec![&routed.holder, &routed.to];
    }
    if let conversation::Event::Transfer(event) = event {
        return event.named();
    }
    let conversation::Event::Callback(callback::Event::Asked(it)) = event else {
        return Vec::new();
    };
    vec![&it.queue]
}

/// The address of an agent or a queue, in the form of `target_uri`.
fn target_uri(kind: TargetKind, id: &AgentId) -> String {
    let scheme = match kind {
        TargetKind::Human | TargetKind::EscalationQueue => "queue",
        TargetKind::SpecialistAgent => "agent",
    };
    format!("{scheme}://{id}")
}
