//! `tasuki queue list`: all queues at a glance.

use anyhow::Result;
use protocol::time::Span;
use serde_json::Value;

use crate::cli::transfer_view::text;
use crate::client::{Call, Client, percent_encode};
use crate::output::{self, clean};

pub async fn print(
    client: &Client,
    limit: usize,
    cursor: Option<String>,
    json: bool,
) -> Result<()> {
    let mut path = format!("/v1/queues?limit={limit}");
    if let Some(cursor) = cursor {
        path.push_str(&format!("&cursor={}", percent_encode(&cursor)));
    }
    let answer = client.call(Call::get(path)).await?.success()?;
    if json {
        output::json(&answer);
        return Ok(());
    }
    let queues = answer["items"].as_array().cloned().unwrap_or_default();
    let header = ["queue", "open", "mode", "waiting", "longest", "available", "wants"];
    output::list(&header, queues.iter().map(row).collect());
    if let Some(cursor) = answer["next_cursor"].as_str() {
        output::remark(&format!("more with --cursor {}", clean(cursor)));
    }
    Ok(())
}

fn row(queue: &Value) -> Vec<String> {
    let longest = queue["longest_wait"].as_str().and_then(|span| span.parse::<Span>().ok());
    vec![
        text(queue, "queue"),
        if queue["is_open"] == true { "yes" } else { "no" }.to_owned(),
        text(queue, "mode"),
        queue["n_waiting"].to_string(),
        longest.map_or("–".to_owned(), output::lasted),
        queue["n_available"].to_string(),
        wanted(&queue["wanted"]),
    ]
}

/// The team, the skills and the language that a person of the queue has.
fn wanted(wanted: &Value) -> String {
    let skills = wanted["skills"].as_array().into_iter().flatten();
    let skills = skills.map(|skill| format!("{} {}", text(skill, "name"), skill["level_min"]));
    let team = wanted["team"].as_str().map(|team| format!("team {team}"));
    let language = wanted["language"].as_str().map(str::to_owned);
    let all: Vec<String> = team.into_iter().chain(skills).chain(language).collect();
    if all.is_empty() { "–".to_owned() } else { all.join(", ") }
}
