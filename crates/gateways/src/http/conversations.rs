//! `/v1/conversations`: a chat with a customer, in the hands of one agent at a time. A customer's
//! token is valid for their own conversation only.

pub mod announced;
pub mod by_tools;
pub mod erase;
pub mod export;
mod to_people;
pub mod transcript;
pub mod transfer_news;

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use engine::port::{ConversationFilter, ListOf};
use engine::query::Item;
use engine::submit::{Done, Key};
use protocol::agent::{Agent, AgentIdentity, Kind, Profile};
use protocol::caller::{Caller, Principal};
use protocol::conversation::command::{Open, Route, Say};
use protocol::conversation::event::How;
use protocol::conversation::reader::Reader;
use protocol::conversation::state::{Customer, Side};
use protocol::conversation::topology::Topology;
use protocol::conversation::{Command, Conversation, Status};
use protocol::form;
use protocol::handoff::decide::NOTES_BYTES_MAX;
use protocol::hidden;
use protocol::ids::{AgentId, ConversationId, TeamspaceId};
use protocol::ledger::{Stream, Subject};
use protocol::route::graph::Scalar;
use protocol::step::{self, State as Aggregate};
use protocol::transfer::Status as TransferStatus;
use protocol::warning::Warning;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Gateway;
use super::agents;
use super::auth::Asker;
use super::callbacks::{self, CallbackView};
use super::cursors;
use super::handoffs::parse_limit;
use super::input::{Asked, Chat, FreeText, Named, Write};
use super::problem::Problem;
use super::queues;
use super::tokens::{self, Nothing};
use super::view::{ListPage, TokenIssued};

/// A conversation, as the caller sees it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConversationView {
    pub conversation_id: String,
    pub status: Status,
    /// The agent that answers.
    pub holder: String,
    /// Grows each time the holder changes.
    pub epoch: u64,
    /// How many messages there are.
    pub n_messages: u64,
    /// The last message of the customer; 0 before the first.
    pub turn: u64,
    /// The last transfer to a person, if there was one, and its status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_status: Option<TransferStatus>,
    /// The callback that the customer waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callback: Option<CallbackView>,
    pub opened_at: String,
    pub changed_at: String,
    /// For agents and operators only.
    #[serde(flatten)]
    pub inside: Option<Inside>,
}

/// What is not for the customer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Inside {
    pub opened_by: String,
    pub customer: Customer,
    pub topology: Topology,
    /// The graph that routes its messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph: Option<String>,
    /// Values that the graph's rules may use, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, Scalar>,
    /// The queues that the customer may name, besides those of the graph.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub customer_queues: Vec<AgentId>,
    pub hops_max: u16,
    /// What the agents share, by name.
    pub shared: Map<String, Value>,
    /// SHA-256 over all messages.
    pub transcript_digest: String,
}

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
    /// Its place in the transcript.
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
    /// 1 to 200.
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
    let conversation = view(reader(&gateway, &caller).await?, &item)?;
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
    let is_own = conversation_of(&item)?.setup.opened_by == caller.principal.to_string();
    if !is_own && !caller.is_operator() {
        let detail = "only the member that opened the conversation, or an operator, may do this";
        return Err(Problem::new("not_allowed", detail));
    }
    let issued = tokens::issue_to_customer(&gateway, &caller.teamspace, id).await?;
    Ok((StatusCode::CREATED, Json(issued)))
}

pub async fn list(
    State(gateway): State<Gateway>,
    asker: Asker,
    Asked(input): Asked<ListInput>,
) -> Result<Json<ListPage<ConversationView>>, Problem> {
    let caller = asker.member()?.caller;
    let limit = parse_limit(input.limit.as_deref())?;
    let before = cursors::row_before(&gateway, &caller, "conversations", input.cursor.as_deref())?;
    let own = if caller.is_coordinator() { None } else { caller.agent().cloned() };
    let is_own = |named: &AgentId| own.as_ref().is_none_or(|own| own == named);
    if [&input.holder, &input.asked].into_iter().flatten().any(|named| !is_own(named)) {
        return Ok(Json(ListPage { items: Vec::new(), next_cursor: None }));
    }
    let holder = if input.asked.is_some() { input.holder } else { own.or(input.holder) };
    let filter = ConversationFilter { holder, asked: input.asked, status: input.status };
    let of = ListOf::Conversations(filter);
    let page = gateway.engine.list(&caller.teamspace, of, before, limit).await?;
    let reader = reader(&gateway, &caller).await?;
    Ok(Json(ListPage {
        items: page.items.iter().filter_map(|item| view(reader, item).ok()).collect(),
        next_cursor: cursors::next_row(&gateway, &caller, "conversations", page.next),
    }))
}

pub async fn show(
    State(gateway): State<Gateway>,
    asker: Asker,
    Named(id): Named<ConversationId>,
) -> Result<Json<ConversationView>, Problem> {
    let item = visible(&gateway, &asker.caller, id).await?;
    view(reader(&gateway, &asker.caller).await?, &item).map(Json)
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
    write: Write<Route>,
) -> Result<Json<Taken>, Problem> {
    let (write, route) = write.split();
    let key = write.key.for_action("route", Some(&id.to_string()));
    let command = Command::Route(Box::new(route));
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
    view(reader(&gateway, &caller).await?, &item).map(Json)
}

