//! What happens in a conversation, for chat clients that follow it: a change of holder as the
//! events that they know, and entries of the ledger as the customer may see them.

use engine::ledger::feed::entry_cursor;
use engine::ports::store::Sequenced;
use protocol::caller::Caller;
use protocol::conversation::event::Routed;
use protocol::conversation::reader::begins_or_ends;
use protocol::conversation::{Event, customer_text};
use protocol::entry_names::changes_sides;
use protocol::ids::ConversationId;
use protocol::ledger::Subject;
use protocol::visibility::details::sees_inside;
use serde_json::{Value, json};

use crate::http::conversations::access::language;
use crate::http::conversations::transfer_news::{News, Sight};
use crate::http::conversations::{history, transcript};
use crate::http::shared::gateway::Gateway;
use crate::http::shared::lookup::identity;
use crate::http::shared::problem::Problem;

/// The events that chat clients know for an entry of a conversation; none for most entries.
pub async fn announcements(
    gateway: &Gateway,
    caller: &Caller,
    sight: Sight,
    line: &Sequenced,
) -> Result<Vec<Value>, Problem> {
    let Subject::Conversation(id) = line.entry.stream.subject else { return Ok(Vec::new()) };
    if !changes_sides(&line.entry.name) {
        return Ok(Vec::new());
    }
    match history::event(line) {
        Some(Event::Routed(routed)) if sight == Sight::Entry => {
            change_of_hands(gateway, caller, id, line, &routed).await
        }
        Some(Event::Transfer(event)) => {
            News { gateway, caller, id, line, event: &event }.announced(sight).await
        }
        Some(
            Event::Routed(_)
            | Event::Opened(_)
            | Event::Said(_)
            | Event::NotHeard(_)
            | Event::Updated(_)
            | Event::SignalsObserved(_)
            | Event::Delivered(_)
            | Event::Unreached(_)
            | Event::HolderSilent(_)
            | Event::Extended(_)
            | Event::ReplyOverdue(_)
            | Event::Callback(_)
            | Event::Closed(_),
        )
        | None => Ok(Vec::new()),
    }
}

/// `agent_handoff` and `agent_changed`. Both have the id of the matching part in the transcript, so
/// that a client recognises a repeat.
async fn change_of_hands(
    gateway: &Gateway,
    caller: &Caller,
    id: ConversationId,
    line: &Sequenced,
    routed: &Routed,
) -> Result<Vec<Value>, Problem> {
    let to = identity(gateway, &caller.teamspace, &routed.to).await?;
    let from = identity(gateway, &caller.teamspace, &routed.holder).await?;
    let mut handoff = json!({
        "type": "agent_handoff",
        "sessionId": id.to_string(),
        "eventId": format!("{id}-{}", routed.number),
        "timestamp": line.entry.at.to_string(),
        "fromAgent": from,
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
    let reason = match sees_inside(caller) {
        true => routed.reason.clone(),
        false => {
            let language = language(gateway, &line.entry.stream).await?;
            let (from, to) = (&from.agent_name, &to.agent_name);
            customer_text::of_route(routed, language.as_deref(), from, to)
        }
    };
    if !reason.is_empty() {
        handoff["reason"] = reason.as_str().into();
        changed["reason"] = reason.into();
    }
    Ok(vec![handoff, changed])
}

/// An entry of a conversation as its customer sees it: the message that it added to the transcript,
/// or that it began or ended. Other entries are not for the customer.
pub async fn for_customer(
    gateway: &Gateway,
    customer: &Caller,
    id: ConversationId,
    line: &Sequenced,
) -> Result<Option<Value>, Problem> {
    let entry = &line.entry;
    let data = match transcript::one(gateway, customer, id, line).await? {
        Some(message) => json!(message),
        None if begins_or_ends(&entry.name) => json!({}),
        None => return Ok(None),
    };
    Ok(Some(json!({
        "cursor": entry_cursor(gateway.engine.cursor_key(), line),
        "stream": entry.stream.subject.to_string(),
        "position": entry.position,
        "event": entry.name,
        "version": entry.version,
        "at": entry.at.to_string(),
        "data": data,
    })))
}
