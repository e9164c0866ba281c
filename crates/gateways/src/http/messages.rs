//! `/v1/acp/messages`, `/v1/acp/inbox` and `/v1/acp/status`: the mailbox of the ACP design, one
//! path per tool.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use engine::port::{InboxStatus, ListOf, MessageFilter};
use engine::query::Item;
use protocol::caller::Caller;
use protocol::handoff::package::Priority;
use protocol::hidden;
use protocol::ids::{AgentId, MessageId, TeamspaceId, ThreadId, Topic};
use protocol::ledger::{Stream, Subject};
use protocol::message::command::{Address, Addressed, MessageContext, MessagePolicy};
use protocol::message::decide::send::PAYLOAD_BYTES_MAX;
use protocol::message::state::mailboxes;
use protocol::message::{Command, Delivery, Kind, Message, Outgoing};
use protocol::step;
use protocol::time::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Gateway;
use super::auth::Asker;
use super::cursors;
use super::handoffs::parse_limit;
use super::inbox_text;
use super::input::{Asked, KEY_HEADER, Named, Write};
use super::problem::Problem;
use super::tokens::Nothing;
use super::view::ListPage;
use crate::rate::{RateLimit, RateLimiter};

const MESSAGES: &str = "/v1/acp/messages";

/// As in the ACP design. A sender with more to say writes longer messages or an artifact.
const DIRECT: RateLimit = RateLimit {
    per_minute: NonZeroU32::new(10).expect("10 is not 0"),
    burst: NonZeroU32::new(10).expect("10 is not 0"),
};
const BROADCASTS_PER_HOUR: NonZeroU32 = NonZeroU32::new(5).expect("5 is not 0");

/// How often each sender may still send. The server's own notices do not pass here.
#[derive(Debug)]
pub struct Sending {
    direct: RateLimiter,
    broadcasts: RateLimiter,
}

impl Default for Sending {
    fn default() -> Self {
        Self {
            direct: RateLimiter::new(DIRECT),
            broadcasts: RateLimiter::per_hour(BROADCASTS_PER_HOUR),
        }
    }
}

/// A message, as the caller sees it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MessageView {
    pub id: String,
    pub protocol: &'static str,
    pub version: String,
    pub from: String,
    pub to: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    pub thread_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    #[serde(rename = "type")]
    pub kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    pub priority: Priority,
    /// The caller's own if it is a recipient, that of the message as a whole otherwise.
    pub status: Delivery,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    pub payload: Map<String, Value>,
    pub policy: MessagePolicy,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<MessageContext>,
    pub created_at: String,
    pub updated_at: String,
    /// The status for each recipient; shown to its sender and to coordinators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipients: Option<BTreeMap<String, Delivery>>,
}

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
    /// 1 to 200.
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
    /// 1 to 200.
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

/// How many messages are in the caller's mailboxes, and how many it may still send.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MailboxStatus {
    /// The names under which the caller receives messages.
    pub mailboxes: Vec<String>,
    /// Each is counted up to 1000.
    pub pending: usize,
    pub delivered: usize,
    pub read: usize,
    pub direct_sends_left: u64,
    pub broadcasts_left: u64,
    pub payload_bytes_max: usize,
}

pub async fn send(
    State(gateway): State<Gateway>,
    write: Write<Addressed>,
) -> Result<Response, Problem> {
    let (write, Addressed(outgoing)) = write.split();
    submit(&gateway, write, outgoing, None).await
}

pub async fn respond(
    State(gateway): State<Gateway>,
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
    gateway: &Gateway,
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
    let taken = gateway.admit(caller, &outgoing)?;
    let stream = stream(&caller.teamspace, gateway.engine.new_message_id());
    let command = step::Command::Message(Command::Send(Box::new(outgoing)));
    let done = gateway.engine.submit_new(caller, stream, command, None).await;
    if done.is_err() {
        gateway.give_back(taken, caller);
    }
    done.map(|_| ()).map_err(Problem::from)
}

