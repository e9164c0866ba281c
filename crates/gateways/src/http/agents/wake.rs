//! `/v1/agents/{agent}/wake`: where an agent is called when it is sent something critical.

use axum::Json;
use axum::extract::State;
use protocol::agent::Command;
use protocol::ids::AgentId;
use protocol::wake::UrlUse;
use protocol::warning::Warning;
use protocol::{form, step};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Deserializer, Serialize};

use crate::http::agents::state::Agents;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Named, Write};
use crate::http::shared::lookup::stream;
use crate::http::shared::problem::Problem;

/// The field is required, even if it is `null`: an empty body must not remove the URL.
pub fn needs_url(schema: &mut Schema) {
    form::require(schema, "url");
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = needs_url)]
pub struct WakeInput {
    /// An http or https URL; `null` if it is not to be called.
    #[serde(deserialize_with = "given")]
    #[schemars(transform = protocol::wake::url_or_null_form)]
    pub url: Option<String>,
}

/// A field that may be `null` but must be present.
pub fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(deserializer)
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct WakeView {
    pub agent: String,
    pub url: Option<String>,
    /// The secret that signs calls, as Standard Webhooks defines it. It is always the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Why it will not be called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// What is wrong with a URL that was saved.
pub fn never_called(gateway: &Gateway, url: Option<&str>, url_use: UrlUse) -> Vec<Warning> {
    let objection = url.and_then(|url| gateway.engine.outbox().objection(url, url_use));
    objection.map(|detail| Warning::new("url", detail)).into_iter().collect()
}

pub async fn set(
    State(gateway): State<Agents>,
    Named(id): Named<AgentId>,
    write: Write<WakeInput>,
) -> Result<Json<WakeView>, Problem> {
    let (write, input) = write.split();
    let asker = write.asker.operator()?;
    let key = write.key.for_action("set_wake", Some(id.as_str()));
    let stream = stream(&asker.caller.teamspace, id.clone());
    let command = step::Command::Agent(Command::SetWake { url: input.url.clone() });
    gateway.engine.submit(&asker.caller, stream, command, Some(key)).await?;
    let wake_key = gateway.wake_key.as_ref().filter(|_| input.url.is_some());
    let secret = wake_key.map(|key| key.secret(&asker.caller.teamspace, &id).text());
    let warnings = never_called(&gateway, input.url.as_deref(), UrlUse::Call);
    Ok(Json(WakeView { agent: id.to_string(), url: input.url, secret, warnings }))
}
