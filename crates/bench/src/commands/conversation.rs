//! `bench conversation`: what a handoff costs in a long conversation, shown against its
//! limit.

use anyhow::{Result, bail};
use clap::Args;

use bench::Scratch;
use bench::conversation::{self, ConversationPlan, ConversationReport};
use tasuki::{exit_code, output};

#[derive(Debug, Args)]
pub struct ConversationArgs {
    /// Messages in the long conversation
    #[arg(long, default_value_t = 10_000)]
    long: usize,
    /// Messages in the short ones
    #[arg(long, default_value_t = 10)]
    short: usize,
    /// Handoffs that are timed in each
    #[arg(long, default_value_t = 300)]
    handoffs: usize,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

pub async fn run(args: &ConversationArgs) -> Result<u8> {
    if args.handoffs == 0 {
        bail!("--handoffs: expected at least 1");
    }
    let scratch = Scratch::make(".".as_ref())?;
    let plan = ConversationPlan { long: args.long, short: args.short, handoffs: args.handoffs };
    let report = conversation::run(&plan, scratch.path()).await?;
    if args.json {
        output::json(&report);
    } else {
        show(&report);
    }
    Ok(exit_code::OK)
}

fn show(report: &ConversationReport) {
    output::line(&format!(
        "{} handoffs between two AI agents, each durable before the next: {:.2} ms after {} \
         messages, {:.2} ms after {}; medians.\n",
        report.handoffs, report.long_ms, report.long, report.short_ms, report.short
    ));
    let bars = report.bars.iter().map(|bar| {
        let verdict = if bar.met { "met" } else { "not met" };
        let measured = format!("{:.2}", bar.measured);
        vec![bar.what.clone(), bar.wanted.clone(), measured, verdict.to_owned()]
    });
    output::line(&output::table(&["bar", "wanted", "measured", ""], bars.collect()));
}
