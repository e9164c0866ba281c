//! The large bodies, written once: an attacker that wrote them each time would spend its time on
//! that.

use serde_json::{Value, json};

use super::super::super::work::offer_json;

/// Within the limit of a body, with the rest of an offer.
const LARGE_BYTES: usize = 900 * 1_024;

/// Texts of an offer, each within the limit of a string.
const PART_BYTES: usize = 9_000;

/// Of a turn that a graph matches.
const TURN_BYTES: usize = 8 * 1_024;

/// Regexes of a graph.
const REGEXES: usize = 200;

/// Artifacts of a dry run: as many as are checked.
const ARTIFACTS: usize = 256;

/// The place of a task id.
const TASK: &str = "BENCH-0";

#[derive(Debug)]
pub struct Bodies {
    large: (String, String),
    middle: (String, String),
    small: (String, String),
    pub graph: String,
    pub turn: String,
    pub attachment: String,
    pub many_artifacts: String,
    pub faults: String,
}

impl Bodies {
    pub fn new(silent: &str) -> Self {
        let turn: String = (0..TURN_BYTES).map(letter).collect();
        let data = "QUJD".repeat(128 * 1_024 / 4 - 16);
        let attachment =
            json!({ "type": "attachment", "name": "a", "media_type": "text/plain", "data": data });
        let mut dry = offer_json(TASK);
        dry["to_agent"] = "worker-0".into();
        dry["artifacts"] = (0..ARTIFACTS)
            .map(|number| {
                let reference = json!({ "type": "url", "path": format!("{silent}/{number}") });
                json!({ "artifact_id": format!("a-{number}"), "ref": reference })
            })
            .collect();
        let wrong = json!({ "task": { "success_criteria": vec![json!({ "no": 1 }); 1_000] } });
        let faults: serde_json::Map<String, Value> =
            (0..100).map(|number| (format!("unknown-{number}"), wrong.clone())).collect();
        Self {
            large: around_task(LARGE_BYTES),
            middle: around_task(64 * 1_024),
            small: around_task(0),
            graph: graph().to_string(),
            turn: json!({ "parts": [{ "type": "text", "text": turn }] }).to_string(),
            attachment: json!({ "parts": [attachment] }).to_string(),
            many_artifacts: dry.to_string(),
            faults: Value::Object(faults).to_string(),
        }
    }

    /// An offer of nearly the size that a body may have.
    pub fn large(&self, task: &str) -> String {
        format!("{}{task}{}", self.large.0, self.large.1)
    }

    pub fn middle(&self, task: &str) -> String {
        format!("{}{task}{}", self.middle.0, self.middle.1)
    }

    pub fn small(&self, task: &str) -> String {
        format!("{}{task}{}", self.small.0, self.small.1)
    }
}

/// An offer to a worker, with texts of so many bytes, before and after its task id.
fn around_task(n_bytes: usize) -> (String, String) {
    let mut offer = offer_json(TASK);
    offer["to_agent"] = "worker-0".into();
    // Texts that hardly can be compressed.
    let mut random = 1_u32;
    let mut letter = || {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b' ' + 16 + (random >> 24) as u8 % 64)
    };
    let parts = (0..n_bytes / PART_BYTES).map(|_| (0..PART_BYTES).map(|_| letter()).collect());
    offer["context"]["constraints"] = parts.collect::<Vec<String>>().into();
    let text = offer.to_string();
    let (before, after) = text.split_once(TASK).expect("the offer names its task");
    (before.to_owned(), after.to_owned())
}

/// Letters that nearly match, and the one that the regexes end with now and then.
fn letter(at: usize) -> char {
    if at % 50 == 49 { 'z' } else { char::from(b'a' + (at * at % 17) as u8) }
}

/// A router whose regexes all have to be tried, each over the whole text.
fn graph() -> Value {
    let rules: Vec<Value> = (0..REGEXES)
        .map(|number| {
            let regex = format!("[a-q][a-t]{{{}}}z", 200 + number % 40);
            json!({ "goto": "other", "regex": regex })
        })
        .collect();
    json!({ "entry": "triage", "nodes": [
        { "id": "triage", "kind": "router", "default": "general", "rules": rules },
        { "id": "other", "kind": "specialist", "agent": "worker-1" },
        { "id": "general", "kind": "specialist", "agent": "worker-0" } ] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_as_large_as_the_server_takes_them() {
        let bodies = Bodies::new("http://127.0.0.1:1/in");
        let all = [bodies.large("T-1"), bodies.faults.clone(), bodies.many_artifacts.clone()];
        for body in all {
            assert!(body.len() < 1_048_576, "{}", body.len());
            serde_json::from_str::<Value>(&body).unwrap();
        }
        assert!(bodies.large("T-1").len() > 800_000 && bodies.faults.len() > 800_000);
    }
}
