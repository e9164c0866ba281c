//! `bench artifacts`: how much hashing slows down other callers, shown against its limit.

use std::time::Duration;

use anyhow::Result;
use clap::Args;

use bench::Scratch;
use bench::artifacts::{self, ArtifactsPlan, ArtifactsReport};
use tasuki::{exit_code, output};

#[derive(Debug, Args)]
pub struct ArtifactsArgs {
    /// The size of the artifact, in MiB
    #[arg(long, default_value_t = 2_048)]
    size: u64,
    /// How often to measure with and without hashing
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

/// Long enough for some thousand transitions, so that the 99th percentile is more than a few of
/// them.
const MEASURED: Duration = Duration::from_secs(6);

pub async fn run(args: &ArtifactsArgs) -> Result<u8> {
    let scratch = Scratch::make(".".as_ref())?;
    let plan =
        ArtifactsPlan { mebibytes: args.size, rounds: args.rounds.max(1), measured: MEASURED };
    let report = artifacts::run(&plan, scratch.path()).await?;
    if args.json {
        output::json(&report);
    } else {
        show(&report);
    }
    Ok(exit_code::OK)
}

fn show(report: &ArtifactsReport) {
    output::line(&format!(
        "An artifact of {} MiB, hashed over and over at {:.0} MiB/s without other load.\n",
        report.mebibytes, report.hashed_mib_per_second
    ));
    let rows = report.rounds.iter().map(|round| {
        vec![
            format!("{:.2}", round.calm_p99_ms),
            format!("{:.2}", round.hashing_p99_ms),
            format!("{:.2}", round.slowdown),
            round.growth_mib.map_or("–".to_owned(), |growth| format!("{growth:.1}")),
        ]
    });
    let header = ["p99 ms", "p99 ms while hashing", "times", "MiB more"];
    output::line(&format!("{}\n", output::table(&header, rows.collect())));
    let bars = report.bars.iter().map(|bar| {
        let verdict = if bar.met { "met" } else { "not met" };
        let measured = format!("{:.2}", bar.measured);
        vec![bar.what.clone(), bar.wanted.clone(), measured, verdict.to_owned()]
    });
    output::line(&output::table(&["bar", "wanted", "measured", ""], bars.collect()));
}
