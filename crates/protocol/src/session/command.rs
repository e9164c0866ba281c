//! The commands of a session.

use serde_json::{Map, Number, Value};

use super::event::{Given, Handover, Said};
use super::state::{self, Session, handover_key, hold_keys};
use crate::ids::SessionId;
use crate::needs::{Directory, Needs};
use crate::time::Time;
use aaep::read::read;

#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// The producer announces events, all of them or none.
    Announce { events: Vec<Said> },
    /// A person answers a question.
    Answer(Box<Answer>),
    /// The time of a question is over.
    Elapse { due: Time },
    /// The conversation may have changed hands or is closed: questions asked before do not count.
    Withdraw,
    /// An operator ends it, to erase all of it.
    End,
    /// The result of a handoff that the producer requested.
    HandOver(Handover),
    /// The producer was told the result of a question at its endpoint.
    Deliver { reply_token: String },
}

/// An answer to a question, identified by the token with which the producer asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub reply_token: String,
    pub given: Given,
    /// Who decided, in the words of the answer; the record also names the caller.
    pub decided_by: Option<String>,
    pub rationale: Option<String>,
    /// The person wants another action than the one asked about: that one is refused.
    pub modified_action: Option<Map<String, Value>>,
    /// The confidence of an answer to a clarification, from 0 to 1.
    pub confidence: Option<Number>,
    /// The subscription on which the question was received.
    pub subscription_id: Option<String>,
}

impl Command {
    pub fn name(&self) -> &'static str {
        match self {
            Command::Announce { .. } => "announce",
            Command::Answer(_) => "answer",
            Command::Elapse { .. } => "elapse_session",
            Command::Withdraw => "withdraw_questions",
            Command::End => "end_session",
            Command::HandOver(_) => "hand_over",
            Command::Deliver { .. } => "deliver_decision",
        }
    }

    /// The facts it needs. Events of a known session need the settings of the teamspace, and the
    /// conversation, in which only its holder is heard.
    pub(crate) fn needs(&self, session: Option<&Session>) -> Needs {
        match (self, session) {
            (Command::Announce { events }, None) => {
                let first = events.first().and_then(|said| read(said.text()).ok());
                let conversation = first.as_ref().and_then(state::conversation_of);
                Needs { caller: true, conversation, settings: true, ..Needs::default() }
            }
            (Command::Answer(_), Some(session)) => {
                let (conversation, directory) = (session.conversation, told(session));
                Needs { caller: true, conversation, directory, settings: true, ..Needs::default() }
            }
            (Command::Elapse { due }, Some(session)) => {
                let over = session.machine.pending().iter().filter(|one| one.due() <= *due);
                let unanswered = over.map(|one| one.event_id().to_owned()).collect();
                let (conversation, directory) = (session.conversation, told(session));
                Needs { conversation, directory, unanswered, ..Needs::default() }
            }
            (Command::Withdraw, Some(session)) => {
                let (conversation, directory) = (session.conversation, told(session));
                Needs { conversation, directory, ..Needs::default() }
            }
            (Command::Announce { .. }, Some(session)) => {
                // Its questions may have to be withdrawn.
                let directory = session.asking_key().and_then(|_| told(session));
                let conversation = session.conversation;
                Needs { conversation, directory, settings: true, ..Needs::default() }
            }
            (Command::Answer(_) | Command::Elapse { .. } | Command::Withdraw, None)
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
            | Command::Withdraw
            | Command::End
            | Command::Deliver { .. } => Vec::new(),
        }
    }
}

/// The producer, to look up whether it has an endpoint.
fn told(session: &Session) -> Option<Directory> {
    Some(Directory::Named(vec![session.producer.clone()]))
}
