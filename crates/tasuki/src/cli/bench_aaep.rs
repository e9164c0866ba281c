//! `tasuki bench aaep`: how many events are checked a second, shown against their limit.

use anyhow::Result;
use clap::Args;

use crate::bench::aaep::{self, Plan, Report};
use crate::{exit_code, output};

#[derive(Debug, Args)]
pub struct AaepArgs {
    /// Events in each round
    #[arg(long, default_value_t = 200_000)]
    events: usize,
    /// Each round measures everything once; shown are medians
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

pub fn run(args: &AaepArgs) -> Result<u8> {
    let report = aaep::run(&Plan { n_events: args.events, n_rounds: args.rounds })?;
    if args.json {
        output::json(&report);
    } else {
        show(&report);
    }
    Ok(exit_code::OK)
}

fn show(report: &Report) {
    output::line(&format!(
        "{} events of {} bytes, {} times, within this process, on one core. A check is everything: \
         the schemas, the\nwords of the specification and the order of the session. The limit is a \
         parse of the same bytes that keeps nothing.\n",
        report.events, report.bytes_per_event, report.rounds
    ));
    let row = |what: &str, rate: f64| {
        let of_limit = format!("{:.2}", rate / report.parsed_per_second);
        vec![what.to_owned(), format!("{rate:.0}"), format!("{:.2}", 1e6 / rate), of_limit]
    };
    let rows = vec![
        row("checked", report.checked_per_second),
        row("parsed, nothing kept (serde_json, the limit)", report.parsed_per_second),
        row("parsed into a tree (serde_json)", report.tree_per_second),
    ];
    let header = ["", "events/s", "µs each", "of limit"];
    output::line(&format!("{}\n", output::table(&header, rows)));
    let bars = report.bars.iter().map(|bar| {
        let verdict = if bar.met { "met" } else { "not met" };
        let measured = format!("{:.0}", bar.measured);
        vec![bar.what.clone(), bar.wanted.clone(), measured, verdict.to_owned()]
    });
    output::line(&output::table(&["bar", "wanted", "measured", ""], bars.collect()));
}
