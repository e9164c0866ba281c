//! `withdraw`: the conversation of a session has changed hands or is closed. The questions asked
//! before do not count any more, and listeners are told.

use super::shared::{Decision, check_server};
use crate::facts::Context;
use crate::ids::SessionId;
use crate::rejection::Rejection;
use crate::session::event::Event;
use crate::session::state::Session;

pub fn decide(
    id: &SessionId,
    state: Option<&Session>,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    check_server(context, "withdraw a question")?;
    Ok(state.map(|session| lost(id, session, context)).unwrap_or_default())
}

/// Withdraws the questions that do not count any more.
pub(super) fn lost(id: &SessionId, session: &Session, context: Context<'_>) -> Decision {
    let mut decision = Decision::default();
    let lost = session.lost_questions(context.facts.conversation.as_deref());
    for (position, withdrawn) in (session.n_entries + 1..).zip(lost) {
        let asked = session.question(&withdrawn.reply_token);
        decision.holds.extend(asked.map(|asked| asked.settled_hold(id, position)));
        decision.events.push(Event::Withdrawn(withdrawn));
    }
    decision
}
