//! The types of messages in use. Those that the ACP design reserves are refused by name, so that no
//! sender takes them for a spelling mistake.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};

use crate::form::EXPECTED;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub enum Kind {
    HandoffInitiate,
    HandoffAccept,
    HandoffReject,
    HandoffComplete,
    StatusUpdate,
    StatusBlocked,
    StatusComplete,
    KnowledgePush,
    KnowledgeQuery,
    KnowledgeResponse,
    SystemAck,
    SystemError,
}

/// Why a text is no type of a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidKind {
    #[error("`{0}` is reserved for a later version of ACP; {in_use}", in_use = in_use())]
    Reserved(&'static str),
    #[error("no such type of message; {in_use}", in_use = in_use())]
    Unknown,
}

const RESERVED: [&str; 12] = [
    "task.offer",
    "task.accept",
    "task.decline",
    "task.counter",
    "position.state",
    "position.challenge",
    "position.concede",
    "position.escalate",
    "team.join",
    "team.leave",
    "team.role_change",
    "team.artifact_update",
];

impl Kind {
    pub const ALL: [Kind; 12] = [
        Kind::HandoffInitiate,
        Kind::HandoffAccept,
        Kind::HandoffReject,
        Kind::HandoffComplete,
        Kind::StatusUpdate,
        Kind::StatusBlocked,
        Kind::StatusComplete,
        Kind::KnowledgePush,
        Kind::KnowledgeQuery,
        Kind::KnowledgeResponse,
        Kind::SystemAck,
        Kind::SystemError,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Kind::HandoffInitiate => "handoff.initiate",
            Kind::HandoffAccept => "handoff.accept",
            Kind::HandoffReject => "handoff.reject",
            Kind::HandoffComplete => "handoff.complete",
            Kind::StatusUpdate => "status.update",
            Kind::StatusBlocked => "status.blocked",
            Kind::StatusComplete => "status.complete",
            Kind::KnowledgePush => "knowledge.push",
            Kind::KnowledgeQuery => "knowledge.query",
            Kind::KnowledgeResponse => "knowledge.response",
            Kind::SystemAck => "system.ack",
            Kind::SystemError => "system.error",
        }
    }

    /// Only the server sends these; an agent that sent them would speak in its name.
    pub fn is_the_servers(self) -> bool {
        match self {
            Kind::SystemAck | Kind::SystemError => true,
            Kind::HandoffInitiate
            | Kind::HandoffAccept
            | Kind::HandoffReject
            | Kind::HandoffComplete
            | Kind::StatusUpdate
            | Kind::StatusBlocked
            | Kind::StatusComplete
            | Kind::KnowledgePush
            | Kind::KnowledgeQuery
            | Kind::KnowledgeResponse => false,
        }
    }
}

fn in_use() -> String {
    let names: Vec<_> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
    format!("expected one of {}", names.join(", "))
}

impl FromStr for Kind {
    type Err = InvalidKind;
    fn from_str(text: &str) -> Result<Self, InvalidKind> {
        if let Some(reserved) = RESERVED.into_iter().find(|reserved| *reserved == text) {
            return Err(InvalidKind::Reserved(reserved));
        }
        Kind::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or(InvalidKind::Unknown)
    }
}

impl TryFrom<String> for Kind {
    type Error = InvalidKind;
    fn try_from(text: String) -> Result<Self, InvalidKind> {
        text.parse()
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl JsonSchema for Kind {
    fn schema_name() -> Cow<'static, str> {
        "MessageType".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names = Kind::ALL.map(Kind::as_str);
        let all = names.join(", ");
        let expected = format!("one of {all}; other types of ACP are reserved for a later version");
        json_schema!({ "type": "string", "enum": names, EXPECTED: expected })
    }
}
