//! Answering a question of a session without a subscription: a human answers what the list of
//! questions shows.

use axum::Json;
use axum::extract::State;
use engine::aaep::announce::session_stream;
use engine::road::submit::SubmitError;
use protocol::hidden::is_blank;
use protocol::ids::SessionId;
use protocol::rejection::Rejection;
use protocol::session::command::{Answer, Command};
use protocol::session::event::{Given, Response};
use protocol::session::unanswered::Unanswered;
use protocol::{form, step};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use crate::http::aaep::sessions::{DecisionStatus, decided};
use crate::http::aaep::state::Aaep;
use crate::http::shared::input::{Named, Write};
use crate::http::shared::problem::Problem;
use aaep::event::Decision;

/// As long as the id of an event may be.
const EVENT_ID_BYTES_MAX: usize = 256;

/// As long as a rationale of the protocol may be.
const RATIONALE_BYTES_MAX: usize = 4_096;

/// One of `decision` and `response`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerSessionInput {
    /// The event that asks.
    #[schemars(transform = form::text(EVENT_ID_BYTES_MAX))]
    pub event_id: String,
    /// For a confirmation.
    #[serde(default)]
    #[schemars(with = "Option<String>", transform = form::one_of(["accept", "reject"]))]
    pub decision: Option<String>,
    /// For a clarification: yes or no, a number, or a text.
    #[serde(default)]
    pub response: Option<ResponseInput>,
    /// Why; for a confirmation.
    #[serde(default)]
    #[schemars(transform = form::text(RATIONALE_BYTES_MAX))]
    pub rationale: Option<String>,
}

/// The answer to a clarification.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ResponseInput {
    Truth(bool),
    Number(#[schemars(with = "f64")] Number),
    Text(String),
}

/// The question and the answer that counts.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AnsweredSessionView {
    pub session_id: String,
    pub event_id: String,
    pub status: DecisionStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
    /// Until when an action that cannot be undone may rely on this accept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// The first valid answer counts, on whichever way it comes.
pub async fn answer(
    State(gateway): State<Aaep>,
    Named(id): Named<SessionId>,
    write: Write<AnswerSessionInput>,
) -> Result<Json<AnsweredSessionView>, Problem> {
    let (write, input) = write.split();
    let caller = write.asker.member()?.caller;
    let given = given(input.decision.as_deref(), input.response)?;
    let engine = &gateway.engine;
    let stream = session_stream(&caller, &id);
    let nothing = || Problem::not_found("session");
    let session = engine.sessions().session(&stream).await?.ok_or_else(nothing)?;
    if !engine.listeners().may_hear(&caller, &session).await? {
        return Err(nothing());
    }
    let mut pending = session.machine.pending().iter();
    let asked = pending.find(|asked| asked.event_id() == input.event_id).ok_or_else(|| {
        Problem::new("not_answered", "the question was never asked, or it is settled")
    })?;
    let (reply_token, expected) = (asked.reply_token().to_owned(), asked.expected());
    let answer = Answer {
        reply_token: reply_token.clone(),
        given,
        decided_by: None,
        rationale: input.rationale,
        modified_action: None,
        confidence: None,
        subscription_id: None,
    };
    let command = step::Command::Session(Command::Answer(Box::new(answer)));
    match engine.submit(&caller, stream.clone(), command, None).await {
        Err(SubmitError::Rejected(Rejection::NotAnswered { why: Unanswered::NotEntitled })) => {
            let detail = "only a human answers, and not the producer of the session";
            return Err(Problem::new("not_allowed", detail));
        }
        Err(SubmitError::Rejected(Rejection::NotAnswered {
            why: Unanswered::WrongKind | Unanswered::NotAllowed,
        })) => return Err(Problem::new("not_answered", format!("expected {expected}"))),
        answered => answered?,
    };
    let question = engine.sessions().question(&stream, &reply_token).await?;
    let question = question.ok_or_else(|| Problem::not_found("question"))?;
    let shown = decided(&id, reply_token, question);
    Ok(Json(AnsweredSessionView {
        session_id: shown.session_id,
        event_id: input.event_id,
        status: shown.status,
        decision: shown.decision,
        response: shown.response,
        answered_by: shown.answered_by,
        expires_at: shown.expires_at,
    }))
}

fn given(decision: Option<&str>, response: Option<ResponseInput>) -> Result<Given, Problem> {
    let response = response.map(|response| match response {
        ResponseInput::Truth(yes) => Response::YesNo(yes),
        ResponseInput::Number(number) => Response::Number(number),
        ResponseInput::Text(text) => Response::Text(text),
    });
    if matches!(&response, Some(Response::Text(text)) if is_blank(text)) {
        return Err(Problem::schema_invalid("response", "a text that shows something"));
    }
    match (decision, response) {
        (Some("accept"), None) => Ok(Given::Decision(Decision::Accept)),
        (Some("reject"), None) => Ok(Given::Decision(Decision::Reject)),
        (None, Some(response)) => Ok(Given::Response(response)),
        (Some(_), Some(_)) => {
            Err(Problem::schema_invalid("response", "to be left out with `decision`"))
        }
        (Some(_) | None, None) => {
            let expected = "accept or reject for a confirmation; for a clarification a `response`";
            Err(Problem::schema_invalid("decision", expected))
        }
    }
}
