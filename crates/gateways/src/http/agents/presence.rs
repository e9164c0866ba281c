//! `/v1/agents/{agent}/presence` and `/endpoint`: whether a human is there, and where turns of a
//! conversation reach a worker.

use axum::Json;
use axum::extract::State;
use protocol::agent::{Command, Presence};
use protocol::ids::AgentId;
use protocol::step;
use protocol::tools::history_form::HistoryForm;
use protocol::wake::UrlUse;
use protocol::warning::Warning;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::agents::directory::read;
use crate::http::agents::state::Agents;
use crate::http::agents::view::AgentView;
use crate::http::agents::wake::{given, needs_url, never_called};
use crate::http::shared::input::{Named, Write};
use crate::http::shared::lookup::stream;
use crate::http::shared::problem::Problem;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PresenceInput {
    /// Without a connection it counts for 15 minutes; saying it again renews it.
    pub presence: Presence,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = needs_url)]
pub struct EndpointInput {
    /// An http or https URL; `null` if turns do not reach it.
    #[serde(deserialize_with = "given")]
    #[schemars(transform = protocol::wake::url_or_null_form)]
    pub url: Option<String>,
    /// The form in which the history of the conversation goes along with each turn; it does not
    /// when absent.
    #[serde(default)]
    pub history: Option<HistoryForm>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct EndpointView {
    #[serde(flatten)]
    pub agent: AgentView,
    /// The secret that signs turns, as Standard Webhooks defines it. It is always the same, also
    /// for calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Why turns will not reach it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

pub async fn set(
    State(gateway): State<Agents>,
    Named(id): Named<AgentId>,
    write: Write<PresenceInput>,
) -> Result<Json<AgentView>, Problem> {
    let (write, input) = write.split();
    let asker = write.asker.member()?;
    let key = write.key.for_action("set_presence", Some(id.as_str()));
    let stream = stream(&asker.caller.teamspace, id.clone());
    let command = step::Command::Agent(Command::SetPresence { presence: input.presence });
    gateway.engine.submit(&asker.caller, stream, command, Some(key)).await?;
    read(&gateway, &asker.caller, id).await.map(Json)
}

pub async fn set_endpoint(
    State(gateway): State<Agents>,
    Named(id): Named<AgentId>,
    write: Write<EndpointInput>,
) -> Result<Json<EndpointView>, Problem> {
    let (write, input) = write.split();
    let asker = write.asker.operator()?;
    let key = write.key.for_action("set_endpoint", Some(id.as_str()));
    let stream = stream(&asker.caller.teamspace, id.clone());
    let EndpointInput { url, history } = input;
    let is_reached = url.is_some();
    let warnings = never_called(&gateway, url.as_deref(), UrlUse::Turns);
    let command = step::Command::Agent(Command::SetEndpoint { url, history });
    gateway.engine.submit(&asker.caller, stream, command, Some(key)).await?;
    let agent = read(&gateway, &asker.caller, id.clone()).await?;
    let wake_key = gateway.wake_key.as_ref().filter(|_| is_reached);
    let secret = wake_key.map(|key| key.secret(&asker.caller.teamspace, &id).text());
    Ok(Json(EndpointView { agent, secret, warnings }))
}
