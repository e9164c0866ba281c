//! The `bench` executable: what to measure, and how it is shown.

mod commands;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use bench::report::{Figures, Report};
use bench::{Plan, Progress, Scratch};
use clap::{Parser, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use tasuki::{exit_code, output, serve};

use self::commands::{aaep, artifacts, conversation, neighbours, route};

// The allocator of the server, so that what is measured here is what the server does.
#[cfg(target_os = "linux")]
use mimalloc as _;

#[cfg(not(target_os = "linux"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measure this machine: bare SQLite, the engine, the server
#[derive(Debug, Parser)]
#[command(name = "bench", version, args_conflicts_with_subcommands = true)]
struct BenchArgs {
    #[command(subcommand)]
    part: Option<BenchPart>,
    /// Where to make the stores; they are removed in the end [default: the current folder]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Handoffs in the store, smallest first [default: 1000,20000]
    #[arg(long, value_delimiter = ',', value_name = "N")]
    handoffs: Vec<u64>,
    /// Concurrent callers
    #[arg(long, value_delimiter = ',', value_name = "N", default_value = "1,16,256,1024")]
    callers: Vec<usize>,
    /// Each round measures everything once; shown are medians
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// How long each measurement takes
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// How often one draft is edited to see whether age costs
    #[arg(long, default_value_t = 2_000)]
    edits: usize,
    /// One thousand against one million handoffs; takes a quarter of an hour and 25 GB
    #[arg(long, conflicts_with = "handoffs")]
    full: bool,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum BenchPart {
    /// Measure how long it takes to decide who answers a turn
    Route(route::RouteArgs),
    /// Measure what a handoff costs in a long conversation
    Conversation(conversation::ConversationArgs),
    /// Measure how much hashing a large artifact slows down other callers
    Artifacts(artifacts::ArtifactsArgs),
    /// Measure how many AAEP events are checked, what listeners cost, and what streams cost others
    Aaep(aaep::AaepArgs),
    /// Measure what a hostile teamspace costs another
    Neighbours(neighbours::NeighboursArgs),
}

fn main() -> ExitCode {
    // The server that is measured is this executable again, as a process of its own.
    if std::env::args().nth(1).as_deref() == Some(bench::child::SERVE) {
        return tasuki::cli::run();
    }
    let args = BenchArgs::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let ended = match runtime {
        Ok(runtime) => runtime.block_on(run(args)),
        Err(error) => Err(error.into()),
    };
    match ended {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            output::remark(&format!("error: {error:#}"));
            ExitCode::from(exit_code::FAILED)
        }
    }
}

async fn run(args: BenchArgs) -> Result<u8> {
    match &args.part {
        Some(BenchPart::Route(args)) => return route::run(args),
        Some(BenchPart::Conversation(args)) => return conversation::run(args).await,
        Some(BenchPart::Artifacts(args)) => return artifacts::run(args).await,
        Some(BenchPart::Aaep(args)) => return aaep::run(args).await,
        Some(BenchPart::Neighbours(args)) => return neighbours::run(args, &Bar::new()).await,
        None => {}
    }
    serve::raise_open_files();
    let scratch = Scratch::make(args.data.as_deref().unwrap_or_else(|| ".".as_ref()))?;
    let plan = match plan(&args, scratch.path()) {
        Ok(plan) => plan,
        Err(error) => {
            output::remark(&format!("error: {error}"));
            return Ok(exit_code::USAGE);
        }
    };
    let progress = Bar::new();
    let measuring = bench::run(&plan, &progress);
    let report = tokio::select! {
        report = measuring => report?,
        interrupted = tokio::signal::ctrl_c() => {
            interrupted?;
            bail!("interrupted");
        }
    };
    progress.0.finish_and_clear();
    if args.json {
        output::json(&report);
    } else {
        show(&report);
    }
    Ok(exit_code::OK)
}

fn plan(args: &BenchArgs, folder: &std::path::Path) -> Result<Plan> {
    let mut handoffs = match (args.full, args.handoffs.is_empty()) {
        (true, _) => vec![1_000, 1_000_000],
        (false, true) => vec![1_000, 20_000],
        (false, false) => args.handoffs.clone(),
    };
    handoffs.sort_unstable();
    handoffs.dedup();
    if !(args.seconds > 0.0 && args.seconds <= 600.0) {
        bail!("--seconds: expected more than 0 and at most 600");
    }
    if args.rounds == 0 || args.edits < 10 || args.callers.contains(&0) {
        bail!("expected at least 1 round, 10 edits and 1 caller");
    }
    Ok(Plan {
        folder: folder.to_owned(),
        handoffs,
        callers: args.callers.clone(),
        rounds: args.rounds,
        measured: Duration::from_secs_f64(args.seconds),
        n_edits: args.edits,
    })
}

/// Shown on a terminal only.
struct Bar(ProgressBar);

impl Bar {
    fn new() -> Self {
        let style = ProgressStyle::with_template("{wide_msg} {bar:24} {percent:>3} %  {elapsed}");
        let bar = ProgressBar::new(1);
        Self(bar.with_style(style.expect("the template is valid")))
    }
}

impl Progress for Bar {
    fn begin(&self, what: &str, n_steps: u64) {
        self.0.set_length(n_steps);
        self.0.set_position(0);
        self.0.set_message(what.to_owned());
    }

    fn step(&self, what: &str) {
        self.0.set_message(what.to_owned());
        self.0.inc(1);
    }

    fn steps(&self, n_steps: u64) {
        self.0.inc(n_steps);
    }
}

fn show(report: &Report) {
    output::line(&format!(
        "{} rounds of {} s each on {} cores; medians. A transition is one durable step of a walk \
         from initiate to close,\nwith a package of 2 KiB. `raw` is a bare SQLite writer with the \
         same rows, `read` an\nauthenticated GET; the floor is the CPU of both. The engine runs on \
         a thread for each core but the one\nthat its writer needs. \
         Bytes are what the process sent to the disk; memory and CPU of\nraw and engine include \
         their load generator, those of the server do not.\n",
        report.rounds, report.seconds_per_measurement, report.n_cores
    ));
    for store in &report.stores {
        output::line(&format!(
            "{} handoffs ({:.0} MiB, filled through the engine at {:.0} handoffs/s)",
            store.handoffs,
            store.database_bytes as f64 / 1_048_576.0,
            store.filled_per_second
        ));
        let mut rows = Vec::new();
        for row in &store.measured {
            let of = [
                ("raw", &row.raw, String::new()),
                ("read", &row.read, String::new()),
                ("engine", &row.engine, format!("{:.2}", row.engine_of_raw)),
                ("server", &row.server, format!("{:.2}", row.server_of_raw)),
            ];
            for (who, figures, ratio) in of {
                rows.push(cells(row.callers, who, figures, ratio));
            }
        }
        let header = [
            "callers", "", "per s", "of raw", "p50 ms", "p99 ms", "bytes", "cpu µs", "MiB", "peak",
        ];
        output::line(&format!("{}\n", output::table(&header, rows)));
        for row in &store.measured {
            if let (Some(floor), Some(of_floor)) = (row.floor_us, row.server_of_floor) {
                output::line(&format!(
                    "{} callers: floor {floor:.0} µs; the server takes {of_floor:.2} × it\n",
                    row.callers
                ));
            }
        }
    }
    if !report.growth.is_empty() {
        output::line("Cost in the largest store, of that in the smallest");
        let rows = report.growth.iter().map(|growth| {
            let ratios =
                [growth.raw, growth.engine, growth.server].map(|ratio| format!("{ratio:.2}"));
            [vec![growth.callers.to_string()], ratios.to_vec()].concat()
        });
        let table = output::table(&["callers", "raw", "engine", "server"], rows.collect());
        output::line(&format!("{table}\n"));
    }
    let age = &report.age;
    output::line(&format!(
        "One more edit of a draft: {:.2} ms after {}, {:.2} ms for a new one\n",
        age.old_ms, age.n_edits, age.young_ms
    ));
    let rows = report.bars.iter().map(|bar| {
        let verdict = if bar.met { "met" } else { "not met" };
        vec![
            bar.what.clone(),
            bar.wanted.clone(),
            format!("{:.2}", bar.measured),
            verdict.to_owned(),
        ]
    });
    output::line(&output::table(&["bar", "wanted", "measured", ""], rows.collect()));
}

fn cells(callers: usize, who: &str, figures: &Figures, ratio: String) -> Vec<String> {
    let whole = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.0}"));
    vec![
        callers.to_string(),
        who.to_owned(),
        format!("{:.0}", figures.per_second),
        ratio,
        format!("{:.2}", figures.p50_ms),
        format!("{:.2}", figures.p99_ms),
        whole(figures.bytes_per_transition),
        whole(figures.cpu_us_per_transition),
        whole(figures.resident_mib),
        whole(figures.peak_mib),
    ]
}
