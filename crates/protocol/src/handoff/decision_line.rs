//! The lines of `decisions.jsonl`: decisions of people and verifiers about handoffs, by whom and
//! why. A pure function of ledger entries, so that the file can be rebuilt byte for byte.

use serde::Serialize;

use super::event::Event;
use crate::ids::HandoffId;
use crate::time::Time;

/// The names of the events that are decisions.
pub const DECISIONS: [&str; 4] =
    ["handoff.approved", "handoff.refused", "handoff.confirmed", "handoff.disputed"];

/// One line. Fields are written in this order.
#[derive(Debug, Serialize)]
pub struct DecisionLine<'a> {
    event: &'static str,
    handoff_id: HandoffId,
    actor: &'a str,
    why: Option<&'a str>,
    timestamp: Time,
}

/// The line of an entry, if it is a decision.
pub fn line<'a>(
    id: HandoffId,
    event: &'a Event,
    actor: &'a str,
    at: Time,
) -> Option<DecisionLine<'a>> {
    let (event, why) = if let Event::Approved(approved) = event {
        ("handoff_approved", approved.why.as_deref())
    } else if let Event::Refused(refused) = event {
        ("handoff_refused", Some(refused.why.as_str()))
    } else if let Event::Confirmed(confirmed) = event {
        ("handoff_confirmed", confirmed.why.as_deref())
    } else if let Event::Disputed(disputed) = event {
        ("handoff_disputed", Some(disputed.why.as_str()))
    } else {
        return None;
    };
    Some(DecisionLine { event, handoff_id: id, actor, why, timestamp: at })
}
