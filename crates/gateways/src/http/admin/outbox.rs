//! `/v1/outbox`: effects that are not done yet, and retrying those that were given up.

use axum::Json;
use axum::extract::State;
use engine::ports::outbox::{OutboxList, Outstanding};
use protocol::ledger::Subject;
use protocol::step::Effect;
use protocol::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::shared::auth::Asker;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{QueryParameters, Write};
use crate::http::shared::problem::Problem;

/// An effect that is not done yet.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EffectView {
    pub stream: String,
    pub effect: String,
    pub state: EffectState,
    /// When it is tried next; `null` when it was given up.
    pub due_at: Option<String>,
    pub attempts: u32,
    /// What went wrong last.
    pub error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EffectState {
    Running,
    Waiting,
    /// It failed too often, and waits to be revived.
    GivenUp,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutboxInput {
    /// `given_up` for the effects that failed too often; all without it.
    #[serde(default)]
    pub state: Option<OnlyGivenUp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnlyGivenUp {
    GivenUp,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviveInput {
    /// All that were given up without it.
    #[serde(default)]
    pub only: Option<NamedEffect>,
}

/// One effect, as the list shows it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedEffect {
    pub stream: String,
    pub effect: String,
}

/// The first effects that are not done yet.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OutboxView {
    pub items: Vec<EffectView>,
}

pub async fn list(
    State(gateway): State<Gateway>,
    asker: Asker,
    QueryParameters(input): QueryParameters<OutboxInput>,
) -> Result<Json<OutboxView>, Problem> {
    let asker = asker.operator()?;
    let list = input.state.map_or(OutboxList::All, |OnlyGivenUp::GivenUp| OutboxList::GivenUp);
    read(&gateway, &asker, list).await.map(Json)
}

pub async fn revive(
    State(gateway): State<Gateway>,
    write: Write<ReviveInput>,
) -> Result<Json<OutboxView>, Problem> {
    let (write, input) = write.split();
    let asker = write.asker.operator()?;
    let only = match input.only {
        Some(NamedEffect { stream, effect }) => {
            let subject = stream.parse::<Subject>().map_err(|_| Problem::not_found("effect"))?;
            Some((subject, Effect { name: effect.into() }))
        }
        None => None,
    };
    gateway.engine.outbox().revive_outbox(&asker.caller.teamspace, only).await?;
    read(&gateway, &asker, OutboxList::All).await.map(Json)
}

async fn read(gateway: &Gateway, asker: &Asker, list: OutboxList) -> Result<OutboxView, Problem> {
    let teamspace = &asker.caller.teamspace;
    let outstanding = gateway.engine.outbox().outstanding(teamspace, list).await?;
    let now = gateway.engine.clock().now();
    Ok(OutboxView { items: outstanding.into_iter().map(|one| view(one, now)).collect() })
}

fn view(one: Outstanding, now: Time) -> EffectView {
    let state = match one.due {
        None => EffectState::GivenUp,
        Some(_) if one.leased_until > now => EffectState::Running,
        Some(_) => EffectState::Waiting,
    };
    EffectView {
        state,
        stream: one.stream.subject.to_string(),
        effect: one.effect.name.into_owned(),
        due_at: one.due.map(|due| due.to_string()),
        attempts: one.attempts,
        error: one.error.filter(|error| !error.is_empty()),
    }
}
