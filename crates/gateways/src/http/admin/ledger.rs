//! `/v1/ledger`: operations on the ledger as a whole, for operators.

use axum::Json;
use axum::extract::State;
use engine::ledger::behind::Doubt;
use protocol::caller::Caller;
use protocol::form;
use protocol::ids::TeamspaceId;
use protocol::notes::NOTES_BYTES_MAX;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::Write;
use crate::http::shared::problem::Problem;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForkInput {
    /// Why the ledger goes on without the lost entries.
    #[schemars(transform = form::text(NOTES_BYTES_MAX))]
    pub reason: String,
}

/// The result of declaring a fork.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ForkView {
    /// False when the ledger is not behind a checkpoint, so that there was nothing to declare.
    pub declared: bool,
    /// How many entries there were before the declaration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger_size: Option<u64>,
    /// How many entries the lost checkpoint vouches for; absent if no checkpoint says whether any
    /// were lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_size: Option<u64>,
}

/// The ledger holds every teamspace, so this is for operators of the whole server.
pub async fn fork(
    State(gateway): State<Gateway>,
    write: Write<ForkInput>,
) -> Result<Json<ForkView>, Problem> {
    let (write, ForkInput { reason }) = write.split();
    let asker = write.asker.operator()?.server_operator()?;
    let caller = Caller { teamspace: TeamspaceId::default_teamspace(), ..asker.caller };
    let key = write.key.for_action("fork", None);
    let behind = gateway.engine.ledger().declare_fork(&caller, &reason, Some(key)).await?;
    Ok(Json(ForkView {
        declared: behind.is_some(),
        ledger_size: behind.map(|behind| behind.ledger_size),
        lost_size: behind.and_then(|behind| match behind.doubt {
            Doubt::Lost => Some(behind.lost.size),
            Doubt::NoWitness | Doubt::Unreached | Doubt::Foreign => None,
        }),
    }))
}
