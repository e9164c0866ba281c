//! The ledger: every event of every stream as an entry, and the hash chain that links the entries
//! of a stream.
//!
//! The hashed part of an entry has its stream, its position and a salted commitment to its body,
//! but not the body. So a body can be erased later, by a recorded entry, and the chain still
//! verifies. The global sequence is not hashed; it is the entry's place in the Merkle tree of the
//! whole ledger.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::hash::Hasher;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::canonical::{self, Hash};
use crate::ids::{
    AgentId, ConversationId, FileId, GraphId, HandoffId, MessageId, QuestionId, SessionId,
    SubscriptionId, TeamspaceId, TokenId, WebhookId,
};
use crate::json;
use crate::time::Time;

/// The hash before the first entry of a stream.
pub const GENESIS: Hash = [0; 32];

/// A typical size of the hashed form of an entry, to reserve room.
const HASHED_BYTES: usize = 512;

/// The ledger holds an order of events that no decision could have produced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {event} does not follow from the events before it")]
pub struct BadHistory {
    pub event: &'static str,
}

/// What a stream is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    Handoff(HandoffId),
    Agent(AgentId),
    Token(TokenId),
    /// The ledger itself; there is one, in the default teamspace.
    Ledger,
    Message(MessageId),
    Conversation(ConversationId),
    /// The teamspace itself; each has one.
    Teamspace,
    Graph(GraphId),
    Subscription(SubscriptionId),
    Session(SessionId),
    Webhook(WebhookId),
    File(FileId),
    Question(QuestionId),
}

/// The id of a subject that exists once.
const SELF_ID: &str = "self";

/// About what the text of a subject takes.
const SUBJECT_BYTES: usize = 64;

/// The name of a stream: one aggregate in one teamspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stream {
    pub teamspace: TeamspaceId,
    pub subject: Subject,
}

impl Stream {
    /// The stream that records events of the ledger itself.
    pub fn of_ledger() -> Self {
        Self { teamspace: TeamspaceId::default_teamspace(), subject: Subject::Ledger }
    }

    /// The stream that records events of a teamspace itself.
    pub fn of_teamspace(teamspace: TeamspaceId) -> Self {
        Self { teamspace, subject: Subject::Teamspace }
    }
}

impl std::hash::Hash for Stream {
    /// The subject alone tells streams apart well enough; hashing the teamspace would double the
    /// cost. The teamspace is hashed only where every subject is the same.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.subject.hash(state);
        if self.subject == Subject::Teamspace {
            self.teamspace.hash(state);
        }
    }
}

/// An event in the form that is stored, hashed and sent: durable name, version and JSON text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub name: &'static str,
    pub version: u32,
    pub body: String,
}

/// One entry of the ledger, before the store gives it its place in the global sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub stream: Stream,
    /// 1 for the first entry of its stream.
    pub position: u64,
    pub name: Cow<'static, str>,
    pub version: u32,
    pub actor: Arc<str>,
    pub at: Time,
    pub body: Body,
    pub hash: Hash,
}

/// The content of an entry. It may be erased while its commitment stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    Kept { salt: [u8; 16], text: String },
    Erased { commitment: Hash },
}

/// The hashed form. Fields are in alphabetical order and hold only strings and small integers, so
/// that plain serialisation is already RFC 8785.
#[derive(Serialize)]
struct Hashed<'a> {
    actor: &'a str,
    at: Time,
    commitment: &'a str,
    event: &'a str,
    position: u64,
    stream: &'a str,
    teamspace: &'a TeamspaceId,
    version: u32,
}

impl Body {
    pub fn commitment(&self) -> Hash {
        match self {
            Body::Kept { salt, text } => canonical::sha256(&[salt, text.as_bytes()]),
            Body::Erased { commitment } => *commitment,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Body::Kept { text, .. } => Some(text),
            Body::Erased { .. } => None,
        }
    }
}

impl Entry {
    /// What the entry's hash must be, given the hash of the entry before it in its stream.
    pub fn expected_hash(&self, previous: &Hash) -> Hash {
        let hashed = Hashed {
            actor: &self.actor,
            at: self.at,
            commitment: &canonical::hex(&self.body.commitment()),
            event: &self.name,
            position: self.position,
            stream: &self.stream.subject.text(),
            teamspace: &self.stream.teamspace,
            version: self.version,
        };
        let text = json::text_of(&hashed, HASHED_BYTES);
        canonical::sha256(&[previous, text.as_bytes()])
    }

    /// The same entry with its hash filled in.
    pub fn chained(mut self, previous: &Hash) -> Self {
        self.hash = self.expected_hash(previous);
        self
    }
}

impl Subject {
    pub fn kind(&self) -> &'static str {
        match self {
            Subject::Handoff(_) => "handoff",
            Subject::Agent(_) => "agent",
            Subject::Token(_) => "token",
            Subject::Ledger => "ledger",
            Subject::Message(_) => "message",
            Subject::Conversation(_) => "conversation",
            Subject::Teamspace => "teamspace",
            Subject::Graph(_) => "graph",
            Subject::Subscription(_) => "subscription",
            Subject::Session(_) => "session",
            Subject::Webhook(_) => "webhook",
            Subject::File(_) => "file",
            Subject::Question(_) => "question",
        }
    }

    /// The id within its kind.
    pub fn id(&self) -> String {
        match self {
            Subject::Handoff(id) => id.to_string(),
            Subject::Agent(id) => id.to_string(),
            Subject::Token(id) => id.to_string(),
            Subject::Ledger | Subject::Teamspace => SELF_ID.to_owned(),
            Subject::Message(id) => id.to_string(),
            Subject::Graph(id) => id.to_string(),
            Subject::Subscription(id) => id.to_string(),
            Subject::Session(id) => id.to_string(),
            Subject::Webhook(id) => id.to_string(),
            Subject::File(id) => id.to_string(),
            Subject::Question(id) => id.to_string(),
            Subject::Conversation(id) => id.to_string(),
        }
    }
}

