//! What a question waits for: the person or the queue that is asked, and after that a worker that
//! goes on with the answer.

use super::state::{Claimed, Question, Settled};
use crate::question::event::Addressee;
use crate::time::Time;
use crate::waiting::{Then, Wait, Waiter};

/// What it waits for; `None` once it is finished or withdrawn.
pub fn waits(question: &Question) -> Option<Wait> {
    let settled_at = match &question.state {
        Settled::Open => return Some(of_open(question)),
        Settled::Withdrawn { .. } => return None,
        Settled::Answered { at, .. }
        | Settled::Defaulted { at, .. }
        | Settled::Unanswered { at } => *at,
    };
    let continuation = &question.continuation;
    match (&continuation.finished, &continuation.claim) {
        (Some(_), _) => None,
        (None, Some(claim)) if !claim.lapsed => Some(of_claim(claim)),
        (None, Some(lapsed)) => Some(unclaimed(question, lapsed.until)),
        (None, None) => Some(unclaimed(question, settled_at)),
    }
}

fn of_open(question: &Question) -> Wait {
    let parties = &question.asked.parties;
    Wait {
        who: match parties.to_kind {
            Addressee::Person => Waiter::Agent(parties.to.clone()),
            Addressee::Queue => Waiter::Queue(parties.to.clone()),
        },
        actions: &["answer"],
        leg: 0,
        since: Some(question.asked_at),
        until: Some(question.asked.until),
        then: match question.default() {
            Some(_) => Then::Defaults,
            None => Then::EndsUnanswered,
        },
    }
}

fn of_claim(claim: &Claimed) -> Wait {
    Wait {
        who: Waiter::Agent(claim.by.clone()),
        actions: &["finish", "renew"],
        leg: 0,
        since: claim.since,
        until: Some(claim.until),
        then: Then::ClaimLapses,
    }
}

/// There is an answer, or none in time, and no worker goes on with it.
fn unclaimed(question: &Question, since: Time) -> Wait {
    let asker = question.asker();
    let is_alone = question.asked.workers.iter().all(|worker| worker == asker);
    let who = if is_alone { Waiter::Agent(asker.clone()) } else { Waiter::Worker };
    let (since, then) = (Some(since), Then::Nothing);
    Wait { who, actions: &["claim"], leg: 0, since, until: None, then }
}
