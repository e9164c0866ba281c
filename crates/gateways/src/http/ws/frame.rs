//! Frames as JSON: what a client asks, and how it is answered. Every frame is answered, also one
//! that cannot be read.

use axum::body::to_bytes;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use protocol::ids::{AgentId, ConversationId};
use protocol::json;
use protocol::json::Bounds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::http::shared::input::shape;
use crate::http::shared::problem::Problem;
use crate::http::ws::command::Command;

/// An id is repeated in every answer and every event, so it must be short.
pub const ID_BYTES_MAX: usize = 64;

/// One frame of a client, as far as it could be read.
#[derive(Debug)]
pub struct Frame {
    /// Repeated in the answer.
    pub id: Option<String>,
    pub asks: Result<Asks, Problem>,
}

#[derive(Debug)]
pub enum Asks {
    Command(Box<Command>),
    Subscribe(Subscribe),
    Unsubscribe(Unsubscribe),
    Typing(TypingInput),
    Ping,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subscribe {
    /// Resume after this cursor; 0 is the beginning. Without it, start now.
    #[serde(default)]
    pub after: Option<After>,
    #[serde(default)]
    pub conversation: Option<String>,
    #[serde(default)]
    pub kind: Option<String>,
    #[serde(default)]
    pub agent: Option<AgentId>,
}

/// A cursor, or a number as operators of the whole server may give one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a cursor, or 0 for the beginning")]
pub enum After {
    Cursor(String),
    Number(u64),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unsubscribe {
    /// The id of the frame that subscribed.
    pub of: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TypingInput {
    /// A customer may leave it out, because they have only one.
    #[serde(default)]
    pub conversation: Option<String>,
    #[serde(default = "yes")]
    pub on: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CallInput {
    #[serde(default)]
    with: Map<String, Value>,
    #[serde(default)]
    body: Option<Map<String, Value>>,
    #[serde(default)]
    key: Option<String>,
}

/// How chat clients that use the word session choose an agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct SelectInput {
    session_id: String,
    agent_id: String,
    #[serde(default)]
    key: Option<String>,
}

pub fn read(text: &str, bounds: &Bounds) -> Frame {
    let nameless = |problem| Frame { id: None, asks: Err(problem) };
    // The operation decides whose texts are kept as they were sent.
    let bounds = Bounds { free_text: &["text", "reason", "words", "note", "comment"], ..*bounds };
    let mut fields = match json::parse(text.as_bytes(), &bounds) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) => return nameless(Problem::schema_invalid("body", "a JSON object")),
        Err(error) => return nameless(error.into()),
    };
    let id = match fields.remove("id") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) if (1..=ID_BYTES_MAX).contains(&id.len()) => Some(id),
        Some(_) => return nameless(Problem::schema_invalid("id", "1 to 64 bytes of text")),
    };
    Frame { id, asks: asks(fields) }
}

fn asks(mut fields: Map<String, Value>) -> Result<Asks, Problem> {
    let named = (fields.remove("do"), fields.remove("type"));
    let rest = Value::Object(fields);
    match named {
        (Some(Value::String(name)), None) => match name.as_str() {
            "subscribe" => shape(rest).map(Asks::Subscribe),
            "unsubscribe" => shape(rest).map(Asks::Unsubscribe),
            "typing" => shape(rest).map(Asks::Typing),
            "ping" => shape::<Nothing>(rest).map(|_| Asks::Ping),
            name => {
                let CallInput { with, body, key } = shape(rest)?;
                Command::new(name, with, body, key).map(Box::new).map(Asks::Command)
            }
        },
        (None, Some(Value::String(kind))) if is_selection(&kind) => {
            let SelectInput { session_id, agent_id, key } = shape(rest)?;
            Command::select(session_id, agent_id, key).map(Box::new).map(Asks::Command)
        }
        (None, Some(_)) => Err(Problem::schema_invalid("type", "`select_agent` or `agent:select`")),
        (_, _) => Err(Problem::schema_invalid("do", "the name of an operation, or `type`")),
    }
}

fn is_selection(kind: &str) -> bool {
    ["select_agent", "agent:select"].contains(&kind)
}

/// An id that does not parse names nothing.
pub fn conversation_id(text: &str) -> Result<ConversationId, Problem> {
    text.parse().map_err(|_| Problem::not_found("conversation"))
}

#[derive(Serialize)]
struct Answer<'a> {
    re: Option<&'a str>,
    status: u16,
    /// How long to wait, in seconds, like the HTTP header of that name.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
    body: Body<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Body<'a> {
    Json(&'a RawValue),
    Text(&'a str),
}

/// The answer to a frame, in the form of the HTTP API.
pub async fn answer(id: Option<&str>, response: Response) -> String {
    let status = response.status().as_u16();
    let retry_after = response.headers().get(header::RETRY_AFTER);
    let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap_or_default();
    let text = std::str::from_utf8(&bytes).unwrap_or_default();
    let body = match serde_json::from_str(text) {
        Ok(json) => Body::Json(json),
        Err(_) => Body::Text(text),
    };
    let answer = Answer { re: id, status, retry_after, body };
    serde_json::to_string(&answer).expect("an answer is plain data")
}

pub async fn refusal(id: Option<&str>, problem: Problem) -> String {
    answer(id, problem.into_response()).await
}

pub async fn done(id: Option<&str>, body: Value) -> String {
    answer(id, (StatusCode::OK, axum::Json(body)).into_response()).await
}
