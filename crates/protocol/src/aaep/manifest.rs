//! What a producer says about itself before subscribers come, and the signature on it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::event::Verbosity;
use super::jws::{Jwks, JwsError, Key};
use super::{CONTEXT, EXTENSION, EXTENSION_CONTEXT, VERSION, texts, voice};
use crate::canonical;

/// The name under which the server itself announces and answers subscribers.
pub const AGENT_ID: &str = "tasuki";

/// The paths of the manifest, plain and signed, and of the signing keys.
pub const MANIFEST_PATH: &str = "/.well-known/aaep-manifest.json";
pub const SIGNED_PATH: &str = "/.well-known/aaep-manifest.jws";
pub const KEYS_PATH: &str = "/.well-known/aaep-jwks.json";

/// The prefix of all other paths.
pub const PATH_PREFIX: &str = "/aaep/v1";

/// The `typ` of a signed manifest.
pub const MANIFEST_KIND: &str = "aaep-manifest+jws";

const TYPE: &str = "aaep:producer.manifest";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    #[serde(rename = "@context")]
    pub context: Value,
    #[serde(rename = "type")]
    pub kind: String,
    pub agent_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_name: Option<String>,
    #[serde(default)]
    pub aaep_versions_supported: Vec<String>,
    #[serde(default)]
    pub conformance_levels_supported: Vec<u8>,
    #[serde(default)]
    pub transports_supported: Vec<String>,
    #[serde(default)]
    pub languages_supported: Vec<String>,
    /// Types, exact or with a `*` at the end.
    #[serde(default)]
    pub event_types_emitted: Vec<String>,
    #[serde(default)]
    pub extensions_supported: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_verbosity: Option<Verbosity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrent_subscriptions: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contact: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extensions: Map<String, Value>,
    /// Further members.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// Why a manifest is not trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    #[error(transparent)]
    Signature(#[from] JwsError),
    #[error("manifest: expected {expected}")]
    Form { expected: &'static str },
    #[error("manifest: expected the agent_id of the producer")]
    OtherAgent,
}

impl ManifestError {
    /// Stable.
    pub fn code(&self) -> &'static str {
        match self {
            ManifestError::Signature(error) => error.code(),
            ManifestError::Form { .. } => "manifest_malformed",
            ManifestError::OtherAgent => "manifest_other_agent",
        }
    }
}

impl Manifest {
    /// The manifest of this server.
    pub fn of_server(agent_version: &str, max_concurrent_subscriptions: u32) -> Self {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let languages = texts::catalogues().iter().map(|one| one.language.to_owned());
        let ours = json!({
            "path_prefix": PATH_PREFIX,
            "signed_manifest": SIGNED_PATH,
            "jwks": KEYS_PATH,
            // Four bytes of length, big-endian, then the JSON.
            "socket_framing": "length-prefix-be32",
            "custom_states": voice::STATES,
            // Each agent has sessions of its own; this member of `session.started` links them.
            "multi_agent_pattern": "session-per-agent",
            "parent_session_member": "extensions.tasuki.parent_session_id",
            "position_unit": "unicode-scalar-value",
        });
        Self {
            context: json!([CONTEXT, EXTENSION_CONTEXT]),
            kind: TYPE.to_owned(),
            agent_id: AGENT_ID.to_owned(),
            agent_version: Some(agent_version.to_owned()),
            agent_name: Some("Tasuki".to_owned()),
            aaep_versions_supported: words(&[VERSION]),
            conformance_levels_supported: vec![1, 2, 3],
            transports_supported: words(&["sse", "websocket", "stdio-jsonrpc", "unix-socket"]),
            languages_supported: languages.collect(),
            event_types_emitted: words(&["aaep:agent.*"]),
            extensions_supported: words(&[EXTENSION_CONTEXT]),
            default_verbosity: Some(Verbosity::Normal),
            max_concurrent_subscriptions: Some(max_concurrent_subscriptions),
            contact: None,
            extensions: Map::from_iter([(EXTENSION.to_owned(), ours)]),
            others: Map::new(),
        }
    }

    /// The JSON that is served, and signed.
    pub fn text(&self) -> String {
        canonical::canonical(&json!(self))
    }

    /// The form of `signed_manifest`.
    pub fn sign(&self, key: &Key) -> String {
        key.sign(MANIFEST_KIND, self.text().as_bytes())
    }
}

