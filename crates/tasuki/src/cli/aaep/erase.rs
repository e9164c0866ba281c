//! `tasuki aaep erase`: erases what a session says, on the record.

use anyhow::Result;
use clap::Args;
use serde_json::json;

use crate::cli::reach::Reach;
use crate::client::{Call, percent_encode};
use crate::{exit_code, output};

#[derive(Debug, Args)]
pub struct EraseArgs {
    #[command(flatten)]
    reach: Reach,
    /// The session, such as sess_2c91
    session: String,
    /// Only the entry at this position; the session then goes on [default: all entries]
    #[arg(long, value_name = "N")]
    position: Option<u64>,
    /// Why; kept for ever
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Repeats until nothing is left.
pub async fn run(args: EraseArgs) -> Result<u8> {
    let reached = args.reach.connect().await?;
    let path = format!("/aaep/v1/sessions/{}/erase", percent_encode(&args.session));
    let mut body = json!({ "reason": args.reason });
    if let Some(position) = args.position {
        body["position"] = position.into();
    }
    let mut n_erased = 0;
    loop {
        let call = Call::post(path.clone(), body.clone());
        let mut answer = reached.client.call(call).await?.success()?;
        n_erased += answer["erased"].as_u64().unwrap_or_default();
        if answer["has_more"] == true {
            continue;
        }
        answer["erased"] = n_erased.into();
        match args.reach.json {
            true => output::json(&answer),
            false => output::remark(&format!("{n_erased} entries were erased")),
        }
        reached.finish().await;
        return Ok(exit_code::OK);
    }
}
