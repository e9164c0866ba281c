//! `/v1/acp/messages/purge`: an operator takes old messages out of every mailbox.

use axum::Json;
use axum::extract::State;
use protocol::form;
use protocol::notes::NOTES_BYTES_MAX;
use protocol::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::Write;
use crate::http::shared::problem::Problem;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PurgeInput {
    /// Messages that were sent before this time.
    pub before: Time,
    /// Why, for the record.
    #[schemars(transform = form::text(NOTES_BYTES_MAX))]
    pub reason: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct PurgeView {
    /// At most 200.
    pub purged: usize,
    /// Whether there is more to purge: repeat the request.
    pub has_more: bool,
}

pub async fn purge(
    State(gateway): State<Gateway>,
    write: Write<PurgeInput>,
) -> Result<Json<PurgeView>, Problem> {
    let (write, input) = write.split();
    let asker = write.asker.operator()?;
    let purged = gateway.engine.ledger().purge(&asker.caller, input.before, &input.reason).await?;
    Ok(Json(PurgeView { purged: purged.n_purged, has_more: purged.has_more }))
}
