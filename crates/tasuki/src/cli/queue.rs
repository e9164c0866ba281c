//! `tasuki queue`: the customers who wait for a person, and how a queue works.

use std::path::PathBuf;

use anyhow::Result;
use clap::{ArgGroup, Args, Subcommand};
use protocol::time::{Span, Time};
use serde_json::{Value, json};

use super::reach::Reach;
use super::transfer_words::Rung;
use super::{callback, expect_object, fields, names, queue_list, read_json, token, transfer_story};
use crate::cli::own_name::own_name;
use crate::cli::transfer_view::{likely, name_of, text};
use crate::client::{Call, Client, percent_encode};
use crate::{exit_code, output};

/// Open conversations, which are searched for rings.
const OPEN: &str = "/v1/conversations?status=open";

/// How many of them. A person has few; coordinators see the newest.
const RINGS_MAX: usize = 200;

#[derive(Debug, Args)]
pub struct QueueArgs {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    command: QueueCommand,
}

#[derive(Debug, Subcommand)]
enum QueueCommand {
    /// List the queues, how many wait in each, and how many people are available
    List {
        /// How many queues to show, up to 200
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
        /// Go on where an earlier list ended
        #[arg(long)]
        cursor: Option<String>,
    },
    /// Show who waits, in their order, and how the queue works
    Show {
        /// The queue's id
        #[arg(default_value = "default")]
        id: String,
    },
    /// Change settings of a queue; those without a flag stay as they are
    Set(SetArgs),
}

#[derive(Debug, Args)]
#[command(group(
    ArgGroup::new("settings").required(true).multiple(true)
        .args(["file", "mode", "ring", "wait", "hold", "reply_target"])
))]
struct SetArgs {
    /// The queue's id
    #[arg(default_value = "default")]
    id: String,
    /// A JSON file that replaces all settings; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Offer what waits to people, or let them pick
    #[arg(long, value_parser = ["offer", "pick"])]
    mode: Option<String>,
    /// How long a person is asked before the next one is, such as 30s
    #[arg(long, value_name = "SPAN")]
    ring: Option<Span>,
    /// How long customers wait before the bot has them back, such as 1h
    #[arg(long, value_name = "SPAN")]
    wait: Option<Span>,
    /// How long a customer may be on hold, such as 10m
    #[arg(long, value_name = "SPAN")]
    hold: Option<Span>,
    /// How long a person may leave a customer without a reply before they are reminded, such as 2m
    #[arg(long, value_name = "SPAN")]
    reply_target: Option<Span>,
}

/// A transfer that rings, and the person for whom it rings.
#[derive(Debug)]
pub struct RingingTransfer {
    transfer: Value,
    rung: Rung,
}

pub async fn run(args: QueueArgs) -> Result<u8> {
    let reached = args.reach.connect().await?;
    let client = &reached.client;
    let answer = match args.command {
        QueueCommand::List { limit, cursor } => {
            queue_list::print(client, limit, cursor, args.reach.json).await?;
            reached.finish().await;
            return Ok(exit_code::OK);
        }
        QueueCommand::Show { id } => client.call(Call::get(path_of(&id))).await?.success()?,
        QueueCommand::Set(set) => {
            let path = path_of(&set.id);
            let settings = set.settings(client).await?;
            client.call(Call::put(path, settings)).await?.success()?
        }
    };
    if args.reach.json {
        output::json(&answer);
    } else {
        let rings = rings(client, &text(&answer, "queue")).await?;
        show(&answer, &rings);
        names::warnings(&answer);
    }
    reached.finish().await;
    Ok(exit_code::OK)
}

pub fn path_of(id: &str) -> String {
    format!("/v1/queues/{}", percent_encode(id))
}

