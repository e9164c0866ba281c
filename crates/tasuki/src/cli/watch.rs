//! `tasuki handoff watch`: the live feed, one line per event. After a break it resumes at its
//! cursor.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};
use clap::Args;
use http_body_util::BodyExt;
use protocol::ids::HandoffId;
use protocol::time::Time;
use serde_json::Value;

use super::token::now;
use crate::client::{Call, Client, Refused, percent_encode};
use crate::output::{self, clean};

/// A server that restarts is back within seconds; a server that is gone should be noticed.
const RECONNECTS_MAX: u32 = 30;

const NOT_FOUND: u16 = 404;

/// More handoffs than are active at once; beyond it, titles are looked up again.
const TITLES_MAX: usize = 1_000;

#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Only this handoff, by id; or another stream, such as conversation/ID or agent/ID
    #[arg(value_name = "STREAM")]
    stream: Option<String>,
    /// Only what this agent did or is a party to
    #[arg(long)]
    agent: Option<String>,
    /// Only events of this name or family, such as handoff.rejected or handoff
    #[arg(long, value_name = "NAME")]
    kind: Option<String>,
    /// Start after the event with this cursor; 0 is the beginning [default: now]
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
}

impl WatchArgs {
    /// The stream: a name without a kind is a handoff's id.
    fn stream(&self) -> Option<String> {
        let given = self.stream.as_deref()?;
        let has_kind = given.contains('/') || given.parse::<HandoffId>().is_err();
        Some(if has_kind { given.to_owned() } else { format!("handoff/{given}") })
    }

    /// Rejects an agent or a handoff that does not exist: nothing would ever be told of it.
    async fn check(&self, client: &Client) -> Result<()> {
        if let Some(agent) = &self.agent {
            let call = Call::get(format!("/v1/agents/{}", percent_encode(agent)));
            if client.call(call).await?.status == NOT_FOUND {
                let detail = format!("agent: no agent `{agent}` in this teamspace");
                return Err(Refused::found("unknown_agent", "agent", detail).into());
            }
        }
        let stream = self.stream();
        if let Some(id) = stream.as_deref().and_then(|stream| stream.strip_prefix("handoff/")) {
            let call = Call::get(format!("/v1/handoffs/{}", percent_encode(id)));
            let shown = client.call(call).await?;
            if shown.status == NOT_FOUND {
                shown.success()?;
            }
        }
        Ok(())
    }
}

pub async fn run(client: &Client, args: &WatchArgs, json: bool) -> Result<()> {
    args.check(client).await?;
    let mut cursor = args.after.clone();
    let mut tries = 0;
    let mut titles = Titles::default();
    loop {
        match follow(client, args, json, &mut cursor, &mut titles).await {
            Ok(()) => tries = 0,
            Err(error) if error.downcast_ref::<Refused>().is_some() => {
                return Err(error);
            }
            Err(error) if cursor.is_none() || tries >= RECONNECTS_MAX => return Err(error),
            Err(_) => {}
        }
        tries += 1;
        let pause = protocol::time::Span::from_millis(1_000);
        engine::ports::clock::Clock::sleep(&engine::ports::clock::SystemClock, pause).await;
    }
}

async fn follow(
    client: &Client,
    args: &WatchArgs,
    json: bool,
    cursor: &mut Option<String>,
    titles: &mut Titles,
) -> Result<()> {
    let mut path = "/v1/events?".to_owned();
    let filters = [
        ("stream", args.stream()),
        ("agent", args.agent.clone()),
        ("kind", args.kind.clone()),
        ("after", cursor.clone()),
    ];
    for (name, value) in filters {
        if let Some(value) = value {
            path.push_str(&format!("{name}={}&", percent_encode(&value)));
        }
    }
    let response = client.open(&Call::get(path.trim_end_matches(['?', '&'])), &[]).await?;
    let status = response.status().as_u16();
    let mut body = response.into_body();
    if status != 200 {
        let bytes = body.collect().await.context("the answer broke off")?.to_bytes();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        crate::client::Answer { status, body, is_json: true }.success()?;
        bail!("the server answered with status {status}");
    }
    let mut waiting = String::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.context("the stream broke off")?.into_data() else { continue };
        waiting.push_str(&String::from_utf8_lossy(&data));
        while let Some(end) = waiting.find("\n\n") {
            let block: String = waiting.drain(..end + 2).collect();
            let Some(entry) = read(&block, cursor) else { continue };
            match json {
                true => output::json(&entry),
                false => output::line(&told(&entry, titles.of(client, &entry).await, now())),
            }
        }
    }
    Ok(())
}

/// One event of the stream, unless it is a beat that only moves the cursor.
fn read(block: &str, cursor: &mut Option<String>) -> Option<Value> {
    let field = |name: &str| {
        let mut lines = block.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    };
    if let Some(id) = field("id") {
        *cursor = Some(id.to_owned());
    }
    let data = field("data").filter(|_| field("event") != Some("stream.closing"))?;
    Some(serde_json::from_str(data).unwrap_or(Value::Null))
}

/// The time, the event, the handoff and the actor.
fn told(entry: &Value, title: Option<&str>, now: Time) -> String {
    let text = |name: &str| clean(entry[name].as_str().unwrap_or("–"));
    let at = entry["at"].as_str().and_then(|at| at.parse::<Time>().ok());
    let when = at.map_or_else(|| "–".to_owned(), |at| output::relative(at, now));
    let title = title.map(|title| format!("“{}”  ", clean(title))).unwrap_or_default();
    let (event, stream, actor) = (text("event"), text("stream"), text("actor"));
    format!("{when:>10}  {event}  {title}{stream}  {actor}")
}

/// The titles of handoffs. Each is looked up once.
#[derive(Debug, Default)]
struct Titles {
    known: HashMap<String, Option<String>>,
}

impl Titles {
    /// Only the first events of a handoff name it.
    async fn of(&mut self, client: &Client, entry: &Value) -> Option<&str> {
        let id = entry["stream"].as_str()?.strip_prefix("handoff/")?;
        let named = entry["data"]["title"].as_str().map(str::to_owned);
        if named.is_some() || !self.known.contains_key(id) {
            if self.known.len() >= TITLES_MAX {
                self.known.clear();
            }
            let title = match named {
                Some(title) => Some(title),
                None => asked(client, id).await,
            };
            self.known.insert(id.to_owned(), title);
        }
        self.known.get(id)?.as_deref()
    }
}

/// `None` without an answer: the event is still shown.
async fn asked(client: &Client, id: &str) -> Option<String> {
    let call = Call::get(format!("/v1/handoffs/{}", percent_encode(id)));
    let shown = client.call(call).await.ok()?.success().ok()?;
    shown["title"].as_str().map(str::to_owned)
}
