//! `POST /v1/handoffs/detect`: the handoffs in the history of a model, and what its provider would
//! refuse. It reads nothing but the request and changes nothing.

use axum::Json;
use protocol::form;
use protocol::tools::check::{self, Weight};
use protocol::tools::detect::{Found, handoffs};
use protocol::tools::history::form_of;
use protocol::tools::{Form, Malformed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::http::shared::input::{Chat, FreeText};
use crate::http::shared::problem::Problem;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DetectInput {
    /// `openai`, `responses`, `anthropic` or `langchain`; found out when absent.
    #[serde(default)]
    #[schemars(transform = form::one_of(Form::ALL))]
    pub form: Option<String>,
    /// The messages, as they are sent to the provider; in `responses` the items.
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub messages: Vec<Value>,
}

/// A history has what people and models wrote.
impl FreeText for DetectInput {
    const FREE_TEXT: &'static [&'static str] = &[];
    const FREE_BELOW: &'static [&'static str] = &["messages"];
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct DetectedView {
    #[schemars(with = "String", transform = form::one_of(Form::ALL))]
    pub form: Form,
    /// Whether the provider takes the history.
    pub ok: bool,
    /// The handoffs, in their order.
    pub handoffs: Vec<Found>,
    /// What the provider refuses, or may refuse: the first 100.
    pub problems: Vec<check::Problem>,
}

pub async fn detect(Chat(write): Chat<DetectInput>) -> Result<Json<DetectedView>, Problem> {
    let DetectInput { form, messages } = write.body;
    write.asker.member()?;
    let form = form.map(|form| form.parse::<Form>()).transpose();
    let form = form.map_err(|error| malformed(&error))?.unwrap_or_else(|| form_of(&messages));
    let found = handoffs(form, &messages);
    let found = found.map_err(|error| malformed(&error.within("messages")))?;
    let problems = check::check(form, &messages);
    let ok = problems.iter().all(|problem| problem.weight != Weight::Refused);
    Ok(Json(DetectedView { form, ok, handoffs: found, problems }))
}

fn malformed(error: &Malformed) -> Problem {
    Problem::schema_invalid(&error.field, &error.expected)
}
