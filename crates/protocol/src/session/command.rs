//! What can be asked of a session.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use super::event::{Handover, Said};
use super::state::{self, Session, handover_key, hold_keys};
use crate::ids::SessionId;
use crate::step::{Directory, Needs};
use crate::time::Time;
use aaep::event::Decision;
use aaep::machine::Audience;
use aaep::read::read;

#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// The producer tells what it does, all of it or nothing.
    Announce { events: Vec<Said> },
    /// Somebody answers a question.
    Answer(Box<Answer>),
    /// The time of a question is over. Nobody may have been there to answer it.
    Elapse { due: Time, audience: Audience },
    /// An operator wants nothing to be left of it.
    End,
    /// Something became of a handoff that the producer requested.
    HandOver(Handover),
    /// The producer was told at its endpoint what became of a question.
    Deliver { reply_token: String },
}

/// An answer to a question, by the token with which the producer asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub reply_token: String,
    pub given: Given,
    /// Who decided, in the words of the answer; the record names the caller besides.
    pub decided_by: Option<String>,
    pub rationale: Option<String>,
    /// Somebody wants another action than the one asked about: that one is refused.
    pub modified_action: Option<Map<String, Value>>,
    /// How sure whoever answers a clarification is, from 0 to 1.
    pub confidence: Option<Number>,
    /// The subscription on which the question was heard.
    pub subscription_id: Option<String>,
}

/// What an answer says.
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

impl Command {
    pub fn name(&self) -> &'static str {
        match self {
            Command::Announce { .. } => "announce",
            Command::Answer(_) => "answer",
            Command::Elapse { .. } => "elapse_session",
            Command::End => "end_session",
            Command::HandOver(_) => "hand_over",
            Command::Deliver { .. } => "deliver_decision",
        }
    }

    /// The events of a session that is known need what holds in the teamspace, and nothing else.
    pub(crate) fn needs(&self, session: Option<&Session>) -> Needs {
        match (self, session) {
            (Command::Announce { events }, None) => {
                let first = events.first().and_then(|said| read(said.text()).ok());
                let conversation = first.as_ref().and_then(state::conversation_of);
                Needs { caller: true, conversation, settings: true, ..Needs::default() }
            }
            (Command::Answer(_), Some(session)) => {
                Needs { caller: true, directory: told(session), settings: true, ..Needs::default() }
            }
            (Command::Elapse { .. }, Some(session)) => {
                Needs { directory: told(session), ..Needs::default() }
            }
            (Command::Announce { .. }, Some(_)) => Needs { settings: true, ..Needs::default() },
            (Command::Answer(_) | Command::Elapse { .. }, None)
            | (Command::End | Command::HandOver(_) | Command::Deliver { .. }, _) => {
                Needs::default()
            }
        }
    }

    /// The keys that the events may occupy.
    pub(crate) fn holds(&self, id: &SessionId) -> Vec<String> {
        match self {
            Command::Announce { events } => {
                let read = events.iter().filter_map(|said| read(said.text()).ok());
                read.flat_map(|event| hold_keys(id, &event)).collect()
            }
            Command::HandOver(handover) => vec![handover_key(id, &handover.event_id)],
            Command::Answer(_)
            | Command::Elapse { .. }
            | Command::End
            | Command::Deliver { .. } => Vec::new(),
        }
    }
}

/// Whether the producer has an endpoint at which it is told.
fn told(session: &Session) -> Option<Directory> {
    Some(Directory::Named(vec![session.producer.clone()]))
}