async fn submit(
    gateway: &Gateway,
    write: Write<()>,
    mut outgoing: Outgoing,
    subject: Option<MessageId>,
) -> Result<Response, Problem> {
    let asker = write.asker.member()?;
    let key_text = HeaderValue::from_str(&write.key.text);
    let key = write.key.for_action("send", subject.map(|id| id.to_string()).as_deref());
    let admitted = async {
        if let Some(id) = outgoing.reply_to {
            outgoing = outgoing.answering(message_of(&visible(gateway, &asker, id).await?)?);
        }
        let taken = gateway.admit(&asker.caller, &outgoing)?;
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
                gateway.give_back(taken, &asker.caller);
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
    if let Ok(value) = key_text {
        headers.insert(KEY_HEADER.clone(), value);
    }
    if let Ok(value) = HeaderValue::from_str(&location(id)) {
        headers.insert(header::LOCATION, value);
    }
    Ok(response)
}

/// The sender's bucket from which a token was taken.
#[derive(Debug, Clone, Copy)]
enum Bucket {
    Direct,
    Broadcasts,
}

impl Gateway {
    /// Takes one of the sender's tokens. A caller that may not send at all is refused by the rules.
    fn admit(&self, caller: &Caller, outgoing: &Outgoing) -> Result<Bucket, Problem> {
        let (bucket, detail) = match outgoing.is_broadcast() {
            true => (Bucket::Broadcasts, "at most 5 broadcasts an hour by one sender"),
            false => (Bucket::Direct, "at most 10 messages a minute by one sender"),
        };
        let Some(sender) = caller.agent() else { return Ok(bucket) };
        self.limiter(bucket)
            .check(&(&caller.teamspace, sender), self.now_ms())
            .map_err(|retry| Problem::too_many_messages(detail, retry.seconds))?;
        Ok(bucket)
    }

    fn give_back(&self, bucket: Bucket, caller: &Caller) {
        if let Some(sender) = caller.agent() {
            self.limiter(bucket).give_back(&(&caller.teamspace, sender), self.now_ms());
        }
    }

    fn limiter(&self, bucket: Bucket) -> &RateLimiter {
        match bucket {
            Bucket::Direct => &self.sending.direct,
            Bucket::Broadcasts => &self.sending.broadcasts,
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.engine.clock().now().as_millis()).unwrap_or(0)
    }
}

pub async fn read(
    State(gateway): State<Gateway>,
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
    State(gateway): State<Gateway>,
    asker: Asker,
    Named(id): Named<MessageId>,
) -> Result<Json<MessageView>, Problem> {
    let asker = asker.member()?;
    let item = visible(&gateway, &asker, id).await?;
    Ok(Json(view(&asker.caller, message_of(&item)?)))
}

pub async fn query(
    State(gateway): State<Gateway>,
    asker: Asker,
    Asked(input): Asked<QueryInput>,
) -> Result<Json<ListPage<MessageView>>, Problem> {
    let caller = asker.member()?.caller;
    let limit = parse_limit(input.limit.as_deref())?;
    let before = cursors::row_before(&gateway, &caller, "messages", input.cursor.as_deref())?;
    let own = match caller.is_coordinator() {
        true => None,
        false => match mailboxes(&caller).into_iter().next() {
            Some(own) => Some(own),
            // A caller without a mailbox has no messages.
            None => return Ok(Json(ListPage { items: Vec::new(), next_cursor: None })),
        },
    };
    let QueryInput { agent, thread_id, kind, status, topic, since, until, .. } = input;
    let parties = own.into_iter().chain(agent).collect();
    let filter = MessageFilter { parties, thread_id, kind, status, topic, since, until };
    let of = ListOf::Messages(filter);
    let page = gateway.engine.list(&caller.teamspace, of, before, limit).await?;
    let next_cursor = cursors::next_row(&gateway, &caller, "messages", page.next);
    Ok(Json(ListPage { items: views(&caller, &page.items), next_cursor }))
}

pub async fn inbox(
    State(gateway): State<Gateway>,
    asker: Asker,
    headers: HeaderMap,
    Asked(input): Asked<InboxInput>,
) -> Result<Response, Problem> {
    let caller = asker.member()?.caller;
    let limit = parse_limit(input.limit.as_deref())?;
    let before = cursors::row_before(&gateway, &caller, "inbox", input.cursor.as_deref())?;
    let status = input.status.map_or(InboxStatus::Open, InboxStatus::Only);
    let page = gateway.engine.inbox(&caller, status, before, limit).await?;
    let items = views(&caller, &page.items);
    let next_cursor = cursors::next_row(&gateway, &caller, "inbox", page.next);
    Ok(match input.format.unwrap_or_else(|| accepted(&headers)) {
        Format::Json => Json(ListPage { items, next_cursor }).into_response(),
        Format::Text => inbox_text::render(&items, next_cursor.as_deref()).into_response(),
    })
}

pub async fn status(
    State(gateway): State<Gateway>,
    asker: Asker,
) -> Result<Json<MailboxStatus>, Problem> {
    let caller = asker.member()?.caller;
    let counts = gateway.engine.inbox_counts(&caller).await?;
    let left = |limiter: &RateLimiter| match caller.agent() {
        Some(sender) => limiter.left(&(&caller.teamspace, sender), gateway.now_ms()),
        None => 0,
    };
    Ok(Json(MailboxStatus {
        mailboxes: mailboxes(&caller).iter().map(ToString::to_string).collect(),
        pending: counts.pending,
        delivered: counts.delivered,
        read: counts.read,
        direct_sends_left: left(&gateway.sending.direct),
        broadcasts_left: left(&gateway.sending.broadcasts),
        payload_bytes_max: PAYLOAD_BYTES_MAX,
    }))
}

/// The message, if it exists and the caller may read it.
async fn visible(gateway: &Gateway, asker: &Asker, id: MessageId) -> Result<Item, Problem> {
    let item = gateway.engine.item(&stream(&asker.caller.teamspace, id)).await?;
    let item = item.ok_or_else(|| Problem::not_found("message"))?;
    match gateway.engine.may_read(&asker.caller, &item.stream, &item.state).await? {
        true => Ok(item),
        false => Err(Problem::not_found("message")),
    }
}

fn message_of(item: &Item) -> Result<&Message, Problem> {
    match item.state.as_ref() {
        step::State::Message(message) => Ok(message),
        step::State::Handoff(_)
        | step::State::Conversation(_)
        | step::State::Agent(_)
        | step::State::Token(_)
        | step::State::Ledger(_)
        | step::State::Graph(_)
        | step::State::Subscription(_)
        | step::State::Session(_)
        | step::State::Teamspace(_) => Err(Problem::not_found("message")),
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

fn views(caller: &Caller, items: &[Item]) -> Vec<MessageView> {
    items.iter().filter_map(|item| message_of(item).ok()).map(|one| view(caller, one)).collect()
}

fn view(caller: &Caller, message: &Message) -> MessageView {
    let sent = &message.sent;
    let names = |names: &[AgentId]| names.iter().map(ToString::to_string).collect();
    let is_senders = caller.is_coordinator() || mailboxes(caller).contains(&sent.from);
    let recipients = || {
        let pairs = message.recipients.iter();
        pairs.map(|(name, status)| (name.to_string(), *status)).collect()
    };
    // Other agents read it, so invisible characters are written out.
    let shown = |text: &str| hidden::visible(text).into_owned();
    let mut payload = sent.payload.clone();
    hidden::make_members_visible(&mut payload);
    MessageView {
        id: message.id.to_string(),
        protocol: "acp",
        version: sent.version.clone(),
        from: sent.from.to_string(),
        to: if sent.broadcast { vec!["*".to_owned()] } else { names(&sent.to) },
        team: sent.team.as_ref().map(ToString::to_string),
        thread_id: shown(sent.thread_id.as_str()),
        reply_to: sent.reply_to.map(|id| id.to_string()),
        kind: sent.kind,
        topic: sent.topic.as_ref().map(|topic| shown(topic.as_str())),
        priority: sent.priority,
        status: message.status_for(caller).unwrap_or_else(|| message.status()),
        sequence: sent.sequence,
        expires_at: sent.expires_at.map(|at| at.to_string()),
        payload,
        policy: sent.policy.clone(),
        context: sent.context.as_ref().map(shown_context),
        created_at: message.created_at.to_string(),
        updated_at: message.updated_at.to_string(),
        recipients: is_senders.then(recipients),
    }
}

fn shown_context(context: &MessageContext) -> MessageContext {
    let mut shown = serde_json::to_value(context).expect("a context is plain data");
    hidden::make_visible(&mut shown);
    serde_json::from_value(shown).expect("texts stay texts")
}
