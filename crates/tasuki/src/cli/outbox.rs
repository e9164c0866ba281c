//! `tasuki outbox`: deliveries to the outside that are still to be made.

use anyhow::Result;
use clap::Args;
use protocol::time::Time;
use serde_json::{Value, json};

use super::reach::Reach;
use super::token;
use crate::client::Call;
use crate::{exit_code, output};

#[derive(Debug, Args)]
pub struct OutboxArgs {
    #[command(flatten)]
    reach: Reach,
    /// Try again what was given up
    #[arg(long)]
    revive: bool,
}

pub async fn run(args: OutboxArgs) -> Result<u8> {
    let reached = args.reach.connect().await?;
    let call = match args.revive {
        true => Call::post("/v1/outbox/revive", json!({})),
        false => Call::get("/v1/outbox"),
    };
    let answer = reached.client.call(call).await?.success()?;
    if args.reach.json {
        output::json(&answer);
    } else {
        output::line(&table(&answer, token::now()));
    }
    reached.finish().await;
    Ok(exit_code::OK)
}

fn table(answer: &Value, now: Time) -> String {
    let rows = answer["items"].as_array().into_iter().flatten().map(|effect| {
        let text = |name: &str| effect[name].as_str().unwrap_or("–").to_owned();
        let due = effect["due_at"].as_str().and_then(|at| at.parse::<Time>().ok());
        let due = due.map_or("given up".to_owned(), |at| output::relative(at, now));
        let attempts = effect["attempts"].to_string();
        vec![text("stream"), text("effect"), due, attempts, text("error")]
    });
    output::table(&["stream", "effect", "next try", "tries", "last error"], rows.collect())
}
