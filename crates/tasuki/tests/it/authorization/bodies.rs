//! The bodies that the cast sends.

use protocol::checkpoint::{Checkpoint, Signer};
use protocol::merkle::Edge;
use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use crate::server::{offer, ok};

/// The first event of a session.
pub fn started(task: &str, agent: &str) -> Value {
    json!({
        "@context": "https://aaep-protocol.org/context/v1",
        "type": "aaep:agent.session.started",
        "event_id": "evt_1",
        "session_id": format!("sess_{}", task.replace('-', "")),
        "timestamp": "2026-05-24T14:22:01.000Z",
        "producer": { "agent_id": agent },
        "summary_normal": task,
    })
}

pub fn subscribes() -> Value {
    let (kind, version) = ("subscription.request", "1.0.0");
    json!({ "type": kind, "aaep_version": version, "subscriber_id": "reader", "capabilities": {} })
}

/// To an address that is never called.
pub fn webhook() -> Value {
    json!({ "url": "https://127.0.0.1:9/in" })
}

/// A log for which the server is a witness.
pub fn witnessed_log() -> Signer {
    Signer::new("log.example", &[7; 32]).expect("a name")
}

/// Its checkpoint before the first entry, which can be added again and again.
pub fn first_checkpoint() -> String {
    let (origin, root) = ("log.example".to_owned(), Edge::empty().root());
    format!("old 0\n\n{}", witnessed_log().sign(&Checkpoint { origin, size: 0, root }))
}

pub fn graph() -> Value {
    json!({ "entry": "all", "nodes": [{ "id": "all", "kind": "specialist", "agent": "eve" }] })
}

pub fn body_of(action: &str, task: &str) -> Value {
    match action {
        "initiate" | "draft" | "edit" | "propose" | "delegate" => offer(task, "eve"),
        "reassign" => json!({ "to_agent": "eve", "why": "nobody answers" }),
        "reject" => json!({ "reason": "other", "detail": "no" }),
        "counter" => json!({ "context": { "summary": "changed after all" } }),
        "report" | "progress" => json!({ "percent": 40, "note": "half of it" }),
        "detect" => json!({ "messages": [{ "role": "user", "content": "hello" }] }),
        "recall" => json!({ "reason": "plans changed" }),
        "refuse" | "dispute" => json!({ "why": "no" }),
        "extend" | "extend_sla" => json!({ "due": "2027-01-01T00:00:00Z", "why": "it is hard" }),
        _ => json!({}),
    }
}

pub fn human_is_there() -> Call {
    Call::put("/v1/agents/dana/presence", json!({ "presence": "available" }))
}

/// A file that this client stored and has not used.
pub async fn make_file(client: &Client, text: &str) -> String {
    let call = Call { method: "POST", path: "/v1/files".to_owned(), body: None, key: None };
    let stored = client.call_with_bytes(&call, text.to_owned().into()).await.expect("an answer");
    stored.body["file"].as_str().expect("a name").to_owned()
}

/// An upload whose bytes have all arrived.
pub async fn make_upload(client: &Client) -> String {
    let begun = ok(client, Call::post("/v1/uploads", json!({ "size_bytes": 0 }))).await;
    begun["upload_id"].as_str().expect("an id").to_owned()
}

/// A model hands the conversation to `eve`.
pub fn tool_call() -> Value {
    let function = json!({ "name": "transfer_to_eve", "arguments": "{}" });
    let call = json!({ "id": "c1", "type": "function", "function": function });
    let turn = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
    json!({ "form": "openai", "turn": turn, "epoch": 1 })
}
