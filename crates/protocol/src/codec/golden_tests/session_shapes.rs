//! The shapes of sessions.

use serde_json::{Value, json};

use crate::codec;
use crate::step::Event;

pub fn session_shapes() -> Vec<(&'static str, Event)> {
    let started = json!({
        "@context": "https://aaep-protocol.org/context/v1", "type": "aaep:agent.session.started",
        "event_id": "evt_1", "session_id": "sess_1", "timestamp": "2026-05-24T14:22:01.000Z",
        "producer": { "agent_id": "teller" }, "summary_normal": "A transfer",
    });
    let consent = json!({
        "index": 0, "event_id": "evt_1", "reply_token": "rpl_1", "binding": "strong",
    });
    let least = json!({ "events": [started] });
    let most = json!({ "events": [started], "consents": [consent], "withdrawn": ["rpl_2"] });
    let answered = json!({
        "reply_token": "rpl_1", "event_id": "evt_1", "outcome": "accepted", "decision": "accept",
        "by": "agent:dana",
    });
    let refused = json!({
        "reply_token": "rpl_1", "event_id": "evt_1", "outcome": "rejected", "decision": "reject",
        "by": "agent:dana", "decided_by": "user:dana", "rationale": "too much",
        "subscription_id": "sub_1", "tool_call_id": "call_1", "action_hash": "ab".repeat(32),
        "modified": true,
    });
    let instead = json!({ "tool": "transfer_funds", "args": { "amount": 50 } });
    let other = with(&refused, "modified_action", instead);
    let response = |response: Value| {
        json!({
            "reply_token": "rpl_1", "event_id": "evt_1", "outcome": "answered",
            "response": response, "by": "operator:root",
        })
    };
    let unsure = with(&response(json!("65")), "confidence", json!(0.5));
    let over = json!({ "reply_token": "rpl_1", "event_id": "evt_1", "outcome": "rejected" });
    let unheard = with(&over, "unheard", json!(true));
    let unanswered = with(&over, "outcome", json!("unanswered"));
    let default = with(&unanswered, "default_response", json!("Savings"));
    let told = |event: &Value| with(event, "deliver", json!(true));
    let listed = with(&with(&least, "epoch", json!(3)), "listed", json!(true));
    let silence = with(&least, "silence_minutes", json!(60));
    let automatic = with(&answered, "automatic", json!(true));
    let lasting = with(&answered, "expires_at", json!("2026-05-24T14:23:01Z"));
    let shapes = [
        ("least", "session.announced", least),
        ("most", "session.announced", most),
        ("least", "session.answered", answered.clone()),
        ("most", "session.answered", refused),
        ("text", "session.answered", response(json!("65"))),
        ("number", "session.answered", response(json!(65))),
        ("flag", "session.answered", response(json!(true))),
        ("modified", "session.answered", other),
        ("unsure", "session.answered", unsure),
        ("listed", "session.announced", listed),
        ("least", "session.timed_out", over.clone()),
        ("most", "session.timed_out", unheard),
        ("default", "session.timed_out", default),
        ("told", "session.answered", told(&answered)),
        ("told", "session.timed_out", told(&over)),
        ("lasting", "session.answered", lasting),
        ("automatic", "session.answered", automatic),
        ("silence", "session.announced", silence),
        ("only", "session.delivered", json!({ "reply_token": "rpl_1" })),
    ];
    let read = |name: &str, body: Value| codec::decode(name, 1, &body.to_string());
    shapes
        .into_iter()
        .chain(handed_over())
        .chain(withdrawn())
        .map(|(shape, name, body)| (shape, read(name, body).expect("a shape that is written")))
        .collect()
}

fn with(body: &Value, name: &str, value: Value) -> Value {
    let mut body = body.clone();
    body[name] = value;
    body
}

fn withdrawn() -> [(&'static str, &'static str, Value); 4] {
    let withdrawn = json!({ "reply_token": "rpl_1", "event_id": "evt_1" });
    let accepted = with(&withdrawn, "accepted", json!(true));
    [
        ("used", "session.withdrawn", with(&accepted, "used", json!(true))),
        ("accepted", "session.withdrawn", accepted),
        ("told", "session.withdrawn", with(&withdrawn, "deliver", json!(true))),
        ("only", "session.withdrawn", withdrawn),
    ]
}

fn handed_over() -> [(&'static str, &'static str, Value); 3] {
    let transfer = json!({
        "event_id": "evt_1", "outcome": "default_queue", "to": "default", "number": 4,
        "transfer": "01938c2e-0000-7000-8000-000000000001",
    });
    let route = json!({ "event_id": "evt_1", "outcome": "routed", "to": "billing", "number": 4 });
    let no = json!({ "event_id": "evt_1", "outcome": "refused", "code": "not_holder" });
    [
        ("transfer", "session.handed_over", transfer),
        ("route", "session.handed_over", route),
        ("refused", "session.handed_over", no),
    ]
}
