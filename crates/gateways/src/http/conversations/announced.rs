//! What happens in a conversation, for those who follow it as a chat: a change of hands in the
//! words that chat clients know, and entries of the ledger as the customer may see them.

use engine::port::Sequenced;
use protocol::caller::Caller;
use protocol::conversation::Event;
use protocol::ids::ConversationId;
use protocol::ledger::Subject;
use serde_json::{Value, json};

use super::{identity, transcript};
use crate::http::Gateway;
use crate::http::problem::Problem;

/// `agent_handoff` and `agent_changed` for a change of hands; nothing for anything else. Both have
/// the id of the part that says the same in the transcript, so that a repeat can be told.
pub async fn announcements(
    gateway: &Gateway,
    caller: &Caller,
    line: &Sequenced,
) -> Result<Vec<Value>, Problem> {
    let Subject::Conversation(id) = line.entry.stream.subject else { return Ok(Vec::new()) };
    if line.entry.name != "conversation.routed" {
        return Ok(Vec::new());
    }
    let Some(Event::Routed(routed)) = transcript::event(line) else { return Ok(Vec::new()) };
    let to = identity(gateway, &caller.teamspace, &routed.to).await?;
    let mut handoff = json!({
        "type": "agent_handoff",
        "sessionId": id.to_string(),
        "eventId": format!("{id}-{}", routed.number),
        "timestamp": line.entry.at.to_string(),
        "fromAgent": identity(gateway, &caller.teamspace, &routed.holder).await?,
        "toAgent": to,
    });
    let mut changed = json!({
        "type": "agent_changed",
        "sessionId": id.to_string(),
        "eventId": format!("{id}-{}", routed.number),
        "timestamp": line.entry.at.to_string(),
        "currentAgent": to,
        "handoffType": routed.how,
    });
    if !routed.reason.is_empty() {
        handoff["reason"] = routed.reason.as_str().into();
        changed["reason"] = routed.reason.as_str().into();
    }
    Ok(vec![handoff, changed])
}

/// An entry of a conversation as its customer sees it: the message that it added to the transcript,
/// or that it began or ended. Anything else is between the agents.
pub async fn for_customer(
    gateway: &Gateway,
    customer: &Caller,
    id: ConversationId,
    line: &Sequenced,
) -> Result<Option<Value>, Problem> {
    let entry = &line.entry;
    let data = match transcript::one(gateway, customer, id, line).await? {
        Some(message) => json!(message),
        None if ["conversation.opened", "conversation.closed"].contains(&&*entry.name) => json!({}),
        None => return Ok(None),
    };
    Ok(Some(json!({
        "seq": line.seq,
        "stream": entry.stream.subject.to_string(),
        "position": entry.position,
        "event": entry.name,
        "version": entry.version,
        "at": entry.at.to_string(),
        "data": data,
    })))
}
