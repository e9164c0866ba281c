//! The events of a message, in their stored form. Each names the agents concerned, so that a reader
//! can tell from the entry alone who may see it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::kind::Kind;
use crate::handoff::package::Priority;
use crate::ids::{AgentId, MessageId, TeamId, ThreadId, Topic};
use crate::message::context::{MessageContext, MessagePolicy};
use crate::time::Time;

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Sent(Box<Sent>),
    Delivered(Delivered),
    Read(Read),
    Expired(Expired),
    Woken(Woken),
    Failed(Failed),
}

/// The envelope without the id and the time, which the entry has already.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    pub version: String,
    pub from: AgentId,
    /// The recipients; of a broadcast, everyone that was in the directory.
    pub to: Vec<AgentId>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub broadcast: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<TeamId>,
    pub thread_id: ThreadId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    #[serde(rename = "type")]
    pub kind: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<Topic>,
    pub priority: Priority,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
    pub payload: Map<String, Value>,
    #[serde(default)]
    pub policy: MessagePolicy,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<MessageContext>,
    /// The recipients to wake because it is critical.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wake: Vec<AgentId>,
    /// Whether it counts among its sender's own messages of the thread. Messages of earlier
    /// versions count among all messages of the thread.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub per_sender: bool,
}

/// Recipients were shown it in their inbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivered {
    pub from: AgentId,
    pub to: Vec<AgentId>,
}

/// Recipients said that they have read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Read {
    pub from: AgentId,
    pub to: Vec<AgentId>,
}

/// Its time passed before these recipients read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expired {
    pub from: AgentId,
    pub to: Vec<AgentId>,
}

/// Wake calls to these recipients succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Woken {
    pub from: AgentId,
    pub to: Vec<AgentId>,
}

/// All wake calls to these recipients failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    pub from: AgentId,
    pub to: Vec<AgentId>,
    /// The last error.
    pub detail: String,
}

impl Event {
    /// The sender, and the recipients.
    pub fn parties(&self) -> (&AgentId, &[AgentId]) {
        match self {
            Event::Sent(it) => (&it.from, &it.to),
            Event::Delivered(it) => (&it.from, &it.to),
            Event::Read(it) => (&it.from, &it.to),
            Event::Expired(it) => (&it.from, &it.to),
            Event::Woken(it) => (&it.from, &it.to),
            Event::Failed(it) => (&it.from, &it.to),
        }
    }

    /// The stored name.
    pub fn name(&self) -> &'static str {
        match self {
            Event::Sent(_) => "message.sent",
            Event::Delivered(_) => "message.delivered",
            Event::Read(_) => "message.read",
            Event::Expired(_) => "message.expired",
            Event::Woken(_) => "message.woken",
            Event::Failed(_) => "message.failed",
        }
    }
}
