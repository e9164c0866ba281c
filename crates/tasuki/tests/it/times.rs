//! Times in answers have one length, so that they sort as text. Stored times are shown as stored.

use engine::ports::clock::{Clock, SystemClock};
use protocol::time::{Span, Time};
use serde_json::{Value, json};
use tasuki::client::Call;

use crate::server::{Server, act, offer, ok};
use crate::sse::whole_ledger;

/// Tomorrow, at a moment that has no fraction: the shortest text that a time may have.
fn whole_second() -> Time {
    let millis = SystemClock.now().plus(Span::from_hours(24)).as_millis();
    Time::from_millis(millis / 1_000 * 1_000)
}

/// Fields that are hashed or were sent by others, and are shown unchanged.
const AS_STORED: [&str; 3] = ["data", "package", "payload"];

/// The times of an answer, with where they are.
fn times(value: &Value, at: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) if text.parse::<Time>().is_ok() => {
            found.push((at.to_owned(), text.clone()));
        }
        Value::Array(items) => items.iter().for_each(|item| times(item, at, found)),
        Value::Object(fields) => {
            for (name, value) in fields.iter().filter(|(name, _)| !AS_STORED.contains(&&***name)) {
                times(value, &format!("{at}.{name}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[tokio::test]
async fn times_in_answers_have_three_digits_of_a_fraction() {
    let server = Server::start();
    let moment = whole_second();
    let (given, shown_as) = (moment.to_stored_string(), moment.to_string());
    let root = server.with_token(&server.token("root", &["--kind", "operator"]));
    let (alice, bob) = (server.agent("alice"), server.agent("bob"));
    let token = json!({ "agent": "carol", "expires_at": given });
    ok(&root, Call::post("/v1/tokens", token)).await;
    let message = json!({
        "to": ["bob"], "type": "knowledge.query", "expires_at": given,
        "payload": { "since": given },
    });
    ok(&alice, Call::post("/v1/acp/messages", message)).await;
    let mut offered = offer("T-1", "bob");
    offered["task"]["deadline"] = given.as_str().into();
    let made = ok(&alice, Call::post("/v1/handoffs", offered)).await;
    let id = made["handoff_id"].as_str().expect("an id");
    act(&root, id, "extend_sla", json!({ "due": given, "why": "a holiday" })).await;
    let rejection = json!({ "reason": "capability_mismatch", "detail": "not mine" });
    let shown = ok(&root, Call::get(format!("/v1/handoffs/{id}"))).await;
    assert_eq!(shown["due_at"], shown_as);
    assert_eq!(shown["package"]["task"]["deadline"], given, "it is hashed like this");
    act(&bob, id, "reject", rejection).await;
    let mut found = Vec::new();
    for path in [
        "/v1/tokens".to_owned(),
        "/v1/agents".to_owned(),
        "/v1/teamspace".to_owned(),
        "/v1/acp/messages".to_owned(),
        "/v1/handoffs".to_owned(),
        "/v1/aaep/keys".to_owned(),
        format!("/v1/handoffs/{id}"),
        format!("/v1/handoffs/{id}/history"),
    ] {
        let answer = ok(&root, Call::get(&*path)).await;
        times(&answer, &path, &mut found);
    }
    for entry in whole_ledger(&root, "").await {
        times(&entry.data, "/v1/events", &mut found);
    }
    assert!(found.iter().any(|(_, text)| *text == shown_as));
    assert!(found.len() > 20, "{found:?}");
    for (at, text) in found {
        assert_eq!(text.len(), shown_as.len(), "{at}: {text}");
    }
}
