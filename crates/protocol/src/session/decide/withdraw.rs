//! `withdraw`: the conversation of a session has changed hands or is closed. The questions asked
//! before do not count any more, also those that were accepted, and listeners are told.

use super::shared::{Decision, check_server};
use crate::facts::Context;
use crate::ids::SessionId;
use crate::rejection::Rejection;
use crate::session::event::{Event, Withdrawn};
use crate::session::state::Session;
use crate::stored::HoldWrite;

pub fn decide(
    id: &SessionId,
    state: Option<&Session>,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    check_server(context, "withdraw a question")?;
    Ok(state.map(|session| lost(id, session, context)).unwrap_or_default())
}

/// Withdraws the questions that do not count any more, open or accepted.
pub(super) fn lost(id: &SessionId, session: &Session, context: Context<'_>) -> Decision {
    let mut decision = Decision::default();
    let mut position = session.n_entries;
    let mut withdraw = |withdrawn, hold: Option<&dyn Fn(u64) -> HoldWrite>| {
        position += 1;
        decision.holds.extend(hold.map(|hold| hold(position)));
        decision.events.push(Event::Withdrawn(withdrawn));
    };
    let conversation = context.facts.conversation.as_deref();
    for pending in session.lost_questions(conversation) {
        let withdrawn = Withdrawn {
            reply_token: pending.reply_token().to_owned(),
            event_id: pending.event_id().to_owned(),
            accepted: false,
            used: false,
            deliver: session.tells(&context.facts.at_endpoint),
        };
        match session.question(pending.reply_token()) {
            Some(asked) => withdraw(withdrawn, Some(&|at| asked.settled_hold(id, at))),
            None => withdraw(withdrawn, None),
        }
    }
    for accepted in session.lost_accepts(conversation) {
        let token = &accepted.question.reply_token;
        let used = !session.machine.has_unused_accept(token);
        let withdrawn = Withdrawn {
            reply_token: token.clone(),
            event_id: accepted.event_id.clone(),
            accepted: true,
            used,
            deliver: !used && session.tells(&context.facts.at_endpoint),
        };
        match used {
            true => withdraw(withdrawn, None),
            false => withdraw(withdrawn, Some(&|at| accepted.withdrawn_hold(id, at))),
        }
    }
    decision
}
