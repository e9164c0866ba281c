//! `/v1/outbox`: effects that are not done yet, and retrying those that were given up.

use axum::Json;
use axum::extract::State;
use engine::ports::outbox::Outstanding;
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::shared::auth::Asker;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Nothing, Write};
use crate::http::shared::problem::Problem;

/// An effect that is not done yet.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EffectView {
    pub stream: String,
    pub effect: String,
    /// When it is tried next; `null` when it was given up.
    pub due_at: Option<String>,
    pub attempts: u32,
    /// What went wrong last.
    pub error: Option<String>,
}

/// The first effects that are not done yet.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OutboxView {
    pub items: Vec<EffectView>,
}

pub async fn list(
    State(gateway): State<Gateway>,
    asker: Asker,
) -> Result<Json<OutboxView>, Problem> {
    let asker = asker.operator()?;
    read(&gateway, &asker).await.map(Json)
}

pub async fn revive(
    State(gateway): State<Gateway>,
    write: Write<Nothing>,
) -> Result<Json<OutboxView>, Problem> {
    let (write, _) = write.split();
    let asker = write.asker.operator()?;
    gateway.engine.outbox().revive_outbox(&asker.caller.teamspace).await?;
    read(&gateway, &asker).await.map(Json)
}

async fn read(gateway: &Gateway, asker: &Asker) -> Result<OutboxView, Problem> {
    let teamspace = &asker.caller.teamspace;
    let outstanding = gateway.engine.outbox().outstanding(teamspace).await?;
    Ok(OutboxView { items: outstanding.into_iter().map(view).collect() })
}

fn view(one: Outstanding) -> EffectView {
    EffectView {
        stream: one.stream.subject.to_string(),
        effect: one.effect.name.into_owned(),
        due_at: one.due.map(|due| due.to_string()),
        attempts: one.attempts,
        error: one.error.filter(|error| !error.is_empty()),
    }
}
