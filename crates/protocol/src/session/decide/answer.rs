//! `answer`: a person answers a question. The first valid answer counts; all others get the same
//! rejection, which does not say why.

use super::shared::Decision;
use crate::agent::Kind;
use crate::caller::Principal;
use crate::conversation::state::conversation_of;
use crate::facts::Context;
use crate::hidden::{first_hidden, is_blank};
use crate::ids::SessionId;
use crate::json;
use crate::rejection::Rejection;
use crate::session::command::Answer;
use crate::session::event::{Answered, Event};
use crate::session::evolve::settle;
use crate::session::state::Session;
use crate::session::unanswered::Unanswered;
use aaep::machine::{Lasts, NotSettled, Outcome};

/// The maximum lengths of an answer's texts.
const DECIDED_BY_CHARS_MAX: usize = 256;
const RATIONALE_CHARS_MAX: usize = 4_096;

/// The longest alternative action, as JSON: as long as the text of the one asked about.
pub const MODIFIED_ACTION_BYTES_MAX: usize = 16 * 1024;

pub fn decide(
    id: &SessionId,
    state: Option<&Session>,
    answer: &Answer,
    context: Context<'_>,
) -> Result<Decision, Rejection> {
    let no = |why| Rejection::NotAnswered { why };
    check_text("decided_by", answer.decided_by.as_deref(), DECIDED_BY_CHARS_MAX)?;
    check_text("decision_rationale", answer.rationale.as_deref(), RATIONALE_CHARS_MAX)?;
    check_action(answer)?;
    let session = state.ok_or(no(Unanswered::NoSession))?;
    if !may_answer(session, context) {
        return Err(no(Unanswered::NotEntitled));
    }
    if !session.stands(&answer.reply_token, context.facts.conversation.as_deref()) {
        return Err(no(Unanswered::Withdrawn));
    }
    let given = answer.given.decision_that_counts(answer.modified_action.is_some());
    let mut machine = session.machine.clone();
    let until = context.now.plus(context.facts.settings.consent_lasts());
    let is_by_a_person = !is_automatic(answer.decided_by.as_deref());
    let lasts = if is_by_a_person { Lasts::Until(until) } else { Lasts::NotAtAll };
    let when = (context.now, lasts);
    let settled = settle(&mut machine, &answer.reply_token, &given, when);
    let settled = settled.map_err(|why| {
        no(match why {
            NotSettled::Unknown => Unanswered::UnknownToken,
            NotSettled::TooLate | NotSettled::NotDue => Unanswered::TooLate,
            NotSettled::WrongKind => Unanswered::WrongKind,
            NotSettled::NotAllowed => Unanswered::NotAllowed,
        })
    })?;
    let asked = session.question(&answer.reply_token);
    let answered = Answered {
        reply_token: settled.reply_token,
        event_id: settled.event_id,
        outcome: settled.outcome,
        given,
        by: context.caller.principal.to_string(),
        decided_by: answer.decided_by.clone(),
        rationale: answer.rationale.clone(),
        subscription_id: answer.subscription_id.clone(),
        tool_call_id: asked.and_then(|asked| asked.tool_call_id.clone()),
        action_hash: asked.and_then(|asked| asked.action_hash.clone()),
        modified: answer.modified_action.is_some(),
        modified_action: answer.modified_action.clone(),
        confidence: answer.confidence.clone(),
        deliver: session.tells(&context.facts.at_endpoint),
        automatic: !is_by_a_person,
        expires_at: (is_by_a_person && settled.outcome == Outcome::Accepted).then_some(until),
    };
    let position = session.n_entries + 1;
    Ok(Decision {
        events: vec![Event::Answered(Box::new(answered))],
        holds: asked.map(|asked| asked.settled_hold(id, position)).into_iter().collect(),
    })
}

/// Whether the answer itself says that a rule or a program gave it. Anything that is not plainly
/// the name of a person counts as automatic.
fn is_automatic(decided_by: Option<&str>) -> bool {
    let Some(by) = decided_by else { return false };
    let plain: String = by.trim_start().chars().map(narrow).collect();
    let begins = |word: &str| {
        let head = plain.get(..word.len()).filter(|head| head.eq_ignore_ascii_case(word));
        head.is_some_and(|_| !plain[word.len()..].starts_with(char::is_alphanumeric))
    };
    let scheme = plain.split_once(':').map(|(scheme, _)| scheme);
    first_hidden(by).is_some()
        || begins("auto")
        || begins("system")
        || scheme.is_some_and(|scheme| !scheme.is_ascii())
}

/// A full-width letter as the usual one.
fn narrow(letter: char) -> char {
    match letter {
        '\u{FF01}'..='\u{FF5E}' => {
            char::from_u32(u32::from(letter) - 0xFEE0).expect("both are letters")
        }
        other => other,
    }
}

/// A human of the teamspace, an operator, or the customer of the session's own conversation. A
/// program cannot consent to its own actions.
fn may_answer(session: &Session, context: Context<'_>) -> bool {
    match &context.caller.principal {
        Principal::Operator(_) => true,
        Principal::Customer(name) => {
            session.conversation.is_some()
                && conversation_of(name) == session.conversation
                && !has_customer_token(session, context)
        }
        Principal::Agent(name) => {
            let is_human = |agent: &crate::agent::Agent| match agent.kind {
                Kind::Human => true,
                Kind::Worker | Kind::System | Kind::Queue => false,
            };
            *name != session.producer && context.facts.caller.as_ref().is_some_and(is_human)
        }
        Principal::System => false,
    }
}

/// Whether the producer opened the conversation. It was then given the customer's token, so an
/// answer with that token may be its own.
fn has_customer_token(session: &Session, context: Context<'_>) -> bool {
    let opener = Principal::Agent(session.producer.clone()).to_string();
    context.facts.conversation.as_deref().is_some_and(|it| it.setup.opened_by == opener)
}

fn check_action(answer: &Answer) -> Result<(), Rejection> {
    let Some(action) = &answer.modified_action else { return Ok(()) };
    if json::text_of(action, 512).len() > MODIFIED_ACTION_BYTES_MAX {
        let expected = format!("at most {MODIFIED_ACTION_BYTES_MAX} bytes of JSON");
        return Err(Rejection::SchemaInvalid { field: "modified_action".to_owned(), expected });
    }
    Ok(())
}

fn check_text(field: &str, text: Option<&str>, chars_max: usize) -> Result<(), Rejection> {
    match text {
        Some(text) if is_blank(text) || text.chars().count() > chars_max => {
            let expected = format!("1 to {chars_max} characters");
            Err(Rejection::SchemaInvalid { field: field.to_owned(), expected })
        }
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_shows_nothing_is_refused() {
        let rows = [
            (None, true),
            (Some("Hana"), true),
            (Some(""), false),
            (Some(" "), false),
            (Some("\u{2060}"), false),
            (Some("Hana of billing"), false),
        ];
        for (text, is_taken) in rows {
            assert_eq!(check_text("decided_by", text, 8).is_ok(), is_taken, "{text:?}");
        }
    }
}
