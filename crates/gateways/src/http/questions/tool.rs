//! The tool `ask_human` of a model, and its calls.

use axum::Json;
use axum::extract::State;
use engine::road::submit::{Key, SubmitError};
use protocol::ids::AgentId;
use protocol::question::{
    Ask, Command, Question, REFERENCE_BYTES_MAX, Status, TIMEOUT_MAX, TIMEOUT_MIN, WORKERS_MAX,
};
use protocol::time::Span;
use protocol::tools::ask::{ASK_HUMAN, AskCall, AskResult, TurnCall, answers, asks, told, tool};
use protocol::tools::definitions::Dialect;
use protocol::tools::{Form, Malformed};
use protocol::{canonical, form, step};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::lifecycle::{asked, stream};
use crate::http::conversations::by_tools::Format;
use crate::http::shared::auth::Asker;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{QueryParameters, Write, shape};
use crate::http::shared::problem::Problem;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolInput {
    /// `openai` when absent.
    #[serde(default)]
    pub format: Option<Format>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ToolView {
    #[schemars(with = "Map<String, Value>")]
    pub tool: Value,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCallsInput {
    /// `openai`, `responses`, `anthropic` or `langchain`.
    #[schemars(transform = form::one_of(Form::ALL))]
    pub form: String,
    /// The assistant's message with the calls. In `responses`: the response, or an object with
    /// its `output`.
    #[schemars(with = "Map<String, Value>")]
    pub turn: Value,
    /// What waits: the run, the thread or the conversation of these calls. The same call with
    /// another reference is another question.
    #[schemars(transform = form::line(REFERENCE_BYTES_MAX))]
    pub reference: String,
    /// The person or the queue for calls that name none.
    #[serde(default)]
    pub to: Option<AgentId>,
    /// How long an answer counts: a day if it is left out, at most 30 days.
    #[serde(default)]
    #[schemars(transform = form::span(TIMEOUT_MIN, TIMEOUT_MAX))]
    pub timeout: Option<Span>,
    /// Agents besides the asker that may claim the continuation.
    #[serde(default)]
    #[schemars(transform = form::items(0, WORKERS_MAX))]
    pub workers: Vec<AgentId>,
}

/// The fields of a question that are the program's: a model cannot mend them.
const OF_PROGRAM: [&str; 3] = ["reference", "timeout", "workers"];

#[derive(Debug, Serialize, JsonSchema)]
pub struct ToolCallsView {
    /// Results for the calls that are settled, to be appended to the history.
    pub messages: Vec<Value>,
    /// Each call, in the order of the turn.
    pub calls: Vec<ToolCallView>,
    /// The ids of the calls that have no result in `messages`. One with a question waits for a
    /// human: send the turn again later. Each other one is of a tool that your program runs.
    pub waiting: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ToolCallView {
    pub call_id: String,
    pub name: String,
    pub outcome: ToolCallOutcome,
    /// The question that it asks; a refused call and one of another tool have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Why it asks nothing; its message tells the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ToolCallOutcome {
    /// A message has what came of the question.
    Answered,
    /// A message says why it asks nothing.
    Refused,
    /// There is no result yet: a human answers, or your program runs the tool.
    Waiting,
}

pub async fn definition(
    State(_): State<Gateway>,
    asker: Asker,
    QueryParameters(input): QueryParameters<ToolInput>,
) -> Result<Json<ToolView>, Problem> {
    asker.member()?;
    let dialect = match input.format.unwrap_or_default() {
        Format::OpenAi => Dialect::OpenAi,
        Format::Responses => Dialect::Responses,
        Format::Anthropic => Dialect::Anthropic,
        Format::Mcp => Dialect::Mcp,
        Format::JsonSchema => Dialect::JsonSchema,
    };
    Ok(Json(ToolView { tool: tool().render(dialect) }))
}

/// Asks each call once, whatever key the request has: its idempotency key follows from the
/// reference, the id of the call and its arguments. Providers may number calls anew.
pub async fn called(
    State(gateway): State<Gateway>,
    write: Write<ToolCallsInput>,
) -> Result<Json<ToolCallsView>, Problem> {
    let (write, input) = write.split();
    let asker = write.asker.member()?;
    let form: Form = input.form.parse().map_err(|error| malformed(&error))?;
    let found = asks(form, &input.turn).map_err(|error| malformed(&error.within("turn")))?;
    let (mut calls, mut results, mut waiting) = (Vec::new(), Vec::new(), Vec::new());
    for call in found {
        let call = match call {
            TurnCall::Ask(call) => call,
            TurnCall::Other { call_id, name } => {
                waiting.push(call_id.clone());
                calls.push(ToolCallView::waiting(call_id, name));
                continue;
            }
        };
        let call_id = call.call_id.clone();
        let none = ToolCallView::waiting(call_id.clone(), ASK_HUMAN.to_owned());
        let (view, text, is_error) = match ask(&gateway, &asker, call, &input).await? {
            Ok(question) => {
                let (id, status) = (Some(question.id.to_string()), Some(question.status()));
                let view = ToolCallView { question_id: id, status, ..none };
                (view, told(&question), false)
            }
            Err(error) => {
                let said = format!("Cannot ask: {error}");
                (ToolCallView { error: Some(error), ..none }, Some(said), true)
            }
        };
        match text {
            Some(text) => {
                let outcome = match is_error {
                    true => ToolCallOutcome::Refused,
                    false => ToolCallOutcome::Answered,
                };
                calls.push(ToolCallView { outcome, ..view });
                results.push(AskResult { call_id, text, is_error });
            }
            None => {
                calls.push(view);
                waiting.push(call_id);
            }
        }
    }
    let messages = answers(form, &input.turn, &results);
    Ok(Json(ToolCallsView { messages, calls, waiting }))
}

impl ToolCallView {
    /// A call without a result.
    fn waiting(call_id: String, name: String) -> Self {
        let outcome = ToolCallOutcome::Waiting;
        Self { call_id, name, outcome, question_id: None, status: None, error: None }
    }
}

/// The question of a call, or why it asks nothing, in words for the model.
async fn ask(
    gateway: &Gateway,
    asker: &Asker,
    call: AskCall,
    input: &ToolCallsInput,
) -> Result<Result<Question, String>, Problem> {
    let fields = match call.arguments {
        Ok(fields) => Value::Object(fields),
        Err(malformed) => return Ok(Err(malformed.to_string())),
    };
    let key = key(&input.reference, &call.call_id, &fields);
    let mut ask: Ask = match shape(fields) {
        Ok(ask) => ask,
        Err(problem) => return Ok(Err(problem.detail)),
    };
    ask.to = ask.to.or_else(|| input.to.clone());
    ask.reference = Some(input.reference.clone());
    (ask.timeout, ask.workers) = (input.timeout, input.workers.clone());
    let stream = stream(&asker.caller.teamspace, gateway.engine.new_question_id());
    let command = step::Command::Question(Command::Ask(Box::new(ask)));
    match gateway.engine.submit_new(&asker.caller, stream, command, Some(key)).await {
        Ok(done) => asked(gateway, asker, &done).await.map(Ok),
        // A quota, or a caller that may not ask at all, is not for the model.
        Err(SubmitError::Rejected(rejection)) => {
            let is_of_model = rejection.field().is_some_and(|it| !OF_PROGRAM.contains(&it));
            match rejection.code() {
                "quota_full" | "quota_reached" | "body_too_large" => Err(rejection.into()),
                _ if is_of_model => Ok(Err(rejection.to_string())),
                _ => Err(rejection.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// The key of a call. Its text holds all that makes the call another one, so nothing is refused as
/// a key that was used for another request.
fn key(reference: &str, call_id: &str, fields: &Value) -> Key {
    let call = canonical::canonical(&json!([reference, call_id, fields]));
    let fingerprint = canonical::sha256(&[ASK_HUMAN.as_bytes(), b"\n", call.as_bytes()]);
    Key { text: format!("{ASK_HUMAN}/{}", canonical::hex(&fingerprint)), fingerprint }
}

fn malformed(error: &Malformed) -> Problem {
    Problem::schema_invalid(&error.field, &error.expected)
}
