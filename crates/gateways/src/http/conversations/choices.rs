//! `/v1/conversations/{conversation}/agents`: the agents that the customer may choose.

use axum::Json;
use axum::extract::State;
use engine::ports::store::ListOf;
use protocol::agent::{Agent, AgentIdentity};
use protocol::ids::ConversationId;
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::conversations::access::{conversation_of, visible};
use crate::http::shared::auth::Asker;
use crate::http::shared::cursors;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Named, QueryParameters};
use crate::http::shared::paging::{ListPage, PageInput, parse_limit};
use crate::http::shared::problem::Problem;

/// An agent that the customer may choose.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChoiceView {
    #[serde(flatten)]
    pub agent: AgentIdentity,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub languages: Vec<String>,
    /// Whether it answers now.
    pub holds: bool,
}

/// A page is filtered after it is read, like a page of the directory.
pub async fn list(
    State(gateway): State<Gateway>,
    asker: Asker,
    Named(id): Named<ConversationId>,
    QueryParameters(input): QueryParameters<PageInput>,
) -> Result<Json<ListPage<ChoiceView>>, Problem> {
    let caller = &asker.caller;
    let item = visible(&gateway, caller, id).await?;
    let conversation = conversation_of(&item)?;
    let holder = &conversation.holder;
    let limit = parse_limit(input.limit.as_deref())?;
    let before = cursors::row_before(&gateway, caller, "choices", input.cursor.as_deref())?;
    // No agent can be chosen while people have it, and after the end.
    if conversation.closed.is_some() || conversation.open_transfer().is_some() {
        return Ok(Json(ListPage { items: Vec::new(), next_cursor: None }));
    }
    let page = gateway.engine.read().list(&caller.teamspace, ListOf::Agents, before, limit).await?;
    let agents = page.items.iter().filter_map(|item| item.state.as_agent());
    let is_choice = |agent: &&Agent| agent.is_target() && agent.profile.user_selectable;
    let choices = agents.filter(is_choice).map(|agent| ChoiceView {
        agent: agent.identity(),
        languages: agent.profile.languages.clone(),
        holds: agent.id == *holder,
    });
    Ok(Json(ListPage {
        items: choices.collect(),
        next_cursor: cursors::next_row(&gateway, caller, "choices", page.next),
    }))
}
