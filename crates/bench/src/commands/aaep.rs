//! `bench aaep`: how many events are checked a second, what listeners cost, and what agents
//! that stream cost others, each shown against its limit.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;

use bench::Scratch;
use bench::aaep::{self, listeners, streams};
use bench::report::Bar;
use tasuki::{exit_code, output, serve};

#[derive(Debug, Args)]
pub struct AaepArgs {
    /// Only this part: validate is how many events are checked a second, listeners what many cost a
    /// server, streams what others notice while many agents stream; may be repeated [default: all]
    #[arg(long = "part", value_name = "PART")]
    parts: Vec<Part>,
    /// Where to make the folder in which the server works; here if not given
    #[arg(long)]
    data: Option<PathBuf>,
    /// Events that are checked in each round
    #[arg(long, default_value_t = 200_000)]
    events: usize,
    /// Each round checks everything once; shown are medians
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// How many listen
    #[arg(long, default_value_t = 2_000)]
    listeners: usize,
    /// Events that all of them are told
    #[arg(long, default_value_t = 1_000)]
    told: usize,
    /// How many agents stream
    #[arg(long, default_value_t = 100)]
    streams: usize,
    /// Pieces that each of them says in a second
    #[arg(long, default_value_t = 50)]
    chunks: u32,
    /// How long they stream, and how long others are measured without them
    #[arg(long, default_value_t = 60.0)]
    seconds: f64,
    /// End with exit code 1 if a limit is not met
    #[arg(long)]
    check: bool,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Validate,
    Listeners,
    Streams,
}

/// The parts that were measured.
#[derive(Debug, Default, Serialize)]
struct Reports {
    #[serde(skip_serializing_if = "Option::is_none")]
    validate: Option<aaep::AaepReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    listeners: Option<listeners::ListenersReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    streams: Option<streams::StreamsReport>,
}

pub async fn run(args: &AaepArgs) -> Result<u8> {
    if !(args.seconds >= 1.0 && args.seconds <= 600.0) {
        bail!("--seconds: expected 1 to 600");
    }
    let wants = |part| args.parts.is_empty() || args.parts.contains(&part);
    let mut reports = Reports::default();
    if wants(Part::Validate) {
        let plan = aaep::AaepPlan { n_events: args.events, n_rounds: args.rounds };
        reports.validate = Some(aaep::run(&plan)?);
    }
    if wants(Part::Listeners) || wants(Part::Streams) {
        serve::raise_open_files();
        let scratch = Scratch::make(args.data.as_deref().unwrap_or_else(|| ".".as_ref()))?;
        if wants(Part::Listeners) {
            let plan =
                listeners::ListenersPlan { n_listeners: args.listeners, n_events: args.told };
            reports.listeners = Some(listeners::run(&plan, scratch.path()).await?);
        }
        if wants(Part::Streams) {
            let plan = streams::StreamsPlan {
                n_streams: args.streams,
                chunks_per_second: args.chunks,
                measured: Duration::from_secs_f64(args.seconds),
            };
            reports.streams = Some(streams::run(&plan, scratch.path()).await?);
        }
    }
    if args.json {
        output::json(&reports);
    } else {
        show(&reports);
    }
    // A limit that could not be measured is not met.
    let n_bars = reports.bars().count();
    let n_wanted = reports.n_wanted();
    let is_all_met = n_bars == n_wanted && reports.bars().all(|bar| bar.met);
    Ok(if args.check && !is_all_met { exit_code::FAILED } else { exit_code::OK })
}

impl Reports {
    fn n_wanted(&self) -> usize {
        let parts = [
            (self.validate.is_some(), 1),
            (self.listeners.is_some(), 2),
            (self.streams.is_some(), 1),
        ];
        parts.into_iter().filter(|(is_there, _)| *is_there).map(|(_, n_bars)| n_bars).sum()
    }

    fn bars(&self) -> impl Iterator<Item = &Bar> {
        let validate = self.validate.iter().flat_map(|report| &report.bars);
        let listeners = self.listeners.iter().flat_map(|report| &report.bars);
        let streams = self.streams.iter().flat_map(|report| &report.bars);
        validate.chain(listeners).chain(streams)
    }
}

fn show(reports: &Reports) {
    reports.validate.iter().for_each(show_validate);
    reports.listeners.iter().for_each(show_listeners);
    reports.streams.iter().for_each(show_streams);
    let bars = reports.bars().map(|bar| {
        let verdict = if bar.met { "met" } else { "not met" };
        let digits = if bar.measured < 100.0 { 2 } else { 0 };
        let measured = format!("{:.digits$}", bar.measured);
        vec![bar.what.clone(), bar.wanted.clone(), measured, verdict.to_owned()]
    });
    output::line(&output::table(&["bar", "wanted", "measured", ""], bars.collect()));
}

fn show_validate(report: &aaep::AaepReport) {
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
}

fn show_listeners(report: &listeners::ListenersReport) {
    output::line(&format!(
        "{} listeners over a connection each, {} events of {} bytes to all of them, {} in a \
         request. By second of the\nserver's processor time, everything that it does included. The \
         limit is a thread that only writes the same bytes.\n",
        report.listeners, report.events, report.bytes_per_event, report.events_per_request
    ));
    let row = |what: &str, rate: Option<f64>| {
        let of_limit = rate.zip(report.limit_per_cpu_second).map(|(rate, limit)| rate / limit);
        let shown = |value: Option<f64>, digits: usize| {
            value.map_or("–".to_owned(), |value| format!("{value:.digits$}"))
        };
        let micros = rate.map(|rate| 1e6 / rate);
        vec![what.to_owned(), shown(rate, 0), shown(micros, 2), shown(of_limit, 2)]
    };
    let rows = vec![
        row("delivered", report.deliveries_per_cpu_second),
        row("delivered, one event in a request", report.alone_per_cpu_second),
        row("written, 16 KiB at once (the limit)", report.limit_per_cpu_second),
    ];
    let header = ["", "events/s", "µs each", "of limit"];
    output::line(&format!("{}\n", output::table(&header, rows)));
}

fn show_streams(report: &streams::StreamsReport) {
    output::line(&format!(
        "{} agents stream {} pieces a second each, for {} s; others hand over beside them. \
         {:.0} pieces were recorded\na second, {:.2} in a request.\n",
        report.streams,
        report.chunks_per_second,
        report.seconds,
        report.recorded_per_second,
        report.chunks_per_request,
    ));
    let rows = vec![vec![
        format!("{:.2}", report.calm_p99_ms),
        format!("{:.2}", report.streaming_p99_ms),
        format!("{:.2}", report.slowdown),
        format!("{:.1}", report.stored_bytes_per_character),
        report.written_bytes_per_character.map_or("–".to_owned(), |bytes| format!("{bytes:.1}")),
    ]];
    let header = [
        "others' p99 ms",
        "while streaming",
        "times",
        "bytes stored by character",
        "written by character",
    ];
    output::line(&format!("{}\n", output::table(&header, rows)));
}
