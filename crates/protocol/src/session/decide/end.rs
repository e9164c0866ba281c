//! `end`: an operator ends a session that is to be erased. Later events of its producer are
//! refused.

use super::shared::Decision;
use crate::facts::Context;
use crate::rejection::Rejection;
use crate::session::event::Event;
use crate::session::silence::Why;
use crate::session::state::Session;

pub fn decide(state: Option<&Session>, context: Context<'_>) -> Result<Decision, Rejection> {
    if !context.caller.is_operator() {
        return Err(Rejection::NotAllowed { action: "end a session", who: "an operator" });
    }
    let session = state.ok_or(Rejection::NotFound { what: "session" })?;
    let mut decision = Decision::default();
    if session.is_open() {
        let ended = session.ended_for_its_producer(Why::Erased, context.now);
        decision.events.push(Event::Announced(Box::new(ended)));
    }
    Ok(decision)
}
