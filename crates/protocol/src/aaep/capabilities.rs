//! On which terms somebody listens: what `capabilities` and `honored_capabilities` say. A member
//! that is absent stays absent, so that an answer names only what was negotiated.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::event::{Boundary, Verbosity};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Capabilities {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_events_per_second: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preferred_verbosity: Option<Verbosity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub languages: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supports_confirmation_reply: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supports_clarification_reply: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coalesce_boundaries: Option<Vec<Boundary>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_filters: Option<Filters>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supported_conformance_levels: Option<Vec<u8>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supported_extensions: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cognitive_load: Option<Load>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace_wpm: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept_signed_manifests_only: Option<bool>,
    /// Those of extensions, ours among them: an object each.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// Types, exact or with a `*` at the end. Critical events pass whatever they say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filters {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude: Option<Vec<String>>,
}

/// How much a listener takes in at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    Low,
    Medium,
    High,
}
