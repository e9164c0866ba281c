//! How many critical events one producer may send, over all its sessions. They interrupt whoever
//! listens and nothing holds them back, so many sessions must not make up for the limit of one.

use std::num::NonZeroU32;

use protocol::aaep::read::read;
use protocol::caller::Caller;
use protocol::session::event::Said;

use crate::http::Gateway;
use crate::http::problem::Problem;
use crate::rate::RateLimit;

/// As many as five sessions may have each for itself. More than this, nobody can follow.
pub const PRODUCER_CRITICAL: RateLimit = RateLimit {
    per_minute: NonZeroU32::new(300).expect("300 is not 0"),
    burst: NonZeroU32::new(300).expect("300 is not 0"),
};

/// Whether one more request of this producer is not too much.
pub fn check_critical(gateway: &Gateway, caller: &Caller, events: &[Said]) -> Result<(), Problem> {
    let n_critical = events.iter().filter(|said| is_critical(said.text())).count();
    if n_critical == 0 {
        return Ok(());
    }
    let key = (caller.teamspace.as_str(), caller.principal.to_string());
    let now_ms = u64::try_from(gateway.engine.clock().now().as_millis()).unwrap_or(0);
    for _ in 0..n_critical {
        let taken = gateway.critical.check(&key, now_ms);
        let what = "too many critical events of this producer";
        taken.map_err(|retry| Problem::too_many_messages(what, retry.seconds))?;
    }
    Ok(())
}

/// The end of a session is always heard. Few texts have the word at all, plain or escaped.
fn is_critical(text: &str) -> bool {
    (text.contains("critical") || text.contains("\\u"))
        && read(text).is_ok_and(|event| event.is_critical() && !event.payload.is_terminal())
}
