//! What a person learns before the first word: made once, when a transfer or a leg of it is
//! requested. Contact-center platforms read it too, so it uses their field names.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::hidden::is_blank;
use crate::ids::TransferId;
use crate::json::is_forbidden;
use crate::rejection::Rejection;
use crate::time::Time;
use crate::transfer::kind::Kind;
use crate::{canonical, form};

/// A summary is read while it rings.
pub const SUMMARY_BYTES_MAX: usize = 4 * 1024;
pub const WARM_CONTEXT_BYTES_MAX: usize = 8 * 1024;
pub const ATTRIBUTES_MAX: usize = 64;
pub const ATTRIBUTE_BYTES_MAX: usize = 500;
const VOICE_TEXT_BYTES_MAX: usize = 256;
const ATTRIBUTE_NAME_SHOWN_MAX: usize = 80;

const SIP_URI: &str = "^sips?:[!-~]+$";
const GRAPHIC: &str = "^[!-~]+$";

fn sip_expected() -> String {
    format!("sip:… or sips:…, at most {VOICE_TEXT_BYTES_MAX} bytes")
}

fn caller_expected() -> String {
    format!("1 to {VOICE_TEXT_BYTES_MAX} characters without spaces")
}

fn attributes(schema: &mut Schema) {
    form::names(ATTRIBUTES_MAX, form::bytes_from(1, ATTRIBUTE_BYTES_MAX))(schema);
    form::each_value(form::scalar(ATTRIBUTE_BYTES_MAX))(schema);
}

/// Codecs of telephones.
const CODECS: [&str; 5] = ["PCMU", "PCMA", "opus", "G722", "G729"];

/// What the caller who asks for a person can pass along.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// What happened so far, in a few sentences.
    #[serde(default)]
    #[schemars(transform = form::text(SUMMARY_BYTES_MAX))]
    pub summary: Option<String>,
    /// Anything else the person should see: goal, facts, open questions.
    #[serde(default)]
    #[schemars(transform = form::object_bytes(WARM_CONTEXT_BYTES_MAX))]
    pub warm_context: Option<Map<String, Value>>,
    #[serde(default)]
    pub voice: Option<Voice>,
    /// Texts, numbers and booleans, by name.
    #[serde(default)]
    #[schemars(transform = attributes)]
    pub custom_attributes: BTreeMap<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bundle {
    pub bundle_id: String,
    pub session_id: String,
    pub transfer_type: Kind,
    /// Why a person, or another one, was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whose words the reason is: `customer`, `agent`, `operator` or `system`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript_summary: Option<String>,
    /// What the customer wrote when they asked: their own words, which the server does not verify.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub customer_words: Option<String>,
    pub transcript_digest: String,
    pub message_count: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_context: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voice: Option<Voice>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub custom_attributes: BTreeMap<String, Value>,
    pub created_at: Time,
}

/// The customer, as far as the backend tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// `authenticated` if the backend has an id for them, else `guest`.
    pub kind: IdentityKind,
    pub identity_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdentityKind {
    Guest,
    Authenticated,
}

/// How to reach a call that belongs to the conversation. Passed on unchanged; a caller's number
/// comes from the network and proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Voice {
    #[schemars(transform = form::patterned(SIP_URI, VOICE_TEXT_BYTES_MAX, sip_expected()))]
    pub sip_uri: String,
    #[schemars(transform = form::patterned(GRAPHIC, VOICE_TEXT_BYTES_MAX, caller_expected()))]
    pub caller_id: String,
    #[schemars(transform = form::one_of(CODECS))]
    pub codec: String,
    pub dtmf_supported: bool,
}

/// The id of a bundle: the transfer and the leg that it was made for. Leg 0 is the transfer itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BundleId {
    pub transfer: TransferId,
    pub leg: u16,
}

impl fmt::Display for BundleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.transfer, self.leg)
    }
}

impl FromStr for BundleId {
    type Err = NotABundleId;

    fn from_str(text: &str) -> Result<Self, NotABundleId> {
        let (transfer, leg) = text.rsplit_once('-').ok_or(NotABundleId)?;
        let transfer = transfer.parse().map_err(|_| NotABundleId)?;
        let leg = leg.parse().map_err(|_| NotABundleId)?;
        let id = Self { transfer, leg };
        // Each id has one spelling.
        if id.to_string() == text { Ok(id) } else { Err(NotABundleId) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected the id of a transfer, a hyphen and the number of a leg")]
pub struct NotABundleId;

impl About {
    pub fn is_empty(&self) -> bool {
        *self == About::default()
    }

    pub fn check(&self) -> Result<(), Rejection> {
        let summary = self.summary.as_deref().unwrap_or("-");
        if is_blank(summary) || summary.len() > SUMMARY_BYTES_MAX {
            return Err(invalid("summary", format!("1 to {SUMMARY_BYTES_MAX} bytes of text")));
        }
        if let Some(warm) = &self.warm_context {
            let n_bytes = canonical::canonical(&Value::Object(warm.clone())).len();
            if n_bytes > WARM_CONTEXT_BYTES_MAX {
                let expected = format!("at most {WARM_CONTEXT_BYTES_MAX} bytes");
                return Err(invalid("warm_context", expected));
            }
        }
        self.voice.as_ref().map_or(Ok(()), Voice::check)?;
        self.check_attributes()
    }

    fn check_attributes(&self) -> Result<(), Rejection> {
        if self.custom_attributes.len() > ATTRIBUTES_MAX {
            return Err(invalid("custom_attributes", format!("at most {ATTRIBUTES_MAX}")));
        }
        for (name, value) in &self.custom_attributes {
            let is_plain = value.is_string() || value.is_number() || value.is_boolean();
            let n_bytes = name.len() + canonical::canonical(value).len();
            if !is_plain || name.is_empty() || n_bytes > ATTRIBUTE_BYTES_MAX {
                let expected = format!(
                    "names with a text, a number or a truth value each, name and value together \
                     at most {ATTRIBUTE_BYTES_MAX} bytes as JSON"
                );
                return Err(invalid(&format!("custom_attributes.{}", shown(name)), expected));
            }
        }
        Ok(())
    }
}

impl Voice {
    fn check(&self) -> Result<(), Rejection> {
        let is_plain = |text: &str| {
            (1..=VOICE_TEXT_BYTES_MAX).contains(&text.len())
                && text.bytes().all(|byte| byte.is_ascii_graphic())
        };
        let is_sip = |uri: &str| {
            let rest = uri.strip_prefix("sip:").or_else(|| uri.strip_prefix("sips:"));
            rest.is_some_and(|rest| !rest.is_empty())
        };
        if !is_plain(&self.sip_uri) || !is_sip(&self.sip_uri) {
            return Err(invalid("voice.sipUri", sip_expected()));
        }
        if !is_plain(&self.caller_id) {
            return Err(invalid("voice.callerId", caller_expected()));
        }
        if !CODECS.contains(&self.codec.as_str()) {
            return Err(invalid("voice.codec", format!("one of {}", CODECS.join(", "))));
        }
        Ok(())
    }
}

/// A name from input, without forbidden characters and cut short.
fn shown(name: &str) -> String {
    let plain = name.chars().filter(|character| !is_forbidden(*character));
    plain.take(ATTRIBUTE_NAME_SHOWN_MAX).collect()
}

/// Requests and legs both have these fields under `context`.
fn invalid(field: &str, expected: String) -> Rejection {
    Rejection::SchemaInvalid { field: format!("context.{field}"), expected }
}
