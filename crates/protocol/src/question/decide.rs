//! Decides on a command. One file per command, each with its guards in order of precedence: the
//! caller, then the state, then the content.

mod answer;
mod ask;
mod claim;
mod elapse;
mod withdraw;

use super::command::Command;
use super::event::{Decision, Event, Given, Kind, Parties};
use super::state::Question;
use super::{ANSWER_BYTES_MAX, OPTION_BYTES_MAX};
use crate::facts::Context;
use crate::hidden::is_blank;
use crate::ids::AgentId;
use crate::rejection::Rejection;

pub fn decide(
    state: Option<&Question>,
    command: &Command,
    context: Context<'_>,
) -> Result<Option<Event>, Rejection> {
    let question = match (state, command) {
        (None, Command::Ask(ask)) => return ask::decide(ask, context).map(Some),
        (Some(_), Command::Ask(_)) => {
            return Err(Rejection::AlreadyExists { what: "the question" });
        }
        (None, _) => return Err(Rejection::NotFound { what: "question" }),
        (Some(question), _) => question,
    };
    match command {
        Command::Ask(_) => Ok(None),
        Command::Answer(answer) => answer::decide(question, answer, context).map(Some),
        Command::Withdraw(it) => {
            withdraw::decide(question, it.reason.as_deref(), context).map(Some)
        }
        Command::Claim(it) => claim::claim(question, it.lease, context).map(Some),
        Command::Renew { epoch, lease } => {
            claim::renew(question, *epoch, *lease, context).map(Some)
        }
        Command::Finish(finish) => claim::finish(question, finish, context).map(Some),
        Command::Elapse { due } => elapse::decide(question, *due, context),
    }
}

/// Whether an answer, or a default, fits what is asked. A human may always decline.
fn check_given(
    (field, given): (&str, &Given),
    kind: Kind,
    options: &[String],
) -> Result<(), Rejection> {
    let invalid = |name: &str, expected: String| {
        let field = if field.is_empty() { name.to_owned() } else { format!("{field}.{name}") };
        Err(Rejection::SchemaInvalid { field, expected })
    };
    let Given { decision, option, text } = given;
    match (decision, kind) {
        (Decision::Decline, _) | (Decision::Approve, Kind::Approve) => {}
        (Decision::Choose, Kind::Choose) => {
            let is_offered = |it: &String| options.contains(it) && it.len() <= OPTION_BYTES_MAX;
            if !option.as_ref().is_some_and(is_offered) {
                return invalid("option", "one of the options of the question".to_owned());
            }
        }
        (Decision::Text, Kind::Text) => {
            let is_text = |it: &String| !is_blank(it) && it.len() <= ANSWER_BYTES_MAX;
            if text.is_none() {
                return invalid("text", "to be given for `text`".to_owned());
            }
            if !text.as_ref().is_some_and(is_text) {
                let expected =
                    format!("text that is not blank, of at most {ANSWER_BYTES_MAX} bytes");
                return invalid("text", expected);
            }
        }
        (Decision::Approve | Decision::Choose | Decision::Text, _) => {
            return invalid("decision", format!("{} or decline", kind.as_str()));
        }
    }
    if option.is_some() && *decision != Decision::Choose {
        return invalid("option", "to be left out, except for `choose`".to_owned());
    }
    if text.is_some() && *decision != Decision::Text {
        return invalid("text", "to be left out, except for `text`".to_owned());
    }
    Ok(())
}

fn parties(question: &Question) -> Parties {
    question.asked.parties.clone()
}

/// The caller, if it may go on with the answer.
fn worker<'a>(
    question: &Question,
    context: Context<'a>,
    action: &'static str,
) -> Result<&'a AgentId, Rejection> {
    let agent = context.caller.agent().filter(|agent| question.may_continue(agent));
    agent.ok_or(Rejection::NotAllowed { action, who: "the asker, or an agent that it named" })
}
