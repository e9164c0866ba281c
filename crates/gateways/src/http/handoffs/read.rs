//! Lists of handoffs, one of them, and its history.

use axum::Json;
use axum::extract::State;
use engine::ports::store::{HandoffFilter, ListOf};
use engine::read::query::Item;
use protocol::form;
use protocol::handoff::Status;
use protocol::handoff::waits::{OpenFilter, WAITING_FOR_EXPECTED};
use protocol::ids::{AgentId, HandoffId, TaskId};
use protocol::ledger::Stream;
use protocol::sealed_cursor::Purpose;
use protocol::step;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::http::handoffs::action::stream;
use crate::http::handoffs::view::{HandoffDetail, HandoffView};
use crate::http::handoffs::waiting::waiting_for;
use crate::http::handoffs::{completion_view, view};
use crate::http::shared::auth::Asker;
use crate::http::shared::cursors;
use crate::http::shared::entry_view::{self, EntryView};
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Named, QueryParameters, parse_flag};
use crate::http::shared::paging::{ListPage, PageInput, parse_limit};
use crate::http::shared::problem::Problem;

/// The form of the filter `waiting_for`.
const WAITING_FOR: &str = concat!(
    "^(me|agent:[a-z0-9][a-z0-9._-]{0,63}",
    "|role:(coordinator|researcher|executor|reviewer|integrator))$"
);

/// The filters of a list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListInput {
    #[serde(default)]
    pub task_id: Option<TaskId>,
    #[serde(default)]
    pub from_agent: Option<AgentId>,
    #[serde(default)]
    pub to_agent: Option<AgentId>,
    #[serde(default)]
    pub status: Option<Status>,
    /// Only open ones that wait for `me`, `agent:ID` or `role:ROLE`.
    #[serde(default)]
    #[schemars(transform = form::pattern(WAITING_FOR, WAITING_FOR_EXPECTED))]
    pub waiting_for: Option<String>,
    /// Only open ones whose approval is `wanted`.
    #[serde(default)]
    #[schemars(transform = form::exactly("wanted"))]
    pub approval: Option<String>,
    /// Only open ones that are overdue, with `true`, or that are not, with `false`.
    #[serde(default)]
    #[schemars(transform = form::true_or_false)]
    pub overdue: Option<String>,
    /// The most items in a page, 1 to 200.
    #[serde(default)]
    pub limit: Option<String>,
    /// `next_cursor` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
}

pub async fn list(
    State(gateway): State<Gateway>,
    asker: Asker,
    QueryParameters(input): QueryParameters<ListInput>,
) -> Result<Json<ListPage<HandoffView>>, Problem> {
    let asker = asker.member()?;
    read_list(&gateway, &asker, input).await.map(Json)
}

pub async fn read_list(
    gateway: &Gateway,
    asker: &Asker,
    input: ListInput,
) -> Result<ListPage<HandoffView>, Problem> {
    let limit = parse_limit(input.limit.as_deref())?;
    let caller = &asker.caller;
    let before = cursors::row_before(gateway, caller, "handoffs", input.cursor.as_deref())?;
    let filter = open_filter(&input)?;
    let ListInput { task_id, from_agent, to_agent, status, .. } = input;
    let of = HandoffFilter { task_id, from_agent, to_agent, status, ..HandoffFilter::default() };
    let access = gateway.engine.access();
    let page = match filter == OpenFilter::default() {
        true => access.list_for(caller, ListOf::Handoffs(of), before, limit).await?,
        false => access.open_handoffs(caller, of, &filter, before, limit).await?,
    };
    let mut items = Vec::with_capacity(page.items.len());
    for item in &page.items {
        items.extend(shown(gateway, asker, item).await?);
    }
    let next_cursor = cursors::next_row(gateway, caller, "handoffs", page.next);
    Ok(ListPage { items, next_cursor })
}

