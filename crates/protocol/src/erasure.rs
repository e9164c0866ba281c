//! Erasing what an entry says, on request and on the record.

use crate::caller::Caller;
use crate::handoff::Status;
use crate::handoff::decide::check_text;
use crate::ledger::Erased;
use crate::rejection::Rejection;
use crate::step::State;

/// Only what is final can be erased: until then somebody may need it to decide.
pub fn decide(
    state: &State,
    position: u64,
    reason: &str,
    caller: &Caller,
) -> Result<Erased, Rejection> {
    if !caller.is_operator() {
        return Err(Rejection::NotAllowed { action: "erase", who: "an operator" });
    }
    if reason.trim().is_empty() {
        return Err(Rejection::SchemaInvalid {
            field: "reason".to_owned(),
            expected: "why the content must go".to_owned(),
        });
    }
    check_text("reason", Some(reason))?;
    match state {
        State::Handoff(handoff) if handoff.status() == Status::Closed => {
            Ok(Erased { position, reason: reason.to_owned() })
        }
        State::Handoff(handoff) => Err(Rejection::WrongState {
            action: "erase content of",
            state: handoff.status(),
            needed: "a closed one",
        }),
        State::Agent(_)
        | State::Token(_)
        | State::Ledger(_)
        | State::Message(_)
        | State::Teamspace(_) => Err(Rejection::NotFound { what: "handoff" }),
    }
}
