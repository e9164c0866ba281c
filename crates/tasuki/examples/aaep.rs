//! An agent announces what it does, and somebody listens and decides: a producer and a subscriber
//! of AAEP, each in a few lines, on a server in a temporary folder.
#![expect(clippy::print_stdout, reason = "the story it prints is what this example is for")]

use axum::body::Body;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tasuki::client::{Call, Client, Identity};
use tasuki::config::Config;
use tasuki::node::Node;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (_stop, stopping) = tokio::sync::watch::channel(false);
    let node = Node::start(&Config { data: folder.path().into(), ..Config::default() }, stopping)?;
    let operator = Client::in_process(node.router.clone());
    for (name, kind) in [("teller", "worker"), ("dana", "human")] {
        let agent = Call::put(format!("/v1/agents/{name}"), json!({ "kind": kind }));
        operator.call(agent).await?.success()?;
    }
    let [teller, dana] = ["teller", "dana"].map(|name| {
        let act_as = Some(name.to_owned());
        operator.clone().with_identity(Identity { act_as, ..Identity::default() })
    });
    let listening = listen(&dana).await?;
    let (produced, heard) = tokio::join!(produce(&teller), hear(&dana, listening));
    produced?;
    heard
}

/// The agent: it asks before it sends, and waits for the decision.
async fn produce(teller: &Client) -> anyhow::Result<()> {
    let events = json!([
        event("session.started", "normal", json!({ "summary_normal": "I send the letter." })),
        event(
            "awaiting.confirmation",
            "critical",
            json!({
                "action": "Send the letter to all customers",
                "consequence": "It cannot be called back",
                "reply_token": "rpl_letter",
                "timeout_seconds": 60,
                "default_decision": "reject",
                "irreversible": true,
                "risk_level": "high",
            })
        ),
    ]);
    teller.call(Call::post("/aaep/v1/events", events)).await?.success()?;
    let path = "/aaep/v1/sessions/sess_letter/decisions/rpl_letter?wait=20s";
    let decided = teller.call(Call::get(path)).await?.success()?;
    let end = match decided["decision"].as_str() {
        Some("accept") => vec![
            event(
                "tool.invoked",
                "normal",
                json!({ "tool": "send_letter", "irreversible": true,
                "tool_call_id": "call_1", "summary_normal": "The letter goes out." }),
            ),
            event(
                "tool.completed",
                "normal",
                json!({ "tool": "send_letter",
                "tool_call_id": "call_1", "status": "success" }),
            ),
            event("session.completed", "normal", json!({ "summary_normal": "It is sent." })),
        ],
        Some(_) | None => vec![
            event(
                "state.changed",
                "normal",
                json!({ "from_state": "awaiting_input",
                "to_state": "thinking" }),
            ),
            event("session.completed", "normal", json!({ "summary_normal": "Nothing is sent." })),
        ],
    };
    teller.call(Call::post("/aaep/v1/events", json!(end))).await?.success()?;
    Ok(())
}

/// Agrees on terms, and opens the stream.
async fn listen(dana: &Client) -> anyhow::Result<(String, Body)> {
    let request = json!({
        "type": "subscription.request",
        "aaep_version": "1.0.0",
        "subscriber_id": "example",
        "capabilities": { "supports_confirmation_reply": true },
    });
    let accepted = dana.call(Call::post("/aaep/v1/subscriptions", request)).await?.success()?;
    let id = accepted["subscription_id"].as_str().unwrap_or_default().to_owned();
    let stream = Call::get(format!("/aaep/v1/events?subscription_id={id}"));
    Ok((id, dana.open(&stream, &[]).await?.into_body()))
}

/// The listener: it says what it hears, and says yes when it is asked.
async fn hear(dana: &Client, (id, mut stream): (String, Body)) -> anyhow::Result<()> {
    let mut waiting = String::new();
    while let Some(frame) = stream.frame().await {
        let bytes = frame?.into_data().unwrap_or_default();
        waiting.push_str(std::str::from_utf8(&bytes)?);
        while let Some((block, rest)) = waiting.split_once("\n\n") {
            let data = block.lines().find_map(|line| line.strip_prefix("data: "));
            let event: Value = data.map_or(Ok(Value::Null), serde_json::from_str)?;
            waiting = rest.to_owned();
            let Some(kind) = event["type"].as_str() else { continue };
            println!("{kind}: {}", event["summary_normal"].as_str().unwrap_or_default());
            if let Some(token) = event["reply_token"].as_str() {
                println!("  {} — yes", event["action"].as_str().unwrap_or_default());
                let yes = json!({ "type": "confirmation.reply", "reply_token": token,
                    "decision": "accept", "subscription_id": id,
                    "timestamp": event["timestamp"] });
                dana.call(Call::post("/aaep/v1/replies", yes)).await?.success()?;
            }
            if kind.ends_with("session.completed") {
                return Ok(());
            }
        }
    }
    anyhow::bail!("the stream ended before the session")
}

/// An event of the one session of this example. A real agent stamps the time and draws its ids.
fn event(kind: &str, urgency: &str, payload: Value) -> Value {
    let mut event = json!({
        "@context": "https://aaep-protocol.org/context/v1",
        "type": format!("aaep:agent.{kind}"),
        "event_id": format!("evt_{}", kind.replace('.', "")),
        "session_id": "sess_letter",
        "timestamp": "2026-11-15T09:00:00.000Z",
        "producer": { "agent_id": "teller" },
        "urgency": urgency,
        "localization_hints": { "primary_language": "en" },
    });
    let (Some(event_fields), Value::Object(payload)) = (event.as_object_mut(), payload) else {
        return event;
    };
    event_fields.extend(payload);
    event
}
