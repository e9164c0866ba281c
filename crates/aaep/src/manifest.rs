//! What a producer says about itself before anybody subscribes, and who vouches for it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::event::Verbosity;
use super::jws::{Jwks, JwsError, Key};
use base::canonical;

/// The paths of the manifest, of the signed manifest, and of the keys that sign it.
pub const MANIFEST_PATH: &str = "/.well-known/aaep-manifest.json";
pub const SIGNED_PATH: &str = "/.well-known/aaep-manifest.jws";
pub const KEYS_PATH: &str = "/.well-known/aaep-jwks.json";

/// The prefix of all other paths of AAEP.
pub const PATH_PREFIX: &str = "/aaep/v1";

/// The `typ` of a signed manifest.
pub const MANIFEST_KIND: &str = "aaep-manifest+jws";

pub const TYPE: &str = "aaep:producer.manifest";

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
    /// What others say besides.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// Why a manifest is not believed.
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
    /// The JSON that is served, and signed.
    pub fn text(&self) -> String {
        canonical::canonical(&json!(self))
    }

    /// As `signed_manifest` has it.
    pub fn sign(&self, key: &Key) -> String {
        key.sign(MANIFEST_KIND, self.text().as_bytes())
    }
}

/// The manifest in a signed text, once a published key vouches for it and it is about this
/// producer.
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
