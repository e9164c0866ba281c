//! `/v1/transfers`: a conversation passes to a person. All participants see the same transfer; the
//! customer sees less of it.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use protocol::agent::{Agent, AgentIdentity, Kind as AgentKind};
use protocol::caller::Caller;
use protocol::conversation::part::TEXT_BYTES_MAX;
use protocol::conversation::reader::Reader;
use protocol::conversation::{Command as ConversationCommand, Conversation, customer_text};
use protocol::form;
use protocol::hidden::visible as visible_text;
use protocol::ids::{ConversationId, TransferId};
use protocol::notes::NOTES_BYTES_MAX;
use protocol::queue::EstimatedWait;
use protocol::transfer::Status;
use protocol::transfer::bundle::Bundle;
use protocol::transfer::command::{Act, Command, Request, Transfer as TransferInput};
use protocol::transfer::decide::{SCORE_MAX, is_in_queue};
use protocol::transfer::kind::Kind;
use protocol::transfer::state::{Leg, LegStage, Stage, Terms, Transfer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::http::conversations::access;
use crate::http::conversations::access::{conversation_of, reader, stream, submit, visible};
use crate::http::conversations::bundle_view::{shown_bundle, visible_bundle};
use crate::http::shared::auth::Asker;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Chat, FreeText, Named, Write};
use crate::http::shared::lookup;
use crate::http::shared::lookup::identity;
use crate::http::shared::problem::Problem;

/// A transfer, as the caller sees it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TransferView {
    pub transfer_id: String,
    pub conversation_id: String,
    pub status: Status,
    /// The kind of transfer for the person who answers or is asked.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// Who holds the conversation now, and in which epoch.
    pub holder: String,
    pub epoch: u64,
    pub queue: String,
    pub requested_at: String,
    /// Why a person is wanted. A customer gets the text that is meant for them, what they said
    /// themselves, or a sentence in their language.
    pub reason: String,
    /// Who is asked, or answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentIdentity>,
    /// The first is 1. Only while it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_position: Option<usize>,
    /// Only while a person is on shift and there is an estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_wait: Option<EstimatedWait>,
    /// Whether the customer is asked for a rating.
    pub asks_rating: bool,
    /// For people and operators only.
    #[serde(flatten)]
    pub inside: Option<Inside>,
}

/// What is not for the customer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Inside {
    pub requested_by: String,
    /// Who gave the reason: `customer`, `agent`, `operator` or `system`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason_by: Option<String>,
    /// What the customer is told instead of the reason, if the sender said so.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub customer_text: String,
    pub priority: i32,
    /// The newest bundle: what the person should know beforehand.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "show_bundle")]
    pub bundle: Option<Bundle>,
    /// Until when it rings, or is on hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Who held the conversation before, and gets it back.
    pub previous: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leg: Option<LegView>,
}

fn show_bundle<S: Serializer>(bundle: &Option<Bundle>, serializer: S) -> Result<S::Ok, S::Error> {
    bundle.as_ref().map(shown_bundle).serialize(serializer)
}

