//! `tasuki ledger`: what an operator does to the ledger as a whole.

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::json;

use super::reach::Reach;
use crate::client::Call;
use crate::{exit_code, output};

#[derive(Debug, Args)]
pub struct LedgerArgs {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    command: LedgerCommand,
}

#[derive(Debug, Subcommand)]
enum LedgerCommand {
    /// Resume after lost entries, as after a restore; the ledger records what is missing
    Fork {
        /// Why they are gone
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

pub async fn run(args: LedgerArgs) -> Result<u8> {
    let reached = args.reach.connect().await?;
    let LedgerCommand::Fork { reason } = args.command;
    let call = Call::post("/v1/ledger/fork", json!({ "reason": reason }));
    let answer = reached.client.call(call).await?.success()?;
    reached.finish().await;
    if args.reach.json {
        output::json(&answer);
        return Ok(exit_code::OK);
    }
    match (answer["ledger_size"].as_u64(), answer["lost_size"].as_u64()) {
        (Some(kept), Some(lost)) if kept < lost => output::line(&format!(
            "declared: the ledger goes on after entry {kept}, without entries {} to {lost}",
            kept + 1
        )),
        (Some(kept), Some(lost)) => output::line(&format!(
            "declared: the ledger goes on after entry {kept}, without what the checkpoint of \
             {lost} entries vouched for"
        )),
        (Some(kept), None) => output::line(&format!(
            "declared: the ledger goes on after entry {kept}; no checkpoint says whether there \
             were more"
        )),
        (None, _) => output::remark("nothing to declare: the ledger is not behind a checkpoint"),
    }
    Ok(exit_code::OK)
}
