//! What an open transfer waits for: who must act, what they can do, since when, until when, and
//! what happens then.

use super::record::Record;
use super::state::{LegStage, Stage, Target, Transfer};
use crate::ids::AgentId;
use crate::time::{Span, Time};
use crate::waiting::{Then, Wait, Waiter};

/// All that a transfer waits for: its own step first, then that of a further person who is asked
/// in. Empty once it is over. The record knows since when it waits or is answered.
pub fn waits(transfer: &Transfer, record: Option<&Record>) -> Vec<Wait> {
    own(transfer, record).into_iter().chain(of_leg(transfer)).collect()
}

fn own(transfer: &Transfer, record: Option<&Record>) -> Option<Wait> {
    let limits = &transfer.limits;
    let person = |agent: &AgentId| Waiter::Agent(agent.clone());
    Some(match &transfer.stage {
        Stage::Requested | Stage::Queued => {
            let overflow = transfer.overflow.as_ref().filter(|it| it.at <= limits.gives_up_at);
            let (until, then) = match overflow {
                Some(overflow) => (overflow.at, Then::Overflows(overflow.to.clone())),
                None => (limits.gives_up_at, Then::Fails),
            };
            Wait {
                who: Waiter::Queue(transfer.queue.clone()),
                actions: &["pickup"],
                leg: 0,
                since: record.and_then(|record| record.waiting_since),
                until: Some(until),
                then,
            }
        }
        Stage::Ringing { claim, until } => Wait {
            who: person(&claim.agent),
            actions: &["accept", "decline"],
            leg: 0,
            since: Some(before(*until, limits.ring)),
            until: Some(*until),
            then: after_ring(transfer, *until),
        },
        Stage::Connected { claim } => Wait {
            who: person(&claim.agent),
            actions: &["complete", "end", "transfer"],
            leg: 0,
            since: record.and_then(|record| record.with_person_since),
            until: None,
            then: Then::Nothing,
        },
        Stage::OnHold { claim, until } => Wait {
            who: person(&claim.agent),
            actions: &["resume"],
            leg: 0,
            since: Some(before(*until, limits.hold)),
            until: Some(*until),
            then: Then::HoldEnds,
        },
        Stage::Over { .. } => return None,
    })
}

fn of_leg(transfer: &Transfer) -> Option<Wait> {
    let leg = transfer.leg.as_ref()?;
    let (who, actions, since, until, then): (_, &'static [&'static str], _, _, _) = match &leg.stage
    {
        LegStage::Queued => {
            let until = leg.limits.gives_up_at;
            let who = Waiter::Queue(leg.target.id().clone());
            let since = Some(before(until, leg.limits.wait));
            (who, &["pickup"], since, Some(until), Then::InvitationEnds)
        }
        LegStage::Ringing { claim, until } => {
            let then = match leg.target {
                Target::Human(_) => Then::InvitationEnds,
                Target::Queue(_) => Then::ReturnsToQueue,
            };
            let (who, since) = (Waiter::Agent(claim.agent.clone()), leg.limits.ring);
            (who, &["accept", "decline"], Some(before(*until, since)), Some(*until), then)
        }
        LegStage::Consulting { claim } => {
            let who = Waiter::Agent(claim.agent.clone());
            (who, &["whisper", "complete"], None, None, Then::Nothing)
        }
    };
    Some(Wait { who, actions, leg: leg.number, since, until, then })
}

/// After the last ring, or when the wait is over by then, the transfer leaves its queue.
fn after_ring(transfer: &Transfer, until: Time) -> Then {
    let is_last = transfer.limits.are_last(transfer.rings.saturating_add(1));
    let overflow = transfer.overflow.as_ref().filter(|it| is_last || it.at <= until);
    match overflow {
        Some(overflow) => Then::Overflows(overflow.to.clone()),
        None if is_last || transfer.limits.gives_up_at <= until => Then::Fails,
        None => Then::ReturnsToQueue,
    }
}

fn before(end: Time, span: Span) -> Time {
    Time::from_millis(end.as_millis().saturating_sub(span.as_millis()).max(0))
}
