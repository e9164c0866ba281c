//! Which aggregates exist: their commands, events and states as one type each.

mod accessors;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::conversation::Conversation;
use crate::fork::{self, Forked};
use crate::handoff::{self, Handoff};
use crate::ledger::Erased;
use crate::{
    agent, conversation, file, graph, message, question, session, subscription, teamspace, token,
    webhook,
};

/// A command to one aggregate.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    Handoff(handoff::Command),
    Agent(agent::Command),
    Token(token::Command),
    Message(message::Command),
    Conversation(conversation::Command),
    Teamspace(teamspace::Command),
    Graph(graph::Command),
    Subscription(subscription::Command),
    Session(session::Command),
    Webhook(webhook::Command),
    File(file::Command),
    Question(question::Command),
    /// Erases the body of one entry of the stream, for whichever aggregate it belongs to.
    Erase {
        position: u64,
        reason: String,
    },
    Fork(fork::Fork),
}

/// An event of one aggregate.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Handoff(handoff::Event),
    Agent(agent::Event),
    Token(token::Event),
    Message(message::Event),
    Conversation(conversation::Event),
    Teamspace(teamspace::Event),
    Graph(graph::Event),
    Subscription(subscription::Event),
    Session(session::Event),
    Webhook(webhook::Event),
    File(file::Event),
    Question(question::Event),
    Erased(Erased),
    Forked(Forked),
}

/// The state of one aggregate. It can be rebuilt from its events at any time, so its stored form
/// may change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum State {
    Handoff(Box<Handoff>),
    Agent(agent::Agent),
    Token(token::Token),
    Ledger(fork::Forks),
    Message(message::Message),
    /// Shared: sessions of a conversation are decided on it too.
    Conversation(Arc<Conversation>),
    Teamspace(teamspace::Teamspace),
    Graph(graph::Graph),
    Subscription(Box<subscription::Subscription>),
    Session(Box<session::Session>),
    Webhook(Box<webhook::Webhook>),
    File(Box<file::File>),
    Question(Box<question::Question>),
}

impl State {
    /// Reads the stored form.
    #[inline(never)] // A state is large: one copy of its reader serves every crate.
    pub fn from_text(text: &str) -> serde_json::Result<State> {
        serde_json::from_str(text)
    }
}

impl Command {
    pub fn name(&self) -> &'static str {
        match self {
            Command::Handoff(command) => command.name(),
            Command::Agent(command) => command.name(),
            Command::Token(token::Command::Issue { .. }) => "issue",
            Command::Token(token::Command::Revoke) => "revoke",
            Command::Message(command) => command.name(),
            Command::Conversation(command) => command.name(),
            Command::Teamspace(teamspace::Command::Create { .. }) => "create_teamspace",
            Command::Teamspace(teamspace::Command::Configure { .. }) => "configure_teamspace",
            Command::Teamspace(teamspace::Command::SetQuotas { .. }) => "set_quotas",
            Command::Graph(graph::Command::Save { .. }) => "save_graph",
            Command::Graph(graph::Command::Remove) => "remove_graph",
            Command::Subscription(command) => command.name(),
            Command::Session(command) => command.name(),
            Command::Webhook(command) => command.name(),
            Command::File(command) => command.name(),
            Command::Question(command) => command.name(),
            Command::Erase { .. } => "erase",
            Command::Fork(_) => "fork",
        }
    }

    /// Whether it says that a limit of a handoff has passed.
    pub fn is_escalation(&self) -> bool {
        matches!(self, Command::Handoff(handoff::Command::Elapse { .. }))
    }
}
