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
pub struct Line<'a> {
    event: &'static str,
    handoff_id: HandoffId,
    actor: &'a str,
    why: Option<&'a str>,
    timestamp: Time,
}

/// The line of an entry, if it is a decision.
pub fn line<'a>(id: HandoffId, event: &'a Event, actor: &'a str, at: Time) -> Option<Line<'a>> {
    let (event, why) = match event {
        Event::Approved(approved) => ("handoff_approved", approved.why.as_deref()),
        Event::Refused(refused) => ("handoff_refused", Some(refused.why.as_str())),
        Event::Confirmed(confirmed) => ("handoff_confirmed", confirmed.why.as_deref()),
        Event::Disputed(disputed) => ("handoff_disputed", Some(disputed.why.as_str())),
        Event::Drafted(_)
        | Event::Proposed(_)
        | Event::ValidationStarted(_)
        | Event::VerificationUnavailable(_)
        | Event::Checked(_)
        | Event::Accepted(_)
        | Event::Rejected(_)
        | Event::Activated(_)
        | Event::CompletionStarted(_)
        | Event::CompletionChecked(_)
        | Event::CompletionFailed(_)
        | Event::Completed(_)
        | Event::Closed(_)
        | Event::Escalated(_)
        | Event::SlaExtended(_)
        | Event::SlaWarned(_)
        | Event::Countered(_)
        | Event::Delegated(_)
        | Event::DelegationEnded(_)
        | Event::DelegationReopened(_)
        | Event::WorkqSettled(_)
        | Event::WorkqDegraded(_) => return None,
    };
    Some(Line { event, handoff_id: id, actor, why, timestamp: at })
}
