//! `tasuki webhook`: events of the ledger, posted to a URL.

use anyhow::Result;
use clap::{Args, Subcommand};
use protocol::time::Time;
use serde_json::{Map, Value, json};

use super::reach::Reach;
use super::{put, token};
use crate::client::{Call, Client, percent_encode};
use crate::{exit_code, output};

#[derive(Debug, Args)]
pub struct WebhookArgs {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    command: WebhookCommand,
}

#[derive(Debug, Subcommand)]
enum WebhookCommand {
    /// Make a webhook and print the secret that signs its deliveries
    Add(TermsArgs),
    /// List your webhooks; operators see all of the teamspace
    List,
    /// Show a webhook and how it does
    Show {
        /// The webhook's id
        id: String,
    },
    /// Replace what is delivered, and where to
    Set {
        /// The webhook's id
        id: String,
        #[command(flatten)]
        terms: TermsArgs,
    },
    /// Make a new key and print its secret; the old key signs for a while, too
    RotateKey {
        /// The webhook's id
        id: String,
        /// How long the old key signs, too [default: 86400]
        #[arg(long, value_name = "SECONDS")]
        overlap: Option<u32>,
    },
    /// Stop deliveries; nothing is lost
    Pause {
        /// The webhook's id
        id: String,
        /// Why, for the record
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Go on where deliveries stopped
    Resume {
        /// The webhook's id
        id: String,
        /// Deliver again everything after the event with this cursor; 0 is the beginning
        #[arg(long, value_name = "CURSOR")]
        after: Option<String>,
    },
    /// Show the newest attempts, and what was set aside
    Deliveries {
        /// The webhook's id
        id: String,
    },
    /// Post a test and say what the endpoint answered
    Test {
        /// The webhook's id
        id: String,
    },
    /// Post an event once more, now
    Redeliver {
        /// The webhook's id
        id: String,
        /// The cursor of the event
        event: String,
    },
    /// Give up a delivery that was set aside
    Discard {
        /// The webhook's id
        id: String,
        /// The cursor of the event
        event: String,
    },
    /// End a webhook
    Remove {
        /// The webhook's id
        id: String,
    },
}

#[derive(Debug, Args)]
struct TermsArgs {
    /// An https URL; http only on this machine with --dev, or where private networks are allowed
    url: String,
    /// Only events of this name, such as handoff.accepted, or family, such as handoff; repeatable
    #[arg(long = "event", value_name = "NAME")]
    events: Vec<String>,
    /// Only events of this stream, such as handoff/<id>
    #[arg(long)]
    stream: Option<String>,
    /// Only events that this agent caused or is a party to
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
}

impl TermsArgs {
    fn body(self) -> Value {
        let mut fields = Map::new();
        put(&mut fields, "url", Some(self.url));
        fields.insert("events".to_owned(), json!(self.events));
        put(&mut fields, "stream", self.stream);
        put(&mut fields, "agent", self.agent);
        put(&mut fields, "description", self.description);
        fields.into()
    }
}

/// How an answer is shown.
enum Shown {
    Webhook,
    Webhooks,
    Deliveries,
    Attempt,
}

pub async fn run(args: WebhookArgs) -> Result<u8> {
    let reached = args.reach.connect().await?;
    let (call, shown) = call(with_description(&reached.client, args.command).await?);
    let answer = reached.client.call(call).await?.success()?;
    if args.reach.json {
        output::json(&answer);
    } else {
        match shown {
            Shown::Webhook => webhook(&answer),
            Shown::Webhooks => output::line(&table(&answer)),
            Shown::Deliveries => deliveries(&answer),
            Shown::Attempt => output::line(&attempt(&answer)),
        }
    }
    reached.finish().await;
    let has_failed = matches!(shown, Shown::Attempt) && answer["delivered"] == false;
    Ok(if has_failed { exit_code::FAILED } else { exit_code::OK })
}

/// A webhook keeps its description unless another one is given.
async fn with_description(client: &Client, command: WebhookCommand) -> Result<WebhookCommand> {
    let WebhookCommand::Set { id, mut terms } = command else { return Ok(command) };
    if terms.description.is_none() {
        let shown = client.call(Call::get(path(&id, ""))).await?.success()?;
        terms.description = shown["description"].as_str().map(str::to_owned);
    }
    Ok(WebhookCommand::Set { id, terms })
}

fn path(id: &str, action: &str) -> String {
    format!("/v1/webhooks/{}{action}", percent_encode(id))
}

fn call(command: WebhookCommand) -> (Call, Shown) {
    match command {
        WebhookCommand::Add(terms) => (Call::post("/v1/webhooks", terms.body()), Shown::Webhook),
        WebhookCommand::List => (Call::get("/v1/webhooks?limit=200"), Shown::Webhooks),
        WebhookCommand::Show { id } => (Call::get(path(&id, "")), Shown::Webhook),
        WebhookCommand::Set { id, terms } => {
            (Call::put(path(&id, ""), terms.body()), Shown::Webhook)
        }
        WebhookCommand::RotateKey { id, overlap } => {
            let body = overlap.map_or(json!({}), |it| json!({ "overlap_seconds": it }));
            (Call::post(path(&id, "/rotate_key"), body), Shown::Webhook)
        }
        WebhookCommand::Pause { id, reason } => {
            let body = reason.map_or(json!({}), |it| json!({ "reason": it }));
            (Call::post(path(&id, "/pause"), body), Shown::Webhook)
        }
        WebhookCommand::Resume { id, after } => {
            let body = after.map_or(json!({}), |it| json!({ "after": it }));
            (Call::post(path(&id, "/resume"), body), Shown::Webhook)
        }
        WebhookCommand::Deliveries { id } => {
            (Call::get(path(&id, "/deliveries")), Shown::Deliveries)
        }
        WebhookCommand::Test { id } => (Call::post(path(&id, "/test"), json!({})), Shown::Attempt),
        WebhookCommand::Redeliver { id, event } => {
            (Call::post(path(&id, "/redeliver"), json!({ "event": event })), Shown::Attempt)
        }
        WebhookCommand::Discard { id, event } => {
            (Call::post(path(&id, "/discard"), json!({ "event": event })), Shown::Deliveries)
        }
        WebhookCommand::Remove { id } => {
            (Call::post(path(&id, "/remove"), json!({})), Shown::Webhook)
        }
    }
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or("–").to_owned()
}

fn webhook(it: &Value) {
    let mut rows = vec![vec!["webhook".to_owned(), text(it, "webhook_id")]];
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    row("url", text(it, "url"));
    row("events", events(it));
    for name in ["stream", "agent", "description"] {
        if it[name].is_string() {
            row(name, text(it, name));
        }
    }
    row("owner", text(it, "owner"));
    row("status", status(it));
    row("key", it["key"].to_string());
    for name in ["previous_key_until", "secret"] {
        if it[name].is_string() {
            row(name, text(it, name));
        }
    }
    output::line(&output::table(&["", ""], rows));
    for warning in it["warnings"].as_array().into_iter().flatten() {
        output::remark(&format!("{}: {}", text(warning, "field"), text(warning, "detail")));
    }
}

fn events(it: &Value) -> String {
    let names = it["events"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "all".to_owned() } else { names.join(", ") }
}

fn status(it: &Value) -> String {
    let now = token::now();
    if it["status"] == "removed" {
        return "removed".to_owned();
    }
    match (&it["paused"], &it["failing"]) {
        (Value::Object(_), _) => {
            format!("paused ({}) {}", text(&it["paused"], "cause"), text(&it["paused"], "detail"))
        }
        (_, Value::Object(_)) => {
            let failing = &it["failing"];
            let next = failing["next_at"].as_str().and_then(|at| at.parse::<Time>().ok());
            let next = next.map_or("–".to_owned(), |at| output::relative(at, now));
            let (attempts, detail) = (&failing["attempts"], text(failing, "detail"));
            format!("failing: {detail}; {attempts} tries, next {next}")
        }
        (_, _) => match it["set_aside"].as_array().map_or(0, Vec::len) {
            0 if it["caught_up"] == true => "active, all delivered".to_owned(),
            0 => "active".to_owned(),
            n_aside => format!("active, {n_aside} set aside"),
        },
    }
}

fn table(answer: &Value) -> String {
    let items = answer["items"].as_array().into_iter().flatten();
    let rows = items.map(|it| {
        vec![text(it, "webhook_id"), text(it, "url"), events(it), text(it, "owner"), status(it)]
    });
    output::table(&["webhook", "url", "events", "owner", "status"], rows.collect())
}

fn deliveries(answer: &Value) {
    let items = answer["attempts"].as_array().into_iter().flatten();
    let rows = items.map(|it| {
        let problem = it["problem"].as_str().unwrap_or("delivered").to_owned();
        vec![
            text(it, "at"),
            text(it, "name"),
            it["took_ms"].to_string(),
            problem,
            text(it, "event"),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let aside = answer["set_aside"].as_array().into_iter().flatten();
    let aside: Vec<Vec<String>> = aside
        .map(|it| {
            let attempts = it["attempts"].to_string();
            vec![text(it, "event"), text(it, "name"), attempts, text(it, "detail")]
        })
        .collect();
    if rows.is_empty() && aside.is_empty() {
        output::line("nothing was tried since the server started, and nothing is set aside");
    }
    if !rows.is_empty() {
        output::line(&output::table(&["at", "name", "ms", "result", "event"], rows));
    }
    if !aside.is_empty() {
        output::line(&output::table(&["set aside", "name", "tries", "last error"], aside));
    }
}

fn attempt(it: &Value) -> String {
    match it["problem"].as_str() {
        None => format!("delivered in {} ms", it["took_ms"]),
        Some(problem) => format!("not delivered: {problem}"),
    }
}
