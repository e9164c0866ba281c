//! `tasuki handoff list`: the handoffs that the caller may read, newest first.

use anyhow::Result;
use clap::Args;
use protocol::handoff::Status;
use protocol::time::Time;

use crate::cli::{one_of, token};
use crate::client::{Call, Client, percent_encode};
use crate::output;

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only those of this task
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Only what this agent has handed on
    #[arg(long, value_name = "AGENT")]
    from: Option<String>,
    /// Only what is handed to this agent
    #[arg(long, value_name = "AGENT")]
    to: Option<String>,
    /// Only those in this state
    #[arg(long, value_parser = one_of(Status::ALL, Status::as_str))]
    status: Option<Status>,
    /// How many, up to 200
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Go on where an earlier list ended
    #[arg(long)]
    cursor: Option<String>,
}

pub async fn print(client: &Client, list: &ListArgs, json: bool) -> Result<()> {
    let mut path = format!("/v1/handoffs?limit={}", list.limit);
    let filters = [
        ("task_id", list.task.as_deref()),
        ("from_agent", list.from.as_deref()),
        ("to_agent", list.to.as_deref()),
        ("status", list.status.map(Status::as_str)),
        ("cursor", list.cursor.as_deref()),
    ];
    for (name, value) in filters {
        if let Some(value) = value {
            path.push_str(&format!("&{name}={}", percent_encode(value)));
        }
    }
    let answer = client.call(Call::get(path)).await?.success()?;
    if json {
        output::json(&answer);
        return Ok(());
    }
    let now = token::now();
    let rows = answer["items"].as_array().into_iter().flatten().map(|handoff| {
        let text = |name: &str| handoff[name].as_str().unwrap_or("–").to_owned();
        let when = |name: &str| {
            handoff[name]
                .as_str()
                .and_then(|at| at.parse::<Time>().ok())
                .map_or("–".to_owned(), |at| output::relative(at, now))
        };
        let parties = format!("{} → {}", text("from_agent"), text("to_agent"));
        vec![
            text("handoff_id"),
            text("status"),
            parties,
            text("task_id"),
            text("title"),
            when("changed_at"),
            when("due_at"),
        ]
    });
    let header = ["id", "status", "from → to", "task", "title", "changed", "due"];
    output::list(&header, rows.collect());
    if let Some(cursor) = answer["next_cursor"].as_str() {
        output::remark(&format!("more with --cursor {cursor}"));
    }
    Ok(())
}
