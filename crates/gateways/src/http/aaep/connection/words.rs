//! The messages of a connection that are not events: the result of a message, the result of a
//! question, and the cursor from which a listener may resume.

use aaep::event::{Decision, Payload};
use aaep::handshake::{ClarificationReply, ConfirmationReply, Handshake, Response as Said};
use aaep::machine::Outcome;
use aaep::stamp::stamp;
use aaep::{EXTENSION, read};
use engine::aaep::sessions::Question;
use protocol::ids::SessionId;
use protocol::session::{Given, Response};
use protocol::time::Time;
use serde_json::{Value, json};

use crate::http::shared::problem::Problem;

/// A question that the peer asked over this connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asking {
    pub session: SessionId,
    /// The token that the peer chose.
    pub reply_token: String,
    pub kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Confirmation,
    Clarification,
}

/// The question that an event asks, if it asks one.
pub fn asking(session: &SessionId, event: &str) -> Option<Asking> {
    // Most events ask nothing, and need not be read again to know it.
    if !event.contains("agent.awaiting.") {
        return None;
    }
    let event = read::read(event).ok()?;
    let reply_token = event.payload.reply_token()?.to_owned();
    let kind = match matches!(event.payload, Payload::AwaitingConfirmation(_)) {
        true => Kind::Confirmation,
        false => Kind::Clarification,
    };
    Some(Asking { session: session.clone(), reply_token, kind })
}

/// The peer's message with this number is in the ledger.
pub fn recorded(number: u64, session: &SessionId, n_events: usize) -> String {
    let session = session.as_str();
    json!({
        "type": "tasuki.recorded", "message": number, "session_id": session, "n_events": n_events,
    })
    .to_string()
}

/// The peer's message with this number is refused.
pub fn refused(number: u64, problem: Problem) -> String {
    let mut fields = problem.facts;
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("type", "tasuki.refused".into());
    put("message", number.into());
    put("code", problem.code.into());
    put("detail", problem.detail.into());
    if let Some(field) = problem.field {
        put("field", field.into());
    }
    if let Some(seconds) = problem.retry_after_s {
        put("retry_after", seconds.into());
    }
    Value::Object(fields).to_string()
}

/// The cursor from which the listener may resume.
pub fn place(cursor: &str) -> String {
    json!({ "type": "tasuki.place", "resume_after": cursor }).to_string()
}

/// The reason for the end, where the transport has no way to say it.
pub fn closed(code: u16, reason: &str) -> String {
    json!({ "type": "tasuki.closed", "code": code, "reason": reason }).to_string()
}

/// The result of a question, for its producer. An answer has the form of the protocol; a result
/// without an answer says so in our extension. The producer is not told of a question that it
/// withdrew.
pub fn decided(asking: Asking, question: Question) -> Option<String> {
    match question {
        Question::Open { .. } | Question::Withdrawn => None,
        Question::TimedOut { outcome, default_response, at } => {
            Some(nobodys(&asking, "timed_out", (outcome, default_response), at))
        }
        Question::Lost { at } => {
            Some(nobodys(&asking, "withdrawn", (Outcome::Withdrawn, None), at))
        }
        Question::Erased { at } => Some(nobodys(&asking, "erased", (Outcome::Withdrawn, None), at)),
        Question::Answered { outcome, answer, at } => {
            let (reply_token, timestamp) = (asking.reply_token, stamp(at));
            let subscription_id = answer.subscription_id.unwrap_or_default();
            // The token identifies who decided, whatever name the answer gives.
            let decided_by = Some(answer.by);
            let reply = match answer.given {
                Given::Decision(_) => Handshake::ConfirmationReply(ConfirmationReply {
                    reply_token,
                    decision: decision(outcome)?,
                    subscription_id,
                    timestamp,
                    decided_by,
                    decision_rationale: answer.rationale,
                    modified_action: answer.modified_action,
                    correlation_id: None,
                }),
                Given::Response(response) => Handshake::ClarificationReply(ClarificationReply {
                    reply_token,
                    response: match response {
                        Response::YesNo(yes) => Said::Truth(yes),
                        Response::Number(number) => Said::Number(number),
                        Response::Text(text) => Said::Text(text),
                    },
                    subscription_id,
                    timestamp,
                    decided_by,
                    confidence: answer.confidence.and_then(|number| number.as_f64()),
                    correlation_id: None,
                }),
            };
            Some(reply.write())
        }
    }
}

fn decision(outcome: Outcome) -> Option<Decision> {
    match outcome {
        Outcome::Accepted => Some(Decision::Accept),
        Outcome::Rejected => Some(Decision::Reject),
        Outcome::Answered | Outcome::Unanswered | Outcome::Withdrawn => None,
    }
}

fn nobodys(
    asking: &Asking,
    status: &str,
    (outcome, default_response): (Outcome, Option<String>),
    at: Time,
) -> String {
    let kind = match asking.kind {
        Kind::Confirmation => "confirmation.reply",
        Kind::Clarification => "clarification.reply",
    };
    let ours = json!({ "status": status, "session_id": asking.session.as_str() });
    let mut message = json!({
        "type": kind,
        "reply_token": asking.reply_token,
        "timestamp": stamp(at),
        "extensions": { EXTENSION: ours },
    });
    if let Some(decision) = decision(outcome) {
        message["decision"] = json!(decision);
    }
    if let Some(response) = default_response {
        message["response"] = response.into();
    }
    message.to_string()
}
