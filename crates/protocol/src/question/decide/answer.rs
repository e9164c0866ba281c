//! `answer`: a human answers, once. An agent's token never may, whatever its roles are: a program
//! cannot consent to its own actions.

use super::{check_given, parties};
use crate::agent::{Agent, Kind};
use crate::caller::Principal;
use crate::facts::Context;
use crate::notes::check_text;
use crate::question::command::Answer;
use crate::question::event::{Addressee, Answered, Event};
use crate::question::state::{Question, Status};
use crate::rejection::Rejection;
use crate::visibility::details::serves;

pub fn decide(
    question: &Question,
    answer: &Answer,
    context: Context<'_>,
) -> Result<Event, Rejection> {
    if !may_answer(question, context) {
        let who = "the person who is asked, a human of the queue that is asked, or an operator \
                   whom the directory lists as a human";
        return Err(Rejection::NotAllowed { action: "answer this question", who });
    }
    // The deadline counts, even if the server has not noticed it yet.
    let is_late = question.is_open() && context.now >= question.asked.until;
    let status = match (is_late, question.default()) {
        (false, _) => question.status(),
        (true, Some(_)) => Status::Defaulted,
        (true, None) => Status::Unanswered,
    };
    if status != Status::Open {
        return Err(Rejection::WrongQuestionState { action: "answer", status });
    }
    if answer.hash != question.asked.hash {
        return Err(Rejection::OtherQuestion);
    }
    check_given(("", &answer.given), question.asked.wants, &question.asked.options)?;
    Ok(Event::Answered(Box::new(Answered {
        parties: parties(question),
        by: context.caller.principal.to_string(),
        hash: answer.hash.clone(),
        given: answer.given.clone(),
        note: check_text("note", answer.note.as_deref())?,
        workers: question.asked.workers.clone(),
    })))
}

fn may_answer(question: &Question, context: Context<'_>) -> bool {
    let facts = context.facts;
    let asked = &question.asked.parties;
    match &context.caller.principal {
        Principal::Agent(name) => {
            let own = facts.caller.as_ref().filter(|it| it.id == *name && is_human(it));
            let Some(own) = own.filter(|_| *name != asked.asker) else { return false };
            match asked.to_kind {
                Addressee::Person => asked.to == own.id,
                Addressee::Queue => {
                    let queue = facts.queue.as_ref().filter(|queue| queue.id == asked.to);
                    queue.is_some_and(|queue| serves(own, queue))
                }
            }
        }
        // Programs have tokens of operators too. One is a human if the directory says so.
        Principal::Operator(name) => {
            facts.agent.as_ref().is_some_and(|it| it.id == *name && is_human(it))
                && *name != asked.asker
        }
        Principal::Customer(_) | Principal::System => false,
    }
}

fn is_human(agent: &Agent) -> bool {
    match agent.kind {
        Kind::Human => true,
        Kind::Worker | Kind::System | Kind::Queue => false,
    }
}
