//! `/v1/acp/messages`, `/v1/acp/inbox` and `/v1/acp/status`: the mailbox of the ACP design, one
//! path per tool.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use engine::ports::store::{InboxStatus, ListOf, MessageFilter};
use engine::read::query::{Item, LIST_ROWS_MAX};
use protocol::caller::Caller;
use protocol::ids::{AgentId, MessageId, TeamspaceId, ThreadId, Topic};
use protocol::ledger::{Stream, Subject};
use protocol::message::command::{Address, Addressed, PAYLOAD_BYTES_MAX};
use protocol::message::state::{mailboxes, server};
use protocol::message::{Command, Delivery, Kind, Outgoing};
use protocol::step;
use protocol::time::Time;
use protocol::visibility::details::{Listed, listed_messages};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::http::messages::inbox_text;
use crate::http::messages::notices::{self, HandoffInBrief, NoticesView};
use crate::http::messages::state::Messages;
use crate::http::messages::view::{MessageView, message_of, view, views};
use crate::http::questions::list as questions;
use crate::http::shared::auth::Asker;
use crate::http::shared::cursors;
use crate::http::shared::input::{Named, Nothing, QueryParameters, Write};
use crate::http::shared::paging::{ListPage, parse_limit};
use crate::http::shared::problem::Problem;
use crate::rate::RateLimiter;

const MESSAGES: &str = "/v1/acp/messages";

/// Handoffs on a page of the inbox: as many as a model reads at once.
const IN_BRIEF_MAX: usize = 20;

/// The filters of a list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryInput {
    /// Sent or received by this agent.
    #[serde(default)]
    pub agent: Option<AgentId>,
    #[serde(default)]
    pub thread_id: Option<ThreadId>,
    #[serde(default, rename = "type")]
    pub kind: Option<Kind>,
    #[serde(default)]
    pub status: Option<Delivery>,
    #[serde(default)]
    pub topic: Option<Topic>,
    /// Sent at this time or later.
    #[serde(default)]
    pub since: Option<Time>,
    /// Sent before this time.
    #[serde(default)]
    pub until: Option<Time>,
    /// The most items in a page, 1 to 200.
    #[serde(default)]
    pub limit: Option<String>,
    /// `next_cursor` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InboxInput {
    /// Pending, delivered and failed when absent.
    #[serde(default)]
    pub status: Option<Delivery>,
    /// `json` or `text`; by the `Accept` header when absent.
    #[serde(default)]
    pub format: Option<Format>,
    /// `until` of notices that you have used: they count as read, and are not shown again. So do
    /// the messages that the server sent you and that your inbox has shown by then.
    #[serde(default)]
    pub read_until: Option<String>,
    /// The most items in a page, 1 to 200.
    #[serde(default)]
    pub limit: Option<String>,
    /// `next_cursor` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    Json,
    Text,
}

/// What the caller was sent. The first page of all that is open also has its notices, and the
/// handoffs that wait for it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InboxView {
    pub items: Vec<MessageView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notices: Option<NoticesView>,
    /// The handoffs that wait for you, the newest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_for_you: Option<Vec<HandoffInBrief>>,
    /// How many wait for you, counted up to 200.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_waiting_for_you: Option<usize>,
    /// Whether there may be more: `GET /v1/handoffs?waiting_for=me` finds all, page by page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_wait_for_you: Option<bool>,
    /// How many questions and confirmations of sessions wait for you, each counted up to 50: `GET
    /// /v1/questions?waiting_for=me` shows them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_questions_for_you: Option<usize>,
}

/// How many messages are in the caller's mailboxes, and how many it may still send.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MailboxStatus {
    /// The names under which the caller receives messages.
    pub mailboxes: Vec<String>,
    /// Each is counted up to 1000.
    pub pending: usize,
    pub delivered: usize,
    pub read: usize,
    /// Handoffs with notices that you have not read, counted up to 200.
    pub notices: usize,
    /// Handoffs that wait for you, counted up to 200.
    pub waiting_for_you: usize,
    /// Whether there may be more: `GET /v1/handoffs?waiting_for=me` finds all, page by page.
    pub more_wait_for_you: bool,
    /// Questions and confirmations of sessions that wait for you, each counted up to 50: `GET
    /// /v1/questions?waiting_for=me` shows them.
    pub questions_for_you: usize,
    pub direct_sends_left: u64,
    pub broadcasts_left: u64,
    pub payload_bytes_max: usize,
}

pub async fn send(
    State(gateway): State<Messages>,
    write: Write<Addressed>,
) -> Result<Response, Problem> {
    let (write, Addressed(outgoing)) = write.split();
    submit(&gateway, write, outgoing, None).await
}

pub async fn respond(
    State(gateway): State<Messages>,
    Named(id): Named<MessageId>,
    write: Write<Outgoing>,
) -> Result<Response, Problem> {
    let (write, outgoing) = write.split();
    if outgoing.reply_to.is_some_and(|other| other != id) {
        return Err(Problem::schema_invalid("reply_to", "the message that is answered"));
    }
    let outgoing = Outgoing { reply_to: Some(id), ..outgoing };
    submit(&gateway, write, outgoing, Some(id)).await
}

