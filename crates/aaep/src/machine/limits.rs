//! The limits of a session's state. An event that would exceed one is refused, so that a snapshot
//! stays small whatever a producer sends.

use super::rules::{self, flaw};
use crate::flaw::Flaw;

/// Calls that have not returned. An agent with more parallel calls should split its session.
pub const CALLS_MAX: usize = 64;

/// Outputs that are not complete.
pub const OUTPUTS_MAX: usize = 32;

/// Open questions. A person cannot keep more than a few in mind.
pub const QUESTIONS_MAX: usize = 8;

/// Questions about actions, and unused accepts, together.
pub const CONSENTS_MAX: usize = 16;

/// Ids of calls and hashes of actions that were refused. The oldest is forgotten first; an
/// irreversible call needs an accept in any case.
pub const REFUSED_MAX: usize = 32;

/// The schemas say 64 characters, each of up to four bytes.
pub(super) const STATE_BYTES_MAX: usize = 256;

pub(super) const TOOL_BYTES_MAX: usize = 256;

/// The longest id by its pattern is 69; a hash has 64 digits.
pub(super) const ID_BYTES_MAX: usize = 128;

pub(super) const AGENT_ID_BYTES_MAX: usize = 1024;

/// The schemas say 256 characters.
pub(super) const CHOICE_BYTES_MAX: usize = 1024;

pub(super) const CHOICES_MAX: usize = 32;

/// The schemas say 4,096 characters.
pub(super) const DEFAULT_RESPONSE_BYTES_MAX: usize = 16 * 1024;

/// Whether a text is short enough to be kept.
pub(super) fn kept(text: &str, bytes_max: usize, field: &str) -> Result<(), Flaw> {
    if text.len() <= bytes_max {
        return Ok(());
    }
    Err(flaw(&rules::LIMIT, field, format!("at most {bytes_max} bytes")))
}

/// Whether one more fits.
pub(super) fn room(n_kept: usize, n_max: usize, field: &str, what: &str) -> Result<(), Flaw> {
    if n_kept < n_max {
        return Ok(());
    }
    Err(flaw(&rules::LIMIT, field, format!("at most {n_max} {what} at once")))
}
