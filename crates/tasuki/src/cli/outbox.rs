//! `tasuki outbox`: deliveries to the outside that are still to be made.

use anyhow::{Result, bail};
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
    /// Show only what was given up
    #[arg(long)]
    given_up: bool,
    /// Try again what was given up: all of it, or one effect of a stream
    #[arg(long, num_args = 0..=2, value_names = ["STREAM", "EFFECT"], conflicts_with = "given_up")]
    revive: Option<Vec<String>>,
}

pub async fn run(args: OutboxArgs) -> Result<u8> {
    let reached = args.reach.connect().await?;
    let call = match args.revive.as_deref() {
        Some([stream, effect]) => {
            let only = json!({ "stream": stream, "effect": effect });
            Call::post("/v1/outbox/revive", json!({ "only": only }))
        }
        Some([_]) => bail!("--revive: expected a stream and the name of an effect, or neither"),
        Some(_) => Call::post("/v1/outbox/revive", json!({})),
        None if args.given_up => Call::get("/v1/outbox?state=given_up"),
        None => Call::get("/v1/outbox"),
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
        let due = match effect["state"].as_str() {
            Some("running") => "running now".to_owned(),
            _ => due.map_or("given up".to_owned(), |at| output::relative(at, now)),
        };
        let attempts = effect["attempts"].to_string();
        vec![text("stream"), text("effect"), due, attempts, text("error")]
    });
    output::table(&["stream", "effect", "next try", "tries", "last error"], rows.collect())
}
