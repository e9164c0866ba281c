//! `/v1/acp/handoff`: the `acp_handoff` tool of the ACP design, request and response as it has
//! them. Every answer has its shape, errors included.

mod request;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use engine::read::query::LIST_ROWS_MAX;
use engine::road::submit::Done;
use protocol::handoff::check::Delegation;
use protocol::handoff::command::Reject;
use protocol::handoff::edit::OfferEdit;
use protocol::handoff::progress::ProgressReport;
use protocol::handoff::{Command, Offer};
use protocol::ids::HandoffId;
use protocol::warning::Warning;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::http::handoffs::action::Target;
use crate::http::handoffs::completion::{CompleteInput, ConfirmInput, DisputeInput};
use crate::http::handoffs::delegation::ReassignInput;
use crate::http::handoffs::dry_run::DryRun;
use crate::http::handoffs::lifecycle::{
    AcceptInput, ActivateInput, CloseInput, DiscardInput, RejectInput,
};
use crate::http::handoffs::negotiation::{
    ApproveInput, ExtendSlaInput, RefuseInput, WithdrawInput,
};
use crate::http::handoffs::read::ListInput;
use crate::http::handoffs::recall::RecallInput;
use crate::http::handoffs::view::{HandoffDetail, HandoffView};
use crate::http::handoffs::waiting::WaitView;
use crate::http::handoffs::{action, dry_run, read, workq};
use crate::http::shared::auth::Asker;
use crate::http::shared::entry_view::EntryView;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Nothing, Write, read_write, shape};
use crate::http::shared::problem::{Problem, add_headers};

pub use request::AcpRequest;

/// The path of the tool.
pub const PATH: &str = "/v1/acp/handoff";

/// The one action that changes nothing.
const QUERY: &str = "query";

/// The entries that a query about one handoff returns.
const HISTORY_ENTRIES_MAX: usize = 100;

#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct AcpResponse {
    pub success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handoff_id: Option<String>,
    /// Another handoff that the action began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_handoff_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<AcpError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<AcpMetadata>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handoffs: Option<Vec<HandoffView>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// The handoff that was queried or accepted, with its package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handoff: Option<Box<HandoffDetail>>,
    /// The newest entries of the handoff that was queried, newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<EntryView>>,
    /// What the handoff waits for now, the next step first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_for: Vec<WaitView>,
    /// What the handoff of `new_handoff_id` waits for now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub new_waiting_for: Vec<WaitView>,
    /// The result that the action would have, for a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<DryRun>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct AcpError {
    pub code: String,
    pub detail: String,
    /// The field of the request that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What the problem of the same route adds, such as `unanswered`.
    #[serde(flatten)]
    pub facts: Map<String, Value>,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct AcpMetadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification_passed: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification_failed: Option<Vec<String>>,
    /// `transferred`, `degraded` or `not_applicable`.
    pub workq_status: &'static str,
    pub escalation_triggered: bool,
    /// What was saved but does not work at present.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

pub async fn handle(State(gateway): State<Gateway>, request: Request) -> Response {
    let write = match read_write(&gateway, request).await {
        Ok(write) => write,
        Err(problem) => return Failure::from(problem).into_response(),
    };
    match answer(&gateway, write).await {
        Ok(response) => Json(response).into_response(),
        Err(failure) => failure.into_response(),
    }
}

/// The answer if the handler did not answer in time.
pub fn unanswered() -> Response {
    Failure::from(Problem::unknown_outcome()).into_response()
}

pub async fn wrong_method() -> Response {
    Failure::from(Problem::method_not_allowed()).into_response()
}

/// A problem, with what is known about the handoff it concerns.
struct Failure {
    problem: Problem,
    handoff_id: Option<String>,
    done: Option<Done>,
    waiting_for: Vec<WaitView>,
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self { problem, handoff_id: None, done: None, waiting_for: Vec::new() }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status = match &self.done {
            Some(done) => done.outcome.status.map(|status| status.to_string()),
            None => self
                .problem
                .facts
                .get("handoff_status")
                .and_then(|status| status.as_str().map(str::to_owned)),
        };
        let body = AcpResponse {
            success: false,
            handoff_id: self.handoff_id,
            status,
            error: Some(AcpError {
                code: self.problem.code.to_owned(),
                detail: self.problem.detail.clone(),
                field: self.problem.field.clone(),
                facts: self.problem.facts.clone(),
            }),
            metadata: self.done.as_ref().map(metadata),
            waiting_for: self.waiting_for,
            ..AcpResponse::default()
        };
        let mut response = (self.problem.status, Json(body)).into_response();
        add_headers(response.headers_mut(), &self.problem);
        response
    }
}

