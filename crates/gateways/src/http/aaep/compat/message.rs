//! The messages of this layout. Other tools leave out required fields or send additional ones. A
//! message is taken by its clear meaning; one without any is ignored.

use aaep::event::Decision;
use aaep::handshake::{ClarificationReply, ConfirmationReply, Handshake, Response as Answer};
use protocol::hidden::is_blank;
use protocol::json::{self, Bounds};
use serde_json::{Map, Value};

/// The longest texts of an answer, as in the schemas.
const DECIDED_BY_CHARS_MAX: usize = 256;

const RATIONALE_CHARS_MAX: usize = 4_096;

const RESPONSE_CHARS_MAX: usize = 16_384;

/// What people wrote.
const FREE_TEXT: &[&str] =
    &["decided_by", "decision_rationale", "response", "text", "user_message"];

#[derive(Debug, PartialEq)]
pub enum Said {
    /// Input of a user.
    Words(String),
    /// An answer. Its token says on which subscription.
    Reply(Box<Handshake>),
    /// A `subscription.request` or `.renegotiate`, as it came.
    Terms(Map<String, Value>),
    Close,
    /// Well-formed, but of no meaning here.
    Other,
}

/// Reads one message, or says what was expected.
pub fn read(text: &str) -> Result<Said, String> {
    let message = object(text)?;
    let word = |name: &str| message.get(name).and_then(Value::as_str);
    match (word("type"), word("kind")) {
        (Some("subscription.request" | "subscription.renegotiate"), _) => Ok(Said::Terms(message)),
        (Some("subscription.close"), _) => Ok(Said::Close),
        (Some("confirmation.reply"), _) => Ok(confirmation(&message)),
        (Some("clarification.reply"), _) => Ok(clarification(&message)),
        (None, Some("user_input")) | (Some("user_input"), _) => match word("text") {
            Some(text) => Ok(Said::Words(text.to_owned())),
            None => Err("text: expected what the user said".to_owned()),
        },
        (Some(_), _) | (None, Some(_) | None) => Ok(Said::Other),
    }
}

