//! A callback: a person of a queue calls the customer later, because the queue is closed or the
//! wait too long.
//!
//! A callback lives inside its conversation, as a transfer does, and at most one is open. The
//! conversation stays with its holder. A transfer that waits for a person is cancelled. The
//! callback outlives the chat: a customer who leaves is still called.

mod decide;

pub use decide::{CONTACT_BYTES_MAX, NOT_BEFORE_MAX, decide};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conversation::Conversation;
use crate::form;
use crate::handoff::decide::NOTES_BYTES_MAX;
use crate::ids::AgentId;
use crate::step::{BadHistory, Directory, Needs, QueueOf};
use crate::time::Time;

/// An open callback. A person of its queue settles it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Callback {
    pub queue: AgentId,
    /// The caller who asked for it, as the record names them.
    pub by: String,
    pub asked_at: Time,
    /// How to reach the customer; empty once erased.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub contact: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Time>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    Ask(Box<Ask>),
    Settle(Settle),
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The queue whose people call. When absent: that of the waiting transfer, or the teamspace's
    /// default. A customer names one only if the conversation or its graph lets customers do so.
    #[serde(default)]
    pub queue: Option<AgentId>,
    /// How to reach the customer: a number, an address. One line of 1 to 200 bytes.
    #[schemars(transform = form::line(CONTACT_BYTES_MAX))]
    pub contact: String,
    /// What it is about.
    #[serde(default)]
    #[schemars(transform = form::bytes(NOTES_BYTES_MAX))]
    pub note: Option<String>,
    /// Not earlier than this; at most 30 days ahead.
    #[serde(default)]
    pub not_before: Option<Time>,
    /// The epoch for which an agent asks. Customers have none.
    #[serde(default)]
    pub epoch: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settle {
    /// The result of the call.
    #[schemars(transform = form::text(NOTES_BYTES_MAX))]
    pub outcome: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Asked(Asked),
    Settled(Settled),
}

/// A callback was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    pub holder: AgentId,
    pub queue: AgentId,
    pub by: String,
    pub contact: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Time>,
}

/// The customer was called, or the callback is not needed any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    pub holder: AgentId,
    pub queue: AgentId,
    /// The agent who settled it, if it was an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    pub outcome: String,
}

impl Event {
    /// The agents that may read it: the holder at the time, and who settled it.
    pub fn parties(&self) -> [Option<&AgentId>; 3] {
        match self {
            Event::Asked(it) => [Some(&it.holder), None, None],
            Event::Settled(it) => [Some(&it.holder), it.agent.as_ref(), None],
        }
    }
}

impl Callback {
    /// The earliest time of the call. Callbacks are sorted by it.
    pub fn due(&self) -> Time {
        self.not_before.map_or(self.asked_at, |not_before| not_before.max(self.asked_at))
    }
}

impl Command {
    pub fn name(&self) -> &'static str {
        match self {
            Command::Ask(_) => "ask_callback",
            Command::Settle(_) => "settle_callback",
        }
    }

    pub fn needs(&self, state: Option<&Conversation>) -> Needs {
        match self {
            Command::Ask(ask) => {
                let waits = state.and_then(Conversation::waiting_transfer);
                let named = ask.queue.as_ref().or(waits.map(|transfer| &transfer.queue));
                let queue = named.cloned().map_or(QueueOf::Default, QueueOf::Named);
                // The previous holder gets the conversation back and is told so at its endpoint.
                let back = waits.map(|it| Directory::Named(vec![it.terms.previous.clone()]));
                let graph = ask.queue.as_ref().and_then(|_| state?.setup.graph.clone());
                Needs { queue: Some(queue), directory: back, graph, ..Needs::default() }
            }
            Command::Settle(_) => {
                let open = state.and_then(|conversation| conversation.callback.as_deref());
                let queue = open.map(|callback| QueueOf::Named(callback.queue.clone()));
                Needs { caller: true, queue, ..Needs::default() }
            }
        }
    }
}

impl Event {
    /// The durable name.
    pub fn name(&self) -> &'static str {
        match self {
            Event::Asked(_) => "callback.asked",
            Event::Settled(_) => "callback.settled",
        }
    }
}

pub fn evolve(conversation: &mut Conversation, event: &Event, at: Time) -> Result<(), BadHistory> {
    let is_open = conversation.callback.is_some();
    match event {
        Event::Asked(asked) if !is_open && conversation.closed.is_none() => {
            conversation.callback = Some(Box::new(Callback {
                queue: asked.queue.clone(),
                by: asked.by.clone(),
                asked_at: at,
                contact: asked.contact.clone(),
                note: asked.note.clone(),
                not_before: asked.not_before,
            }));
        }
        Event::Settled(_) if is_open => conversation.callback = None,
        Event::Asked(_) | Event::Settled(_) => return Err(BadHistory { event: event.name() }),
    }
    Ok(())
}
