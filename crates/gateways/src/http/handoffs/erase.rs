//! Erases the content of one entry of a handoff.

use axum::Json;
use axum::extract::State;
use protocol::ids::HandoffId;
use protocol::json::INTEGER_MAX;
use protocol::notes::NOTES_BYTES_MAX;
use protocol::{form, step};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::handoffs::read::{detail, visible};
use crate::http::handoffs::view::HandoffDetail;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Named, Write};
use crate::http::shared::problem::Problem;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EraseInput {
    /// The entry whose content is erased, by its position in the history.
    #[schemars(transform = form::range(1, INTEGER_MAX))]
    pub position: u64,
    /// Why; kept for ever.
    #[schemars(transform = form::text(NOTES_BYTES_MAX))]
    pub reason: String,
}

/// Erases the content of one entry. The entry stays in the chain, and the erasure is recorded.
pub async fn erase(
    State(gateway): State<Gateway>,
    Named(id): Named<HandoffId>,
    write: Write<EraseInput>,
) -> Result<Json<HandoffDetail>, Problem> {
    let (write, EraseInput { position, reason }) = write.split();
    let asker = write.asker.operator()?;
    let item = visible(&gateway, &asker, id).await?;
    if !(1..=item.position).contains(&position) {
        return Err(Problem::schema_invalid(
            "position",
            "the position of an entry of this handoff",
        ));
    }
    let key = write.key.for_action("erase", Some(&id.to_string()));
    let command = step::Command::Erase { position, reason };
    gateway.engine.submit(&asker.caller, item.stream, command, Some(key)).await?;
    detail(&gateway, &asker, id).await.map(Json)
}