/// Sends the input of a user to an agent as a message of the caller.
pub async fn pass_on(
    gateway: &Messages,
    caller: &Caller,
    to: &AgentId,
    payload: Value,
) -> Result<(), Problem> {
    let Value::Object(payload) = payload else { unreachable!("a payload is an object") };
    let outgoing = Outgoing {
        to: vec![Address::Agent(to.clone())],
        kind: Some(Kind::KnowledgeQuery),
        payload,
        ..Outgoing::default()
    };
    let taken = gateway.sending.admit(caller, &outgoing, gateway.now_ms())?;
    let stream = stream(&caller.teamspace, gateway.engine.new_message_id());
    let command = step::Command::Message(Command::Send(Box::new(outgoing)));
    let done = gateway.engine.submit_new(caller, stream, command, None).await;
    if done.is_err() {
        gateway.sending.give_back(taken, caller, gateway.now_ms());
    }
    done.map(|_| ()).map_err(Problem::from)
}

async fn submit(
    gateway: &Messages,
    write: Write<()>,
    mut outgoing: Outgoing,
    subject: Option<MessageId>,
) -> Result<Response, Problem> {
    let asker = write.asker.member()?;
    let key = write.key.for_action("send", subject.map(|id| id.to_string()).as_deref());
    let admitted = async {
        if let Some(id) = outgoing.reply_to {
            outgoing = outgoing.answering(message_of(&visible(gateway, &asker, id).await?)?);
        }
        let taken = gateway.sending.admit(&asker.caller, &outgoing, gateway.now_ms())?;
        Ok((outgoing, taken))
    };
    let done = match admitted.await {
        Ok((outgoing, taken)) => {
            let stream = stream(&asker.caller.teamspace, gateway.engine.new_message_id());
            let subject = stream.subject.to_string();
            let command = step::Command::Message(Command::Send(Box::new(outgoing)));
            let done = gateway.engine.submit_new(&asker.caller, stream, command, Some(key)).await?;
            if done.subject != subject {
                // It was sent before, and counted then.
                gateway.sending.give_back(taken, &asker.caller, gateway.now_ms());
            }
            done
        }
        // A retry of a sent message does not count as another one.
        Err(problem) => {
            gateway.engine.done_before(&asker.caller, &key).await?.ok_or::<Problem>(problem)?
        }
    };
    // A retry is answered with the message that was sent then, as it is now.
    let id = done.subject.strip_prefix("message/").and_then(|id| id.parse().ok());
    let id = id.ok_or_else(|| Problem::not_found("message"))?;
    let item = visible(gateway, &asker, id).await?;
    let view = view(&asker.caller, message_of(&item)?);
    let mut response = (StatusCode::CREATED, Json(view)).into_response();
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&location(id)) {
        headers.insert(header::LOCATION, value);
    }
    Ok(response)
}

pub async fn read(
    State(gateway): State<Messages>,
    Named(id): Named<MessageId>,
    write: Write<Nothing>,
) -> Result<Json<MessageView>, Problem> {
    let (write, Nothing {}) = write.split();
    let asker = write.asker.member()?;
    let key = write.key.for_action("read", Some(&id.to_string()));
    let stream = stream(&asker.caller.teamspace, id);
    let command = step::Command::Message(Command::Read);
    gateway.engine.submit(&asker.caller, stream, command, Some(key)).await?;
    let item = visible(&gateway, &asker, id).await?;
    Ok(Json(view(&asker.caller, message_of(&item)?)))
}

pub async fn show(
    State(gateway): State<Messages>,
    asker: Asker,
    Named(id): Named<MessageId>,
) -> Result<Json<MessageView>, Problem> {
    let asker = asker.member()?;
    let item = visible(&gateway, &asker, id).await?;
    Ok(Json(view(&asker.caller, message_of(&item)?)))
}

pub async fn query(
    State(gateway): State<Messages>,
    asker: Asker,
    QueryParameters(input): QueryParameters<QueryInput>,
) -> Result<Json<ListPage<MessageView>>, Problem> {
    let caller = asker.member()?.caller;
    let limit = parse_limit(input.limit.as_deref())?;
    let before = cursors::row_before(&gateway, &caller, "messages", input.cursor.as_deref())?;
    let own = match listed_messages(&caller) {
        Listed::All => None,
        Listed::Of(own) => Some(own),
        Listed::Nothing => return Ok(Json(ListPage { items: Vec::new(), next_cursor: None })),
    };
    let QueryInput { agent, thread_id, kind, status, topic, since, until, .. } = input;
    let parties = own.into_iter().chain(agent).collect();
    let filter = MessageFilter { parties, thread_id, kind, status, topic, since, until };
    let of = ListOf::Messages(filter);
    let mut page = gateway.engine.read().list(&caller.teamspace, of, before, limit).await?;
    // The index of parties does not decide who may read a message.
    let is_visible =
        |item: &Item| item.state.as_message().is_some_and(|it| it.is_visible_to(&caller));
    page.items.retain(is_visible);
    let next_cursor = cursors::next_row(&gateway, &caller, "messages", page.next);
    Ok(Json(ListPage { items: views(&caller, &page.items), next_cursor }))
}

