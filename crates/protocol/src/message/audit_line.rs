//! The lines of `messages.jsonl`: one for each sent message, with its envelope in the order of the
//! ACP design. A pure function of ledger entries, so that the file can be rebuilt. The archive has
//! a message as it was when it was purged.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::event::Sent;
use super::kind::Kind;
use super::state::{Delivery, Message};
use crate::handoff::package::Priority;
use crate::ids::{AgentId, MessageId, TeamId, ThreadId, Topic};
use crate::message::context::{MessageContext, MessagePolicy};
use crate::time::Time;

/// One line. Fields are written in this order.
#[derive(Debug, Serialize)]
pub struct MessageAuditLine<'a> {
    id: MessageId,
    protocol: &'static str,
    version: &'a str,
    from: &'a AgentId,
    /// Of a broadcast, all recipients.
    to: &'a [AgentId],
    #[serde(skip_serializing_if = "Option::is_none")]
    team: Option<&'a TeamId>,
    thread_id: &'a ThreadId,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<MessageId>,
    #[serde(rename = "type")]
    kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    topic: Option<&'a Topic>,
    priority: Priority,
    status: Delivery,
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Time>,
    payload: &'a Map<String, Value>,
    policy: &'a MessagePolicy,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<&'a MessageContext>,
    created_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<Time>,
    /// The delivery status of each recipient.
    #[serde(skip_serializing_if = "Option::is_none")]
    recipients: Option<&'a BTreeMap<AgentId, Delivery>>,
}

/// As it was when it was sent.
pub fn line(id: MessageId, sent: &Sent, at: Time) -> MessageAuditLine<'_> {
    MessageAuditLine {
        id,
        protocol: "acp",
        version: &sent.version,
        from: &sent.from,
        to: &sent.to,
        team: sent.team.as_ref(),
        thread_id: &sent.thread_id,
        reply_to: sent.reply_to,
        kind: sent.kind,
        topic: sent.topic.as_ref(),
        priority: sent.priority,
        status: Delivery::Pending,
        sequence: sent.sequence,
        expires_at: sent.expires_at,
        payload: &sent.payload,
        policy: &sent.policy,
        context: sent.context.as_ref(),
        created_at: at,
        updated_at: None,
        recipients: None,
    }
}

/// As it is now.
pub fn standing(message: &Message) -> MessageAuditLine<'_> {
    MessageAuditLine {
        status: message.status(),
        updated_at: Some(message.updated_at),
        recipients: Some(&message.recipients),
        ..line(message.id, &message.sent, message.created_at)
    }
}