async fn answer(gateway: &Gateway, write: Write<Value>) -> Result<AcpResponse, Failure> {
    let (write, body) = write.split();
    let Value::Object(mut fields) = body else {
        return Err(Problem::schema_invalid("body", "a JSON object").into());
    };
    let action = match fields.remove("action") {
        Some(Value::String(action)) => action,
        Some(_) | None => return Err(Problem::schema_invalid("action", &request::actions()).into()),
    };
    if action == QUERY {
        return Ok(query(gateway, write, fields).await?);
    }
    let id = take_id(&mut fields)?;
    if action == "initiate" && take_dry_run(&mut fields, id)? {
        let offer = Value::Object(fields);
        let found = Box::pin(dry_run::try_out(gateway, write, &offer)).await?;
        return Ok(AcpResponse { success: true, dry_run: Some(found), ..AcpResponse::default() });
    }
    let command = command(&action, id, fields, || gateway.engine.new_handoff_id())
        .map_err(|problem| with_own_fields(problem, &action))
        .map_err(|problem| Failure {
            handoff_id: id.map(|id| id.to_string()),
            ..Failure::from(problem)
        })?;
    let target = match (id, &command) {
        (Some(id), _) => Target::Existing(id),
        (None, Command::Draft { .. } | Command::Initiate { .. }) => {
            Target::New(gateway.engine.new_handoff_id())
        }
        (None, _) => {
            return Err(Problem::schema_invalid("handoff_id", "the id of a handoff").into());
        }
    };
    let asker = write.asker.clone();
    let done = match action::submit(gateway, write, target, command).await {
        Ok(done) => done,
        Err(problem) => {
            let waiting_for = match id {
                Some(id) => action::waits_despite(gateway, &asker.caller, id).await,
                None => Vec::new(),
            };
            let handoff_id = id.map(|id| id.to_string());
            return Err(Failure { problem, handoff_id, done: None, waiting_for });
        }
    };
    let id = action::handoff_id_of(&done).to_owned();
    let waits = action::waits_after(gateway, &asker.caller, &done).await?;
    if let Some(refused) = &done.outcome.refused {
        let problem = Problem::refused(refused, &done.outcome);
        let (handoff_id, done, waiting_for) = (Some(id), Some(done), waits.own);
        return Err(Failure { problem, handoff_id, done, waiting_for });
    }
    // All that the work needs, for a caller that has only this tool.
    let handoff = match (action.as_str(), target) {
        ("accept", Target::Existing(id)) => Some(read::detail(gateway, &asker, id).await?),
        (_, _) => None,
    };
    Ok(AcpResponse {
        success: true,
        handoff_id: Some(id),
        new_handoff_id: done.outcome.began.map(|id| id.to_string()),
        status: done.outcome.status.map(|status| status.to_string()),
        metadata: Some(metadata(&done)),
        handoff: handoff.map(Box::new),
        waiting_for: waits.own,
        new_waiting_for: waits.began,
        ..AcpResponse::default()
    })
}

/// Adds the fields of the request itself to the list of those that an action knows.
fn with_own_fields(mut problem: Problem, action: &str) -> Problem {
    let own = match action {
        "initiate" => "action, dry_run, handoff_id, from_agent",
        QUERY => "action, handoff_id",
        _ => "action, handoff_id, from_agent",
    };
    let is_of_request = problem.field.as_deref().is_some_and(|it| !it.contains(['.', '[']));
    if is_of_request {
        let known = format!("the fields here are {own}, ");
        problem.detail = problem.detail.replace("the fields here are ", &known);
        let none = format!("the fields here are {own}");
        problem.detail = problem.detail.replace("there are no fields here", &none);
    }
    problem
}

fn metadata(done: &Done) -> AcpMetadata {
    let was_checked = !done.outcome.passed.is_empty() || !done.outcome.failed.is_empty();
    AcpMetadata {
        verification_passed: was_checked.then(|| done.outcome.passed.clone()),
        verification_failed: was_checked.then(|| done.outcome.failed.clone()),
        workq_status: workq::answered(done.outcome.workq),
        escalation_triggered: done.outcome.escalated,
        warnings: done.outcome.warnings.clone(),
    }
}

fn take_id(fields: &mut Map<String, Value>) -> Result<Option<HandoffId>, Problem> {
    match fields.remove("handoff_id") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => {
            text.parse().map(Some).map_err(|_| Problem::not_found("handoff"))
        }
        Some(_) => Err(Problem::schema_invalid("handoff_id", "the id of a handoff")),
    }
}

/// Whether a new offer is only tried out.
fn take_dry_run(fields: &mut Map<String, Value>, id: Option<HandoffId>) -> Result<bool, Problem> {
    match (fields.remove("dry_run"), id) {
        (None | Some(Value::Bool(false)), _) => Ok(false),
        (Some(Value::Bool(true)), None) => Ok(true),
        (Some(Value::Bool(true)), Some(_)) => {
            Err(Problem::schema_invalid("dry_run", "to be left out for a draft that was saved"))
        }
        (Some(_), _) => Err(Problem::schema_invalid("dry_run", "true or false, without quotes")),
    }
}

