//! What happened to a session.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::command::Given;
use super::state::Session;
use crate::aaep::machine::{Binding, Outcome};

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Announced(Box<Announced>),
    Answered(Box<Answered>),
    TimedOut(TimedOut),
}

/// Events as they were sent, byte for byte but each on one line, in their order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Announced {
    pub events: Vec<Said>,
    /// Which calls among them rest on an accepted question, and how surely.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consents: Vec<Consented>,
    /// Questions that nobody needs to answer any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withdrawn: Vec<String>,
    /// What the session is after them, if that was just worked out.
    #[serde(skip)]
    pub foreseen: Foreseen,
}

/// One event, as its JSON text.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Said(Box<RawValue>);

/// Follows from the events, so that it makes no difference to what happened.
#[derive(Debug, Clone, Default)]
pub struct Foreseen(pub(super) Option<Box<Session>>);

/// A call that cannot be undone, and the question to which somebody said yes before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consented {
    /// Which of the events it is.
    pub index: usize,
    pub event_id: String,
    pub reply_token: String,
    pub binding: Binding,
}

/// Somebody answered; the first who may do so has the word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    pub reply_token: String,
    /// The event that asked.
    pub event_id: String,
    pub outcome: Outcome,
    #[serde(flatten)]
    pub given: Given,
    /// Who answered, as the record names them.
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
}

/// Nobody answered in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedOut {
    pub reply_token: String,
    pub event_id: String,
    /// What counts instead of an answer.
    pub outcome: Outcome,
    /// There was nobody who could have answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unheard: bool,
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

/// An entry is one line wherever it is sent or logged. Outside of its strings JSON has line breaks
/// only where it may have spaces, and inside of them none.
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
        Self { events, consents: Vec::new(), withdrawn: Vec::new(), foreseen: Foreseen::default() }
    }
}

impl Event {
    pub fn name(&self) -> &'static str {
        match self {
            Event::Announced(_) => "session.announced",
            Event::Answered(_) => "session.answered",
            Event::TimedOut(_) => "session.timed_out",
        }
    }
}