impl Subject {
    /// The displayed form. Every commit needs it several times, so it is made with one allocation.
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(SUBJECT_BYTES);
        write!(text, "{self}").expect("a string takes everything");
        text
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Handoff(id) => write!(f, "handoff/{id}"),
            Subject::Agent(id) => write!(f, "agent/{id}"),
            Subject::Token(id) => write!(f, "token/{id}"),
            Subject::Ledger => write!(f, "ledger/{SELF_ID}"),
            Subject::Message(id) => write!(f, "message/{id}"),
            Subject::Conversation(id) => write!(f, "conversation/{id}"),
            Subject::Teamspace => write!(f, "teamspace/{SELF_ID}"),
            Subject::Graph(id) => write!(f, "graph/{id}"),
            Subject::Subscription(id) => write!(f, "subscription/{id}"),
            Subject::Session(id) => write!(f, "session/{id}"),
            Subject::Webhook(id) => write!(f, "webhook/{id}"),
            Subject::File(id) => write!(f, "file/{id}"),
            Subject::Question(id) => write!(f, "question/{id}"),
        }
    }
}

/// Why a text does not name a stream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected handoff/<id>, message/<id>, conversation/<id>, agent/<id>, token/<id>, \
     graph/<id>, session/<id>, subscription/<id>, webhook/<id>, file/<id>, question/<id>, \
     teamspace/self or \
     ledger/self"
)]
pub struct InvalidSubject;

impl FromStr for Subject {
    type Err = InvalidSubject;
    fn from_str(text: &str) -> Result<Self, InvalidSubject> {
        let (kind, id) = text.split_once('/').ok_or(InvalidSubject)?;
        match kind {
            "handoff" => id.parse().map(Subject::Handoff).map_err(|_| InvalidSubject),
            "agent" => id.parse().map(Subject::Agent).map_err(|_| InvalidSubject),
            "token" => id.parse().map(Subject::Token).map_err(|_| InvalidSubject),
            "ledger" if id == SELF_ID => Ok(Subject::Ledger),
            "teamspace" if id == SELF_ID => Ok(Subject::Teamspace),
            "graph" => id.parse().map(Subject::Graph).map_err(|_| InvalidSubject),
            "subscription" => id.parse().map(Subject::Subscription).map_err(|_| InvalidSubject),
            "file" => id.parse().map(Subject::File).map_err(|_| InvalidSubject),
            "webhook" => id.parse().map(Subject::Webhook).map_err(|_| InvalidSubject),
            "question" => id.parse().map(Subject::Question).map_err(|_| InvalidSubject),
            "session" => id.parse().map(Subject::Session).map_err(|_| InvalidSubject),
            "message" => id.parse().map(Subject::Message).map_err(|_| InvalidSubject),
            "conversation" => id.parse().map(Subject::Conversation).map_err(|_| InvalidSubject),
            _ => Err(InvalidSubject),
        }
    }
}

/// An entry's body was erased on request. Recorded in the stream it belonged to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Erased {
    pub position: u64,
    pub reason: String,
}

impl Erased {
    pub const NAME: &'static str = "ledger.erased";
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(position: u64, text: &str) -> Entry {
        Entry {
            stream: Stream {
                teamspace: TeamspaceId::default_teamspace(),
                subject: Subject::Agent("barry".parse().unwrap()),
            },
            position,
            name: "agent.registered".into(),
            version: 1,
            actor: "operator:root".into(),
            at: Time::from_millis(1_771_682_400_000),
            body: Body::Kept { salt: [7; 16], text: text.to_owned() },
            hash: GENESIS,
        }
    }

    #[test]
    fn the_hash_of_an_entry_never_changes() {
        let first = entry(1, r#"{"kind":"worker"}"#).chained(&GENESIS);
        assert_eq!(
            canonical::hex(&first.hash),
            "f62ca48bf94946b488eea018d40c5c89c11dc646bbfa5208ddafe3552ae49c38"
        );
    }

    #[test]
    fn an_erased_body_keeps_its_hash() {
        let kept = entry(1, "secret").chained(&GENESIS);
        let commitment = kept.body.commitment();
        let erased = Entry { body: Body::Erased { commitment }, ..kept.clone() };
        assert_eq!(erased.expected_hash(&GENESIS), kept.hash);
    }

    proptest! {
        #[test]
        fn any_change_to_an_entry_changes_its_hash(
            text in ".{0,40}", position in 1u64..1_000, flip in 0usize..5
        ) {
            let original = entry(position, &text).chained(&GENESIS);
            let mut changed = original.clone();
            match flip {
                0 => changed.position += 1,
                1 => changed.actor = "agent:x".into(),
                2 => changed.at = Time::from_millis(changed.at.as_millis() + 1),
                3 => changed.body = Body::Kept { salt: [7; 16], text: text + "x" },
                _ => changed.name.to_mut().push('x'),
            }
            prop_assert_ne!(changed.expected_hash(&GENESIS), original.hash);
            prop_assert_ne!(original.expected_hash(&[1; 32]), original.hash);
        }
    }
}
