//! A command on a socket: an operation of the API, whose answer becomes a frame.

use axum::Router;
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::frame;
use crate::http::call::{Call, Identity};
use crate::http::shared::problem::Problem;

/// Names are at most this long; a longer one is not repeated in the error.
const NAME_SHOWN_BYTES_MAX: usize = 64;

/// One command that is being run.
#[derive(Debug)]
pub struct Command {
    call: Call,
    form: Form,
}

/// The form of the answer.
#[derive(Debug)]
enum Form {
    Native,
    /// `agent_changed` or `error`, for this agent.
    Selection(String),
}

impl Command {
    /// `with` has the parameters of the path, and those of the query.
    pub fn new(
        name: &str,
        with: Map<String, Value>,
        body: Option<Map<String, Value>>,
        key: Option<String>,
    ) -> Result<Self, Problem> {
        Ok(Self { call: Call::new(name, with, body, key)?, form: Form::Native })
    }

    /// A customer's choice of an agent.
    pub fn select(session: String, agent: String, key: Option<String>) -> Result<Self, Problem> {
        let with = Map::from_iter([("conversation".to_owned(), Value::String(session))]);
        let body = Map::from_iter([("agent_id".to_owned(), Value::String(agent.clone()))]);
        let call = Call::new("select_agent", with, Some(body), key)?;
        Ok(Self { call, form: Form::Selection(agent) })
    }

    /// Runs the command, and returns the frame with the answer.
    pub async fn run(self, id: Option<String>, operations: Router, who: Identity) -> String {
        let response = self.call.run(operations, who).await;
        match self.form {
            Form::Native => frame::answer(id.as_deref(), response).await,
            Form::Selection(agent) => selected(id.as_deref(), &agent, response).await,
        }
    }
}

/// `agent_changed`, or `error` with the sentences that chat clients know.
async fn selected(id: Option<&str>, agent: &str, response: Response) -> String {
    let is_done = response.status().is_success();
    let answer: Value = serde_json::from_str(&frame::answer(id, response).await)
        .expect("an answer was made from plain data");
    let body = &answer["body"];
    let mut frame = match is_done {
        true => body.clone(),
        false => json!({ "message": sentence(agent, body), "code": body["code"] }),
    };
    frame["type"] = json!(if is_done { "agent_changed" } else { "error" });
    if let Some(id) = id {
        frame["re"] = json!(id);
    }
    frame.to_string()
}

fn sentence(agent: &str, problem: &Value) -> String {
    let is_short = agent.len() <= NAME_SHOWN_BYTES_MAX;
    let is_no_name = problem["code"] == "schema_invalid" && problem["field"] == "agent_id";
    match problem["code"].as_str().unwrap_or_default() {
        "unknown_agent" if is_short => format!("Unknown agent: {agent}"),
        "schema_invalid" if is_no_name && is_short => format!("Unknown agent: {agent}"),
        "agent_not_selectable" => format!("Agent {agent} is not user-selectable"),
        _ => problem["detail"].as_str().unwrap_or_default().to_owned(),
    }
}
