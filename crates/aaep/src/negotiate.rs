//! Which of the requested terms are granted: never more than requested, never more than we offer.
//! The answer names a term that was not requested only if we limit it.

use serde::{Deserialize, Serialize};

use super::capabilities::{Capabilities, Filters};
use super::event::Boundary;
use super::handshake::{Reason, Rejected};
use super::{EXTENSION, EXTENSION_CONTEXT, VERSION, language};

#[cfg(test)]
mod tests;

/// The most filter patterns: each is checked for every event.
pub const PATTERNS_MAX: usize = 256;

/// What this server can do for the caller, and what its policy allows.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    pub admission: Admission,
    pub rate_max: Option<u32>,
    /// Empty: all languages that the events have.
    pub languages: Vec<String>,
    /// Whether a listener that asks only for languages we do not have is refused. Otherwise it gets
    /// each event in its own language.
    pub is_language_required: bool,
    pub boundaries: Vec<Boundary>,
    pub levels: Vec<u8>,
    pub extensions: Vec<String>,
    /// Whether the token may answer.
    pub may_confirm: bool,
    pub may_clarify: bool,
    pub can_sign: bool,
    /// Types that this listener does not get, except critical events.
    pub exclude: Vec<String>,
}

/// Whether this server can accept the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Welcome,
    /// The caller is not authenticated.
    Unknown,
    /// The token does not allow it.
    Denied,
    /// There are too many subscriptions.
    Full {
        retry_after_seconds: u32,
    },
    /// The stream cannot be served now.
    Unavailable {
        retry_after_seconds: u32,
    },
}

/// Why terms were refused, as in `subscription.rejected`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub reason_code: Reason,
    pub message: String,
    pub retry_after_seconds: Option<u32>,
}

/// `capabilities.tasuki`: which sessions, and from when on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<String>,
    /// Only what this agent announces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(default)]
    pub from: Start,
    /// Where a returning listener resumes: a cursor, or the id of an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_after: Option<String>,
    /// Whether cursors for a later resume are sent, for a transport without ids.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub places: bool,
}

/// Where a subscription starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    Beginning,
    /// Each session under way is reported by its current state.
    #[default]
    Now,
}

/// The version that is spoken with a subscriber that asks for this one. A newer minor version gets
/// ours; another major version is refused.
pub fn version(asked: &str) -> Result<&'static str, Refusal> {
    let ours = VERSION.split('.').next();
    if asked.split('.').next() == ours && asked.split('.').count() >= 3 {
        return Ok(VERSION);
    }
    let shown: String = asked.chars().take(32).collect();
    let message =
        format!("aaep_version: expected 1.x, as this server speaks {VERSION}, not {shown}");
    Err(refusal(Reason::VersionUnsupported, message))
}

/// The granted terms, or why there are none.
pub fn negotiate(asked: &Capabilities, offer: &Offer) -> Result<Capabilities, Refusal> {
    admit(offer.admission)?;
    let patterns = asked.event_filters.as_ref().map_or(0, |filters| {
        let n = |list: &Option<Vec<String>>| list.as_ref().map_or(0, Vec::len);
        n(&filters.include) + n(&filters.exclude)
    });
    if patterns > PATTERNS_MAX {
        let message = format!("event_filters: expected at most {PATTERNS_MAX} patterns");
        return Err(refusal(Reason::CapabilitiesIncompatible, message));
    }
    if asked.accept_signed_manifests_only == Some(true) && !offer.can_sign {
        let message = "accept_signed_manifests_only: this server has no key to sign with";
        return Err(refusal(Reason::ManifestSignatureRequired, message));
    }
    let honored = Capabilities {
        max_events_per_second: match (asked.max_events_per_second, offer.rate_max) {
            (Some(asked), Some(most)) => Some(asked.min(most)),
            (asked, most) => asked.or(most),
        },
        preferred_verbosity: asked.preferred_verbosity,
        languages: languages(asked, offer)?,
        supports_confirmation_reply: asked
            .supports_confirmation_reply
            .map(|yes| yes && offer.may_confirm),
        supports_clarification_reply: asked
            .supports_clarification_reply
            .map(|yes| yes && offer.may_clarify),
        coalesce_boundaries: shared(
            "coalesce_boundaries",
            &asked.coalesce_boundaries,
            &offer.boundaries,
        )?,
        event_filters: filters(asked.event_filters.as_ref(), &offer.exclude),
        supported_conformance_levels: shared(
            "supported_conformance_levels",
            &asked.supported_conformance_levels,
            &offer.levels,
        )?,
        supported_extensions: extensions(asked, offer)?,
        cognitive_load: asked.cognitive_load,
        pace_wpm: asked.pace_wpm,
        accept_signed_manifests_only: asked.accept_signed_manifests_only,
        others: match asked.others.get(EXTENSION) {
            Some(own) => {
                scope(asked)?;
                [(EXTENSION.to_owned(), own.clone())].into_iter().collect()
            }
            None => serde_json::Map::new(),
        },
    };
    debug_assert!(is_no_looser(&honored, asked), "{honored:?} is looser than {asked:?}");
    Ok(honored)
}

