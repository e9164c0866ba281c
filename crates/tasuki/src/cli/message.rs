//! `tasuki inbox` and `tasuki message`: what agents tell each other.

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use protocol::message::{Delivery, Kind};
use protocol::time::Time;
use serde_json::{Map, Value, json};

use super::message_keeping::{self, ExportArgs, PurgeArgs};
use super::{Reach, put, read_json, token};
use crate::client::{Call, Client, percent_encode};
use crate::{exit_code, output};

#[derive(Debug, Args)]
pub struct InboxArgs {
    #[command(flatten)]
    reach: Reach,
    /// Only these [default: pending, delivered and failed]
    #[arg(long)]
    status: Option<Delivery>,
    /// How many, up to 200
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// Go on where an earlier list ended
    #[arg(long)]
    cursor: Option<String>,
}

#[derive(Debug, Args)]
pub struct MessageArgs {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    command: MessageCommand,
}

#[derive(Debug, Subcommand)]
enum MessageCommand {
    /// Send a message to agents, to `coordinator`, or to everyone
    Send {
        /// An agent; `coordinator` is whoever has the role, `*` is everyone. May be repeated
        #[arg(long = "to", value_name = "AGENT", required = true)]
        to: Vec<String>,
        #[command(flatten)]
        content: ContentArgs,
    },
    /// Answer a message, in its thread and to its sender
    Respond {
        id: String,
        /// Somebody else who shall read it; may be repeated
        #[arg(long = "to", value_name = "AGENT")]
        to: Vec<String>,
        #[command(flatten)]
        content: ContentArgs,
    },
    /// Say that you have read a message
    Read { id: String },
    /// Show a message
    Show { id: String },
    /// List messages you sent or received, newest first
    List(ListArgs),
    /// Count what is in your inbox, and what you may still send
    Status,
    /// Write the messages that you may see as JSON, one to a line, newest first
    Export(ExportArgs),
    /// Take old messages out of every mailbox; what they said is erased on the record
    Purge(PurgeArgs),
}

#[derive(Debug, Args)]
struct ContentArgs {
    /// Such as status.update, knowledge.query or knowledge.response
    #[arg(long = "type", value_name = "TYPE")]
    kind: Kind,
    #[arg(long)]
    topic: Option<String>,
    /// low, normal, high or critical
    #[arg(long)]
    priority: Option<String>,
    /// A thread to send it to [default: a new one]
    #[arg(long)]
    thread: Option<String>,
    /// Until when it is worth reading, such as 2026-12-24T18:00:00Z
    #[arg(long)]
    expires_at: Option<Time>,
    /// A JSON object, or @FILE to read one
    #[arg(long, value_name = "JSON")]
    payload: Option<String>,
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Sent or received by this agent
    #[arg(long)]
    agent: Option<String>,
    #[arg(long)]
    thread: Option<String>,
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<Kind>,
    #[arg(long)]
    status: Option<Delivery>,
    #[arg(long)]
    topic: Option<String>,
    /// Sent at this time or later
    #[arg(long)]
    since: Option<Time>,
    /// Sent before this time
    #[arg(long)]
    until: Option<Time>,
    /// How many, up to 200
    #[arg(long, default_value_t = 50)]
    limit: usize,
    /// Go on where an earlier list ended
    #[arg(long)]
    cursor: Option<String>,
}

pub async fn inbox(args: InboxArgs) -> Result<u8> {
    let reached = args.reach.connect().await?;
    let status = args.status.map(|status| status.to_string());
    let filters = [("status", status), ("cursor", args.cursor)];
    let path = with_query(format!("/v1/acp/inbox?limit={}", args.limit), filters);
    print_list(&reached.client, path, args.reach.json).await?;
    reached.finish().await;
    Ok(exit_code::OK)
}

pub async fn run(args: MessageArgs) -> Result<u8> {
    let reached = args.reach.connect().await?;
    let client = &reached.client;
    let json = args.reach.json;
    match args.command {
        MessageCommand::Send { to, content } => {
            let body = content.body(&to)?;
            sent(client, Call::post("/v1/acp/messages", body), json).await?;
        }
        MessageCommand::Respond { id, to, content } => {
            let body = content.body(&to)?;
            sent(client, Call::post(path_of(&id, "/respond"), body), json).await?;
        }
        MessageCommand::Read { id } => {
            let call = Call::post(path_of(&id, "/read"), json!({}));
            let answer = client.call(call).await?.success()?;
            match json {
                true => output::json(&answer),
                false => output::remark(&format!("is now {}", text(&answer, "status"))),
            }
        }
        MessageCommand::Show { id } => {
            let answer = client.call(Call::get(path_of(&id, ""))).await?.success()?;
            match json {
                true => output::json(&answer),
                false => output::line(&shown(&answer)),
            }
        }
        MessageCommand::List(list) => print_list(client, list.path(), json).await?,
        MessageCommand::Status => {
            let answer = client.call(Call::get("/v1/acp/status")).await?.success()?;
            match json {
                true => output::json(&answer),
                false => output::line(&fields_of(&answer)),
            }
        }
        MessageCommand::Export(export) => message_keeping::export(client, &export).await?,
        MessageCommand::Purge(purge) => message_keeping::purge(client, &purge, json).await?,
    }
    reached.finish().await;
    Ok(exit_code::OK)
}

