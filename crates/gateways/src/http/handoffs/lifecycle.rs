//! `/v1/handoffs`: one path per action.

use axum::body::HttpBody;
use axum::extract::{Request, State};
use axum::response::Response;
use protocol::form;
use protocol::handoff::command::{Accept, Reject};
use protocol::handoff::package::OfferedWorkState;
use protocol::handoff::{Command, Offer, RejectReason};
use protocol::ids::HandoffId;
use protocol::notes::NOTES_BYTES_MAX;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::handoffs::action::{Target, act};
use crate::http::handoffs::dry_run;
use crate::http::handoffs::dry_run::InitiateQuery;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Named, QueryParameters, Write, read_write, shape};
use crate::http::shared::problem::Problem;

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

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiscardInput {
    #[serde(default)]
    #[schemars(transform = form::bytes(NOTES_BYTES_MAX))]
    pub why: Option<String>,
}

pub async fn initiate(
    State(gateway): State<Gateway>,
    QueryParameters(query): QueryParameters<InitiateQuery>,
    request: Request,
) -> Result<Response, Problem> {
    let id = gateway.engine.new_handoff_id();
    let is_empty = request.body().is_end_stream();
    let (write, offer) = read_write(&gateway, request).await?.split();
    if query.is_dry_run()? {
        if is_empty {
            return Err(Problem::schema_invalid("body", "an offer to try out"));
        }
        return Box::pin(dry_run::answer(&gateway, write, &offer)).await;
    }
    let offer = shape::<Offer>(offer)?;
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

pub async fn discard(
    State(gateway): State<Gateway>,
    Named(id): Named<HandoffId>,
    write: Write<DiscardInput>,
) -> Result<Response, Problem> {
    let (write, input) = write.split();
    act(&gateway, write, Target::Existing(id), Command::Discard { why: input.why }).await
}

pub async fn propose(
    State(gateway): State<Gateway>,
    Named(id): Named<HandoffId>,
    write: Write<Offer>,
) -> Result<Response, Problem> {
    let (write, offer) = write.split();
    let offer = (offer != Offer::default()).then(|| Box::new(offer));
    if let Some(offer) = &offer {
        // What is missing is told before the state of the handoff.
        offer.complete(gateway.engine.clock().now())?;
    }
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
