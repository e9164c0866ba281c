//! `tasuki aaep keys`: the keys that sign the manifest.

use anyhow::Result;
use clap::{Args, Subcommand};
use protocol::time::Time;
use serde_json::{Value, json};

use crate::cli::reach::Reach;
use crate::cli::token;
use crate::client::Call;
use crate::{exit_code, output};

#[derive(Debug, Args)]
pub struct KeysArgs {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    command: KeysCommand,
}

#[derive(Debug, Subcommand)]
enum KeysCommand {
    /// Show which key signs, which one is next, and which have signed
    List,
    /// Sign with the next key from now on; the one before it stays published for 90 days
    Rotate {
        /// The keys may be compromised: replace all of them, and publish none of the old ones
        #[arg(long)]
        compromised: bool,
    },
}

pub async fn run(args: KeysArgs) -> Result<u8> {
    let reached = args.reach.connect().await?;
    let mut answer = reached.client.call(Call::get("/v1/aaep/keys")).await?.success()?;
    if let KeysCommand::Rotate { compromised } = args.command {
        let body = json!({ "kid": answer["items"][0]["kid"], "compromised": compromised });
        let call = Call::post("/v1/aaep/keys/rotate", body);
        answer = reached.client.call(call).await?.success()?;
    }
    if args.reach.json {
        output::json(&answer);
    } else {
        output::line(&table(&answer, token::now()));
    }
    reached.finish().await;
    Ok(exit_code::OK)
}

fn table(answer: &Value, now: Time) -> String {
    let rows = answer["items"].as_array().into_iter().flatten().map(|key| {
        let when = |name: &str| {
            let at = key[name].as_str().and_then(|at| at.parse::<Time>().ok());
            at.map_or("–".to_owned(), |at| output::relative(at, now))
        };
        let text = |name: &str| key[name].as_str().unwrap_or("–").to_owned();
        vec![text("kid"), text("role"), when("since"), when("until")]
    });
    output::table(&["key", "role", "since", "published until"], rows.collect())
}
