//! `/v1/handoffs`: one path per action, lists by cursor, and the history of each handoff.

use std::str::FromStr;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use engine::port::{HandoffFilter, ListOf};
use engine::query::Item;
use engine::submit::{Done, SubmitError};
use protocol::form;
use protocol::handoff::command::{Accept, Reject};
use protocol::handoff::decide::NOTES_BYTES_MAX;
use protocol::handoff::package::OfferedWorkState;
use protocol::handoff::workq::WorkqStatus;
use protocol::handoff::{Command, Offer, RejectReason, Status};
use protocol::ids::{AgentId, HandoffId, TaskId, TeamspaceId};
use protocol::json::INTEGER_MAX;
use protocol::ledger::{Stream, Subject};
use protocol::sealed_cursor::Purpose;
use protocol::step;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::Gateway;
use super::auth::Asker;
use super::completion_view;
use super::cursors;
use super::dry_run::{self, InitiateQuery};
use super::input::{Asked, KEY_HEADER, Named, Write};
use super::problem::Problem;
use super::view::{self, HandoffDetail, HandoffView, ListPage};

/// The size of a page if the client gives no limit.
const PAGE_ROWS: usize = 50;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceptInput {
    #[serde(default)]
    #[schemars(transform = form::bytes(NOTES_BYTES_MAX))]
    pub notes: Option<String>,
    /// The artifacts that are accepted, by id; all when absent. Required ones cannot be left out.
    #[serde(default)]
    pub artifacts: Option<Vec<String>>,
}

