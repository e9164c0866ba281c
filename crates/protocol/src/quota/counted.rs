//! What of a state counts, and against whose quota.

use super::Thing;
use crate::aggregate::State;
use crate::caller::Principal;
use crate::handoff::{Handoff, Status};
use crate::narrator::ours;

/// What a state counts as while it is open. The server's own sessions count as nothing.
pub fn open_thing(state: &State) -> Option<Thing> {
    match state {
        State::Handoff(handoff) => match handoff.status() {
            Status::Draft => Some(Thing::Draft),
            Status::Proposed | Status::Validating | Status::Accepted | Status::Activated => {
                Some(Thing::Handoff)
            }
            Status::Rejected | Status::Completed | Status::Closed => None,
        },
        State::Conversation(it) => it.closed.is_none().then_some(Thing::Conversation),
        State::Session(it) => (it.is_open() && !ours::is_ours(&it.id)).then_some(Thing::Session),
        State::Subscription(it) => (!it.closed).then_some(Thing::Subscription),
        State::Graph(it) => (!it.removed).then_some(Thing::Graph),
        State::Question(it) => it.is_open().then_some(Thing::Question),
        State::Agent(_)
        | State::Token(_)
        | State::Ledger(_)
        | State::Message(_)
        | State::File(_)
        | State::Webhook(_)
        | State::Teamspace(_) => None,
    }
}

/// Whose quota it counts against, besides that of the teamspace.
pub fn owner(state: &State) -> Option<Principal> {
    match state {
        State::Handoff(handoff) => match handoff.as_ref() {
            Handoff::Draft(draft) | Handoff::Discarded { draft, .. } => {
                Some(Principal::Agent(draft.from.clone()))
            }
            Handoff::Made(made) => Some(Principal::Agent(made.terms.from.clone())),
        },
        State::Conversation(it) => it.setup.opened_by.parse().ok(),
        State::Session(it) => Some(Principal::Agent(it.producer.clone())),
        State::Subscription(it) => it.listener.parse().ok(),
        State::Question(it) => Some(Principal::Agent(it.asker().clone())),
        State::Graph(_)
        | State::Agent(_)
        | State::Token(_)
        | State::Ledger(_)
        | State::Message(_)
        | State::File(_)
        | State::Webhook(_)
        | State::Teamspace(_) => None,
    }
}
