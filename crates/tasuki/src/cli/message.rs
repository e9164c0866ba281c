//! `tasuki inbox` and `tasuki message`: what agents tell each other.

use anyhow::Result;
use clap::{Args, Subcommand};
use protocol::message::{Delivery, Kind};
use protocol::time::Time;
use serde_json::{Map, Value, json};

use super::message_keeping::{self, ExportArgs, PurgeArgs};
use super::reach::Reach;
use super::{json_object, one_of, put, token, waits};
use crate::client::{Call, Client, percent_encode};
use crate::{exit_code, output};

/// An inbox is for a quick look; a long message is read by itself.
const PAYLOAD_LINES_MAX: usize = 20;

#[derive(Debug, Args)]
pub struct InboxArgs {
    #[command(flatten)]
    reach: Reach,
    /// Only messages in this state [default: pending, delivered and failed]
    #[arg(long, value_parser = one_of(Delivery::ALL, Delivery::as_str))]
    status: Option<Delivery>,
    /// How many, up to 200
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Go on where an earlier list ended
    #[arg(long)]
    cursor: Option<String>,
    /// Kinds of notices about handoffs that you do not want from now on, in place of the old ones,
    /// such as activated,closed; `none` mutes nothing
    #[arg(long, value_name = "KINDS", conflicts_with_all = ["status", "limit", "cursor"])]
    mute: Option<String>,
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
        /// An agent; `coordinator` is every coordinator, `*` is everyone. May be repeated
        #[arg(long = "to", value_name = "AGENT", required = true)]
        to: Vec<String>,
        #[command(flatten)]
        content: ContentArgs,
    },
    /// Answer a message, in its thread and to its sender
    Respond {
        /// The message's id
        id: String,
        /// Another agent that shall read it too; may be repeated
        #[arg(long = "to", value_name = "AGENT")]
        to: Vec<String>,
        #[command(flatten)]
        content: ContentArgs,
    },
    /// Say that you have read a message
    Read {
        /// The message's id
        id: String,
    },
    /// Show a message
    Show {
        /// The message's id
        id: String,
    },
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
    /// What kind of message it is, such as status.update, knowledge.query or knowledge.response
    #[arg(long = "type", value_name = "TYPE", value_parser = sendable)]
    kind: Kind,
    /// What it is about, in a few words
    #[arg(long, value_name = "TEXT")]
    topic: Option<String>,
    /// How urgent it is; a critical message also calls the wake URL [default: normal]
    #[arg(long, value_parser = ["low", "normal", "high", "critical"])]
    priority: Option<String>,
    /// The thread it belongs to [default: a new one]
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// Until when it is worth reading, such as 2026-12-24T18:00:00Z
    #[arg(long, value_name = "TIME")]
    expires_at: Option<Time>,
    /// What it says: a JSON object, or @FILE to read one
    #[arg(long, value_name = "JSON")]
    payload: Option<String>,
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Sent or received by this agent
    #[arg(long)]
    agent: Option<String>,
    /// Only those of this thread
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// Only those of this kind, such as knowledge.query
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<Kind>,
    /// Only messages in this state
    #[arg(long, value_parser = one_of(Delivery::ALL, Delivery::as_str))]
    status: Option<Delivery>,
    /// Only those about this topic
    #[arg(long, value_name = "TEXT")]
    topic: Option<String>,
    /// Sent at this time or later
    #[arg(long, value_name = "TIME")]
    since: Option<Time>,
    /// Sent before this time
    #[arg(long, value_name = "TIME")]
    until: Option<Time>,
    /// How many, up to 200
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Go on where an earlier list ended
    #[arg(long)]
    cursor: Option<String>,
}