impl From<AcceptInput> for Command {
    fn from(input: AcceptInput) -> Self {
        Command::Accept(Accept { notes: input.notes, artifacts: input.artifacts })
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RejectInput {
    pub reason: RejectReason,
    /// What the sender must know to do better.
    #[schemars(transform = form::text(NOTES_BYTES_MAX))]
    pub detail: String,
    #[serde(default)]
    #[schemars(transform = form::bytes(NOTES_BYTES_MAX))]
    pub suggested_fix: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActivateInput {
    #[serde(default)]
    pub work_state_update: Option<OfferedWorkState>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CloseInput {
    #[serde(default)]
    #[schemars(transform = form::bytes(NOTES_BYTES_MAX))]
    pub closure_notes: Option<String>,
}

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
    /// 1 to 200.
    #[serde(default)]
    pub limit: Option<String>,
    /// `next_cursor` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageInput {
    #[serde(default)]
    pub limit: Option<String>,
    #[serde(default)]
    pub cursor: Option<String>,
}

pub async fn initiate(
    State(gateway): State<Gateway>,
    Asked(query): Asked<InitiateQuery>,
    write: Write<Offer>,
) -> Result<Response, Problem> {
    let id = gateway.engine.new_handoff_id();
    let (write, offer) = write.split();
    if query.is_dry_run()? {
        return Box::pin(dry_run::answer(&gateway, write, offer)).await;
    }
    let command = Command::Initiate { offer: Some(Box::new(offer)) };
    act(&gateway, write, Target::New(id), command).await
}

pub async fn draft(
    State(gateway): State<Gateway>,
    write: Write<Offer>,
) -> Result<Response, Problem> {
    let id = gateway.engine.new_handoff_id();
    let (write, offer) = write.split();
    let command = Command::Draft { offer: Box::new(offer) };
    act(&gateway, write, Target::New(id), command).await
}

pub async fn edit_draft(
    State(gateway): State<Gateway>,
    Named(id): Named<HandoffId>,
    write: Write<Offer>,
) -> Result<Response, Problem> {
    let (write, offer) = write.split();
    let command = Command::Draft { offer: Box::new(offer) };
    act(&gateway, write, Target::Existing(id), command).await
}

pub async fn propose(
    State(gateway): State<Gateway>,
    Named(id): Named<HandoffId>,
    write: Write<Offer>,
) -> Result<Response, Problem> {
    let (write, offer) = write.split();
    let offer = (offer != Offer::default()).then(|| Box::new(offer));
    act(&gateway, write, Target::Existing(id), Command::Initiate { offer }).await
}

pub async fn accept(
    State(gateway): State<Gateway>,
    Named(id): Named<HandoffId>,
    write: Write<AcceptInput>,
) -> Result<Response, Problem> {
    let (write, input) = write.split();
    act(&gateway, write, Target::Existing(id), input.into()).await
}

pub async fn reject(
    State(gateway): State<Gateway>,
    Named(id): Named<HandoffId>,
    write: Write<RejectInput>,
) -> Result<Response, Problem> {
    let (write, input) = write.split();
    let RejectInput { reason, detail, suggested_fix } = input;
    let command = Command::Reject(Reject { reason, detail, suggested_fix });
    act(&gateway, write, Target::Existing(id), command).await
}

pub async fn activate(
    State(gateway): State<Gateway>,
    Named(id): Named<HandoffId>,
    write: Write<ActivateInput>,
) -> Result<Response, Problem> {
    let (write, input) = write.split();
    let command = Command::Activate { work_state_update: input.work_state_update.map(Box::new) };
    act(&gateway, write, Target::Existing(id), command).await
}

pub async fn close(
    State(gateway): State<Gateway>,
    Named(id): Named<HandoffId>,
    write: Write<CloseInput>,
) -> Result<Response, Problem> {
    let (write, input) = write.split();
    let command = Command::Close { closure_notes: input.closure_notes };
    act(&gateway, write, Target::Existing(id), command).await
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

/// What a command is about.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    New(HandoffId),
    Existing(HandoffId),
}

impl Target {
    pub fn id(self) -> HandoffId {
        match self {
            Target::New(id) | Target::Existing(id) => id,
        }
    }
}

/// Submits a command and answers with its stored outcome, so that a retry gets the same answer.
pub async fn act(
    gateway: &Gateway,
    write: Write<()>,
    target: Target,
    command: Command,
) -> Result<Response, Problem> {
    let key_text = HeaderValue::from_str(&write.key.text);
    let done = submit(gateway, write, target, command).await?;
    if let Some(refused) = &done.outcome.refused {
        return Err(Problem::refused(refused, &done.outcome));
    }
    let id = handoff_id_of(&done);
    let status = match target {
        Target::New(_) => StatusCode::CREATED,
        Target::Existing(_) => StatusCode::OK,
    };
    let mut response = (status, Json(view::action_done(id, &done))).into_response();
    let headers = response.headers_mut();
    if let Ok(value) = key_text {
        headers.insert(&KEY_HEADER, value);
    }
    if let (Target::New(_), Ok(value)) =
        (target, HeaderValue::try_from(format!("/v1/handoffs/{id}")))
    {
        headers.insert(axum::http::header::LOCATION, value);
    }
    Ok(response)
}

/// The handoff an outcome is about: for a retry of a new one, the one made the first time.
pub fn handoff_id_of(done: &Done) -> &str {
    done.subject.split_once('/').map_or(done.subject.as_str(), |(_, id)| id)
}

pub async fn submit(
    gateway: &Gateway,
    write: Write<()>,
    target: Target,
    command: Command,
) -> Result<Done, Problem> {
    let asker = write.asker.member()?;
    let subject = match target {
        Target::New(_) => None,
        Target::Existing(id) => Some(id.to_string()),
    };
    let key = write.key.for_action(command.name(), subject.as_deref());
    let stream = stream(&asker.caller.teamspace, target.id());
    let is_completion = matches!(command, Command::Complete(_));
    let carries_offer = match &command {
        Command::Draft { .. }
        | Command::Initiate { .. }
        | Command::Counter { .. }
        | Command::Delegate { .. } => true,
        Command::Accept(_)
        | Command::Verified { .. }
        | Command::WorkqAnswered { .. }
        | Command::Approve { .. }
        | Command::Refuse { .. }
        | Command::Withdraw { .. }
        | Command::ExtendSla { .. }
        | Command::Reassign(_)
        | Command::Follow(_)
        | Command::Child(_)
        | Command::Reject(_)
        | Command::Activate { .. }
        | Command::Complete(_)
        | Command::Confirm { .. }
        | Command::Dispute { .. }
        | Command::Close { .. }
        | Command::Warn { .. }
        | Command::Elapse { .. } => false,
    };
    let command = step::Command::Handoff(command);
    let (engine, caller, key) = (&gateway.engine, &asker.caller, Some(key));
    if let Target::New(_) = target {
        return Ok(engine.submit_new(caller, stream, command, key).await?);
    }
    // The server makes ids, so an offer for an unknown id does not create it.
    if carries_offer && !Box::pin(engine.may_read_stream(caller, &stream)).await? {
        return Err(Problem::not_found("handoff"));
    }
    let submitted = engine.submit(caller, stream.clone(), command, key).await;
    // A caller that may not read a handoff gets the same answer as for one that does not exist.
    if let Err(SubmitError::Rejected(_)) = &submitted
        && !Box::pin(engine.may_read_stream(caller, &stream)).await?
    {
        return Err(Problem::not_found("handoff"));
    }
    let done = submitted?;
    match done.outcome.status {
        Some(Status::Validating) => Ok(Box::pin(gateway.engine.with_verdict(&stream, done)).await?),
        // Reported as done, but not verified yet.
        Some(Status::Activated) if is_completion => {
            Ok(Box::pin(gateway.engine.with_verdict(&stream, done)).await?)
        }
        Some(Status::Activated | Status::Rejected)
            if done.outcome.workq == WorkqStatus::Pending =>
        {
            Ok(Box::pin(gateway.engine.with_workq(&stream, done)).await?)
        }
        Some(_) | None => Ok(done),
    }
}

pub fn stream(teamspace: &TeamspaceId, id: HandoffId) -> Stream {
    Stream { teamspace: teamspace.clone(), subject: Subject::Handoff(id) }
}

pub async fn list(
    State(gateway): State<Gateway>,
    asker: Asker,
    Asked(input): Asked<ListInput>,
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
    let ListInput { task_id, from_agent, to_agent, status, .. } = input;
    let of = ListOf::Handoffs(HandoffFilter { task_id, from_agent, to_agent, status });
    let page = gateway.engine.list_for(caller, of, before, limit).await?;
    let mut items = Vec::with_capacity(page.items.len());
    for item in &page.items {
        items.extend(shown(gateway, asker, item).await?);
    }
    let next_cursor = cursors::next_row(gateway, caller, "handoffs", page.next);
    Ok(ListPage { items, next_cursor })
}

/// The handoff without the delegated parts that the caller may not read.
async fn shown(
    gateway: &Gateway,
    asker: &Asker,
    item: &Item,
) -> Result<Option<HandoffView>, Problem> {
    let Some(mut view) = view::handoff(item) else { return Ok(None) };
    for part in std::mem::take(&mut view.open_delegations) {
        let Ok(id) = part.parse() else { continue };
        let of = stream(&asker.caller.teamspace, id);
        if gateway.engine.may_read_stream(&asker.caller, &of).await? {
            view.open_delegations.push(part);
        }
    }
    Ok(Some(view))
}

pub async fn show(
    State(gateway): State<Gateway>,
    asker: Asker,
    Named(id): Named<HandoffId>,
) -> Result<Json<HandoffDetail>, Problem> {
    let asker = asker.member()?;
    detail(&gateway, &asker, id).await.map(Json)
}

async fn detail(gateway: &Gateway, asker: &Asker, id: HandoffId) -> Result<HandoffDetail, Problem> {
    let item = visible(gateway, asker, id).await?;
    let step::State::Handoff(state) = item.state.as_ref() else {
        return Err(Problem::not_found("handoff"));
    };
    let text = gateway.engine.document(&item.stream, state.document_hash()).await?;
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
    Asked(input): Asked<PageInput>,
) -> Result<Json<ListPage<view::EntryView>>, Problem> {
    let asker = asker.member()?;
    let item = visible(&gateway, &asker, id).await?;
    let limit = parse_limit(input.limit.as_deref())?;
    let list = Purpose::History(id);
    let before = cursors::row_before(&gateway, &asker.caller, list, input.cursor.as_deref())?;
    let entries = gateway.engine.history(&item.stream, before.unwrap_or(u64::MAX), limit).await?;
    let next = entries
        .last()
        .filter(|oldest| entries.len() == limit && oldest.entry.position > 1)
        .map(|oldest| oldest.entry.position);
    let next_cursor = cursors::next_row(&gateway, &asker.caller, list, next);
    let mut items = Vec::with_capacity(entries.len());
    for one in &entries {
        if gateway.engine.may_read_entry(&asker.caller, &one.entry).await? {
            items.push(view::entry(&gateway, &asker, one));
        }
    }
    Ok(Json(ListPage { items, next_cursor }))
}

/// The handoff, if there is one that the caller may know of.
async fn visible(gateway: &Gateway, asker: &Asker, id: HandoffId) -> Result<Item, Problem> {
    let item = gateway.engine.item(&stream(&asker.caller.teamspace, id)).await?;
    let item = item.ok_or_else(|| Problem::not_found("handoff"))?;
    match gateway.engine.may_read(&asker.caller, &item.stream, &item.state).await? {
        true => Ok(item),
        false => Err(Problem::not_found("handoff")),
    }
}

pub fn parse_limit(text: Option<&str>) -> Result<usize, Problem> {
    let Some(text) = text else { return Ok(PAGE_ROWS) };
    match text.parse() {
        Ok(limit @ 1..=engine::query::LIST_ROWS_MAX) => Ok(limit),
        Ok(_) | Err(_) => {
            let expected = format!("a number from 1 to {}", engine::query::LIST_ROWS_MAX);
            Err(Problem::schema_invalid("limit", &expected))
        }
    }
}

pub fn parse_cursor<T: FromStr>(text: Option<&str>) -> Result<Option<T>, Problem> {
    text.map(|text| {
        text.parse().map_err(|_| {
            let detail = "cursor: expected the `next_cursor` of an earlier page";
            Problem::new("cursor_invalid", detail).field("cursor")
        })
    })
    .transpose()
}

impl<T> Write<T> {
    /// The request without its body, and the body.
    pub fn split(self) -> (Write<()>, T) {
        (Write { asker: self.asker, body: (), key: self.key }, self.body)
    }
}
