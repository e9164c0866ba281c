//! `bench neighbours`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bench::neighbours::attack::Attack;
use bench::neighbours::{
    self, Canary, Measured, NeighboursPlan, NeighboursReport, Priority, Round, Row,
};
use bench::report::Bar;
use bench::{Progress, Scratch};
use clap::Args;
use tasuki::{exit_code, output, serve};

#[derive(Debug, Args)]
pub struct NeighboursArgs {
    /// Only these attacks, such as `uploads` [default: all]
    #[arg(value_name = "ATTACK")]
    attacks: Vec<String>,
    /// How long all attacks together last, and each part of the canary
    #[arg(long, default_value_t = 60.0)]
    seconds: f64,
    /// How long each attack on its own lasts
    #[arg(long, default_value_t = 5.0)]
    each: f64,
    /// How often each of them is measured; of the slowdowns the median counts
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Where to make the stores; they are removed in the end [default: the current folder]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The executable to measure, such as that of another release [default: this one]
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Let the neighbours compete with the server for the processor, as on a machine that is busy
    #[arg(long)]
    eager: bool,
    /// Exit with 1 if a limit is not met, or if `uploads` without quotas and shares breaks none
    #[arg(long)]
    check: bool,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

pub async fn run(args: &NeighboursArgs, progress: &dyn Progress) -> Result<u8> {
    let is_sound = |seconds: f64| (1.0..=600.0).contains(&seconds);
    if !is_sound(args.seconds) || !is_sound(args.each) {
        bail!("--seconds and --each: expected 1 to 600");
    }
    if !(1..=99).contains(&args.rounds) {
        bail!("--rounds: expected 1 to 99");
    }
    serve::raise_open_files();
    let scratch = Scratch::make(args.data.as_deref().unwrap_or_else(|| ".".as_ref()))?;
    let server = match &args.server {
        Some(server) => server.canonicalize().context("--server")?,
        None => std::env::current_exe().context("cannot find this program")?,
    };
    let plan = NeighboursPlan {
        server,
        attacks: attacks(&args.attacks)?,
        each: Duration::from_secs_f64(args.each),
        rounds: args.rounds,
        together: Duration::from_secs_f64(args.seconds),
        priority: if args.eager { Priority::Normal } else { Priority::Idle },
    };
    let report = neighbours::run(&plan, scratch.path(), progress).await?;
    if args.json {
        output::json(&report);
    } else {
        show(&report);
    }
    let is_all_met = report.bars.iter().all(|bar| bar.met);
    Ok(if args.check && !is_all_met { exit_code::FAILED } else { exit_code::OK })
}

fn attacks(names: &[String]) -> Result<Vec<Attack>> {
    let unknown = names.iter().find(|name| Attack::ALL.iter().all(|one| one.name() != *name));
    if let Some(unknown) = unknown {
        bail!("{unknown}: expected one of {}", Attack::ALL.map(Attack::name).join(", "));
    }
    let is_wanted = |one: &Attack| names.is_empty() || names.iter().any(|name| name == one.name());
    Ok(Attack::ALL.into_iter().filter(is_wanted).collect())
}

fn show(report: &NeighboursReport) {
    output::line(&format!(
        "A victim beside a hostile teamspace with {} tokens of each kind, and beside an honest one \
         that makes as many\nrequests as were admitted. Times are milliseconds, of the victim; the \
         rest is what the attackers got and used.\n",
        report.tokens_of_each_kind
    ));
    let header = [
        "attack",
        "s",
        "p50",
        "p99",
        "longest",
        "honest p99",
        "times",
        "gate",
        "deadline",
        "delivery",
        "admitted/s",
        "honest/s",
        "refused/s",
        "cut off/s",
        "MiB",
        "disk MiB",
    ];
    let mut rows = report.rows.clone();
    if let Some(Canary { kept, off, .. }) = &report.canary {
        let off = Row { attack: format!("{}, no shares", off.attack), ..off.clone() };
        rows.extend([kept.clone(), off]);
    }
    output::line(&format!("{}\n", output::table(&header, rows.iter().map(shown).collect())));
    if let Some(canary) = &report.canary {
        output::line(&format!("Only with quotas and shares: {}\n", canary.broken.join(", ")));
    }
    for row in &rows {
        for bar in row.bars.iter().filter(|bar| !bar.met) {
            let Bar { what, wanted, measured, .. } = bar;
            output::line(&format!("{}: {what}: {measured:.2}, wanted {wanted}", row.attack));
        }
    }
    let bars = report.bars.iter().map(|bar| {
        let verdict = if bar.met { "met" } else { "not met" };
        let digits = if bar.measured < 100.0 { 2 } else { 0 };
        let measured = format!("{:.digits$}", bar.measured);
        vec![bar.what.clone(), bar.wanted.clone(), measured, verdict.to_owned()]
    });
    output::line(&output::table(
        &["worst of all attacks", "wanted", "measured", ""],
        bars.collect(),
    ));
}

fn shown(row: &Row) -> Vec<String> {
    let Round { hostile, honest, .. } = row.median();
    let Measured { victim, peak_mib, disk_mib, .. } = hostile;
    vec![
        row.attack.clone(),
        format!("{:.0}", row.seconds),
        format!("{:.2}", victim.p50_ms),
        format!("{:.2}", victim.p99_ms),
        format!("{:.0}", victim.max_ms),
        format!("{:.2}", honest.victim.p99_ms),
        format!("{:.2}", row.slowdown),
        format!("{:.0}", victim.gate_ms_max),
        format!("{:.0}", victim.deadline_late_ms_max),
        format!("{:.0}", victim.delivery_late_ms_max),
        format!("{:.0}", hostile.admitted_per_second),
        format!("{:.0}", honest.admitted_per_second),
        format!("{:.0}", hostile.refused_per_second),
        format!("{:.0}", hostile.cut_off_per_second),
        peak_mib.map_or("–".to_owned(), |mib| format!("{mib:.0}")),
        format!("{disk_mib:.0}"),
    ]
}
