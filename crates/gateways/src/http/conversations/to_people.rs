//! The lines of a transcript that come from a transfer to a person: parts in the names that chat
//! clients know, and what colleagues tell each other.

use engine::port::Sequenced;
use protocol::caller::Caller;
use protocol::ids::ConversationId;
use protocol::transfer::Event;
use protocol::transfer::state::Outcome;
use serde_json::{Value, json};

use super::is_customer;
use super::transcript::{From, Names};
use crate::http::problem::Problem;

/// What a line has besides its number: from whom, in which epoch, parts, what it answers.
type Shown = (Option<From>, Option<u64>, Vec<Value>, Option<u64>);

/// Whether a line of the transcript is for the caller. What colleagues tell each other has its
/// place there, and is not for the customer.
pub fn is_for(caller: &Caller, line: &Sequenced) -> bool {
    !(is_customer(caller) && line.entry.name.as_ref() == "transfer.noted")
}

pub async fn shown(
    names: &mut Names<'_>,
    id: ConversationId,
    event: &Event,
) -> Result<Shown, Problem> {
    let part = |status: &str, transfer: String, kind: Value| {
        json!({
            "type": "agent-transfer", "id": format!("{id}-{transfer}-{status}"),
            "transferId": transfer, "status": status, "transferType": kind,
        })
    };
    Ok(match event {
        Event::Requested(it) => {
            let mut part = part("requested", it.transfer.to_string(), json!(it.kind));
            part["fromAgent"] = json!(names.of(&it.holder).await?);
            if let Some(bundle) = &it.bundle {
                part["bundleId"] = bundle.bundle_id.as_str().into();
            }
            if !it.reason.is_empty() && !is_customer(names.caller) {
                part["reason"] = it.reason.as_str().into();
            }
            (Some(From::System), Some(it.epoch), vec![part], None)
        }
        Event::Connected(it) => {
            let mut part = part("connected", it.transfer.to_string(), json!(it.kind));
            part["targetAgent"] = json!(names.of(&it.agent).await?);
            (Some(From::System), Some(it.epoch), vec![part], None)
        }
        Event::Over(it) => {
            let status = match it.outcome {
                Outcome::Completed => "completed",
                Outcome::Ended => "ended",
                Outcome::Failed => "failed",
                Outcome::Cancelled => "cancelled",
            };
            let mut part = part(status, it.transfer.to_string(), Value::Null);
            part["toAgent"] = json!(names.of(&it.to).await?);
            if !it.reason.is_empty() {
                part["reason"] = it.reason.as_str().into();
            }
            if !it.summary.is_empty() && !is_customer(names.caller) {
                part["context"] = it.summary.as_str().into();
            }
            (Some(From::System), Some(it.epoch), vec![part], None)
        }
        Event::Noted(it) => {
            let kind = if it.whispered { "whisper" } else { "note" };
            let part = json!({ "type": kind, "text": it.text });
            (Some(From::Internal { by: it.by.clone() }), None, vec![part], None)
        }
        Event::Queued(_)
        | Event::Ringing(_)
        | Event::Returned(_)
        | Event::Held(_)
        | Event::Resumed(_)
        | Event::LegRequested(_)
        | Event::LegEnded(_)
        | Event::Rated(_) => (None, None, Vec::new(), None),
    })
}