fn open_filter(input: &ListInput) -> Result<OpenFilter, Problem> {
    let waiting_for = input.waiting_for.as_deref().map(|text| {
        text.parse().map_err(|expected| Problem::schema_invalid("waiting_for", expected))
    });
    let is_approval_wanted = match input.approval.as_deref() {
        None => false,
        Some("wanted") => true,
        Some(_) => return Err(Problem::schema_invalid("approval", "wanted")),
    };
    let is_overdue = parse_flag("overdue", input.overdue.as_deref())?;
    Ok(OpenFilter { waiting_for: waiting_for.transpose()?, is_approval_wanted, is_overdue })
}

/// The handoff without the delegated parts that the caller may not read.
async fn shown(
    gateway: &Gateway,
    asker: &Asker,
    item: &Item,
) -> Result<Option<HandoffView>, Problem> {
    let Some(handoff) = item.state.as_handoff() else { return Ok(None) };
    let waiting_for = waiting_for(gateway, &asker.caller, handoff).await?;
    let open_parts = gateway.engine.access().open_parts(&asker.caller, handoff).await?;
    Ok(view::handoff(item, waiting_for, &open_parts))
}

pub async fn show(
    State(gateway): State<Gateway>,
    asker: Asker,
    Named(id): Named<HandoffId>,
) -> Result<Json<HandoffDetail>, Problem> {
    let asker = asker.member()?;
    detail(&gateway, &asker, id).await.map(Json)
}

pub async fn detail(
    gateway: &Gateway,
    asker: &Asker,
    id: HandoffId,
) -> Result<HandoffDetail, Problem> {
    let item = visible(gateway, asker, id).await?;
    let step::State::Handoff(state) = item.state.as_ref() else {
        return Err(Problem::not_found("handoff"));
    };
    let text = gateway.engine.read().document(&item.stream, state.document_hash()).await?;
    let package: Option<Value> = text.and_then(|text| serde_json::from_str(&text).ok());
    let handoff = shown(gateway, asker, &item).await?;
    let handoff = handoff.ok_or_else(|| Problem::not_found("handoff"))?;
    let completion = completion_view::of(state, package.as_ref());
    let work_state = view::work_state(state, package.as_ref());
    let differences = view::differences(state);
    Ok(HandoffDetail { handoff, package, work_state, differences, completion })
}

pub async fn history(
    State(gateway): State<Gateway>,
    asker: Asker,
    Named(id): Named<HandoffId>,
    QueryParameters(input): QueryParameters<PageInput>,
) -> Result<Json<ListPage<EntryView>>, Problem> {
    let asker = asker.member()?;
    let item = visible(&gateway, &asker, id).await?;
    let limit = parse_limit(input.limit.as_deref())?;
    let list = Purpose::History(id);
    let before = cursors::row_before(&gateway, &asker.caller, list, input.cursor.as_deref())?;
    let (items, next) =
        entries(&gateway, &asker, &item.stream, before.unwrap_or(u64::MAX), limit).await?;
    let next_cursor = cursors::next_row(&gateway, &asker.caller, list, next);
    Ok(Json(ListPage { items, next_cursor }))
}

/// Entries before a position, newest first, without those that the caller may not read; and the
/// position before which there are more.
pub async fn entries(
    gateway: &Gateway,
    asker: &Asker,
    stream: &Stream,
    before: u64,
    limit: usize,
) -> Result<(Vec<EntryView>, Option<u64>), Problem> {
    let entries = gateway.engine.read().history(stream, before, limit).await?;
    let oldest = entries.last().map(|oldest| oldest.entry.position);
    let mut items = Vec::with_capacity(entries.len());
    for one in &entries {
        if gateway.engine.access().may_read_entry(&asker.caller, &one.entry).await? {
            items.push(entry_view::entry(gateway, asker, one));
        }
    }
    Ok((items, oldest.filter(|position| *position > 1)))
}

/// The handoff, if there is one that the caller may know of.
pub async fn visible(gateway: &Gateway, asker: &Asker, id: HandoffId) -> Result<Item, Problem> {
    let item = gateway.engine.read().item(&stream(&asker.caller.teamspace, id)).await?;
    let item = item.ok_or_else(|| Problem::not_found("handoff"))?;
    match gateway.engine.access().may_read(&asker.caller, &item.stream, &item.state).await? {
        true => Ok(item),
        false => Err(Problem::not_found("handoff")),
    }
}