/// The manifest in a signed text, if a published key has signed it and it is about this producer.
pub fn verify(jws: &str, keys: &Jwks, agent_id: &str) -> Result<Manifest, ManifestError> {
    let (_, payload) = keys.open(MANIFEST_KIND, jws)?;
    let manifest: Manifest = serde_json::from_slice(&payload)
        .map_err(|_| ManifestError::Form { expected: "the manifest of a producer" })?;
    if manifest.kind != TYPE {
        return Err(ManifestError::Form { expected: "type aaep:producer.manifest" });
    }
    if manifest.agent_id != agent_id {
        return Err(ManifestError::OtherAgent);
    }
    Ok(manifest)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;
    use crate::aaep::keys::KeyRing;
    use crate::time::Time;

    #[test]
    fn it_says_all_that_it_must() {
        let text = Manifest::of_server("0.1.0", 2_000).text();
        let manifest: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            manifest,
            json!({
                "@context": [CONTEXT, "urn:tasuki:aaep:v1"],
                "type": "aaep:producer.manifest",
                "agent_id": "tasuki",
                "agent_version": "0.1.0",
                "agent_name": "Tasuki",
                "aaep_versions_supported": ["1.0.0"],
                "conformance_levels_supported": [1, 2, 3],
                "transports_supported": ["sse", "websocket", "stdio-jsonrpc", "unix-socket"],
                "languages_supported": ["en", "es", "de", "fr", "ja", "yo"],
                "event_types_emitted": ["aaep:agent.*"],
                "extensions_supported": ["urn:tasuki:aaep:v1"],
                "default_verbosity": "normal",
                "max_concurrent_subscriptions": 2000,
                "extensions": { "tasuki": {
                    "path_prefix": "/aaep/v1",
                    "signed_manifest": "/.well-known/aaep-manifest.jws",
                    "jwks": "/.well-known/aaep-jwks.json",
                    "socket_framing": "length-prefix-be32",
                    "custom_states": ["waiting", "ringing", "connected", "on_hold"],
                    "multi_agent_pattern": "session-per-agent",
                    "parent_session_member": "extensions.tasuki.parent_session_id",
                    "position_unit": "unicode-scalar-value",
                }},
            })
        );
    }

    #[test]
    fn it_is_believed_if_a_published_key_vouches_for_it() {
        let now = Time::from_millis(0);
        let ring = KeyRing::new(&[1; 32], &[2; 32], now);
        let manifest = Manifest::of_server("0.1.0", 10);
        let signed = manifest.sign(ring.signing());
        let keys = ring.published(now);
        assert_eq!(verify(&signed, &keys, AGENT_ID), Ok(manifest.clone()));
        let rotated = ring.rotated(&[3; 32], now);
        assert_eq!(verify(&signed, &rotated.published(now), AGENT_ID), Ok(manifest.clone()));

        let parts: Vec<&str> = signed.split('.').collect();
        let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let better = Manifest { max_concurrent_subscriptions: Some(11), ..manifest.clone() };
        let other_kind = Manifest { kind: "aaep:other".to_owned(), ..manifest.clone() };
        let elsewhere = KeyRing::new(&[8; 32], &[9; 32], now);
        let unsigned = encode(r#"{"alg":"none","typ":"aaep-manifest+jws"}"#);
        for (jws, agent, code) in [
            (signed.clone(), "somebody-else", "manifest_other_agent"),
            (
                format!("{}.{}.{}", parts[0], encode(&better.text()), parts[2]),
                AGENT_ID,
                "signature_invalid",
            ),
            (format!("{unsigned}.{}.", parts[1]), AGENT_ID, "signature_algorithm"),
            (manifest.sign(elsewhere.signing()), AGENT_ID, "signature_key_unknown"),
            (other_kind.sign(ring.signing()), AGENT_ID, "manifest_malformed"),
            (ring.signing().sign(MANIFEST_KIND, b"[]"), AGENT_ID, "manifest_malformed"),
            // A key's statement about its successor is no manifest.
            (rotated.published(now).rotations[0].clone(), AGENT_ID, "signature_malformed"),
        ] {
            let error = verify(&jws, &keys, agent).unwrap_err();
            assert_eq!(error.code(), code, "{error}");
        }
    }

    #[test]
    fn it_has_the_form_that_subscribers_expect() {
        let ring = KeyRing::new(&[1; 32], &[2; 32], Time::from_millis(0));
        let signed = Manifest::of_server("0.1.0", 10).sign(ring.signing());
        let parts: Vec<&str> = signed.split('.').collect();
        let is_base64url = |part: &&str| {
            !part.is_empty()
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        };
        assert!(parts.len() == 3 && parts.iter().all(is_base64url), "{signed}");
    }
}
