//! `bench route`: how long a decision takes, shown against its limit.

use anyhow::Result;
use clap::Args;

use bench::route::{self, RoutePlan, RouteReport};
use tasuki::{exit_code, output};

#[derive(Debug, Args)]
pub struct RouteArgs {
    /// Rules, all of one router
    #[arg(long, default_value_t = 10_000)]
    rules: usize,
    /// Specialists, each with an agent of its own
    #[arg(long, default_value_t = 1_000)]
    agents: usize,
    /// Decisions of each kind of turn
    #[arg(long, default_value_t = 20_000)]
    decisions: usize,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

pub fn run(args: &RouteArgs) -> Result<u8> {
    let plan =
        RoutePlan { n_rules: args.rules, n_agents: args.agents, n_decisions: args.decisions };
    let report = route::run(&plan)?;
    if args.json {
        output::json(&report);
    } else {
        show(&report);
    }
    Ok(exit_code::OK)
}

fn show(report: &RouteReport) {
    output::line(&format!(
        "One router with {} rules, {} of them with a regex, and {} agents; made ready in {:.0} ms. \
         A decision includes\nfinding the intent. It runs within this process, on one core.\n",
        report.rules, report.regexes, report.agents, report.compiled_ms
    ));
    let rows = report.measured.iter().map(|row| {
        vec![
            row.turn.to_owned(),
            row.bytes.to_string(),
            row.decisions.to_string(),
            format!("{:.1}", row.p50_us),
            format!("{:.1}", row.p99_us),
            format!("{:.3}", row.p99_of_limit),
        ]
    });
    let header = ["turn", "bytes", "decisions", "p50 µs", "p99 µs", "of limit"];
    output::line(&format!("{}\n", output::table(&header, rows.collect())));
    let bars = report.bars.iter().map(|bar| {
        let verdict = if bar.met { "met" } else { "not met" };
        let measured = format!("{:.3}", bar.measured);
        vec![bar.what.clone(), bar.wanted.clone(), measured, verdict.to_owned()]
    });
    output::line(&output::table(&["bar", "wanted", "measured", ""], bars.collect()));
}