/// The terms after a change: terms that `asked` does not name stay as negotiated.
pub fn renegotiate(
    current: &Capabilities,
    asked: &Capabilities,
    offer: &Offer,
) -> Result<Capabilities, Refusal> {
    let mut others = current.others.clone();
    others.extend(asked.others.clone());
    let whole = Capabilities {
        max_events_per_second: asked.max_events_per_second.or(current.max_events_per_second),
        preferred_verbosity: asked.preferred_verbosity.or(current.preferred_verbosity),
        languages: asked.languages.clone().or_else(|| current.languages.clone()),
        supports_confirmation_reply: asked
            .supports_confirmation_reply
            .or(current.supports_confirmation_reply),
        supports_clarification_reply: asked
            .supports_clarification_reply
            .or(current.supports_clarification_reply),
        coalesce_boundaries: asked
            .coalesce_boundaries
            .clone()
            .or_else(|| current.coalesce_boundaries.clone()),
        event_filters: asked.event_filters.clone().or_else(|| current.event_filters.clone()),
        supported_conformance_levels: asked
            .supported_conformance_levels
            .clone()
            .or_else(|| current.supported_conformance_levels.clone()),
        supported_extensions: asked
            .supported_extensions
            .clone()
            .or_else(|| current.supported_extensions.clone()),
        cognitive_load: asked.cognitive_load.or(current.cognitive_load),
        pace_wpm: asked.pace_wpm.or(current.pace_wpm),
        accept_signed_manifests_only: asked
            .accept_signed_manifests_only
            .or(current.accept_signed_manifests_only),
        others,
    };
    negotiate(&whole, offer)
}

/// The requested sessions.
pub fn scope(asked: &Capabilities) -> Result<Scope, Refusal> {
    let Some(own) = asked.others.get(EXTENSION) else { return Ok(Scope::default()) };
    Scope::deserialize(own).map_err(|error| {
        let expected = "session_id, conversation_id, agent_id and resume_after as texts, from as \
                        beginning or now, and places as true or false";
        let message = format!("{EXTENSION}: expected an object with {expected}: {error}");
        refusal(Reason::CapabilitiesIncompatible, message)
    })
}

/// Whether `honored` gives and demands no more than was asked for. Independent of [`negotiate`], to
/// check its result.
pub fn is_no_looser(honored: &Capabilities, asked: &Capabilities) -> bool {
    fn is_subset<T: PartialEq>(honored: &Option<Vec<T>>, asked: &Option<Vec<T>>) -> bool {
        match (honored, asked) {
            (Some(some), Some(all)) => some.iter().all(|one| all.contains(one)),
            (Some(_), None) => false,
            (None, _) => true,
        }
    }
    let rate = match (honored.max_events_per_second, asked.max_events_per_second) {
        (Some(honored), Some(asked)) => honored <= asked,
        (None, Some(_)) => false,
        (_, None) => true,
    };
    let replies =
        |honored: Option<bool>, asked: Option<bool>| honored != Some(true) || asked == Some(true);
    let default = Filters::default();
    let honored_filters = honored.event_filters.as_ref().unwrap_or(&default);
    let asked_filters = asked.event_filters.as_ref().unwrap_or(&default);
    rate && is_subset(&honored.languages, &asked.languages)
        && is_subset(&honored.coalesce_boundaries, &asked.coalesce_boundaries)
        && is_subset(&honored.supported_conformance_levels, &asked.supported_conformance_levels)
        && is_subset(&honored.supported_extensions, &asked.supported_extensions)
        && replies(honored.supports_confirmation_reply, asked.supports_confirmation_reply)
        && replies(honored.supports_clarification_reply, asked.supports_clarification_reply)
        && (asked.accept_signed_manifests_only != Some(true)
            || honored.accept_signed_manifests_only == Some(true))
        && honored.preferred_verbosity == asked.preferred_verbosity
        && honored.cognitive_load == asked.cognitive_load
        && honored.pace_wpm == asked.pace_wpm
        && honored.others.iter().all(|(key, value)| asked.others.get(key) == Some(value))
        && honored_filters.is_as_strict_as(asked_filters)
}