/// An object in which each key stands once: of two decisions, none is clear.
pub fn object(text: &str) -> Result<Map<String, Value>, String> {
    let bounds = Bounds { free_text: FREE_TEXT, ..Bounds::default() };
    match json::parse(text.as_bytes(), &bounds) {
        Ok(Value::Object(message)) => Ok(message),
        Ok(_) => Err("body: expected a JSON object".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn confirmation(message: &Map<String, Value>) -> Said {
    let word = |name: &str| message.get(name).and_then(Value::as_str);
    let decision = match word("decision") {
        Some("accept") => Decision::Accept,
        Some("reject") => Decision::Reject,
        Some(_) | None => return Said::Other,
    };
    let Some(reply_token) = word("reply_token") else { return Said::Other };
    Said::Reply(Box::new(Handshake::ConfirmationReply(ConfirmationReply {
        reply_token: reply_token.to_owned(),
        decision,
        subscription_id: String::new(),
        timestamp: word("timestamp").unwrap_or_default().to_owned(),
        decided_by: fitting(word("decided_by"), DECIDED_BY_CHARS_MAX),
        decision_rationale: fitting(word("decision_rationale"), RATIONALE_CHARS_MAX),
        // Whatever its type: an answer that asks for another action does not accept this one.
        modified_action: match message.get("modified_action") {
            None | Some(Value::Null) => None,
            Some(Value::Object(action)) => Some(action.clone()),
            Some(_) => Some(Map::new()),
        },
        correlation_id: None,
    })))
}

fn clarification(message: &Map<String, Value>) -> Said {
    let word = |name: &str| message.get(name).and_then(Value::as_str);
    let response = match message.get("response") {
        Some(Value::Bool(yes)) => Answer::Truth(*yes),
        Some(Value::Number(number)) => Answer::Number(number.clone()),
        Some(Value::String(text)) if is_fitting(text, RESPONSE_CHARS_MAX) => {
            Answer::Text(text.clone())
        }
        // An empty answer is none: the question stays open.
        Some(Value::String(_) | Value::Null | Value::Array(_) | Value::Object(_)) | None => {
            return Said::Other;
        }
    };
    let Some(reply_token) = word("reply_token") else { return Said::Other };
    Said::Reply(Box::new(Handshake::ClarificationReply(ClarificationReply {
        reply_token: reply_token.to_owned(),
        response,
        subscription_id: String::new(),
        timestamp: word("timestamp").unwrap_or_default().to_owned(),
        decided_by: fitting(word("decided_by"), DECIDED_BY_CHARS_MAX),
        confidence: None,
        correlation_id: None,
    })))
}

fn is_fitting(text: &str, chars_max: usize) -> bool {
    !is_blank(text) && text.chars().count() <= chars_max
}

fn fitting(text: Option<&str>, chars_max: usize) -> Option<String> {
    text.filter(|text| is_fitting(text, chars_max)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_meant_is_taken_and_the_rest_passed_over() {
        let kind = |text: &str| match read(text) {
            Ok(Said::Words(_)) => "words",
            Ok(Said::Reply(_)) => "reply",
            Ok(Said::Terms(_)) => "terms",
            Ok(Said::Close) => "close",
            Ok(Said::Other) => "other",
            Err(_) => "garbage",
        };
        for (text, expected) in [
            (r#"{"kind":"user_input","text":"hello"}"#, "words"),
            (r#"{"kind":"user_input","text":""}"#, "words"),
            (r#"{"type":"user_input","text":"hello"}"#, "words"),
            (r#"{"kind":"user_input"}"#, "garbage"),
            (r#"{"kind":"user_input","text":7}"#, "garbage"),
            (r#"{"type":"confirmation.reply","reply_token":"rpl_1","decision":"accept"}"#, "reply"),
            (r#"{"type":"confirmation.reply","reply_token":"rpl_1","decision":"maybe"}"#, "other"),
            (r#"{"type":"confirmation.reply","decision":"accept"}"#, "other"),
            (r#"{"type":"clarification.reply","reply_token":"rpl_1","response":"a"}"#, "reply"),
            (r#"{"type":"clarification.reply","reply_token":"rpl_1","response":false}"#, "reply"),
            (r#"{"type":"clarification.reply","reply_token":"rpl_1","response":""}"#, "other"),
            (r#"{"type":"clarification.reply","reply_token":"rpl_1","response":[]}"#, "other"),
            (r#"{"type":"subscription.request"}"#, "terms"),
            (r#"{"type":"subscription.renegotiate","subscription_id":"?"}"#, "terms"),
            (r#"{"type":"subscription.close"}"#, "close"),
            (r#"{"type":"ping"}"#, "other"),
            ("{}", "other"),
            (
                concat!(
                    r#"{"type":"confirmation.reply","reply_token":"t","#,
                    r#""decision":"reject","decision":"accept"}"#
                ),
                "garbage",
            ),
            (r#"{"kind":"user_input","text":"one","text":"two"}"#, "garbage"),
            (r#"{"kind":"user_input","text":"one","n":9007199254740993}"#, "garbage"),
            ("[]", "garbage"),
            ("\"accept\"", "garbage"),
            ("", "garbage"),
            ("{", "garbage"),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    #[test]
    fn whoever_wants_something_else_has_not_agreed() {
        let text = r#"{"type":"confirmation.reply","reply_token":"rpl_1","decision":"accept",
            "modified_action":"less"}"#;
        let Ok(Said::Reply(reply)) = read(text) else { panic!("it is a reply") };
        let Handshake::ConfirmationReply(reply) = *reply else { panic!("it is a decision") };
        assert_eq!(reply.modified_action, Some(Map::new()));
    }
}
