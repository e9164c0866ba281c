//! Lists of questions.

use axum::Json;
use axum::extract::State;
use protocol::form;
use protocol::ids::{AgentId, QuestionId};
use protocol::question::{Question, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::view::{QuestionView, question_of, question_view};
use super::waiting::{
    ApprovalView, ConfirmationView, SHOWN_MAX, approvals, confirmations, n_confirmations,
};
use crate::http::shared::auth::Asker;
use crate::http::shared::cursors;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::QueryParameters;
use crate::http::shared::paging::{ListPage, parse_cursor, parse_limit};
use crate::http::shared::problem::Problem;

/// The filters of a list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListInput {
    /// `me`: all that a human of the caller's name can answer, the oldest question first, and the
    /// answers that the caller can go on with.
    #[serde(default)]
    #[schemars(transform = form::exactly("me"))]
    pub waiting_for: Option<String>,
    #[serde(default)]
    pub status: Option<Status>,
    /// Only those that this agent asked, or `me`.
    #[serde(default)]
    pub asker: Option<AgentId>,
    /// Only settled ones whose continuation is not finished, with `true`.
    #[serde(default)]
    #[schemars(transform = form::exactly("true"))]
    pub to_continue: Option<String>,
    /// The most items in a page, 1 to 200.
    #[serde(default)]
    pub limit: Option<String>,
    /// `next_cursor` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// Something that waits for a human, or that was settled.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListedView {
    #[serde(flatten)]
    pub item: ListedItem,
    /// How to answer it, or to go on with its answer: the method and the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_at: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ListedItem {
    /// A question of an agent.
    Question(Box<QuestionView>),
    /// A handoff whose policy wants the approval of a human.
    Approval(ApprovalView),
    /// A question of a session that an agent announces.
    Confirmation(ConfirmationView),
}

pub async fn list(
    State(gateway): State<Gateway>,
    asker: Asker,
    QueryParameters(input): QueryParameters<ListInput>,
) -> Result<Json<ListPage<ListedView>>, Problem> {
    let asker = asker.member()?;
    match input.waiting_for.as_deref() {
        Some(_) => waiting(&gateway, &asker, &input).await.map(Json),
        None => matching(&gateway, &asker, &input).await.map(Json),
    }
}

/// How many questions and confirmations wait for the caller, each counted up to [`SHOWN_MAX`].
/// Approvals are counted with the handoffs.
pub async fn n_waiting_for(gateway: &Gateway, asker: &Asker) -> Result<usize, Problem> {
    let access = gateway.engine.access();
    let asked = access.questions_waiting_for(&asker.caller, None, SHOWN_MAX).await?;
    Ok(asked.items.len() + n_confirmations(gateway, asker).await?)
}

/// The answers that the caller may go on with, and no worker has claimed.
async fn to_claim(gateway: &Gateway, asker: &Asker) -> Result<Vec<ListedView>, Problem> {
    let Some(agent) = asker.caller.agent() else { return Ok(Vec::new()) };
    let waits = |question: &Question| question.waits_for_claim_by(agent);
    let access = gateway.engine.access();
    let page = access.questions(&asker.caller, None, SHOWN_MAX, waits).await?;
    let shown = page.items.iter().filter_map(question_of).map(|(id, question)| {
        let answer_at = Some(format!("POST /v1/questions/{id}/claim"));
        ListedView { answer_at, ..listed(question) }
    });
    Ok(shown.collect())
}

/// Approvals, confirmations, and answers that the caller may go on with are on the first page.
async fn waiting(
    gateway: &Gateway,
    asker: &Asker,
    input: &ListInput,
) -> Result<ListPage<ListedView>, Problem> {
    let others = [
        ("status", input.status.is_some()),
        ("asker", input.asker.is_some()),
        ("to_continue", input.to_continue.is_some()),
    ];
    if let Some((field, _)) = others.into_iter().find(|(_, is_given)| *is_given) {
        return Err(Problem::schema_invalid(field, "to be left out with `waiting_for`"));
    }
    let limit = parse_limit(input.limit.as_deref())?;
    let after: Option<QuestionId> = parse_cursor(input.cursor.as_deref())?;
    let mut items = Vec::new();
    if after.is_none() {
        items.extend(approvals(gateway, asker).await?);
        items.extend(confirmations(gateway, asker).await?);
        items.extend(to_claim(gateway, asker).await?);
    }
    let access = gateway.engine.access();
    let page = access.questions_waiting_for(&asker.caller, after, limit).await?;
    items.extend(page.items.iter().filter_map(question_of).map(|(id, question)| {
        let answer_at = Some(format!("POST /v1/questions/{id}/answer"));
        ListedView { answer_at, ..listed(question) }
    }));
    Ok(ListPage { items, next_cursor: page.next.map(|id| id.to_string()) })
}

/// The newest first.
async fn matching(
    gateway: &Gateway,
    asker: &Asker,
    input: &ListInput,
) -> Result<ListPage<ListedView>, Problem> {
    let limit = parse_limit(input.limit.as_deref())?;
    let caller = &asker.caller;
    let before = cursors::row_before(gateway, caller, "questions", input.cursor.as_deref())?;
    let whose = match &input.asker {
        Some(name) if name.as_str() == "me" => caller.agent().cloned(),
        named => named.clone(),
    };
    let keeps = |question: &Question| {
        input.status.is_none_or(|status| question.status() == status)
            && whose.as_ref().is_none_or(|asker| question.asker() == asker)
            && (input.to_continue.is_none() || question.is_to_continue())
    };
    let access = gateway.engine.access();
    let page = access.questions(caller, before, limit, keeps).await?;
    let shown = page.items.iter().filter_map(question_of);
    let items = shown.map(|(_, question)| listed(question)).collect();
    let next_cursor = cursors::next_row(gateway, caller, "questions", page.next);
    Ok(ListPage { items, next_cursor })
}

fn listed(question: &Question) -> ListedView {
    let item = ListedItem::Question(Box::new(question_view(question)));
    ListedView { item, answer_at: None }
}
