//! `/v1/conversations`: a chat with a customer, in the hands of one agent at a time. A customer's
//! token is valid for their own conversation only.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use engine::ports::store::{ConversationFilter, ListOf};
use engine::road::submit::Done;
use protocol::agent::AgentIdentity;
use protocol::conversation::command::{Open, Route, Say};
use protocol::conversation::event::How;
use protocol::conversation::{Command, Status};
use protocol::ids::{AgentId, ConversationId};
use protocol::json::INTEGER_MAX;
use protocol::notes::NOTES_BYTES_MAX;
use protocol::visibility::details::{Listed, listed_conversations, may_issue_customer_token};
use protocol::warning::Warning;
use protocol::{form, step};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::admin::token_view::TokenIssued;
use crate::http::admin::tokens;
use crate::http::conversations::access::{conversation_of, reader, stream, submit, visible};
use crate::http::conversations::view::{ConversationView, view};
use crate::http::shared::auth::Asker;
use crate::http::shared::cursors;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Chat, FreeText, Named, Nothing, QueryParameters, Write};
use crate::http::shared::lookup::identity;
use crate::http::shared::paging::{ListPage, parse_limit};
use crate::http::shared::problem::Problem;

/// A new conversation. The token is shown here and never again.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConversationOpened {
    #[serde(flatten)]
    pub conversation: ConversationView,
    pub customer_token: String,
    pub customer_token_id: String,
    /// What was saved but does not work at present.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// The result of a message or of a route.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Taken {
    pub conversation_id: String,
    /// Its place in the transcript, or that of its first message; 0 if it added none.
    pub number: u64,
    /// Who holds the conversation now, and in which epoch.
    pub holder: String,
    pub epoch: u64,
    /// The transfer that asked for a person, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_id: Option<String>,
    /// The intended agent, if the loop guard sent the conversation to `holder` instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<String>,
}

/// Who answers now.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentChanged {
    pub session_id: String,
    pub current_agent: AgentIdentity,
    pub handoff_type: How,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListInput {
    #[serde(default)]
    pub holder: Option<AgentId>,
    /// Only conversations that this person is asked to join, or in which it advises.
    #[serde(default)]
    pub asked: Option<AgentId>,
    #[serde(default)]
    pub status: Option<Status>,
    /// The most items in a page, 1 to 200.
    #[serde(default)]
    pub limit: Option<String>,
    /// `next_cursor` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SelectInput {
    pub agent_id: AgentId,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CloseInput {
    #[serde(default)]
    #[schemars(transform = form::bytes(NOTES_BYTES_MAX))]
    pub reason: Option<String>,
}

/// A sign of work. It needs no `Idempotency-Key` to be repeated: only some signs are recorded.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgressInput {
    /// The epoch in which the holder works; the current one when absent.
    #[serde(default)]
    #[schemars(transform = form::range(1, INTEGER_MAX))]
    pub epoch: Option<u64>,
}

impl FreeText for CloseInput {
    const FREE_TEXT: &'static [&'static str] = &["reason"];
}

pub async fn open(
    State(gateway): State<Gateway>,
    write: Write<Open>,
) -> Result<(StatusCode, Json<ConversationOpened>), Problem> {
    let (write, open) = write.split();
    let caller = write.asker.member()?.caller;
    let key = write.key.for_action("open_conversation", None);
    let new = stream(&caller.teamspace, gateway.engine.new_conversation_id());
    let command = step::Command::Conversation(Command::Open(Box::new(open)));
    let done = gateway.engine.submit_new(&caller, new, command, Some(key)).await?;
    // A retry is answered with the conversation that was opened then, and with a token of its own.
    let id = done.subject.strip_prefix("conversation/").and_then(|id| id.parse().ok());
    let id = id.ok_or_else(|| Problem::not_found("conversation"))?;
    let item = visible(&gateway, &caller, id).await?;
    let conversation = view(&gateway, reader(&gateway, &caller).await?, &item).await?;
    let issued = tokens::issue_to_customer(&gateway, &caller.teamspace, id).await?;
    let TokenIssued { token: customer_token, token_id: customer_token_id } = issued;
    let warnings = done.outcome.warnings;
    let opened = ConversationOpened { conversation, customer_token, customer_token_id, warnings };
    Ok((StatusCode::CREATED, Json(opened)))
}

pub async fn mint(
    State(gateway): State<Gateway>,
    Named(id): Named<ConversationId>,
    write: Write<Nothing>,
) -> Result<(StatusCode, Json<TokenIssued>), Problem> {
    let caller = write.asker.member()?.caller;
    let item = visible(&gateway, &caller, id).await?;
    if !may_issue_customer_token(&caller, conversation_of(&item)?) {
        let detail = "only the member that opened the conversation, or an operator, may do this";
        return Err(Problem::new("not_allowed", detail));
    }
    let issued = tokens::issue_to_customer(&gateway, &caller.teamspace, id).await?;
    Ok((StatusCode::CREATED, Json(issued)))
}

