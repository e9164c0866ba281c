//! `elapse`: the time of questions is over, and the producer's defaults apply; or the producer was
//! silent for too long.

use super::shared::{Decision, check_server};
use super::withdraw;
use crate::facts::Context;
use crate::ids::SessionId;
use crate::rejection::Rejection;
use crate::session::event::{Event, TimedOut};
use crate::session::silence::Why;
use crate::session::state::Session;
use crate::time::Time;
use aaep::machine::Audience;

pub fn decide(
    id: &SessionId,
    state: Option<&Session>,
    due: Time,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    check_server(context, "let a question expire")?;
    // The state may have changed since the deadline was armed; then nothing happens.
    let Some(session) = state else { return Ok(Decision::default()) };
    if session.left_at().is_some_and(|left| left <= due && left <= context.now) {
        let ended = session.ended_for_its_producer(Why::Silent, context.now);
        let events = vec![Event::Announced(Box::new(ended))];
        return Ok(Decision { events, holds: Vec::new() });
    }
    let audience = context.facts.audience;
    let conversation = context.facts.conversation.as_deref();
    let mut decision = withdraw::lost(id, session, context);
    let mut position = session.n_entries + decision.events.len() as u64;
    let mut machine = session.machine.clone();
    for question in session.machine.pending().iter().filter(|question| question.due() <= due) {
        let token = question.reply_token();
        if !session.stands(token, conversation) {
            continue;
        }
        let Ok(settled) = machine.elapse(token, context.now, audience) else { continue };
        position += 1;
        let asked = session.question(token);
        decision.holds.extend(asked.map(|asked| asked.settled_hold(id, position)));
        decision.events.push(Event::TimedOut(TimedOut {
            reply_token: settled.reply_token,
            event_id: settled.event_id,
            outcome: settled.outcome,
            default_response: question.default_response().map(str::to_owned),
            unheard: audience == Audience::NoListener,
            deliver: session.tells(&context.facts.at_endpoint),
        }));
    }
    Ok(decision)
}
