//! `/v1/conversations/{conversation}/history`: what was said, as the history of a model.

use axum::Json;
use axum::extract::State;
use protocol::ids::ConversationId;
use protocol::tools::history_form::HistoryForm;
use protocol::tools::transcript::HISTORY_LINES_MAX;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::http::conversations::access::{conversation_of, visible};
use crate::http::shared::auth::Asker;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Named, QueryParameters};
use crate::http::shared::paging::parse_limit;
use crate::http::shared::problem::Problem;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistoryInput {
    /// `openai` when absent.
    #[serde(default)]
    pub form: Option<HistoryForm>,
    /// The most lines of the transcript, 1 to 200; 200 when absent.
    #[serde(default)]
    pub limit: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct HistoryView {
    pub conversation_id: String,
    pub form: HistoryForm,
    /// What the provider takes as `messages`, as `input` (`responses`) or as `contents` (`gemini`).
    pub messages: Vec<Value>,
    /// How many messages at the beginning of the conversation are left out.
    pub left_out: u64,
    /// The number of the last message that the history covers; 0 for none.
    pub through: u64,
    /// The number of the customer's last message, if it waits for an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<u64>,
    /// Who holds the conversation, and in which epoch.
    pub holder: String,
    pub epoch: u64,
}

pub async fn history(
    State(gateway): State<Gateway>,
    asker: Asker,
    Named(id): Named<ConversationId>,
    QueryParameters(input): QueryParameters<HistoryInput>,
) -> Result<Json<HistoryView>, Problem> {
    let caller = asker.member()?.caller;
    let form = input.form.unwrap_or_default();
    let limit = match input.limit {
        Some(limit) => parse_limit(Some(&limit))?,
        None => HISTORY_LINES_MAX,
    };
    let item = visible(&gateway, &caller, id).await?;
    let conversation = conversation_of(&item)?;
    let through = conversation.transcript.count;
    let read = gateway.engine.read();
    let history = read.model_history(&item.stream, id, through, form, limit).await?;
    Ok(Json(HistoryView {
        conversation_id: id.to_string(),
        form,
        messages: history.messages,
        left_out: history.n_left_out,
        through: history.through,
        unanswered: conversation.unanswered(),
        holder: conversation.holder.to_string(),
        epoch: conversation.epoch,
    }))
}
