//! The events of a session.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use super::state::Session;
use crate::ids::{AgentId, TransferId};
use crate::time::Time;
use aaep::event::Decision;
use aaep::machine::{Binding, Outcome};
use aaep::read::read;

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Announced(Box<Announced>),
    Answered(Box<Answered>),
    TimedOut(TimedOut),
    /// The conversation of the session has changed hands or is closed: no answer counts.
    Withdrawn(Withdrawn),
    /// The result of a handoff that the producer requested.
    HandedOver(Handover),
    /// The producer was told the result of a question at its endpoint.
    Delivered(Delivered),
}

/// Events as they were sent, byte for byte except that each is on one line, in their order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Announced {
    pub events: Vec<Said>,
    /// The calls among them that rest on an accepted question, and how the two are linked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consents: Vec<Consented>,
    /// Questions that were withdrawn and need no answer any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withdrawn: Vec<String>,
    /// For a session that begins: the silence limit of its teamspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence_minutes: Option<u32>,
    /// The producer had lost its conversation: listeners hear the server's words instead of its
    /// own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub after_loss: bool,
    /// The epoch of the conversation in which the questions among them were asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// Whether a hold of the conversation lists this session while such a question is open. Earlier
    /// releases did not list it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub listed: bool,
    /// The session after these events, if it was just computed.
    #[serde(skip)]
    pub foreseen: Foreseen,
}

/// One event, as its JSON text.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Said(Box<RawValue>);

/// Whether an event counts as critical: it interrupts every listener, and so there is a limit. The
/// end of a session does not count.
pub fn counts_as_critical(event: &aaep::event::Event<'_>) -> bool {
    event.is_critical() && !event.payload.is_terminal()
}

impl Said {
    /// Whether it counts as critical. Few texts have the word at all, plain or escaped, and only
    /// they are read.
    pub fn counts_as_critical(&self) -> bool {
        let may_be = self.text().contains("critical") || self.text().contains("\\u");
        may_be && read(self.text()).is_ok_and(|event| counts_as_critical(&event))
    }
}

/// Derived from the events, so it is ignored when events are compared.
#[derive(Debug, Clone, Default)]
pub struct Foreseen(pub(super) Option<Box<Session>>);

/// A call that cannot be undone, and the question that a person accepted before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consented {
    /// The index of the event.
    pub index: usize,
    pub event_id: String,
    pub reply_token: String,
    pub binding: Binding,
}

/// A question was answered; the first entitled answer counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    pub reply_token: String,
    /// The event that asked.
    pub event_id: String,
    pub outcome: Outcome,
    #[serde(flatten)]
    pub given: Given,
    /// The principal who answered, as the record names them.
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription_id: Option<String>,
    /// The call that the question was about, and the hash of its tool and arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_hash: Option<String>,
    /// Another action was proposed, which counts as a refusal of this one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub modified: bool,
    /// The proposed action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified_action: Option<Map<String, Value>>,
    /// The confidence of an answer to a clarification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Number>,
    /// The producer is told at its endpoint.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deliver: bool,
    /// Of an accept: until when an action that cannot be undone may rest on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
    /// Given by a rule or a program, not by a person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub automatic: bool,
}

/// The content of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Given {
    Decision(Decision),
    Response(Response),
}

/// The answer to a clarification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Response {
    YesNo(bool),
    Number(Number),
    Text(String),
}

/// A question was not answered in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedOut {
    pub reply_token: String,
    pub event_id: String,
    /// The result in place of an answer.
    pub outcome: Outcome,
    /// For a clarification: the producer's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_response: Option<String>,
    /// No listener could have answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unheard: bool,
    /// The producer is told at its endpoint.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deliver: bool,
}

/// A question of a producer that has lost its conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withdrawn {
    pub reply_token: String,
    pub event_id: String,
    /// It had been accepted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accepted: bool,
    /// A reversible call had been made on the accept: what was accepted is done, and listeners are
    /// not told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub used: bool,
    /// The producer is told at its endpoint.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deliver: bool,
}

/// A handoff was requested in a session that is bound to a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handover {
    /// The event that requested it.
    pub event_id: String,
    #[serde(flatten)]
    pub outcome: HandoverOutcome,
    /// The transfer that it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer: Option<TransferId>,
    /// The agent or queue that the conversation went to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<AgentId>,
    /// Its position in the transcript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum HandoverOutcome {
    /// It waits in the requested queue.
    Requested,
    /// Another AI agent has the conversation.
    Routed,
    /// It waits in the default queue, because the requested target does not exist, or because
    /// agents looped.
    DefaultQueue,
    /// It was refused, and the holder stays.
    Refused { code: String },
}

/// The producer was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivered {
    pub reply_token: String,
}

impl Said {
    /// `None` if the text is not one JSON value.
    pub fn new(text: String) -> Option<Self> {
        RawValue::from_string(on_one_line(text)).ok().map(Self)
    }

    pub fn text(&self) -> &str {
        self.0.get()
    }
}

impl From<Box<RawValue>> for Said {
    fn from(value: Box<RawValue>) -> Self {
        let breaks = |byte: u8| byte == b'\n' || byte == b'\r';
        match value.get().bytes().any(breaks) {
            true => Self::new(value.get().to_owned()).expect("a space is as good as a line break"),
            false => Self(value),
        }
    }
}

/// An entry is one line wherever it is sent or logged. Outside strings, a line break in JSON can be
/// replaced by a space; inside strings there is none.
fn on_one_line(text: String) -> String {
    match text.contains(['\n', '\r']) {
        true => text.replace(['\n', '\r'], " "),
        false => text,
    }
}

impl PartialEq for Said {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl PartialEq for Foreseen {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Announced {
    pub fn new(events: Vec<Said>) -> Self {
        Self {
            events,
            consents: Vec::new(),
            withdrawn: Vec::new(),
            silence_minutes: None,
            after_loss: false,
            epoch: None,
            listed: false,
            foreseen: Foreseen::default(),
        }
    }
}

impl HandoverOutcome {
    pub fn as_str(&self) -> &'static str {
        match self {
            HandoverOutcome::Requested => "requested",
            HandoverOutcome::Routed => "routed",
            HandoverOutcome::DefaultQueue => "default_queue",
            HandoverOutcome::Refused { .. } => "refused",
        }
    }
}

impl Event {
    pub fn name(&self) -> &'static str {
        match self {
            Event::Announced(_) => "session.announced",
            Event::Answered(_) => "session.answered",
            Event::TimedOut(_) => "session.timed_out",
            Event::Withdrawn(_) => "session.withdrawn",
            Event::HandedOver(_) => "session.handed_over",
            Event::Delivered(_) => "session.delivered",
        }
    }
}