fn path_of(id: &str, below: &str) -> String {
    format!("/v1/acp/messages/{}{below}", percent_encode(id))
}

async fn sent(client: &Client, call: Call, json: bool) -> Result<()> {
    let answer = client.call(call).await?.success()?;
    if json {
        output::json(&answer);
        return Ok(());
    }
    output::line(&text(&answer, "id"));
    output::remark(&format!("sent to {}", recipients(&answer)));
    Ok(())
}

impl ContentArgs {
    fn body(self, to: &[String]) -> Result<Value> {
        let mut fields = Map::new();
        fields.insert("type".to_owned(), self.kind.as_str().into());
        if !to.is_empty() {
            fields.insert("to".to_owned(), json!(to));
        }
        put(&mut fields, "topic", self.topic);
        put(&mut fields, "priority", self.priority);
        put(&mut fields, "thread_id", self.thread);
        put(&mut fields, "expires_at", self.expires_at.map(|at| at.to_string()));
        if let Some(payload) = self.payload {
            let payload = match payload.strip_prefix('@') {
                Some(path) => read_json(path.as_ref())?,
                None => serde_json::from_str(&payload).context("--payload: expected JSON")?,
            };
            if !payload.is_object() {
                bail!("--payload: expected a JSON object");
            }
            fields.insert("payload".to_owned(), payload);
        }
        Ok(Value::Object(fields))
    }
}

impl ListArgs {
    fn path(self) -> String {
        let filters = [
            ("agent", self.agent),
            ("thread_id", self.thread),
            ("type", self.kind.map(|kind| kind.to_string())),
            ("status", self.status.map(|status| status.to_string())),
            ("topic", self.topic),
            ("since", self.since.map(|at| at.to_string())),
            ("until", self.until.map(|at| at.to_string())),
            ("cursor", self.cursor),
        ];
        with_query(format!("/v1/acp/messages?limit={}", self.limit), filters)
    }
}

fn with_query<const N: usize>(mut path: String, filters: [(&str, Option<String>); N]) -> String {
    for (name, value) in filters {
        if let Some(value) = value {
            path.push_str(&format!("&{name}={}", percent_encode(&value)));
        }
    }
    path
}

async fn print_list(client: &Client, path: String, json: bool) -> Result<()> {
    let answer = client.call(Call::get(path)).await?.success()?;
    if json {
        output::json(&answer);
        return Ok(());
    }
    let now = token::now();
    let rows = answer["items"].as_array().into_iter().flatten().map(|message| {
        let at = message["created_at"].as_str().and_then(|at| at.parse::<Time>().ok());
        vec![
            text(message, "id"),
            text(message, "status"),
            format!("{} → {}", text(message, "from"), recipients(message)),
            text(message, "type"),
            text(message, "priority"),
            message["topic"].as_str().unwrap_or("–").to_owned(),
            at.map_or("–".to_owned(), |at| output::relative(at, now)),
        ]
    });
    let header = ["id", "status", "from → to", "type", "priority", "topic", "sent"];
    output::line(&output::table(&header, rows.collect()));
    if let Some(cursor) = answer["next_cursor"].as_str() {
        output::remark(&format!("more with --cursor {cursor}"));
    }
    Ok(())
}

/// The envelope line by line, then what its sender wrote.
fn shown(message: &Value) -> String {
    let rows = ["id", "from", "thread_id", "reply_to", "type", "topic", "priority", "status"]
        .into_iter()
        .chain(["expires_at", "created_at"])
        .filter(|name| message[*name].is_string())
        .map(|name| format!("{name}: {}", output::clean(&text(message, name))));
    let mut lines: Vec<_> = rows.collect();
    lines.insert(2, format!("to: {}", recipients(message)));
    let payload = serde_json::to_string_pretty(&message["payload"]).unwrap_or_default();
    lines.push("payload:".to_owned());
    lines.extend(payload.lines().map(|line| format!("| {line}")));
    lines.join("\n")
}

fn fields_of(status: &Value) -> String {
    let fields = status.as_object().into_iter().flatten();
    let lines = fields.map(|(name, value)| match value.as_array() {
        Some(items) => {
            let items: Vec<_> = items.iter().filter_map(Value::as_str).collect();
            format!("{name}: {}", items.join(", "))
        }
        None => format!("{name}: {value}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

fn recipients(message: &Value) -> String {
    let names = message["to"].as_array().into_iter().flatten().filter_map(Value::as_str);
    names.collect::<Vec<_>>().join(", ")
}
