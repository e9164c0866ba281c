//! What a handoff, a question, a conversation or a transfer waits for, in words.

use protocol::time::Time;
use serde_json::Value;

use crate::output::{clean, relative};

/// Who must act and how: `agent:bob: accept, reject`.
pub fn who(wait: &Value) -> String {
    let actions = wait["for"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let actions = actions.map(clean).collect::<Vec<_>>().join(", ");
    let who = wait["who"].as_str().map_or("–".to_owned(), clean);
    let parts = if wait["parts"].is_array() { " of its parts" } else { "" };
    if actions.is_empty() { who } else { format!("{who}: {actions}{parts}") }
}

/// Since when, if that is known.
pub fn since(wait: &Value) -> Option<Time> {
    wait["since"].as_str()?.parse().ok()
}

pub fn until(wait: &Value) -> Option<Time> {
    wait["until"].as_str()?.parse().ok()
}

/// What happens then; `None` for a wait without an end.
pub fn then(wait: &Value) -> Option<String> {
    Some(match wait["then"].as_str()? {
        "nothing" => return None,
        "escalates" => "it escalates".to_owned(),
        "escalated" => "it has escalated".to_owned(),
        "overflows" => match wait["to"].as_str() {
            Some(to) => format!("it goes on to {}", clean(to)),
            None => "it goes on to another queue".to_owned(),
        },
        "fails" => "it fails".to_owned(),
        "returns_to_queue" => "the next person is asked".to_owned(),
        "hold_ends" => "the hold ends".to_owned(),
        "invitation_ends" => "the invitation ends".to_owned(),
        "falls_back" => "the next fallback gets it".to_owned(),
        "reminds" => "the person is reminded".to_owned(),
        "defaults" => match wait["default"]["decision"].as_str() {
            Some(decision) => format!("the default counts: {}", clean(decision)),
            None => "the default counts".to_owned(),
        },
        "ends_unanswered" => "it stays unanswered".to_owned(),
        "claim_lapses" => "another worker may claim it".to_owned(),
        other => clean(other),
    })
}

/// All of it in one line: `agent:bob: accept, reject; since 3 min ago, until in 2 min, then it
/// escalates`.
pub fn told(wait: &Value, now: Time) -> String {
    let since = since(wait).map(|at| format!("since {}", relative(at, now)));
    let until = until(wait).map(|at| format!("until {}", relative(at, now)));
    let then = then(wait).map(|then| match until {
        Some(_) => format!("then {then}"),
        None => then,
    });
    let times = [since, until, then].into_iter().flatten().collect::<Vec<_>>().join(", ");
    if times.is_empty() { who(wait) } else { format!("{}; {times}", who(wait)) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_wait_is_told_in_one_line() {
        let now = "2026-01-01T00:10:00.000Z".parse::<Time>().unwrap();
        let at = |minute: u8| format!("2026-01-01T00:{minute:02}:00.000Z");
        for (wait, expected) in [
            (
                json!({ "who": "agent:bob", "for": ["accept", "reject"], "since": at(7),
                    "until": at(12), "then": "escalates" }),
                "agent:bob: accept, reject; since 3 min ago, until in 2 min, then it escalates",
            ),
            (
                json!({ "who": "coordinator", "for": ["close"], "since": at(5), "until": null,
                    "then": "escalated" }),
                "coordinator: close; since 5 min ago, it has escalated",
            ),
            (
                json!({ "who": "queue:care", "for": ["pickup"], "since": null, "until": at(30),
                    "then": "overflows", "to": "night" }),
                "queue:care: pickup; until in 20 min, then it goes on to night",
            ),
            (json!({ "who": "person", "for": [], "then": "nothing" }), "person"),
            (
                json!({ "who": "queue:desk", "for": ["answer"], "since": at(7), "until": at(12),
                    "then": "defaults", "default": { "decision": "decline" } }),
                "queue:desk: answer; since 3 min ago, until in 2 min, then the default counts: \
                 decline",
            ),
            (
                json!({ "who": "agent:w1", "for": ["finish", "renew"], "since": at(9),
                    "until": at(11), "then": "claim_lapses" }),
                "agent:w1: finish, renew; since 1 min ago, until in 1 min, then another worker may \
                 claim it",
            ),
            (
                json!({ "who": "agent:bob", "for": ["answer"], "since": at(9), "until": at(11),
                    "then": "falls_back" }),
                "agent:bob: answer; since 1 min ago, until in 1 min, then the next fallback gets \
                 it",
            ),
        ] {
            assert_eq!(told(&wait, now), expected);
        }
    }
}
