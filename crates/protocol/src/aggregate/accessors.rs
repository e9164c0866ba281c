//! Typed accessors of `State`, such as `as_handoff`, for callers that know which aggregate they ask
//! for.

use std::sync::Arc;

use super::State;
use crate::agent::Agent;
use crate::conversation::Conversation;
use crate::file::File;
use crate::graph::Graph;
use crate::handoff::Handoff;
use crate::message::Message;
use crate::question::Question;
use crate::session::Session;
use crate::teamspace::Teamspace;
use crate::webhook::Webhook;

impl State {
    pub fn as_handoff(&self) -> Option<&Handoff> {
        if let State::Handoff(it) = self { Some(it) } else { None }
    }

    pub fn as_agent(&self) -> Option<&Agent> {
        if let State::Agent(it) = self { Some(it) } else { None }
    }

    pub fn as_message(&self) -> Option<&Message> {
        if let State::Message(it) = self { Some(it) } else { None }
    }

    pub fn as_conversation(&self) -> Option<&Conversation> {
        if let State::Conversation(it) = self { Some(it) } else { None }
    }

    pub fn as_graph(&self) -> Option<&Graph> {
        if let State::Graph(it) = self { Some(it) } else { None }
    }

    pub fn as_teamspace(&self) -> Option<&Teamspace> {
        if let State::Teamspace(it) = self { Some(it) } else { None }
    }

    pub fn as_session(&self) -> Option<&Session> {
        if let State::Session(it) = self { Some(it) } else { None }
    }

    pub fn as_webhook(&self) -> Option<&Webhook> {
        if let State::Webhook(it) = self { Some(it) } else { None }
    }

    pub fn as_file(&self) -> Option<&File> {
        if let State::File(it) = self { Some(it) } else { None }
    }

    pub fn as_question(&self) -> Option<&Question> {
        if let State::Question(it) = self { Some(it) } else { None }
    }

    /// The conversation itself, not a copy.
    pub fn shared_conversation(&self) -> Option<Arc<Conversation>> {
        if let State::Conversation(it) = self { Some(Arc::clone(it)) } else { None }
    }
}
