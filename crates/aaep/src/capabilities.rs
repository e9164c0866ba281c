//! The terms of a subscription: the content of `capabilities` and `honored_capabilities`. An absent
//! member stays absent, so that an answer names only what was negotiated.

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
    /// Those of extensions, including ours: an object each.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// Type patterns, exact or with a `*` at the end. Critical events always pass.
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

impl Capabilities {
    /// Whether an extension is listed as supported.
    pub fn supports(&self, extension: &str) -> bool {
        self.supported_extensions.iter().flatten().any(|one| one == extension)
    }
}

/// The default of `include`: the core types.
const INCLUDE: &str = "aaep:agent.*";

impl Filters {
    /// Whether an event of this type passes. Critical events pass in any case.
    pub fn pass(&self, name: &str) -> bool {
        let is_in = |all: &[String]| all.iter().any(|pattern| matches(pattern, name));
        self.include.as_deref().map_or_else(|| matches(INCLUDE, name), is_in)
            && !self.exclude.as_deref().is_some_and(is_in)
    }

    /// Whether events of all types pass.
    pub fn pass_all(&self) -> bool {
        self.include.as_deref().is_some_and(|all| all.iter().any(|pattern| pattern == "*"))
            && self.exclude.as_deref().is_none_or(<[String]>::is_empty)
    }

    /// Whether everything that passes here also passes there, judged by the patterns.
    pub fn is_as_strict_as(&self, other: &Filters) -> bool {
        let default = [INCLUDE.to_owned()];
        let ours = self.include.as_deref().unwrap_or(&default);
        let theirs = other.include.as_deref().unwrap_or(&default);
        let covers = |all: &[String], one: &String| all.iter().any(|wide| matches(wide, one));
        let excluded = self.exclude.as_deref().unwrap_or_default();
        ours.iter().all(|one| covers(theirs, one))
            && other.exclude.iter().flatten().all(|one| covers(excluded, one))
    }
}

/// A `*` at the end of a pattern stands for anything, including another `*`.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}
