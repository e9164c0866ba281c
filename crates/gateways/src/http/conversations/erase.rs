//! Erasing the content of one entry of a conversation, or of all. Only operators may; a customer
//! asks them.

use axum::Json;
use axum::extract::State;
use protocol::ids::ConversationId;
use protocol::json::INTEGER_MAX;
use protocol::notes::NOTES_BYTES_MAX;
use protocol::{form, step};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::conversations::access::{reader, visible};
use crate::http::conversations::view::{ConversationView, view};
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Named, Write};
use crate::http::shared::problem::Problem;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EraseConversationInput {
    /// The entry whose content is erased. Without it all are erased, and the conversation is
    /// closed.
    #[serde(default)]
    #[schemars(transform = form::range(1, INTEGER_MAX))]
    pub position: Option<u64>,
    /// Why; kept for ever.
    #[schemars(transform = form::text(NOTES_BYTES_MAX))]
    pub reason: String,
}

/// The conversation, as it is now.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ErasedView {
    #[serde(flatten)]
    pub conversation: ConversationView,
    /// How many entries were erased, at most 200.
    pub erased: usize,
    /// Whether there is more to erase: repeat the request.
    pub has_more: bool,
}

pub async fn erase(
    State(gateway): State<Gateway>,
    Named(id): Named<ConversationId>,
    write: Write<EraseConversationInput>,
) -> Result<Json<ErasedView>, Problem> {
    let (write, EraseConversationInput { position, reason }) = write.split();
    let caller = write.asker.operator()?.caller;
    let item = visible(&gateway, &caller, id).await?;
    let (erased, has_more) = match position {
        Some(position) => {
            if !(1..=item.position).contains(&position) {
                let expected = "the position of an entry of this conversation";
                return Err(Problem::schema_invalid("position", expected));
            }
            let key = write.key.for_action("erase", Some(&id.to_string()));
            let command = step::Command::Erase { position, reason };
            gateway.engine.submit(&caller, item.stream, command, Some(key)).await?;
            (1, false)
        }
        None => {
            let all =
                gateway.engine.ledger().erase_conversation(&caller, &item.stream, &reason).await?;
            (all.n_erased, all.has_more)
        }
    };
    let item = visible(&gateway, &caller, id).await?;
    let conversation = view(&gateway, reader(&gateway, &caller).await?, &item).await?;
    Ok(Json(ErasedView { conversation, erased, has_more }))
}
