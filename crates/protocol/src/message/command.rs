//! The commands of a message, and what a sender writes.

use super::context::{MessageContext, MessagePolicy};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::kind::Kind;
use super::state::{Message, SERVER, server};
use super::thread;
use crate::caller::{Caller, Principal};
use crate::form;
use crate::handoff::package::{PROTOCOL, Priority};
use crate::ids::{AgentId, InvalidId, MessageId, TeamId, ThreadId, Topic};
use crate::needs::{Directory, Needs};
use crate::time::Time;

/// A sender with more recipients than a team writes to everyone.
pub const RECIPIENTS_MAX: usize = 64;

/// As in the ACP design: a message is a note; larger content is stored elsewhere and referenced.
pub const PAYLOAD_BYTES_MAX: usize = 4_096;

/// References are short; a list of them should be, too.
pub const CONTEXT_BYTES_MAX: usize = 4_096;

/// The supported versions.
pub const VERSIONS: &str = r"^1\.[0-9]{1,4}\.[0-9]{1,4}$";

pub const VERSIONS_EXPECTED: &str = "1.x.y; other major versions are not supported";

/// The address of everyone.
const EVERYONE: &str = "*";

#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    Send(Box<Outgoing>),
    /// The caller was shown it.
    Deliver,
    /// The caller has read it.
    Read,
    /// Its time passed. Only the server sends it.
    Elapse {
        due: Time,
    },
    /// A wake call to a recipient succeeded. Only the server sends it.
    Woken {
        agent: AgentId,
    },
    /// All wake calls to a recipient failed. Only the server sends it.
    NotWoken {
        agent: AgentId,
        detail: String,
    },
}

/// A message as its sender writes it. The sender itself is not in here.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = needs_type)]
pub struct Outgoing {
    /// `acp`, if present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::exactly(PROTOCOL))]
    pub protocol: Option<String>,
    /// `1.0.0`, if present; another major version is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::pattern(VERSIONS, VERSIONS_EXPECTED))]
    pub version: Option<String>,
    /// 1 to 64 agents; `["*"]` is everyone, `coordinator` every agent with that role. An answer
    /// goes to the sender of what it answers unless this names more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = form::items(0, RECIPIENTS_MAX))]
    pub to: Vec<Address>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<TeamId>,
    /// A new thread when absent; that of the message it answers, if it answers one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<Topic>,
    #[serde(default)]
    pub priority: Priority,
    /// Larger than in all earlier messages of the sender in the thread, and than in the message it
    /// answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
    /// At most 4096 bytes as canonical JSON; larger content belongs in an artifact.
    #[serde(default)]
    #[schemars(transform = form::object_bytes(PAYLOAD_BYTES_MAX))]
    pub payload: Map<String, Value>,
    #[serde(default)]
    pub policy: MessagePolicy,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::object_bytes(CONTEXT_BYTES_MAX))]
    pub context: Option<MessageContext>,
}

fn needs_type(schema: &mut Schema) {
    form::needed(schema, "type", &mut |_| {});
}

/// A message that is no answer: its recipients are named.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Addressed(pub Outgoing);

impl JsonSchema for Addressed {
    fn schema_name() -> Cow<'static, str> {
        "Addressed".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Outgoing::json_schema(generator);
        form::needed(&mut schema, "to", &mut form::items(1, RECIPIENTS_MAX));
        schema
    }
}

/// A recipient: an agent, or everyone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Address {
    Agent(AgentId),
    Everyone,
}

impl Command {
    pub fn name(&self) -> &'static str {
        match self {
            Command::Send(_) => "send",
            Command::Deliver => "deliver",
            Command::Read => "read",
            Command::Elapse { .. } => "expire",
            Command::Woken { .. } => "woken",
            Command::NotWoken { .. } => "not_woken",
        }
    }

    /// The key of the hold that counts the sender's messages in the thread. `None` if the sender
    /// names no thread: the message begins a new one.
    pub fn hold(&self, caller: &Caller) -> Option<String> {
        let Command::Send(outgoing) = self else { return None };
        let sender = match &caller.principal {
            Principal::Agent(id) => id.clone(),
            Principal::System => server(),
            Principal::Operator(_) | Principal::Customer(_) => return None,
        };
        outgoing.thread_id.as_ref().map(|thread_id| thread::key(&sender, thread_id))
    }

    /// The facts that a command needs: the recipients, and the message that it answers.
    pub fn needs(&self) -> Needs {
        let Command::Send(outgoing) = self else { return Needs::default() };
        let named = outgoing.to.iter().filter_map(|address| match address {
            Address::Agent(agent) => Some(agent.clone()),
            Address::Everyone => None,
        });
        let directory = match outgoing.is_broadcast() {
            true => Directory::Everyone,
            false => Directory::Named(named.take(RECIPIENTS_MAX).collect()),
        };
        Needs {
            directory: Some(directory),
            message: outgoing.reply_to,
            wakes: outgoing.priority == Priority::Critical,
            ..Needs::default()
        }
    }
}

impl Outgoing {
    pub fn is_broadcast(&self) -> bool {
        self.to.contains(&Address::Everyone)
    }

    /// The same as an answer: in the thread of what it answers, and to its sender first. The server
    /// reads no answers, so one to a notice goes to the agents that it names.
    pub fn answering(mut self, answered: &Message) -> Self {
        self.reply_to = Some(answered.id);
        self.thread_id = self.thread_id.or_else(|| Some(answered.sent.thread_id.clone()));
        let sender = Address::Agent(answered.sent.from.clone());
        if answered.sent.from.as_str() != SERVER && !self.to.contains(&sender) {
            self.to.insert(0, sender);
        }
        self
    }
}

impl JsonSchema for Address {
    fn schema_name() -> Cow<'static, str> {
        "Address".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let agent = generator.subschema_for::<AgentId>();
        json_schema!({ "anyOf": [agent, { "const": EVERYONE }] })
    }
}

impl FromStr for Address {
    type Err = InvalidId;
    fn from_str(text: &str) -> Result<Self, InvalidId> {
        match text {
            EVERYONE => Ok(Address::Everyone),
            name => name.parse().map(Address::Agent),
        }
    }
}

impl TryFrom<String> for Address {
    type Error = InvalidId;
    fn try_from(text: String) -> Result<Self, InvalidId> {
        text.parse()
    }
}

impl From<Address> for String {
    fn from(address: Address) -> String {
        address.to_string()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Agent(agent) => agent.fmt(f),
            Address::Everyone => f.write_str(EVERYONE),
        }
    }
}