pub async fn inbox(
    State(gateway): State<Messages>,
    asker: Asker,
    headers: HeaderMap,
    QueryParameters(input): QueryParameters<InboxInput>,
) -> Result<Response, Problem> {
    let asker = asker.member()?;
    let caller = &asker.caller;
    let limit = parse_limit(input.limit.as_deref())?;
    let before = cursors::row_before(&gateway, caller, "inbox", input.cursor.as_deref())?;
    if let Some(until) = input.read_until.as_deref() {
        // Operators are told nothing, so they have nothing to mark.
        let until = notices::place(&gateway, &asker, ("read_until", until)).await?;
        if let Some(own) = caller.agent() {
            notices::mark_read(&gateway, &asker, own, until).await?;
            gateway.engine.read().read_server_messages(caller, until).await?;
        }
    }
    let status = input.status.map_or(InboxStatus::Open, InboxStatus::Only);
    let page = gateway.engine.read().inbox(caller, status, before, limit).await?;
    let shown_until = gateway.engine.ledger().newest().await?;
    let mut view = InboxView {
        items: views(caller, &page.items),
        next_cursor: cursors::next_row(&gateway, caller, "inbox", page.next),
        notices: None,
        waiting_for_you: None,
        n_waiting_for_you: None,
        more_wait_for_you: None,
        n_questions_for_you: None,
    };
    if before.is_none() && input.status.is_none() {
        let waiting = notices::waiting(&gateway, &asker, IN_BRIEF_MAX).await?;
        let mut notices = notices::told(&gateway, &asker, None, IN_BRIEF_MAX).await?;
        if !notices.has_more && has_server_messages(&page.items) {
            // A cursor that covers the messages, too, although they are no notices.
            notices.until = Some(cursors::event(&gateway, &caller.teamspace, shown_until));
        }
        view.notices = Some(notices);
        view.more_wait_for_you = Some(waiting.has_more());
        view.n_waiting_for_you = Some(waiting.n_found);
        view.waiting_for_you = Some(waiting.in_brief);
        view.n_questions_for_you = Some(questions::n_waiting_for(&gateway, &asker).await?);
    }
    Ok(match input.format.unwrap_or_else(|| accepted(&headers)) {
        Format::Json => Json(view).into_response(),
        Format::Text => inbox_text::render(&view).into_response(),
    })
}

pub async fn status(
    State(gateway): State<Messages>,
    asker: Asker,
) -> Result<Json<MailboxStatus>, Problem> {
    let asker = asker.member()?;
    let caller = &asker.caller;
    let waiting = notices::waiting(&gateway, &asker, 0).await?;
    let notices = gateway.engine.read().notices(caller, None, LIST_ROWS_MAX).await?;
    let counts = gateway.engine.read().inbox_counts(caller).await?;
    let left = |limiter: &RateLimiter| match caller.agent() {
        Some(sender) => limiter.left(&(&caller.teamspace, sender), gateway.now_ms()),
        None => 0,
    };
    Ok(Json(MailboxStatus {
        mailboxes: mailboxes(caller).iter().map(ToString::to_string).collect(),
        pending: counts.pending,
        delivered: counts.delivered,
        read: counts.read,
        notices: notices.about.len(),
        waiting_for_you: waiting.n_found,
        more_wait_for_you: waiting.may_be_more,
        questions_for_you: questions::n_waiting_for(&gateway, &asker).await?,
        direct_sends_left: left(&gateway.sending.direct),
        broadcasts_left: left(&gateway.sending.broadcasts),
        payload_bytes_max: PAYLOAD_BYTES_MAX,
    }))
}

fn has_server_messages(items: &[Item]) -> bool {
    let messages = items.iter().filter_map(|item| item.state.as_message());
    messages.into_iter().any(|message| message.sent.from == server())
}

/// The message, if it exists and the caller may read it.
pub async fn visible(gateway: &Messages, asker: &Asker, id: MessageId) -> Result<Item, Problem> {
    let item = gateway.engine.read().item(&stream(&asker.caller.teamspace, id)).await?;
    let item = item.ok_or_else(|| Problem::not_found("message"))?;
    match gateway.engine.access().may_read(&asker.caller, &item.stream, &item.state).await? {
        true => Ok(item),
        false => Err(Problem::not_found("message")),
    }
}

fn stream(teamspace: &TeamspaceId, id: MessageId) -> Stream {
    Stream { teamspace: teamspace.clone(), subject: Subject::Message(id) }
}

fn location(id: MessageId) -> String {
    format!("{MESSAGES}/{id}")
}

fn accepted(headers: &HeaderMap) -> Format {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    match accept.unwrap_or_default().trim_start().starts_with("text/plain") {
        true => Format::Text,
        false => Format::Json,
    }
}