impl SetArgs {
    /// All settings as they shall be: from the file, or the current ones, with the flags on top.
    async fn settings(self, client: &Client) -> Result<Value> {
        let mut settings = match &self.file {
            Some(file) => read_json(file)?,
            None => {
                let shown = client.call(Call::get(path_of(&self.id))).await?.success()?;
                shown["settings"].clone()
            }
        };
        expect_object("--file", &settings)?;
        let Some(fields) = settings.as_object_mut() else { return Ok(settings) };
        if let Some(mode) = self.mode {
            fields.insert("mode".to_owned(), mode.into());
        }
        let spans = [
            ("ring", self.ring),
            ("wait", self.wait),
            ("hold", self.hold),
            ("reply_target", self.reply_target),
        ];
        for (name, span) in spans {
            if let Some(span) = span {
                fields.insert(name.to_owned(), json!(span));
            }
        }
        Ok(settings)
    }
}

/// The ringing transfers of a queue, as far as the caller sees them: coordinators see all, a person
/// those that ring for them and those of the colleagues they asked in.
pub async fn rings(client: &Client, queue: &str) -> Result<Vec<RingingTransfer>> {
    let own = client.call(Call::get(format!("{OPEN}&limit={RINGS_MAX}"))).await?;
    let mut listed = own.success()?["items"].as_array().cloned().unwrap_or_default();
    if let Ok(me) = own_name(client).await {
        let path = format!("{OPEN}&limit={RINGS_MAX}&asked={}", percent_encode(&me));
        let asked = client.call(Call::get(path)).await?.success()?;
        listed.extend(asked["items"].as_array().cloned().unwrap_or_default());
    }
    let mut ringing: Vec<RingingTransfer> = Vec::new();
    for conversation in &listed {
        let is_known =
            |it: &RingingTransfer| it.transfer["transfer_id"] == conversation["transfer_id"];
        if ringing.iter().any(is_known) {
            continue;
        }
        let Some(transfer) = transfer_story::look(client, conversation).await? else { continue };
        let is_here = transfer["queue"] == queue || transfer["leg"]["to"] == queue;
        if !is_here {
            continue;
        }
        if let Some(rung) = transfer_story::rung(client, &transfer).await? {
            ringing.push(RingingTransfer { transfer, rung });
        }
    }
    Ok(ringing)
}

/// The settings, the waiting customers in order, and the people who are rung.
pub fn show(queue: &Value, rings: &[RingingTransfer]) {
    let settings = &queue["settings"];
    let is_open = if queue["is_open"] == true { "open" } else { "closed" };
    let mut lines = vec![
        format!("{}  [{is_open}]", output::clean(&text(queue, "queue"))),
        format!("  waiting    {}", queue["n_waiting"]),
        format!("  available  {}", queue["n_available"]),
        format!("  mode       {}", output::clean(&text(settings, "mode"))),
    ];
    let spans = ["ring", "wait", "hold"].map(|name| {
        let span = output::clean(&text(settings, name));
        format!("{name} {span}")
    });
    lines.push(format!("  spans      {}", spans.join(", ")));
    if let Some(opens_at) = queue["opens_at"].as_str() {
        lines.push(format!("  opens at   {}", output::clean(opens_at)));
    }
    if let Some(wait) = likely(queue) {
        lines.push(format!("  a newcomer waits {wait}"));
    }
    lines.extend(more_settings(settings));
    output::line(&lines.join("\n"));
    match queue["waiting"].as_array() {
        None => output::remark("who waits is shown to people of the queue and to coordinators"),
        Some(waiting) if waiting.is_empty() => {}
        Some(waiting) => output::line(&format!("\n{}", table(waiting, token::now()))),
    }
    if queue["is_incomplete"] == true {
        let how = "`tasuki transfer list --status queued --queue ID` lists all";
        output::remark(&format!("more wait than these: {how}"));
    }
    if let Some(callbacks) = queue["callbacks"].as_array().filter(|all| !all.is_empty()) {
        output::line(&format!("\n{}", callback::table(callbacks)));
    }
    if !rings.is_empty() {
        output::line(&format!("\n{}", rings_table(rings, token::now())));
    }
}