/// A message out of turn is recorded, and its sender is still told that it does not count.
pub(super) async fn submit(
    gateway: &Gateway,
    caller: &Caller,
    id: ConversationId,
    command: Command,
    key: Key,
) -> Result<Done, Problem> {
    let stream = stream(&caller.teamspace, id);
    let command = step::Command::Conversation(command);
    let done = gateway.engine.submit(caller, stream, command, Some(key)).await?;
    match &done.outcome.refused {
        Some(refused) => Err(Problem::not_heard(refused, &done.outcome)),
        None => Ok(done),
    }
}

fn taken(id: ConversationId, done: &Done) -> Taken {
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

/// The conversation, if it exists and the caller takes part in it.
pub async fn visible(
    gateway: &Gateway,
    caller: &Caller,
    id: ConversationId,
) -> Result<Item, Problem> {
    let nothing = || Problem::not_found("conversation");
    let item = gateway.engine.item(&stream(&caller.teamspace, id)).await?.ok_or_else(nothing)?;
    match conversation_of(&item)?.side(caller) {
        Some(Side::Customer | Side::Agent(_) | Side::Overseer) => Ok(item),
        None => Err(nothing()),
    }
}

pub(super) fn conversation_of(item: &Item) -> Result<&Conversation, Problem> {
    match item.state.as_ref() {
        Aggregate::Conversation(conversation) => Ok(conversation),
        Aggregate::Handoff(_)
        | Aggregate::Agent(_)
        | Aggregate::Token(_)
        | Aggregate::Ledger(_)
        | Aggregate::Message(_)
        | Aggregate::Graph(_)
        | Aggregate::Subscription(_)
        | Aggregate::Session(_)
        | Aggregate::Teamspace(_) => Err(Problem::not_found("conversation")),
    }
}

pub fn stream(teamspace: &TeamspaceId, id: ConversationId) -> Stream {
    Stream { teamspace: teamspace.clone(), subject: Subject::Conversation(id) }
}

/// How an agent is introduced; by its id if it is no longer in the directory.
pub async fn identity(
    gateway: &Gateway,
    teamspace: &TeamspaceId,
    id: &AgentId,
) -> Result<AgentIdentity, Problem> {
    let stream = agents::stream(teamspace, id.clone());
    Ok(match gateway.engine.current(&stream).await?.as_deref() {
        Some(Aggregate::Agent(agent)) => agent.identity(),
        Some(_) | None => Agent::new(id.clone(), Kind::Worker, Profile::default()).identity(),
    })
}

/// The customer's language, if it is known.
pub(super) async fn language(
    gateway: &Gateway,
    stream: &Stream,
) -> Result<Option<String>, Problem> {
    Ok(match gateway.engine.current(stream).await?.as_deref() {
        Some(Aggregate::Conversation(conversation)) => conversation.setup.customer.language.clone(),
        Some(_) | None => None,
    })
}

/// Who reads: a customer, a person, or a program.
pub async fn reader(gateway: &Gateway, caller: &Caller) -> Result<Reader, Problem> {
    let kind = match caller.agent() {
        Some(own) => queues::agent(gateway, &caller.teamspace, own).await?.map(|own| own.kind),
        None => None,
    };
    Ok(Reader::of(caller, kind))
}

pub(super) fn is_customer(caller: &Caller) -> bool {
    matches!(caller.principal, Principal::Customer(_))
}

fn view(reader: Reader, item: &Item) -> Result<ConversationView, Problem> {
    let conversation = conversation_of(item)?;
    let callback = conversation.callback.as_deref();
    Ok(ConversationView {
        conversation_id: conversation.id.to_string(),
        status: conversation.status(),
        holder: conversation.holder.to_string(),
        epoch: conversation.epoch,
        n_messages: conversation.transcript.count,
        turn: conversation.turn.number,
        transfer_id: conversation.transfer.as_ref().map(|transfer| transfer.id.to_string()),
        transfer_status: conversation.transfer.as_ref().map(|transfer| transfer.status()),
        callback: callback.map(|callback| callbacks::view(reader, conversation.id, callback)),
        opened_at: conversation.opened_at.to_string(),
        changed_at: item.changed_at.to_string(),
        inside: match reader {
            Reader::Customer => None,
            Reader::Person => Some(inside(conversation)),
            Reader::Program => Some(shown_to_program(inside(conversation))),
        },
    })
}

fn inside(conversation: &Conversation) -> Inside {
    let setup = &conversation.setup;
    Inside {
        opened_by: setup.opened_by.clone(),
        customer: setup.customer.clone(),
        topology: setup.topology.clone(),
        graph: setup.graph.as_ref().map(ToString::to_string),
        attributes: setup.attributes.clone(),
        customer_queues: setup.customer_queues.clone(),
        hops_max: setup.hops_max,
        shared: conversation.shared.clone(),
        transcript_digest: conversation.transcript.digest.clone(),
    }
}

/// Texts from other parties, with invisible characters written out.
fn shown_to_program(mut inside: Inside) -> Inside {
    let shown = |text: String| hidden::visible(&text).into_owned();
    let Customer { external_id, name, language } = inside.customer;
    inside.customer = Customer {
        external_id: external_id.map(shown),
        name: name.map(shown),
        language: language.map(shown),
    };
    let attributes = inside.attributes.into_iter();
    let attributes =
        attributes.map(|(name, value)| (shown(name), Scalar::new(hidden::visible(value.as_str()))));
    inside.attributes = attributes.collect();
    hidden::make_members_visible(&mut inside.shared);
    inside
}