pub async fn list(
    State(gateway): State<Gateway>,
    asker: Asker,
    QueryParameters(input): QueryParameters<ListInput>,
) -> Result<Json<ListPage<ConversationView>>, Problem> {
    let caller = asker.member()?.caller;
    let limit = parse_limit(input.limit.as_deref())?;
    let before = cursors::row_before(&gateway, &caller, "conversations", input.cursor.as_deref())?;
    let nothing = || Ok(Json(ListPage { items: Vec::new(), next_cursor: None }));
    let own = match listed_conversations(&caller) {
        Listed::All => None,
        Listed::Of(own) => Some(own),
        Listed::Nothing => return nothing(),
    };
    let is_own = |named: &AgentId| own.as_ref().is_none_or(|own| own == named);
    if [&input.holder, &input.asked].into_iter().flatten().any(|named| !is_own(named)) {
        return nothing();
    }
    let holder = if input.asked.is_some() { input.holder } else { own.or(input.holder) };
    let filter = ConversationFilter { holder, asked: input.asked, status: input.status };
    let of = ListOf::Conversations(filter);
    // The columns by which a list is found do not decide who may read what it names.
    let page = gateway.engine.access().list_for(&caller, of, before, limit).await?;
    let reader = reader(&gateway, &caller).await?;
    let mut items = Vec::with_capacity(page.items.len());
    for item in page.items.iter().filter(|item| conversation_of(item).is_ok()) {
        items.push(view(&gateway, reader, item).await?);
    }
    Ok(Json(ListPage {
        items,
        next_cursor: cursors::next_row(&gateway, &caller, "conversations", page.next),
    }))
}

pub async fn show(
    State(gateway): State<Gateway>,
    asker: Asker,
    Named(id): Named<ConversationId>,
) -> Result<Json<ConversationView>, Problem> {
    let item = visible(&gateway, &asker.caller, id).await?;
    view(&gateway, reader(&gateway, &asker.caller).await?, &item).await.map(Json)
}

pub async fn say(
    State(gateway): State<Gateway>,
    Named(id): Named<ConversationId>,
    Chat(write): Chat<Say>,
) -> Result<(StatusCode, Json<Taken>), Problem> {
    let (write, say) = write.split();
    let key = write.key.for_action("say", Some(&id.to_string()));
    let done = submit(&gateway, &write.asker.caller, id, Command::Say(say), key).await?;
    Ok((StatusCode::CREATED, Json(taken(id, &done))))
}

pub async fn route(
    State(gateway): State<Gateway>,
    Named(id): Named<ConversationId>,
    Chat(write): Chat<Route>,
) -> Result<Json<Taken>, Problem> {
    let (write, route) = write.split();
    let key = write.key.for_action("route", Some(&id.to_string()));
    let command = Command::Route(Box::new(route));
    let done = submit(&gateway, &write.asker.caller, id, command, key).await?;
    Ok(Json(taken(id, &done)))
}

pub async fn progress(
    State(gateway): State<Gateway>,
    Named(id): Named<ConversationId>,
    write: Write<ProgressInput>,
) -> Result<Json<Taken>, Problem> {
    let (write, ProgressInput { epoch }) = write.split();
    let key = write.key.for_action("show_progress", Some(&id.to_string()));
    let command = Command::ShowProgress { epoch };
    let done = submit(&gateway, &write.asker.caller, id, command, key).await?;
    Ok(Json(taken(id, &done)))
}

pub async fn select(
    State(gateway): State<Gateway>,
    Named(id): Named<ConversationId>,
    write: Write<SelectInput>,
) -> Result<Json<AgentChanged>, Problem> {
    let (write, SelectInput { agent_id: agent }) = write.split();
    let caller = write.asker.caller;
    let key = write.key.for_action("select_agent", Some(&id.to_string()));
    submit(&gateway, &caller, id, Command::Select { agent: agent.clone() }, key).await?;
    Ok(Json(AgentChanged {
        session_id: id.to_string(),
        current_agent: identity(&gateway, &caller.teamspace, &agent).await?,
        handoff_type: How::UserSelection,
        reason: None,
    }))
}

pub async fn close(
    State(gateway): State<Gateway>,
    Named(id): Named<ConversationId>,
    Chat(write): Chat<CloseInput>,
) -> Result<Json<ConversationView>, Problem> {
    let (write, CloseInput { reason }) = write.split();
    let caller = write.asker.caller;
    let key = write.key.for_action("close_conversation", Some(&id.to_string()));
    submit(&gateway, &caller, id, Command::Close { reason }, key).await?;
    let item = visible(&gateway, &caller, id).await?;
    view(&gateway, reader(&gateway, &caller).await?, &item).await.map(Json)
}

pub fn taken(id: ConversationId, done: &Done) -> Taken {
    let outcome = &done.outcome;
    Taken {
        conversation_id: id.to_string(),
        number: outcome.number.unwrap_or_default(),
        holder: outcome.holder.as_ref().map(ToString::to_string).unwrap_or_default(),
        epoch: outcome.epoch.unwrap_or_default(),
        transfer_id: outcome.transfer().map(|transfer| transfer.to_string()),
        instead_of: outcome.instead_of().map(ToString::to_string),
    }
}