fn command(
    action: &str,
    id: Option<HandoffId>,
    fields: Map<String, Value>,
    new_id: impl FnOnce() -> HandoffId,
) -> Result<Command, Problem> {
    fn read<T: DeserializeOwned + JsonSchema + 'static>(
        fields: Map<String, Value>,
    ) -> Result<T, Problem> {
        shape(Value::Object(fields))
    }
    match action {
        "draft" => Ok(Command::Draft { offer: Box::new(read::<Offer>(fields)?) }),
        "initiate" if id.is_some() && fields.is_empty() => Ok(Command::Initiate { offer: None }),
        "initiate" => Ok(Command::Initiate { offer: Some(Box::new(read::<Offer>(fields)?)) }),
        "accept" => Ok(read::<AcceptInput>(fields)?.into()),
        "approve" => Ok(read::<ApproveInput>(fields)?.into()),
        "refuse" => Ok(read::<RefuseInput>(fields)?.into()),
        "counter" => Ok(Command::Counter { edit: Box::new(read::<OfferEdit>(fields)?) }),
        "delegate" => {
            let offer = Box::new(read::<Delegation>(fields)?.0);
            Ok(Command::Delegate { child: new_id(), offer })
        }
        "reassign" => Ok(read::<ReassignInput>(fields)?.command(new_id())),
        "withdraw" => Ok(read::<WithdrawInput>(fields)?.into()),
        "extend_sla" => Ok(read::<ExtendSlaInput>(fields)?.into()),
        "reject" => {
            let RejectInput { reason, detail, suggested_fix } = read(fields)?;
            Ok(Command::Reject(Reject { reason, detail, suggested_fix }))
        }
        "activate" => {
            let input: ActivateInput = read(fields)?;
            Ok(Command::Activate { work_state_update: input.work_state_update.map(Box::new) })
        }
        "progress" => Ok(Command::Progress(Box::new(read::<ProgressReport>(fields)?))),
        "recall" => Ok(read::<RecallInput>(fields)?.into()),
        "complete" => Ok(read::<CompleteInput>(fields)?.into()),
        "confirm" => Ok(read::<ConfirmInput>(fields)?.into()),
        "dispute" => Ok(read::<DisputeInput>(fields)?.into()),
        "close" => Ok(Command::Close { closure_notes: read::<CloseInput>(fields)?.closure_notes }),
        "discard" => Ok(Command::Discard { why: read::<DiscardInput>(fields)?.why }),
        _ => Err(Problem::schema_invalid("action", &request::actions())),
    }
}

async fn query(
    gateway: &Gateway,
    write: Write<()>,
    mut fields: Map<String, Value>,
) -> Result<AcpResponse, Problem> {
    let asker = write.asker.member()?;
    if let Some(id) = take_id(&mut fields)? {
        let Nothing {} = shape(Value::Object(fields)).map_err(|it| with_own_fields(it, QUERY))?;
        return query_one(gateway, &asker, id).await;
    }
    if let Some(limit) = fields.get_mut("limit") {
        if !limit.is_u64() {
            let expected = format!("a number from 1 to {LIST_ROWS_MAX}");
            return Err(Problem::schema_invalid("limit", &expected));
        }
        *limit = Value::String(limit.to_string());
    }
    if let Some(overdue) = fields.get_mut("overdue") {
        if !overdue.is_boolean() {
            return Err(Problem::schema_invalid("overdue", "true or false, without quotes"));
        }
        *overdue = Value::String(overdue.to_string());
    }
    let input: ListInput = shape(Value::Object(fields)).map_err(|it| with_own_fields(it, QUERY))?;
    let page = read::read_list(gateway, &asker, input).await?;
    Ok(AcpResponse {
        success: true,
        handoffs: Some(page.items),
        next_cursor: page.next_cursor,
        ..AcpResponse::default()
    })
}

/// A handoff with its package, its verdicts and its history.
async fn query_one(
    gateway: &Gateway,
    asker: &Asker,
    id: HandoffId,
) -> Result<AcpResponse, Problem> {
    let item = read::visible(gateway, asker, id).await?;
    let detail = read::detail(gateway, asker, id).await?;
    let (history, _) =
        read::entries(gateway, asker, &item.stream, u64::MAX, HISTORY_ENTRIES_MAX).await?;
    let waiting_for = detail.handoff.waiting_for.clone();
    Ok(AcpResponse {
        success: true,
        handoff_id: Some(id.to_string()),
        status: Some(detail.handoff.status.to_string()),
        metadata: Some(verdicts(&detail.handoff, &history)),
        handoff: Some(Box::new(detail)),
        history: Some(history),
        waiting_for,
        ..AcpResponse::default()
    })
}

/// The newest verdict of the gate, as an action would have told it.
fn verdicts(handoff: &HandoffView, history: &[EntryView]) -> AcpMetadata {
    let mut told = history.iter().filter_map(|entry| entry.data.as_ref());
    let newest = told.find(|data| data["passed"].is_array() || data["failed"].is_array());
    let checks = |name: &str| {
        let checks = newest?[name].as_array().into_iter().flatten();
        Some(checks.filter_map(|check| check.as_str().map(str::to_owned)).collect())
    };
    AcpMetadata {
        verification_passed: checks("passed"),
        verification_failed: checks("failed"),
        workq_status: handoff.workq_status,
        escalation_triggered: handoff.has_escalated,
        warnings: Vec::new(),
    }
}
