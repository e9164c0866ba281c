//! How many critical events one producer may send, over all its sessions. They interrupt listeners
//! and are never delayed, so a producer must not evade the limit of one session by using many.

use protocol::caller::Caller;
use protocol::session::event::Said;

use crate::http::aaep::state::Aaep;
use crate::http::shared::problem::Problem;

/// The critical events of a request, which count for its producer.
#[derive(Debug)]
pub struct Counted {
    gateway: Aaep,
    key: (String, String),
    n_critical: u64,
}

/// Counts the critical events of a request, all of them or none, unless they exceed the limit.
pub fn count_critical(
    gateway: &Aaep,
    caller: &Caller,
    events: &[Said],
) -> Result<Counted, Problem> {
    let n_critical = events.iter().filter(|said| said.counts_as_critical()).count() as u64;
    let key = (caller.teamspace.to_string(), caller.principal.to_string());
    if n_critical > 0 {
        let taken = gateway.critical.check_many(&key, n_critical, gateway.now_ms());
        let what = "too many critical events of this producer";
        taken.map_err(|retry| Problem::too_many_messages(what, retry.seconds))?;
    }
    Ok(Counted { gateway: gateway.clone(), key, n_critical })
}

impl Counted {
    /// Takes the count back: the events were refused, and interrupted no listener.
    pub fn give_back(self) {
        let now_ms = self.gateway.now_ms();
        for _ in 0..self.n_critical {
            self.gateway.critical.give_back(&self.key, now_ms);
        }
    }
}
