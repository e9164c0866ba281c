//! Bob of the demo: a bot that answers customers from a script, hands them to a person on request,
//! and goes on when they come back. It is a client like every other agent, only within the process:
//! it follows the events, reads the conversation, and speaks in the epoch that it has seen. It
//! keeps no state; its next action follows from the transcript.

mod script;

use anyhow::{Context, Result, bail};
use engine::ports::clock::{Clock, SystemClock};
use http_body_util::BodyExt;
use protocol::time::Span;
use serde_json::{Value, json};
use tokio::sync::watch;

use self::script::BotStep;
use crate::client::{Call, Client, Identity, Refused};

pub const AGENT_ID: &str = "bob";
pub const AGENT_NAME: &str = "Bob";

/// Tells the demo's Bob from another agent with his name.
pub const DESCRIPTION: &str = "A bot of the demo that answers from a script.";

/// The messages that he reads before he answers. A customer who sends more than this in a row gets
/// one answer.
const MESSAGES_LOOKED_AT: u64 = 50;

/// The pause after a broken stream.
const PAUSE: Span = Span::from_millis(1_000);

/// Answers until the server stops. If the directory has another `bob`, it does nothing.
pub async fn run(client: Client, mut stopping: watch::Receiver<bool>) {
    let act_as = Some(AGENT_ID.to_owned());
    let client = client.with_identity(Identity { act_as, ..Identity::default() });
    let stopped = async move {
        // An error means that the server is gone, which is as good as stopped.
        let _ = stopping.wait_for(|stopping| *stopping).await;
    };
    tokio::select! {
        () = stopped => {}
        () = work(&client) => {}
    }
}

async fn work(client: &Client) {
    loop {
        match is_ours(client).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => tracing::warn!(error = format!("{error:#}"), "Bob cannot work"),
        }
        if let Err(error) = follow(client).await {
            tracing::warn!(error = format!("{error:#}"), "Bob does not hear what is said");
        }
        SystemClock.sleep(PAUSE).await;
    }
}

/// Whether the `bob` of the directory is that of the demo.
pub async fn is_ours(client: &Client) -> Result<bool> {
    let answer = client.call(Call::get(format!("/v1/agents/{AGENT_ID}"))).await?;
    Ok(answer.status == 200 && answer.body["profile"]["description"] == DESCRIPTION)
}

/// Attends to the waiting conversations, and then to every conversation with a new event.
async fn follow(client: &Client) -> Result<()> {
    let response = client.open(&Call::get("/v1/events"), &[]).await?;
    if response.status() != 200 {
        bail!("the server answered with status {}", response.status());
    }
    let held = client.call(Call::get(format!("/v1/conversations?holder={AGENT_ID}"))).await?;
    for conversation in held.success()?["items"].as_array().into_iter().flatten() {
        attend(client, conversation["conversation_id"].as_str().unwrap_or_default()).await;
    }
    let mut body = response.into_body();
    let mut waiting = String::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.context("the stream broke off")?.into_data() else { continue };
        waiting.push_str(&String::from_utf8_lossy(&data));
        while let Some(end) = waiting.find("\n\n") {
            let block: String = waiting.drain(..end + 2).collect();
            let data = block.lines().find_map(|line| line.strip_prefix("data: "));
            let entry: Value =
                data.and_then(|it| serde_json::from_str(it).ok()).unwrap_or_default();
            let stream = entry["stream"].as_str().unwrap_or_default();
            if let Some(conversation) = stream.strip_prefix("conversation/") {
                attend(client, conversation).await;
            }
        }
    }
    Ok(())
}

/// Takes the next action in a conversation, if any. A refusal means that it has changed meanwhile,
/// which a further event tells Bob.
async fn attend(client: &Client, id: &str) {
    match look(client, id).await {
        Ok(()) => {}
        Err(error) if error.downcast_ref::<Refused>().is_some() => {
            tracing::debug!(conversation = id, error = format!("{error:#}"), "Bob was refused");
        }
        Err(error) => {
            tracing::warn!(conversation = id, error = format!("{error:#}"), "Bob cannot answer");
        }
    }
}

async fn look(client: &Client, id: &str) -> Result<()> {
    let path = |rest: &str| format!("/v1/conversations/{id}{rest}");
    let conversation = client.call(Call::get(path(""))).await?.success()?;
    if conversation["status"] != "open" || conversation["holder"] != AGENT_ID {
        return Ok(());
    }
    let n_messages = conversation["n_messages"].as_u64().unwrap_or_default();
    let after = n_messages.saturating_sub(MESSAGES_LOOKED_AT);
    let page = path(&format!("/messages?after={after}&limit={MESSAGES_LOOKED_AT}"));
    let page = client.call(Call::get(page)).await?.success()?;
    let messages = page["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let epoch = &conversation["epoch"];
    let say = |text: &str, in_reply_to: Option<u64>| {
        let mut body = json!({ "parts": [{ "type": "text", "text": text }], "epoch": epoch });
        if let Some(number) = in_reply_to {
            body["in_reply_to"] = number.into();
        }
        Call::post(path("/messages"), body)
    };
    match script::next(&conversation, messages) {
        None => {}
        Some(BotStep::Say { text, in_reply_to }) => {
            client.call(keyed(say(&text, in_reply_to), &conversation)).await?.success()?;
        }
        Some(BotStep::HandOver { reason, summary, in_reply_to }) => {
            let context = json!({ "summary": summary });
            let body = json!({ "epoch": epoch, "reason": reason, "context": context });
            let ask = keyed(Call::post(path("/transfers"), body), &conversation);
            if client.call(ask).await?.success().is_err() {
                let sorry = say(script::NO_PERSON, Some(in_reply_to));
                client.call(sorry).await?.success()?;
            }
        }
    }
    Ok(())
}

/// Each action on the same transcript is done once.
fn keyed(call: Call, conversation: &Value) -> Call {
    let [id, epoch, n_messages] =
        ["conversation_id", "epoch", "n_messages"].map(|name| conversation[name].to_string());
    let key = format!("demo-bob-{}-{epoch}-{n_messages}", id.trim_matches('"'));
    Call { key: Some(key), ..call }
}
