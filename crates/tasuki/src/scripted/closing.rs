//! The end of a session that is no longer played: what is open is closed, and the end is announced.

use aaep::machine::LooseEnds;
use aaep::stamp::stamp;
use aaep::{CONTEXT, VERSION};
use engine::ports::ids::Ids;
use protocol::time::Time;
use serde_json::{Map, Value, json};

use super::words::{DEFAULT_LANGUAGE, ENDED_BY_SERVER, Extent, SaidText, languages};
use super::{AGENT_NAME, id};

/// A session that ends in the middle.
#[derive(Debug)]
pub struct Cut<'a> {
    pub session_id: &'a str,
    pub agent_id: &'a str,
    pub n_events: u64,
    pub ends: LooseEnds<'a>,
}

/// The events that end a session of ours.
pub fn closing(cut: &Cut<'_>, ids: &dyn Ids, now: Time) -> Vec<Value> {
    let ends = &cut.ends;
    let calls = ends.calls.iter().map(|(tool, call)| {
        let mut payload = json!({
            "type": "aaep:agent.tool.completed",
            "tool": tool,
            "status": "timeout",
            "error_message": ENDED_BY_SERVER.in_language(DEFAULT_LANGUAGE),
        });
        if let Some(call) = call {
            payload["tool_call_id"] = (*call).into();
        }
        payload
    });
    let outputs = ends.outputs.iter().map(|(output, length)| {
        let mut payload = json!({
            "type": "aaep:agent.output.streaming",
            "chunk": "",
            "position": length,
            "complete": true,
        });
        if let Some(output) = output {
            payload["output_id"] = (*output).into();
        }
        payload
    });
    let end = json!({
        "type": "aaep:agent.session.cancelled",
        "cancelled_by": "system",
        "cancellation_reason": "server_stopped",
    });
    let payloads = calls.chain(outputs).chain([end]);
    // Our sessions number their events from 0.
    let numbered = (cut.n_events..).zip(payloads);
    numbered.map(|(number, payload)| event(cut, number, payload, ids, now)).collect()
}

fn event(cut: &Cut<'_>, number: u64, payload: Value, ids: &dyn Ids, now: Time) -> Value {
    let Value::Object(payload) = payload else { unreachable!("each payload is an object") };
    let mut event: Map<String, Value> = Map::new();
    event.insert("@context".to_owned(), CONTEXT.into());
    event.insert("aaep_version".to_owned(), VERSION.into());
    event.extend(payload);
    event.insert("event_id".to_owned(), id("evt_", ids).into());
    event.insert("session_id".to_owned(), cut.session_id.into());
    event.insert("sequence_number".to_owned(), number.into());
    event.insert("timestamp".to_owned(), stamp(now).into());
    let producer = json!({
        "agent_id": cut.agent_id,
        "agent_name": AGENT_NAME,
        "agent_version": env!("CARGO_PKG_VERSION"),
    });
    event.insert("producer".to_owned(), producer);
    event.insert("urgency".to_owned(), "normal".into());
    let languages: Vec<&str> = languages().collect();
    let hints = json!({ "primary_language": DEFAULT_LANGUAGE, "available_languages": languages });
    event.insert("localization_hints".to_owned(), hints);
    SaidText::from(ENDED_BY_SERVER).put_into(&mut event, DEFAULT_LANGUAGE, Extent::Whole);
    Value::Object(event)
}
