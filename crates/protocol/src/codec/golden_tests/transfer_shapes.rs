//! The shapes of transfer events, and of queue settings.

use serde_json::{Value, json};

use crate::codec;
use crate::step::Event;

const TRANSFER: &str = "01938c2e-0000-7000-9000-000000000001";

pub fn transfer_shapes() -> Vec<(&'static str, Event)> {
    let mut shapes = requested();
    shapes.extend(limited());
    shapes.extend(passed());
    shapes.extend(passed_with_words());
    shapes.extend(ended());
    shapes.extend(queue_changed());
    shapes
}

fn shape(shape: &'static str, name: &str, body: Value) -> (&'static str, Event) {
    let mut body = body;
    if name.starts_with("transfer.") {
        body["transfer"] = TRANSFER.into();
    }
    (shape, codec::decode(name, 1, &body.to_string()).expect("a shape that is written"))
}

fn limits() -> Value {
    json!({ "ring": "30s", "hold": "10m", "wait": "1h", "gives_up_at": "2026-02-21T15:00:00Z" })
}

/// With the limits that the first releases did not have.
fn limited() -> Vec<(&'static str, Event)> {
    let mut limits = limits();
    limits["target"] = "20s".into();
    limits["rings"] = 20.into();
    let queued = json!({ "holder": "support", "queue": "support", "epoch": 2,
        "order": 1_771_682_400_000_i64, "limits": limits.clone() });
    let requested = json!({ "holder": "bob", "queue": "support", "number": 3, "epoch": 2,
        "by": "customer:c", "kind": "bot_to_human", "priority": 0, "wanted": {},
        "limits": limits });
    vec![
        shape("limited", "transfer.requested", requested),
        shape("limited", "transfer.queued", queued),
    ]
}

fn bundle() -> Value {
    json!({
        "bundleId": format!("{TRANSFER}-0"), "sessionId": "01938c2e-0000-7000-8000-000000000001",
        "transferType": "warm",
        "identity": {
            "kind": "authenticated", "identityId": "customer-01938c2e-0000-7000-8000-000000000001",
            "externalId": "c-1", "displayName": "Ana",
        },
        "transcriptSummary": "wants a refund", "transcriptDigest": "00ff", "messageCount": 4,
        "warmContext": { "goal": "refund" },
        "voice": { "sipUri": "sip:1@x", "callerId": "+34", "codec": "opus", "dtmfSupported": true },
        "customAttributes": { "vip": true }, "createdAt": "2026-02-21T14:00:00Z",
    })
}

fn requested() -> Vec<(&'static str, Event)> {
    let least = json!({
        "holder": "bob", "queue": "support", "number": 3, "epoch": 2, "by": "customer:c",
        "kind": "bot_to_human", "priority": 0, "wanted": {}, "limits": limits(),
    });
    let mut most = least.clone();
    most["request_key"] = "k-1".into();
    most["reason"] = "angry".into();
    most["kind"] = "warm".into();
    most["priority"] = 7.into();
    most["wanted"] = json!({ "language": "es", "team": "bills",
        "skills": [{ "name": "tax", "level_min": 3, "preferred": true }] });
    most["bundle"] = bundle();
    let mut guarded = least.clone();
    guarded["by"] = "system".into();
    guarded["instead_of"] = "carol".into();
    let mut by_customer = least.clone();
    by_customer["bundle"] = bundle();
    by_customer["bundle"]["customerWords"] = "I wait since May".into();
    let mut with_text = most.clone();
    with_text["customer_text"] = "Hana knows more.".into();
    let queued = json!({ "holder": "support", "queue": "support", "epoch": 2,
        "order": 1_771_682_400_000_i64, "limits": limits() });
    let mut moves = queued.clone();
    moves["overflow"] = json!({ "at": "2026-02-21T14:02:00Z", "to": "night" });
    vec![
        shape("least", "transfer.requested", least),
        shape("most", "transfer.requested", most),
        shape("guarded", "transfer.requested", guarded),
        shape("customer_words", "transfer.requested", by_customer),
        shape("customer_text", "transfer.requested", with_text),
        shape("least", "transfer.queued", queued),
        shape("most", "transfer.queued", moves),
    ]
}

