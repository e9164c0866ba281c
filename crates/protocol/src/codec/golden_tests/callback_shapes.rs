//! The shapes of callback events.

use serde_json::json;

use crate::codec;
use crate::step::Event;

pub fn callback_shapes() -> Vec<(&'static str, Event)> {
    let asked = json!({
        "holder": "bob", "queue": "support", "by": "operator:root", "contact": "+34 600",
    });
    let mut most = asked.clone();
    most["note"] = "about the bill".into();
    most["not_before"] = "2026-02-22T09:00:00Z".into();
    let settled = json!({ "holder": "bob", "queue": "support", "outcome": "reached" });
    let mut by_agent = settled.clone();
    by_agent["agent"] = "hana".into();
    let shapes = [
        ("least", "callback.asked", asked),
        ("most", "callback.asked", most),
        ("least", "callback.settled", settled),
        ("most", "callback.settled", by_agent),
    ];
    let read = |name: &str, body: serde_json::Value| codec::decode(name, 1, &body.to_string());
    shapes
        .into_iter()
        .map(|(shape, name, body)| (shape, read(name, body).expect("a shape that is written")))
        .collect()
}
