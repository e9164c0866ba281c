//! `tasuki message export` and `purge`: exports messages, and removes old ones.

use anyhow::{Context, Result};
use clap::Args;
use protocol::time::Time;
use serde_json::{Value, json};

use crate::client::{Call, Client, percent_encode};
use crate::output;

/// As many as a page may have.
const PAGE_ROWS: usize = 200;

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Sent at this time or later
    #[arg(long, value_name = "TIME")]
    since: Option<Time>,
    /// Sent before this time
    #[arg(long, value_name = "TIME")]
    until: Option<Time>,
}

#[derive(Debug, Args)]
pub struct PurgeArgs {
    /// Messages that were sent before this time, such as 2026-08-01T00:00:00Z
    #[arg(long, value_name = "TIME")]
    before: Time,
    /// Why, for the record
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// One page after the other, each written before the next is asked for.
pub async fn export(client: &Client, args: &ExportArgs) -> Result<()> {
    let mut cursor: Option<String> = None;
    let mut n_written = 0;
    loop {
        let mut path = format!("/v1/acp/messages?limit={PAGE_ROWS}");
        for (name, value) in [
            ("since", args.since.map(|at| at.to_string())),
            ("until", args.until.map(|at| at.to_string())),
            ("cursor", cursor),
        ] {
            if let Some(value) = value {
                path.push_str(&format!("&{name}={}", percent_encode(&value)));
            }
        }
        let page = client.call(Call::get(path)).await?.success()?;
        for message in page["items"].as_array().into_iter().flatten() {
            output::json_to_keep(message).context("cannot write")?;
            n_written += 1;
        }
        cursor = page["next_cursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    output::remark(&format!("{n_written} messages"));
    Ok(())
}

/// Purges in batches, until there are no more.
pub async fn purge(client: &Client, args: &PurgeArgs, json: bool) -> Result<()> {
    let mut n_purged = 0;
    loop {
        let body = json!({ "before": args.before.to_string(), "reason": args.reason });
        let call = Call::post("/v1/acp/messages/purge", body);
        let answer = client.call(call).await?.success()?;
        n_purged += answer["purged"].as_u64().unwrap_or(0);
        if answer["has_more"] != Value::Bool(true) {
            break;
        }
    }
    match json {
        true => output::json(&json!({ "purged": n_purged })),
        false => output::remark(&format!("{n_purged} messages purged")),
    }
    Ok(())
}
