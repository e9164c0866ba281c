//! The events of a session in a burst: text, progress and states, a critical one now and then.

use serde_json::{Value, json};

/// Letters of one to four bytes: positions count characters.
const WORDS: [&str; 5] = ["Konto", "größer", "残高", "ọjọ́", "🧾"];

/// One state and one progress in so many events.
const EVENTS_PER_STATE: usize = 40;
const EVENTS_PER_PROGRESS: usize = 10;

/// One session from its start to its end.
#[derive(Debug, Clone)]
pub struct Burst {
    pub session: String,
    pub events: Vec<Value>,
    /// All chunks together.
    pub text: String,
}

impl Burst {
    /// `n_events` in all, `n_critical` of them critical.
    pub fn new(session: &str, n_events: usize, n_critical: usize) -> Self {
        let (mut text, mut events) = (String::new(), Vec::with_capacity(n_events));
        let (mut n_chars, mut is_thinking) = (0, false);
        let apart = n_events / (n_critical + 1);
        for index in 0..n_events {
            let is_critical = n_critical > 0 && index % apart == 0 && index / apart >= 1;
            let is_critical = is_critical && index / apart <= n_critical;
            let (kind, more) = match index {
                0 => ("session.started", json!({ "requested_by": "user:ana" })),
                _ if index + 1 == n_events => ("session.completed", json!({})),
                _ if is_critical => (
                    "progress.updated",
                    json!({ "urgency": "critical", "progress": { "percent": 99 } }),
                ),
                _ if index % EVENTS_PER_STATE == 1 => {
                    is_thinking = !is_thinking;
                    let (from, to) = match is_thinking {
                        true => ("idle", "thinking"),
                        false => ("thinking", "idle"),
                    };
                    ("state.changed", json!({ "from_state": from, "to_state": to }))
                }
                _ if index % EVENTS_PER_PROGRESS == 5 && index + 2 < n_events => (
                    "progress.updated",
                    json!({ "progress": { "percent": index * 100 / n_events } }),
                ),
                _ => {
                    let chunk = format!("{} {index}. ", WORDS[index % WORDS.len()]);
                    let position = n_chars;
                    n_chars += chunk.chars().count();
                    text.push_str(&chunk);
                    let complete = index + 2 == n_events;
                    (
                        "output.streaming",
                        json!({ "chunk": chunk, "position": position,
                        "complete": complete, "output_id": "out_1" }),
                    )
                }
            };
            events.push(event(session, index, kind, more));
        }
        Self { session: session.to_owned(), events, text }
    }
}

pub fn event_id(session: &str, index: usize) -> String {
    format!("evt_{}x{index}", session.trim_start_matches("sess_"))
}

pub fn event(session: &str, index: usize, kind: &str, more: Value) -> Value {
    let (seconds, millis) = (index / 1_000, index % 1_000);
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    let mut event = json!({
        "@context": "https://aaep-protocol.org/context/v1",
        "type": format!("aaep:agent.{kind}"),
        "event_id": event_id(session, index),
        "session_id": session,
        "sequence_number": index,
        "timestamp": format!("2026-05-24T14:{minutes:02}:{seconds:02}.{millis:03}Z"),
        "producer": { "agent_id": "teller" },
        "summary_normal": "What happens",
    });
    let fields = event.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
    event
}
