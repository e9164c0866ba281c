//! Erases the body of an entry, on request, and records it.

use crate::aggregate::State;
use crate::caller::{Caller, Principal};
use crate::handoff::Status;
use crate::hidden::is_blank;
use crate::ledger::Erased;
use crate::message::Message;
use crate::notes::check_text;
use crate::rejection::Rejection;

/// The entry that holds a message's text: the first one, which records that it was sent.
pub const MESSAGE_POSITION: u64 = 1;

/// A handoff can be erased only when it is final: until then its agents may need it to decide. A
/// message can be erased at any time and then disappears from every mailbox. Messages of a
/// conversation and events of a session can be erased at any time too, and are then unreadable.
pub fn decide(
    state: &State,
    position: u64,
    reason: &str,
    caller: &Caller,
) -> Result<Erased, Rejection> {
    check_may_erase(state, caller)?;
    check_reason(reason)?;
    let erased = Erased { position, reason: reason.to_owned() };
    match state {
        State::Handoff(handoff) if handoff.status() == Status::Closed => Ok(erased),
        State::Handoff(handoff) => Err(Rejection::WrongState {
            action: "erase content of",
            state: handoff.status(),
            needed: "a closed one",
        }),
        State::Message(Message { purged: false, .. }) if position == MESSAGE_POSITION => Ok(erased),
        State::Question(question) if question.is_open() => {
            let status = question.status();
            Err(Rejection::WrongQuestionState { action: "erase content of", status })
        }
        State::Conversation(_) | State::Session(_) | State::Question(_) => Ok(erased),
        State::Message(_) => Err(Rejection::NotFound { what: "message" }),
        State::Agent(_)
        | State::Token(_)
        | State::Ledger(_)
        | State::Graph(_)
        | State::Subscription(_)
        | State::File(_)
        | State::Webhook(_)
        | State::Teamspace(_) => Err(Rejection::NotFound { what: "handoff" }),
    }
}

pub fn check_reason(reason: &str) -> Result<(), Rejection> {
    if is_blank(reason) {
        return Err(Rejection::SchemaInvalid {
            field: "reason".to_owned(),
            expected: "why the content must go".to_owned(),
        });
    }
    check_text("reason", Some(reason)).map(|_| ())
}

/// The server itself erases only messages past their retention.
fn check_may_erase(state: &State, caller: &Caller) -> Result<(), Rejection> {
    match (&caller.principal, state) {
        (Principal::Operator(_), _) | (Principal::System, State::Message(_)) => Ok(()),
        (
            Principal::Agent(_) | Principal::Customer(_) | Principal::System,
            State::Handoff(_)
            | State::Agent(_)
            | State::Token(_)
            | State::Ledger(_)
            | State::Teamspace(_)
            | State::Graph(_)
            | State::Subscription(_)
            | State::File(_)
            | State::Webhook(_)
            | State::Question(_)
            | State::Session(_)
            | State::Conversation(_)
            | State::Message(_),
        ) => Err(Rejection::NotAllowed { action: "erase", who: "an operator" }),
    }
}