/// Another person who is asked in.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LegView {
    pub number: u16,
    #[serde(rename = "type")]
    pub kind: Kind,
    pub to: String,
    pub reason: String,
    /// `queued`, `ringing` or `consulting`.
    pub status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "show_bundle")]
    pub bundle: Option<Bundle>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PickupInput {
    /// The epoch that the caller has seen.
    #[serde(default)]
    pub epoch: Option<u64>,
    /// Answer at once.
    #[serde(default)]
    pub accept: bool,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EpochInput {
    /// The epoch that the caller has seen.
    #[serde(default)]
    pub epoch: Option<u64>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReasonInput {
    /// The epoch that the caller has seen. Customers have none.
    #[serde(default)]
    pub epoch: Option<u64>,
    #[serde(default)]
    #[schemars(transform = form::bytes(NOTES_BYTES_MAX))]
    pub reason: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailInput {
    #[serde(default)]
    pub epoch: Option<u64>,
    #[schemars(transform = form::bytes(NOTES_BYTES_MAX))]
    pub reason: String,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompleteInput {
    #[serde(default)]
    pub epoch: Option<u64>,
    /// What the next holder of the conversation must know.
    #[serde(default)]
    #[schemars(transform = form::bytes(NOTES_BYTES_MAX))]
    pub summary: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoteInput {
    #[serde(default)]
    pub epoch: Option<u64>,
    #[schemars(transform = form::text(TEXT_BYTES_MAX))]
    pub text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateInput {
    /// From 1, very bad, to 5, very good.
    #[schemars(transform = form::range(1, SCORE_MAX))]
    pub score: u8,
    #[serde(default)]
    #[schemars(transform = form::bytes(NOTES_BYTES_MAX))]
    pub comment: Option<String>,
}

impl FreeText for ReasonInput {
    const FREE_TEXT: &'static [&'static str] = &["reason"];
}

impl FreeText for RateInput {
    const FREE_TEXT: &'static [&'static str] = &["comment"];
}

pub async fn request(
    State(gateway): State<Gateway>,
    Named(id): Named<ConversationId>,
    Chat(write): Chat<Request>,
) -> Result<(StatusCode, Json<TransferView>), Problem> {
    let (write, request) = write.split();
    let caller = write.asker.caller;
    let key = write.key.for_action("request_human", Some(&id.to_string()));
    let transfer = gateway.engine.new_transfer_id();
    let command = Command::Request { transfer, request: Box::new(request) };
    submit(&gateway, &caller, id, ConversationCommand::Transfer(command), key).await?;
    // A repeated request is answered with the transfer that it began.
    let item = visible(&gateway, &caller, id).await?;
    let conversation = conversation_of(&item)?;
    let transfer = conversation.transfer.as_deref();
    let transfer = transfer.ok_or_else(|| Problem::not_found("transfer"))?;
    let view = view(&gateway, &caller, conversation, transfer).await?;
    Ok((StatusCode::CREATED, Json(view)))
}

pub async fn show(
    State(gateway): State<Gateway>,
    asker: Asker,
    Named(id): Named<TransferId>,
) -> Result<Json<TransferView>, Problem> {
    let conversation = found(&gateway, &asker.caller, id).await?;
    let stream = stream(&asker.caller.teamspace, conversation);
    let nothing = || Problem::not_found("transfer");
    let item = gateway.engine.read().item(&stream).await?.ok_or_else(nothing)?;
    let conversation = conversation_of(&item)?;
    let transfer = conversation.transfer.as_deref().filter(|transfer| transfer.id == id);
    let transfer = transfer.ok_or_else(nothing)?;
    let may_see = conversation.side(&asker.caller).is_some()
        || may_pick_up(&gateway, &asker.caller, transfer).await?;
    if !may_see {
        return Err(nothing());
    }
    view(&gateway, &asker.caller, conversation, transfer).await.map(Json)
}

pub async fn pickup(
    gateway: State<Gateway>,
    id: Named<TransferId>,
    write: Write<PickupInput>,
) -> Result<Json<TransferView>, Problem> {
    let (write, PickupInput { epoch, accept }) = write.split();
    act(gateway, id, write, epoch, Act::Pickup { accept }).await
}

pub async fn accept(
    gateway: State<Gateway>,
    id: Named<TransferId>,
    write: Write<EpochInput>,
) -> Result<Json<TransferView>, Problem> {
    let (write, EpochInput { epoch }) = write.split();
    act(gateway, id, write, epoch, Act::Accept).await
}

pub async fn decline(
    gateway: State<Gateway>,
    id: Named<TransferId>,
    write: Write<ReasonInput>,
) -> Result<Json<TransferView>, Problem> {
    let (write, ReasonInput { epoch, reason }) = write.split();
    act(gateway, id, write, epoch, Act::Decline { reason }).await
}

pub async fn hold(
    gateway: State<Gateway>,
    id: Named<TransferId>,
    write: Write<EpochInput>,
) -> Result<Json<TransferView>, Problem> {
    let (write, EpochInput { epoch }) = write.split();
    act(gateway, id, write, epoch, Act::Hold).await
}

pub async fn resume(
    gateway: State<Gateway>,
    id: Named<TransferId>,
    write: Write<EpochInput>,
) -> Result<Json<TransferView>, Problem> {
    let (write, EpochInput { epoch }) = write.split();
    act(gateway, id, write, epoch, Act::Resume).await
}

pub async fn complete(
    gateway: State<Gateway>,
    id: Named<TransferId>,
    write: Write<CompleteInput>,
) -> Result<Json<TransferView>, Problem> {
    let (write, CompleteInput { epoch, summary }) = write.split();
    act(gateway, id, write, epoch, Act::Complete { summary }).await
}

pub async fn end(
    gateway: State<Gateway>,
    id: Named<TransferId>,
    write: Write<ReasonInput>,
) -> Result<Json<TransferView>, Problem> {
    let (write, ReasonInput { epoch, reason }) = write.split();
    act(gateway, id, write, epoch, Act::End { reason }).await
}

pub async fn cancel(
    gateway: State<Gateway>,
    id: Named<TransferId>,
    Chat(write): Chat<ReasonInput>,
) -> Result<Json<TransferView>, Problem> {
    let (write, ReasonInput { epoch, reason }) = write.split();
    act(gateway, id, write, epoch, Act::Cancel { reason }).await
}

pub async fn fail(
    gateway: State<Gateway>,
    id: Named<TransferId>,
    write: Write<FailInput>,
) -> Result<Json<TransferView>, Problem> {
    let (write, FailInput { epoch, reason }) = write.split();
    act(gateway, id, write, epoch, Act::Fail { reason }).await
}

pub async fn transfer(
    gateway: State<Gateway>,
    id: Named<TransferId>,
    write: Write<TransferInput>,
) -> Result<Json<TransferView>, Problem> {
    let (write, input) = write.split();
    let epoch = input.epoch;
    act(gateway, id, write, epoch, Act::Transfer(Box::new(input))).await
}

pub async fn note(
    gateway: State<Gateway>,
    id: Named<TransferId>,
    write: Write<NoteInput>,
) -> Result<Json<TransferView>, Problem> {
    let (write, NoteInput { epoch, text }) = write.split();
    act(gateway, id, write, epoch, Act::Note { text }).await
}

pub async fn whisper(
    gateway: State<Gateway>,
    id: Named<TransferId>,
    write: Write<NoteInput>,
) -> Result<Json<TransferView>, Problem> {
    let (write, NoteInput { epoch, text }) = write.split();
    act(gateway, id, write, epoch, Act::Whisper { text }).await
}

pub async fn rate(
    gateway: State<Gateway>,
    id: Named<TransferId>,
    Chat(write): Chat<RateInput>,
) -> Result<Json<TransferView>, Problem> {
    let (write, RateInput { score, comment }) = write.split();
    act(gateway, id, write, None, Act::Rate { score, comment }).await
}

async fn act(
    State(gateway): State<Gateway>,
    Named(transfer): Named<TransferId>,
    write: Write<()>,
    epoch: Option<u64>,
    act: Act,
) -> Result<Json<TransferView>, Problem> {
    let caller = write.asker.caller;
    let id = found(&gateway, &caller, transfer).await?;
    let key = write.key.for_action(act.name(), Some(&transfer.to_string()));
    let command = ConversationCommand::Transfer(Command::Act { transfer, epoch, act });
    submit(&gateway, &caller, id, command, key).await?;
    let stream = stream(&caller.teamspace, id);
    let nothing = || Problem::not_found("transfer");
    let item = gateway.engine.read().item(&stream).await?.ok_or_else(nothing)?;
    let conversation = conversation_of(&item)?;
    let known = conversation.transfer.as_deref().ok_or_else(nothing)?;
    view(&gateway, &caller, conversation, known).await.map(Json)
}

/// The conversation that a transfer belongs to.
pub async fn found(
    gateway: &Gateway,
    caller: &Caller,
    id: TransferId,
) -> Result<ConversationId, Problem> {
    let conversation = gateway.engine.read().conversation_of(&caller.teamspace, id).await?;
    conversation.ok_or_else(|| Problem::not_found("transfer"))
}

/// Whether the caller is a person of the queue in which the transfer waits.
pub async fn may_pick_up(
    gateway: &Gateway,
    caller: &Caller,
    transfer: &Transfer,
) -> Result<bool, Problem> {
    let (Some(own), Some(waiting)) = (caller.agent(), transfer.waiting()) else { return Ok(false) };
    let person = lookup::agent(gateway, &caller.teamspace, own).await?;
    let queue = lookup::agent(gateway, &caller.teamspace, waiting.queue).await?;
    let is_person = |agent: &Agent| agent.kind == AgentKind::Human;
    Ok(match (person.filter(is_person), queue) {
        (Some(person), Some(queue)) => is_in_queue(&person, &queue),
        (_, _) => false,
    })
}

pub async fn view(
    gateway: &Gateway,
    caller: &Caller,
    conversation: &Conversation,
    transfer: &Transfer,
) -> Result<TransferView, Problem> {
    let agent = match transfer.claim() {
        Some(claim) => Some(identity(gateway, &caller.teamspace, &claim.agent).await?),
        None => None,
    };
    let place = match transfer.stage {
        Stage::Queued => access::place(gateway, caller, conversation.id, transfer).await?,
        Stage::Requested
        | Stage::Ringing { .. }
        | Stage::Connected { .. }
        | Stage::OnHold { .. }
        | Stage::Over { .. } => None,
    };
    let (queue_position, estimated_wait) = place.map_or((None, None), |it| (Some(it.0), it.1));
    let status = transfer.status();
    Ok(TransferView {
        transfer_id: transfer.id.to_string(),
        conversation_id: conversation.id.to_string(),
        status,
        kind: transfer.kind(),
        holder: conversation.holder.to_string(),
        epoch: conversation.epoch,
        queue: transfer.queue.to_string(),
        requested_at: transfer.terms.requested_at.to_string(),
        reason: reason(gateway, caller, conversation, transfer).await?,
        agent,
        queue_position,
        estimated_wait,
        asks_rating: status == Status::Completed && !transfer.rated,
        inside: match reader(gateway, caller).await? {
            Reader::Customer => None,
            Reader::Person => Some(inside(transfer)),
            Reader::Program => Some(shown_to_program(inside(transfer))),
        },
    })
}

async fn reason(
    gateway: &Gateway,
    caller: &Caller,
    conversation: &Conversation,
    transfer: &Transfer,
) -> Result<String, Problem> {
    let Terms { requested_by: by, reason, customer_text, .. } = &*transfer.terms;
    match reader(gateway, caller).await? {
        Reader::Customer => {}
        Reader::Person => return Ok(transfer.reason().to_owned()),
        Reader::Program => return Ok(visible_text(transfer.reason()).into_owned()),
    }
    let queue = identity(gateway, &caller.teamspace, &transfer.queue).await?.agent_name;
    let language = conversation.setup.customer.language.as_deref();
    let asked = match (&transfer.passed, transfer.answering()) {
        (Some(passed), Some(claim)) => {
            let from = identity(gateway, &caller.teamspace, &passed.by).await?.agent_name;
            let to = identity(gateway, &caller.teamspace, &claim.agent).await?.agent_name;
            return Ok(customer_text::of_passed(&passed.customer_text, language, &from, &to));
        }
        (Some(passed), None) => {
            let (by, customer_text) = ("agent:", &passed.customer_text);
            customer_text::Asked { by, reason: "", customer_text }
        }
        (None, _) => customer_text::Asked { by, reason, customer_text },
    };
    Ok(customer_text::of_request(asked, language, &queue))
}

/// The customer's texts, with invisible characters written out.
fn shown_to_program(mut inside: Inside) -> Inside {
    inside.bundle = inside.bundle.map(visible_bundle);
    if let Some(leg) = &mut inside.leg {
        leg.bundle = leg.bundle.take().map(visible_bundle);
    }
    inside
}

fn inside(transfer: &Transfer) -> Inside {
    let terms = &transfer.terms;
    let until = match &transfer.stage {
        Stage::Ringing { until, .. } | Stage::OnHold { until, .. } => Some(until.to_string()),
        Stage::Requested | Stage::Queued | Stage::Connected { .. } | Stage::Over { .. } => None,
    };
    Inside {
        requested_by: terms.requested_by.clone(),
        reason_by: Some(transfer.reason_by().to_owned()).filter(|_| !transfer.reason().is_empty()),
        customer_text: transfer.customer_text().to_owned(),
        priority: terms.priority,
        bundle: transfer.bundle().cloned(),
        until,
        previous: terms.previous.to_string(),
        leg: transfer.leg.as_ref().map(leg),
    }
}

fn leg(leg: &Leg) -> LegView {
    LegView {
        number: leg.number,
        kind: leg.kind,
        to: leg.target.id().to_string(),
        reason: leg.reason.clone(),
        status: match &leg.stage {
            LegStage::Queued => "queued",
            LegStage::Ringing { .. } => "ringing",
            LegStage::Consulting { .. } => "consulting",
        },
        agent: leg.claim().map(|claim| claim.agent.to_string()),
        bundle: leg.bundle.as_deref().cloned(),
    }
}
