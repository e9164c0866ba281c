//! What listeners hear of an agent that has lost its conversation: that it has ended what it began,
//! in the server's words. Its own words stay on the record.

use serde_json::{Map, Value};

use crate::narrator::texts::{DEFAULT_LANGUAGE, Message, hints};

/// The members of an event that say what happened, without free text.
const KEPT: [&str; 14] = [
    "@context",
    "aaep_version",
    "type",
    "event_id",
    "session_id",
    "sequence_number",
    "timestamp",
    "from_state",
    "to_state",
    "cancelled_by",
    "error_category",
    "error_code",
    "recoverable",
    "urgency",
];

/// The event in the server's words; `None` if listeners are not told.
pub fn in_our_words(text: &str) -> Option<String> {
    let document: Map<String, Value> = serde_json::from_str(text).ok()?;
    let agent = document.get("producer")?.get("agent_id")?.as_str()?;
    let said = match document.get("type")?.as_str()?.strip_prefix("aaep:agent.")? {
        "session.completed" => Message::SessionCompleted { agent },
        "session.errored" => Message::SessionFailed { agent },
        "session.cancelled" => Message::SessionCancelled { agent },
        "state.changed" if document.get("to_state")? == "idle" => Message::StateIdle { agent },
        _ => return None,
    };
    let kept = KEPT.iter().filter_map(|name| {
        let value = document.get(*name)?.clone();
        Some(((*name).to_owned(), value))
    });
    let mut told: Map<String, Value> = kept.collect();
    if document.contains_key("error_message") {
        told.insert("error_message".to_owned(), said.in_language(DEFAULT_LANGUAGE).normal.into());
    }
    told.insert("producer".to_owned(), serde_json::json!({ "agent_id": agent }));
    said.put_summaries(DEFAULT_LANGUAGE, &mut told);
    told.insert("localization_hints".to_owned(), hints(DEFAULT_LANGUAGE));
    Some(Value::Object(told).to_string())
}

#[cfg(test)]
mod tests {
    use aaep::read::read;
    use serde_json::json;

    use super::*;

    /// Listeners get only events that are valid.
    #[test]
    fn every_end_is_told_in_a_valid_event() {
        for (kind, more) in [
            ("session.completed", json!({})),
            ("session.cancelled", json!({ "cancelled_by": "producer", "partial_result": "x" })),
            (
                "session.errored",
                json!({
                    "urgency": "critical", "error_category": "permanent", "remediation_hint": "x",
                }),
            ),
            ("state.changed", json!({ "from_state": "thinking", "to_state": "idle" })),
        ] {
            let mut event = json!({
                "@context": "https://aaep-protocol.org/context/v1",
                "type": format!("aaep:agent.{kind}"), "event_id": "evt_1", "session_id": "sess_1",
                "timestamp": "2026-02-21T14:00:00.000Z", "producer": { "agent_id": "teller" },
                "summary_normal": "Words of the agent", "summary_detailed": "More of them",
            });
            let fields = event.as_object_mut().expect("an object");
            fields.extend(more.as_object().expect("an object").clone());
            let event = event.to_string();
            assert!(read(&event).is_ok(), "{event}");
            let told = in_our_words(&event).expect("it is told");
            assert!(read(&told).is_ok(), "{told}: {:?}", read(&told).err());
            assert!(!told.contains("of the") && !told.contains("\"x\""), "{told}");
        }
    }
}
