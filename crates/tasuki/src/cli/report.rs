//! `tasuki report`: the figures of queues, by day.

use anyhow::Result;
use clap::{Args, Subcommand};
use protocol::time::Time;
use serde_json::Value;

use super::reach::Reach;
use crate::cli::transfer_view::text;
use crate::client::{Call, percent_encode};
use crate::{exit_code, output};

#[derive(Debug, Args)]
pub struct ReportArgs {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    command: ReportCommand,
}

#[derive(Debug, Subcommand)]
enum ReportCommand {
    /// Count the customers who asked for a person, by queue and by the day on which they asked
    Queues(QueuesArgs),
}

#[derive(Debug, Args)]
struct QueuesArgs {
    /// Only those who asked at this time or later [default: seven days before --until]
    #[arg(long, value_name = "TIME")]
    from: Option<Time>,
    /// Only those who asked before this time [default: now]
    #[arg(long, value_name = "TIME")]
    until: Option<Time>,
    /// Only those of this queue
    #[arg(long, value_name = "ID")]
    queue: Option<String>,
}

pub async fn run(args: ReportArgs) -> Result<u8> {
    let reached = args.reach.connect().await?;
    let ReportCommand::Queues(queues) = args.command;
    let answer = reached.client.call(Call::get(queues.path())).await?.success()?;
    if args.reach.json {
        output::json(&answer);
    } else {
        show(&answer);
    }
    reached.finish().await;
    Ok(exit_code::OK)
}

impl QueuesArgs {
    fn path(&self) -> String {
        let time = |time: Option<Time>| time.map(|time| time.to_string());
        let given =
            [("from", time(self.from)), ("until", time(self.until)), ("queue", self.queue.clone())];
        let given = given.iter().filter_map(|(name, value)| {
            Some(format!("{name}={}", percent_encode(value.as_ref()?)))
        });
        let query = given.collect::<Vec<_>>().join("&");
        match query.is_empty() {
            true => "/v1/reports/queues".to_owned(),
            false => format!("/v1/reports/queues?{query}"),
        }
    }
}

fn show(answer: &Value) {
    let lines = answer["items"].as_array().cloned().unwrap_or_default();
    let rows = lines.iter().map(row).collect();
    let header = [
        "day",
        "queue",
        "asked",
        "answered",
        "in time",
        "abandoned",
        "failed",
        "waiting",
        "median wait",
        "95% wait",
        "median handle",
    ];
    output::list(&header, rows);
}

fn row(line: &Value) -> Vec<String> {
    let count = |name: &str| line[name].to_string();
    let span = |of: &str, name: &str| {
        let span = line[of][name].as_str().map(output::clean);
        span.unwrap_or("–".to_owned())
    };
    vec![
        text(line, "day"),
        text(line, "queue"),
        count("requested"),
        count("answered"),
        count("answered_in_time"),
        count("abandoned"),
        count("failed"),
        count("waiting"),
        span("wait", "median"),
        span("wait", "p95"),
        span("handle", "median"),
    ]
}