fn admit(admission: Admission) -> Result<(), Refusal> {
    match admission {
        Admission::Welcome => Ok(()),
        Admission::Unknown => Err(refusal(
            Reason::AuthenticationRequired,
            "expected a token of this server in Authorization: Bearer",
        )),
        Admission::Denied => Err(refusal(
            Reason::AuthorizationDenied,
            "this token may not listen to what was asked for",
        )),
        Admission::Full { retry_after_seconds } => Err(Refusal {
            retry_after_seconds: Some(retry_after_seconds),
            ..refusal(Reason::RateLimit, "there are as many subscriptions as this server allows")
        }),
        Admission::Unavailable { retry_after_seconds } => Err(Refusal {
            retry_after_seconds: Some(retry_after_seconds),
            ..refusal(Reason::TransportUnavailable, "this server cannot stream at the moment")
        }),
    }
}

fn refusal(reason_code: Reason, message: impl Into<String>) -> Refusal {
    Refusal { reason_code, message: message.into(), retry_after_seconds: None }
}

fn languages(asked: &Capabilities, offer: &Offer) -> Result<Option<Vec<String>>, Refusal> {
    let Some(all) = &asked.languages else { return Ok(None) };
    if offer.languages.is_empty() {
        return Ok(Some(all.clone()));
    }
    let have = || offer.languages.iter().map(String::as_str);
    let some: Vec<_> =
        all.iter().filter(|one| language::find(one, have()).is_some()).cloned().collect();
    if some.is_empty() && offer.is_language_required {
        let message = format!("languages: expected one of {}", offer.languages.join(", "));
        return Err(refusal(Reason::CapabilitiesIncompatible, message));
    }
    Ok(Some(some).filter(|some| !some.is_empty()))
}

fn shared<T: PartialEq + Clone + Serialize>(
    field: &str,
    asked: &Option<Vec<T>>,
    offered: &[T],
) -> Result<Option<Vec<T>>, Refusal> {
    let Some(all) = asked else { return Ok(None) };
    let some: Vec<T> = all.iter().filter(|one| offered.contains(one)).cloned().collect();
    if some.is_empty() {
        let offered = serde_json::to_string(offered).unwrap_or_default();
        let message = format!("{field}: expected one of {offered}");
        return Err(refusal(Reason::CapabilitiesIncompatible, message));
    }
    Ok(Some(some))
}

fn filters(asked: Option<&Filters>, exclude: &[String]) -> Option<Filters> {
    if exclude.is_empty() {
        return asked.cloned();
    }
    let mut filters = asked.cloned().unwrap_or_default();
    let all = filters.exclude.get_or_insert_default();
    for one in exclude {
        if !all.contains(one) {
            all.push(one.clone());
        }
    }
    Some(filters)
}

fn extensions(asked: &Capabilities, offer: &Offer) -> Result<Option<Vec<String>>, Refusal> {
    let Some(all) = &asked.supported_extensions else { return Ok(None) };
    for (n, uri) in all.iter().enumerate() {
        let prefix = prefix(uri);
        if all[..n].iter().any(|earlier| self::prefix(earlier) == prefix) {
            let message = format!("supported_extensions: the prefix {prefix} is there twice");
            return Err(refusal(Reason::CapabilitiesIncompatible, message));
        }
    }
    Ok(Some(all.iter().filter(|one| offer.extensions.contains(one)).cloned().collect()))
}

/// The prefix of an extension, from its URI: the last part that is no version.
fn prefix(uri: &str) -> &str {
    if uri == EXTENSION_CONTEXT {
        return EXTENSION;
    }
    let is_version = |part: &&str| {
        part.strip_prefix('v').is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()))
    };
    let parts = || uri.split(['/', ':', '#']).filter(|part| !part.is_empty());
    parts().rfind(|part| !is_version(part)).unwrap_or(uri)
}

impl Default for Offer {
    /// Everything that the shaping can do, for a listener that does not answer.
    fn default() -> Self {
        Self {
            admission: Admission::Welcome,
            rate_max: None,
            languages: Vec::new(),
            is_language_required: false,
            boundaries: Boundary::ALL.to_vec(),
            levels: vec![1, 2, 3],
            extensions: vec![EXTENSION_CONTEXT.to_owned()],
            may_confirm: false,
            may_clarify: false,
            can_sign: false,
            exclude: Vec::new(),
        }
    }
}

impl From<Refusal> for Rejected {
    fn from(refusal: Refusal) -> Self {
        Self {
            reason_code: refusal.reason_code,
            reason_message: refusal.message,
            retry_after_seconds: refusal.retry_after_seconds,
            alternative_manifest_uri: None,
        }
    }
}
