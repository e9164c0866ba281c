//! `tasuki handoff watch`: the live feed, one line per event. Comes back by itself after a break,
//! from where it was.

use anyhow::{Context, Result, bail};
use clap::Args;
use http_body_util::BodyExt;
use serde_json::Value;

use crate::client::{Call, Client, percent_encode};
use crate::output::{self, clean};

/// A server that is restarted is back within seconds; one that is gone should be noticed.
const RECONNECTS_MAX: u32 = 30;

#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Only this handoff
    id: Option<String>,
    /// Only what this agent did or is a party to
    #[arg(long)]
    agent: Option<String>,
    /// Only events of this name or family, such as handoff.rejected
    #[arg(long)]
    kind: Option<String>,
    /// Start after the event with this cursor; 0 is the beginning [default: now]
    #[arg(long)]
    after: Option<String>,
}

pub async fn run(client: &Client, args: &WatchArgs, json: bool) -> Result<()> {
    let mut cursor = args.after.clone();
    let mut tries = 0;
    loop {
        match follow(client, args, json, &mut cursor).await {
            Ok(()) => tries = 0,
            Err(error) if error.downcast_ref::<crate::client::Refused>().is_some() => {
                return Err(error);
            }
            Err(error) if cursor.is_none() || tries >= RECONNECTS_MAX => return Err(error),
            Err(_) => {}
        }
        tries += 1;
        let pause = protocol::time::Span::from_millis(1_000);
        engine::clock::Clock::sleep(&engine::clock::SystemClock, pause).await;
    }
}

async fn follow(
    client: &Client,
    args: &WatchArgs,
    json: bool,
    cursor: &mut Option<String>,
) -> Result<()> {
    let mut path = "/v1/events?".to_owned();
    let filters = [
        ("stream", args.id.as_ref().map(|id| format!("handoff/{id}"))),
        ("agent", args.agent.clone()),
        ("kind", args.kind.clone()),
    ];
    for (name, value) in filters {
        if let Some(value) = value {
            path.push_str(&format!("{name}={}&", percent_encode(&value)));
        }
    }
    let headers: Vec<_> = cursor.iter().map(|cursor| ("last-event-id", cursor.clone())).collect();
    let response = client.open(&Call::get(path.trim_end_matches(['?', '&'])), &headers).await?;
    let status = response.status().as_u16();
    let mut body = response.into_body();
    if status != 200 {
        let bytes = body.collect().await.context("the answer broke off")?.to_bytes();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        crate::client::Answer { status, body }.success()?;
        bail!("the server answered with status {status}");
    }
    let mut waiting = String::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.context("the stream broke off")?.into_data() else { continue };
        waiting.push_str(&String::from_utf8_lossy(&data));
        while let Some(end) = waiting.find("\n\n") {
            let block: String = waiting.drain(..end + 2).collect();
            show(&block, json, cursor);
        }
    }
    Ok(())
}

/// One event of the stream, or a beat that only moves the cursor.
fn show(block: &str, json: bool, cursor: &mut Option<String>) {
    let field = |name: &str| {
        let mut lines = block.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    };
    if let Some(id) = field("id") {
        *cursor = Some(id.to_owned());
    }
    let Some(data) = field("data").filter(|_| field("event") != Some("stream.closing")) else {
        return;
    };
    let entry: Value = serde_json::from_str(data).unwrap_or(Value::Null);
    if json {
        output::json(&entry);
        return;
    }
    let text = |name: &str| clean(entry[name].as_str().unwrap_or("–"));
    output::line(&format!(
        "{}  {}  {}  {}",
        text("at"),
        text("event"),
        text("stream"),
        text("actor")
    ));
}
