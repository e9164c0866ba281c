//! `withdraw`: the asker no longer needs an answer.

use super::parties;
use crate::facts::Context;
use crate::notes::check_text;
use crate::question::event::{Event, Withdrawn};
use crate::question::state::Question;
use crate::rejection::Rejection;

pub fn decide(
    question: &Question,
    reason: Option<&str>,
    context: Context<'_>,
) -> Result<Event, Rejection> {
    let is_asker = context.caller.agent() == Some(question.asker());
    if !is_asker && !context.caller.is_coordinator() {
        let who = "the asker or a coordinator";
        return Err(Rejection::NotAllowed { action: "withdraw this question", who });
    }
    if !question.is_open() {
        let status = question.status();
        return Err(Rejection::WrongQuestionState { action: "withdraw", status });
    }
    let reason = check_text("reason", reason)?;
    Ok(Event::Withdrawn(Withdrawn { parties: parties(question), reason }))
}
