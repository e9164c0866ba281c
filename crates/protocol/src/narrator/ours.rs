//! How to tell what the server says from what a producer says.

use crate::ids::{AgentId, SessionId};
use aaep::AGENT_ID;

/// The prefix of our own session ids. No producer may use it.
pub const SESSION_PREFIX: &str = "sess_tasuki";

pub fn producer() -> AgentId {
    AGENT_ID.parse().expect("it is a name")
}

pub fn is_ours(session: &SessionId) -> bool {
    session.as_str().starts_with(SESSION_PREFIX)
}

/// The same, as a person reads it.
pub fn reads_as_ours(session: &SessionId) -> bool {
    session.as_str().to_lowercase().starts_with(SESSION_PREFIX)
}

/// The prefix of the types of our extension. Only the server announces such events.
pub const OWN_TYPES: &str = "tasuki:";