/// The settings that the first lines do not name, as far as they say something.
fn more_settings(settings: &Value) -> Vec<String> {
    let by_language = match settings["by_language"] == true {
        true => json!("the customer's"),
        false => Value::Null,
    };
    fields::lines([
        ("wanted", &settings["wanted"]),
        ("language", &by_language),
        ("level", &settings["level"]),
        ("target", &settings["target"]),
        ("reply_target", &settings["reply_target"]),
        ("rings", &settings["rings"]),
        ("relax", &settings["patience"]["relax"]),
        ("overflow", &settings["patience"]["overflow"]),
        ("hours", &settings["hours"]),
    ])
}

fn rings_table(rings: &[RingingTransfer], now: Time) -> String {
    let rows = rings.iter().map(|RingingTransfer { transfer, rung }| {
        let reason = match transfer["leg"]["status"] == "ringing" {
            true => reason_of_colleague(transfer),
            false => reason_of(transfer),
        };
        vec![rung.told(now), text(transfer, "transfer_id"), name_of(transfer), reason]
    });
    output::table(&["rings", "transfer", "customer", "reason"], rows.collect())
}

/// Why the person who answers asks a colleague in.
fn reason_of_colleague(transfer: &Value) -> String {
    let (name, reason) = (text(&transfer["agent"], "agentName"), text(&transfer["leg"], "reason"));
    match reason.is_empty() {
        true => format!("asked in by {name}"),
        false => format!("{name}: {reason}"),
    }
}

fn table(waiting: &[Value], now: Time) -> String {
    // A leg of a transfer waits without a place of its own: its row number shows the place.
    let rows = (1..).zip(waiting).map(|(place, transfer)| {
        let since = text(transfer, "requested_at").parse::<Time>().ok();
        vec![
            place.to_string(),
            text(transfer, "transfer_id"),
            name_of(transfer),
            transfer["priority"].to_string(),
            since.map_or("–".to_owned(), |at| output::relative(at, now)),
            likely(transfer).unwrap_or("–".to_owned()),
            reason_of(transfer),
        ]
    });
    let header = ["place", "transfer", "customer", "priority", "asked", "likely", "reason"];
    output::table(&header, rows.collect())
}

/// Why a person is wanted; the customer's own words are marked.
fn reason_of(transfer: &Value) -> String {
    let reason = text(transfer, "reason");
    match transfer["reason_by"] == "customer" && !reason.is_empty() {
        true => format!("the customer: {reason}"),
        false => reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_that_says_something_is_shown() {
        let settings = json!({
            "mode": "offer", "ring": "30s", "wait": "1h", "hold": "10m", "level": "5m",
            "reply_target": "2m", "by_language": true, "wanted": { "team": "Care" },
            "patience": { "overflow": [{ "after": "20m", "to": "night" }] },
            "hours": { "utc_offset_minutes": 60, "monday": [{ "from": "09:00", "to": "17:00" }] },
        });
        let expected = [
            "  wanted     team Care",
            "  language   the customer's",
            "  level      5m",
            "  reply_target  2m",
            "  overflow   after 20m, to night",
            "  hours      monday from 09:00, to 17:00, utc_offset_minutes 60",
        ];
        assert_eq!(more_settings(&settings), expected);
        assert_eq!(more_settings(&json!({ "level": "5m", "wanted": {} })), ["  level      5m"]);
    }

    #[test]
    fn a_colleague_who_is_asked_in_is_shown_with_who_asks() {
        for (reason, expected) in [("", "asked in by Hana"), ("may I?", "Hana: may I?")] {
            let transfer = json!({ "agent": { "agentName": "Hana" }, "leg": {
                "status": "ringing", "agent": "ivan", "reason": reason } });
            assert_eq!(reason_of_colleague(&transfer), expected);
        }
    }
}