fn passed() -> Vec<(&'static str, Event)> {
    let ringing = json!({ "holder": "support", "leg": 0, "agent": "hana",
        "until": "2026-02-21T14:00:30Z" });
    let picked = json!({ "holder": "hana", "leg": 1, "agent": "ivan", "slot": 2, "picked": true,
        "until": "2026-02-21T14:00:30Z" });
    let connected = json!({ "holder": "support", "leg": 0, "agent": "hana", "epoch": 3, "number": 5,
        "kind": "bot_to_human" });
    let mut taken_along = connected.clone();
    taken_along["leg"] = 1.into();
    taken_along["kind"] = "warm".into();
    taken_along["bundle_id"] = format!("{TRANSFER}-1").into();
    let mut blind = connected.clone();
    blind["kind"] = "blind".into();
    blind["passed_by"] = "ivan".into();
    let consulted = json!({ "holder": "hana", "leg": 1, "agent": "ivan" });
    let leg = json!({ "holder": "hana", "leg": 1, "kind": "human_to_human",
        "target": { "human": "ivan" }, "order": 1_771_682_400_000_i64, "limits": limits() });
    let mut most = leg.clone();
    most["kind"] = "warm".into();
    most["target"] = json!({ "queue": "bills" });
    most["reason"] = "tax".into();
    most["bundle"] = bundle();
    let mut with_reason = most.clone();
    with_reason["bundle"]["reason"] = "tax".into();
    let words = |body: &Value| {
        let mut body = body.clone();
        body["customer_text"] = "Ivan knows more.".into();
        body
    };
    let (told, leg_told) = (words(&connected), words(&most));
    let passed_on =
        json!({ "holder": "hana", "leg": 0, "agent": "hana", "why": "blind", "epoch": 4 });
    let mut shapes = vec![
        shape("customer_text", "transfer.connected", told),
        shape("customer_text", "transfer.leg_requested", leg_told),
        shape("customer_text", "transfer.returned", words(&passed_on)),
        shape("least", "transfer.ringing", ringing),
        shape("most", "transfer.ringing", picked),
        shape("least", "transfer.connected", connected),
        shape("taken_along", "transfer.connected", taken_along),
        shape("blind", "transfer.connected", blind),
        shape("least", "transfer.consulted", consulted),
        shape("least", "transfer.leg_requested", leg),
        shape("most", "transfer.leg_requested", most),
        shape("with_reason", "transfer.leg_requested", with_reason),
    ];
    for why in ["declined", "not_answered", "agent_lost", "blind"] {
        let mut body = json!({ "holder": "hana", "leg": 0, "agent": "hana", "why": why,
            "epoch": 4 });
        if why == "declined" {
            body["reason"] = "lunch".into();
        }
        shapes.push(shape(why, "transfer.returned", body));
    }
    for why in ["declined", "not_answered", "agent_lost", "cancelled", "finished"] {
        let mut body = json!({ "holder": "hana", "leg": 1, "why": why });
        if why != "not_answered" {
            body["agent"] = "ivan".into();
        }
        shapes.push(shape(why, "transfer.leg_ended", body.clone()));
        if why == "declined" {
            body["reason"] = "lunch".into();
            shapes.push(shape("with_reason", "transfer.leg_ended", body));
        }
    }
    shapes
}

/// A person passed it on, and the customer or the record was told why.
fn passed_with_words() -> Vec<(&'static str, Event)> {
    let least = json!({ "holder": "hana", "queue": "bills", "epoch": 4, "number": 6 });
    let mut most = least.clone();
    most["reason"] = "tax".into();
    most["customer_text"] = "Ivan knows more.".into();
    let told_before = json!({ "holder": "support", "leg": 0, "agent": "hana", "epoch": 3,
        "number": 5, "kind": "blind", "passed_by": "ivan", "was_told": true });
    let asked_in = json!({ "holder": "support", "leg": 1, "agent": "hana", "epoch": 3,
        "number": 5, "kind": "warm", "bundle_id": format!("{TRANSFER}-1"), "reason": "tax" });
    vec![
        shape("least", "transfer.passed_on", least),
        shape("most", "transfer.passed_on", most),
        shape("told_before", "transfer.connected", told_before),
        shape("with_reason", "transfer.connected", asked_in),
    ]
}

fn ended() -> Vec<(&'static str, Event)> {
    let held = json!({ "holder": "hana", "until": "2026-02-21T14:10:00Z" });
    let note = json!({ "holder": "hana", "number": 9, "by": "agent:hana", "text": "be kind" });
    let mut whisper = note.clone();
    whisper["whispered"] = true.into();
    let over = |outcome: &str| {
        json!({ "holder": "hana", "outcome": outcome, "to": "bob",
        "epoch": 5, "number": 10 })
    };
    let mut called_back = over("cancelled");
    called_back["is_for_callback"] = true.into();
    let mut settled = over("completed");
    settled["disposition"] = "refunded".into();
    let mut completed = over("completed");
    completed["reason"] = "solved".into();
    completed["summary"] = "refunded".into();
    completed["deliver"] = true.into();
    vec![
        shape("least", "transfer.held", held),
        shape("least", "transfer.resumed", json!({ "holder": "hana" })),
        shape("overdue", "transfer.resumed", json!({ "holder": "hana", "overdue": true })),
        shape("least", "transfer.noted", note),
        shape("whispered", "transfer.noted", whisper),
        shape("most", "transfer.over", completed),
        shape("settled", "transfer.over", settled),
        shape("ended", "transfer.over", over("ended")),
        shape("failed", "transfer.over", over("failed")),
        shape("cancelled", "transfer.over", over("cancelled")),
        shape("called_back", "transfer.over", called_back),
        shape("least", "transfer.rated", json!({ "holder": "bob", "score": 5 })),
        shape("most", "transfer.rated", json!({ "holder": "bob", "score": 1, "comment": "no" })),
    ]
}

fn queue_changed() -> Vec<(&'static str, Event)> {
    let most = json!({
        "mode": "pick", "wanted": { "team": "bills" }, "by_language": true, "ring": "20s",
        "wait": "30m", "hold": "5m", "level": "2m",
        "patience": {
            "relax": [{ "after": "2m", "relax": "team" }],
            "overflow": [{ "after": "5m", "to": "night" }],
        },
        "hours": { "utc_offset_minutes": 60, "monday": [{ "from": "09:00", "to": "17:00" }] },
    });
    let mut limited = most.clone();
    limited["target"] = "30s".into();
    limited["rings"] = 5.into();
    vec![
        shape("limited", "agent.queue_changed", limited),
        shape("least", "agent.queue_changed", json!({})),
        shape("most", "agent.queue_changed", most),
    ]
}
