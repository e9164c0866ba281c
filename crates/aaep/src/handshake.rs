//! The messages between subscribers and producers that are not events: a handshake, its changes,
//! its end, and replies to questions. None of them has an envelope.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use super::capabilities::Capabilities;
use super::event::{Decision, Event};
use super::flaw::{Flaw, Tier};
use super::read;

/// Any AAEP document.
#[derive(Debug, Clone, PartialEq)]
pub enum Message<'a> {
    Event(Box<Event<'a>>),
    Handshake(Box<Handshake>),
    /// What a producer publishes about itself.
    Manifest,
}

/// A message without an envelope, as it is read and written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Handshake {
    #[serde(rename = "subscription.request")]
    Request(Request),
    #[serde(rename = "subscription.accepted")]
    Accepted(Accepted),
    #[serde(rename = "subscription.rejected")]
    Rejected(Rejected),
    #[serde(rename = "subscription.renegotiate")]
    Renegotiate(Renegotiate),
    #[serde(rename = "subscription.close")]
    Close(Close),
    #[serde(rename = "confirmation.reply")]
    ConfirmationReply(ConfirmationReply),
    #[serde(rename = "clarification.reply")]
    ClarificationReply(ClarificationReply),
}

/// A subscriber names itself and the terms it asks for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    pub aaep_version: String,
    pub subscriber_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscriber_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscriber_version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscriber_manifest_uri: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    pub capabilities: Capabilities,
    /// An object for each extension.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extensions: Map<String, Value>,
}

/// The producer names the terms that it grants.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Accepted {
    pub subscription_id: String,
    pub aaep_version: String,
    pub producer: Producer,
    pub honored_capabilities: Capabilities,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest_uri: Option<String>,
    /// The manifest as a compact JWS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_manifest: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negotiation_notes: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Producer {
    pub agent_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest_uri: Option<String>,
}

/// The producer refuses the subscription, and says why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejected {
    pub reason_code: Reason,
    pub reason_message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alternative_manifest_uri: Option<String>,
}

/// Why a subscription is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    VersionUnsupported,
    ManifestSignatureRequired,
    CapabilitiesIncompatible,
    RateLimit,
    AuthenticationRequired,
    AuthorizationDenied,
    TransportUnavailable,
    Unknown,
}

/// A subscriber asks for other terms. Terms that it does not name stay.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Renegotiate {
    pub subscription_id: String,
    pub capabilities: Capabilities,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extensions: Map<String, Value>,
}

/// Either side ends the subscription.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Close {
    pub subscription_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extensions: Map<String, Value>,
}

/// A decision about an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfirmationReply {
    pub reply_token: String,
    pub decision: Decision,
    pub subscription_id: String,
    /// When it was decided, by the subscriber's clock; our clock decides whether it was in time.
    pub timestamp: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_rationale: Option<String>,
    /// Another action instead. The requested one is then rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified_action: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClarificationReply {
    pub reply_token: String,
    pub response: Response,
    pub subscription_id: String,
    pub timestamp: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// From 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Response {
    Truth(bool),
    Number(Number),
    Text(String),
}

/// Reads an event or any other message, by its `type`.
pub fn read_message(text: &str) -> Result<Message<'_>, Vec<Flaw>> {
    match read::type_of(text) {
        Some(name) if read::is_message(&name) => {
            Ok(Message::Handshake(Box::new(read_handshake(text)?)))
        }
        Some(name) if read::is_manifest(&name) => {
            read::check_manifest(text).map(|()| Message::Manifest)
        }
        Some(_) | None => read::read(text).map(|event| Message::Event(Box::new(event))),
    }
}

/// Whether a text claims to be such a message, even if it is invalid.
pub fn is_handshake(text: &str) -> bool {
    read::type_of(text).is_some_and(|name| read::is_message(&name))
}

/// Whether a text claims to be a subscription request, even if it is invalid.
pub fn is_request(text: &str) -> bool {
    read::type_of(text).is_some_and(|name| name == "subscription.request")
}

/// Reads a message that is no event.
pub fn read_handshake(text: &str) -> Result<Handshake, Vec<Flaw>> {
    let Some(name) = read::type_of(text).filter(|name| read::is_message(name)) else {
        // Only the type is reported; nothing else can be checked in a message of unknown type.
        read::check_json(text)?;
        return Err(vec![Flaw {
            tier: Tier::Schema,
            rule: "const",
            field: "type".to_owned(),
            expected: format!("one of {}", read::message_names().join(", ")),
        }]);
    };
    read::check_message(text, &name)?;
    let mut value: Value = serde_json::from_str(text).map_err(|error| vec![unreadable(&error)])?;
    for name in ["capabilities", "honored_capabilities"] {
        if let Some(capabilities) = value.get_mut(name) {
            write_whole_numbers(capabilities);
        }
    }
    if let Some(seconds) = value.get_mut("retry_after_seconds") {
        write_whole_numbers(seconds);
    }
    serde_json::from_value(value).map_err(|error| vec![unreadable(&error)])
}

impl Rejected {
    /// The answer to a request that cannot be read.
    pub fn unreadable(flaws: &[Flaw]) -> Self {
        let first = flaws.first();
        let is_version = first.is_some_and(|flaw| flaw.field == "aaep_version");
        let said = first.map(|flaw| format!("{}: expected {}", flaw.field, flaw.expected));
        let reason_code = match is_version {
            true => Reason::VersionUnsupported,
            false => Reason::CapabilitiesIncompatible,
        };
        Self::because(reason_code, said.unwrap_or_else(|| "the request cannot be read".to_owned()))
    }

    pub fn because(reason_code: Reason, reason_message: String) -> Self {
        Self {
            reason_code,
            reason_message,
            retry_after_seconds: None,
            alternative_manifest_uri: None,
        }
    }
}

impl Handshake {
    /// As JSON text.
    pub fn write(&self) -> String {
        base::json::text_of(self, 512)
    }

    /// The name of the type, as in `type`.
    pub fn name(&self) -> &'static str {
        match self {
            Handshake::Request(_) => "subscription.request",
            Handshake::Accepted(_) => "subscription.accepted",
            Handshake::Rejected(_) => "subscription.rejected",
            Handshake::Renegotiate(_) => "subscription.renegotiate",
            Handshake::Close(_) => "subscription.close",
            Handshake::ConfirmationReply(_) => "confirmation.reply",
            Handshake::ClarificationReply(_) => "clarification.reply",
        }
    }
}

/// The schemas count 5.0 as an integer; our types do not. Objects of extensions stay as they are.
fn write_whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(whole) = number.as_f64().filter(|it| it.fract() == 0.0 && *it >= 0.0) {
                *number = Number::from(whole as u64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(write_whole_numbers),
        Value::Object(members) => members
            .iter_mut()
            .filter(|(_, member)| !member.is_object())
            .for_each(|(_, member)| write_whole_numbers(member)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn unreadable(error: &serde_json::Error) -> Flaw {
    Flaw {
        tier: Tier::Schema,
        rule: "type",
        field: "document".to_owned(),
        expected: format!("a message that can be read: {error}"),
    }
}

#[cfg(test)]
mod tests;
