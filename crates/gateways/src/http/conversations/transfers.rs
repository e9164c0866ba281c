//! `/v1/transfers`: a conversation passes to a person. All participants see the same transfer; the
//! customer sees less of it.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use protocol::caller::Caller;
use protocol::conversation::part::TEXT_BYTES_MAX;
use protocol::conversation::{Command as ConversationCommand, Conversation};
use protocol::form;
use protocol::ids::{AgentId, ConversationId, Disposition, TransferId};
use protocol::notes::NOTES_BYTES_MAX;
use protocol::transfer::command::{Act, Command, Request, Transfer as TransferInput};
use protocol::transfer::decide::SCORE_MAX;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::conversations::access::{conversation_of, stream, submit, visible};
use crate::http::conversations::transfer_view::{TransferView, view};
use crate::http::shared::auth::Asker;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Chat, FreeText, Named, Write};
use crate::http::shared::problem::Problem;

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
    /// The teamspace's own code for how it was settled, for its figures.
    #[serde(default)]
    pub disposition: Option<Disposition>,
    /// The bot that gets the conversation; the one that had it before when absent.
    #[serde(default)]
    pub to: Option<AgentId>,
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
    let is_party = conversation.side(&asker.caller).is_some();
    let Some(transfer) = conversation.transfer.as_deref().filter(|transfer| transfer.id == id)
    else {
        return Err(if is_party { replaced(conversation) } else { nothing() });
    };
    let access = gateway.engine.access();
    if !access.may_read_transfer(&asker.caller, conversation, Some(transfer)).await? {
        return Err(nothing());
    }
    view(&gateway, &asker.caller, conversation, transfer).await.map(Json)
}

/// A conversation keeps its newest transfer; its transcript tells of the earlier ones.
fn replaced(conversation: &Conversation) -> Problem {
    let id = conversation.id;
    let detail = format!(
        "a newer transfer of conversation {id} replaced this one, which its transcript tells of: \
         /v1/conversations/{id}/messages"
    );
    Problem::new("not_found", detail)
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
    let (write, CompleteInput { epoch, summary, disposition, to }) = write.split();
    act(gateway, id, write, epoch, Act::Complete { summary, disposition, to }).await
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
