//! A message in answers.

use std::collections::BTreeMap;

use engine::read::query::Item;
use protocol::caller::Caller;
use protocol::handoff::package::Priority;
use protocol::hidden;
use protocol::ids::AgentId;
use protocol::message::context::{MessageContext, MessagePolicy};
use protocol::message::{Delivery, Kind, Message};
use protocol::visibility::details::sees_recipients;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::http::shared::problem::Problem;

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

pub fn message_of(item: &Item) -> Result<&Message, Problem> {
    item.state.as_message().ok_or_else(|| Problem::not_found("message"))
}

pub fn views(caller: &Caller, items: &[Item]) -> Vec<MessageView> {
    items.iter().filter_map(|item| message_of(item).ok()).map(|one| view(caller, one)).collect()
}

pub fn view(caller: &Caller, message: &Message) -> MessageView {
    let sent = &message.sent;
    let names = |names: &[AgentId]| names.iter().map(ToString::to_string).collect();
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
        recipients: sees_recipients(caller, message).then(recipients),
    }
}

fn shown_context(context: &MessageContext) -> MessageContext {
    let mut shown = serde_json::to_value(context).expect("a context is plain data");
    hidden::make_visible(&mut shown);
    serde_json::from_value(shown).expect("texts stay texts")
}