pub async fn inbox(args: InboxArgs) -> Result<u8> {
    let reached = args.reach.connect().await?;
    if let Some(kinds) = args.mute {
        mute(&reached.client, &kinds, args.reach.json).await?;
        reached.finish().await;
        return Ok(exit_code::OK);
    }
    let status = args.status.map(|status| status.to_string());
    let filters = [("status", status), ("cursor", args.cursor)];
    let path = with_query(format!("/v1/acp/inbox?limit={}", args.limit), filters);
    print_inbox(&reached.client, path, args.reach.json).await?;
    reached.finish().await;
    Ok(exit_code::OK)
}

async fn mute(client: &Client, kinds: &str, json: bool) -> Result<()> {
    let kinds: Vec<&str> = match kinds {
        "none" => Vec::new(),
        kinds => kinds.split(',').map(str::trim).collect(),
    };
    let call = Call::put("/v1/notices/muted", json!({ "kinds": kinds }));
    let answer = client.call(call).await?.success()?;
    match json {
        true => output::json(&answer),
        false if kinds.is_empty() => output::remark("you are told everything that concerns you"),
        false => output::remark(&format!("you are not told any more: {}", kinds.join(", "))),
    }
    if !json && answer["still_sent"].is_array() {
        output::remark("but escalated comes all the same: all coordinators share that message");
    }
    Ok(())
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
                false => {
                    let status = text(&answer, "status");
                    output::remark(&format!("Message {} is now {status}", output::clean(&id)));
                }
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

/// An answer is in the thread of the message that it answers, and in no other.
pub fn with_own_help(command: clap::Command) -> clap::Command {
    command.mut_subcommand("respond", |respond| respond.mut_arg("thread", |it| it.hide(true)))
}

/// A type that an agent may send.
fn sendable(text: &str) -> Result<Kind, String> {
    let all = Kind::ALL.iter().filter(|kind| !kind.is_the_servers());
    let all = all.map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ");
    match text.parse::<Kind>() {
        Ok(kind) if kind.is_the_servers() => {
            Err(format!("only the server sends messages of this type; expected one of {all}"))
        }
        Ok(kind) => Ok(kind),
        Err(invalid) => {
            // The parser's own list includes the server's types, which are valid only in searches.
            let why = invalid.to_string();
            let why = why.split_once("; ").map_or(&*why, |(why, _)| why);
            Err(format!("{why}; expected one of {all}"))
        }
    }
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
            let payload = json_object("--payload", &payload)?;
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
    output::list(&header, rows.collect());
    if let Some(cursor) = answer["next_cursor"].as_str() {
        output::remark(&format!("more with --cursor {cursor}"));
    }
    Ok(())
}

/// Each message with its payload, behind a bar.
async fn print_inbox(client: &Client, path: String, json: bool) -> Result<()> {
    let answer = client.call(Call::get(path)).await?.success()?;
    if json {
        output::json(&answer);
        return notices_read(client, &answer).await;
    }
    let now = token::now();
    let messages = answer["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    for message in messages {
        let of = |name: &str| output::clean(&text(message, name));
        let at = text(message, "created_at").parse::<Time>().ok();
        let when = at.map_or("–".to_owned(), |at| output::relative(at, now));
        let mut about = vec![of("type")];
        about.extend(message["topic"].as_str().map(output::clean));
        if message["priority"] != "normal" {
            about.push(of("priority"));
        }
        output::line(&format!("{}  [{}]  {}", of("id"), of("status"), about.join(", ")));
        let to = output::clean(&recipients(message));
        output::line(&format!("  from {} to {to}, {when}", of("from")));
        let lines = payload(message);
        for line in lines.iter().take(PAYLOAD_LINES_MAX) {
            output::line(&format!("  {line}"));
        }
        if lines.len() > PAYLOAD_LINES_MAX {
            output::line(&format!("  … `tasuki message show {}` shows all", of("id")));
        }
    }
    let notices = answer["notices"]["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    print_notices(notices, now);
    let questions = answer["notices"]["questions"].as_array();
    let questions = questions.map(Vec::as_slice).unwrap_or_default();
    print_question_notices(questions, now);
    if messages.is_empty() && notices.is_empty() && questions.is_empty() {
        output::remark("nothing is in your inbox");
    }
    if answer["notices"]["has_more"] == true {
        output::remark("there are more notices: ask again for the next");
    }
    if answer["notices"]["is_incomplete"] == true {
        output::remark("older notices may be missing: `tasuki todo` lists what still waits");
    }
    let n_waiting = answer["n_waiting_for_you"].as_u64().unwrap_or(0);
    let says = match (n_waiting, answer["more_wait_for_you"] == true) {
        (0, false) => None,
        (0, true) => Some("handoffs may wait".to_owned()),
        (1, false) => Some("1 handoff waits".to_owned()),
        (n_waiting, false) => Some(format!("{n_waiting} handoffs wait")),
        (n_waiting, true) => Some(format!("{n_waiting} handoffs or more wait")),
    };
    if let Some(says) = says {
        output::remark(&format!("{says} for you: `tasuki todo`"));
    }
    if let Some(cursor) = answer["next_cursor"].as_str() {
        output::remark(&format!("more with --cursor {cursor}"));
    }
    notices_read(client, &answer).await
}

/// What happened to a handoff, and what it waits for.
fn print_notices(notices: &[Value], now: Time) {
    for notice in notices {
        let of = |name: &str| output::clean(&text(notice, name));
        let names = |list: &Value| {
            let names = list.as_array().into_iter().flatten().filter_map(Value::as_str);
            names.collect::<Vec<_>>().join(", ")
        };
        let when = of("at").parse().map_or("–".to_owned(), |at| output::relative(at, now));
        output::line(&format!("{}  {}", of("handoff_id"), names(&notice["kinds"])));
        output::line(&format!("  {}", of("title")));
        output::line(&format!("  {when} by {}; it is {}", of("actor"), of("status")));
        if notice["replaced_by_handoff_id"].is_string() {
            output::line(&format!("  replaced by {}", of("replaced_by_handoff_id")));
        }
        print_waits(notice, now);
    }
}

fn print_waits(notice: &Value, now: Time) {
    for wait in notice["waiting_for"].as_array().into_iter().flatten() {
        output::line(&format!("  waits for {}", waits::told(wait, now)));
    }
}

/// What happened to a question, and how it is now.
fn print_question_notices(questions: &[Value], now: Time) {
    for notice in questions {
        let of = |name: &str| output::clean(&text(notice, name));
        let kinds = notice["kinds"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let when = of("at").parse().map_or("–".to_owned(), |at| output::relative(at, now));
        output::line(&format!("{}  {}", of("question_id"), kinds.collect::<Vec<_>>().join(", ")));
        output::line(&format!("  {}", of("text").lines().next().unwrap_or_default()));
        output::line(&format!("  {when} by {}; it is {}", of("actor"), of("status")));
        print_waits(notice, now);
    }
}

/// Notices that were printed count as read.
async fn notices_read(client: &Client, inbox: &Value) -> Result<()> {
    let until = &inbox["notices"]["until"];
    if until.is_string() && output::is_complete() {
        let call = Call::post("/v1/notices/read", json!({ "until": until }));
        client.call(call).await?.success()?;
    }
    Ok(())
}

/// The envelope line by line, then the payload.
fn shown(message: &Value) -> String {
    let rows = ["id", "from", "thread_id", "reply_to", "type", "topic", "priority", "status"]
        .into_iter()
        .chain(["expires_at", "created_at"])
        .filter(|name| message[*name].is_string())
        .map(|name| format!("{name}: {}", output::clean(&text(message, name))));
    let mut lines: Vec<_> = rows.collect();
    lines.insert(2, format!("to: {}", recipients(message)));
    lines.push("payload:".to_owned());
    lines.extend(payload(message));
    lines.join("\n")
}

/// The payload, behind a bar, so that no line of it looks like one of ours.
fn payload(message: &Value) -> Vec<String> {
    let payload = serde_json::to_string_pretty(&message["payload"]).unwrap_or_default();
    payload.lines().map(|line| format!("| {}", line)).collect()
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
