//! `tasuki audit`: verify, export and look at the ledger, without a server.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use adapters::checkpoint_file;
use anyhow::{Context, Result};
use clap::{Args, Subcommand, value_parser};
use engine::ports::clock::{Clock, SystemClock};
use engine::ports::store::Sequenced;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use protocol::time::Span;
use tokio::runtime::Handle;

use super::ending::{NoLedger, usage};
use crate::audit::pacer::Pacer;
use crate::audit::{self, Options, Pace, Report, Source, Tail};
use crate::{exit_code, output};

/// How often `tail --follow` looks for more.
const LOOK_EVERY: Span = Span::from_millis(200);

#[derive(Debug, Args)]
pub struct AuditArgs {
    /// The data folder, of a server that runs or not [default: ./tasuki-data]
    #[arg(long, env = "TASUKI_DATA", global = true, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// Recompute every hash, checkpoint and derived line; exit 1 if anything was changed
    Verify {
        /// Verify this export instead of a data folder
        #[arg(long, value_name = "FILE")]
        export: Option<PathBuf>,
        /// The verifier key, from a place you trust [default: the one beside the data]
        #[arg(long, value_name = "KEY|FILE")]
        key: Option<String>,
        /// A checkpoint you kept elsewhere; may be repeated
        #[arg(long = "checkpoint", value_name = "FILE")]
        checkpoints: Vec<PathBuf>,
        /// Read at most so many rows a second, beside a busy server [default: as fast as it can]
        #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
        #[arg(conflicts_with = "export")]
        rows_per_second: Option<u32>,
    },
    /// Write the whole ledger to a file that can be verified alone
    Export {
        /// Where to; `-` is standard output
        #[arg(long, value_name = "FILE", default_value = "-")]
        out: PathBuf,
    },
    /// Show the newest entries
    Tail {
        /// Look at this export instead of a data folder
        #[arg(long, value_name = "FILE", conflicts_with = "follow")]
        export: Option<PathBuf>,
        /// How many
        #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
        lines: usize,
        /// Keep printing new entries
        #[arg(long)]
        follow: bool,
    },
}

pub async fn run(args: AuditArgs) -> Result<u8> {
    let folder = match args.data {
        Some(data) => data,
        None => super::configure(None)?.data,
    };
    match args.command {
        AuditCommand::Verify { export, key, checkpoints, rows_per_second } => {
            let source = source(folder, export)?;
            let notes = checkpoints
                .iter()
                .map(|path| {
                    std::fs::read_to_string(path)
                        .with_context(|| format!("--checkpoint: cannot read {}", path.display()))
                })
                .collect::<Result<_>>();
            let key = usage(key.map(read_key).transpose())?;
            let options = Options { key, notes: usage(notes)? };
            let report = verify(source, options, rows_per_second).await?;
            print_report(&report, args.json);
            Ok(if report.is_sound() { exit_code::OK } else { exit_code::FAILED })
        }
        AuditCommand::Export { out } => {
            check_ledger(&folder)?;
            let bar = progress_bar("exporting");
            let mut progress = |done, all| show(&bar, done, all);
            let exported = if out.as_os_str() == "-" {
                let stdout = BufWriter::new(std::io::stdout().lock());
                audit::export(&folder, stdout, &mut progress)?
            } else {
                let mut options = OpenOptions::new();
                options.write(true).create(true).truncate(true).mode(0o600);
                let file = options
                    .open(&out)
                    .with_context(|| format!("cannot write {}", out.display()))?;
                let mut writer = BufWriter::new(file);
                let exported = audit::export(&folder, &mut writer, &mut progress)?;
                writer.flush().with_context(|| format!("cannot write {}", out.display()))?;
                exported
            };
            bar.finish_and_clear();
            output::remark(&format!(
                "exported {} entries and {} documents",
                exported.n_entries, exported.n_documents
            ));
            Ok(exit_code::OK)
        }
        AuditCommand::Tail { export, lines, follow: false } => {
            let source = source(folder, export)?;
            print_entries(&audit::tail(&source, lines)?, args.json);
            Ok(exit_code::OK)
        }
        AuditCommand::Tail { lines, follow: true, .. } => {
            check_ledger(&folder)?;
            let mut tail = Tail::open(&folder, lines)?;
            loop {
                print_entries(&tail.look()?, args.json);
                SystemClock.sleep(LOOK_EVERY).await;
            }
        }
    }
}

/// On a thread of its own, which waits after each page of rows if there is a pace.
async fn verify(source: Source, options: Options, rows_per_second: Option<u32>) -> Result<Report> {
    let runtime = Handle::current();
    let pace = rows_per_second.map(|rows_per_second| {
        let pacer = Mutex::new(Pacer::new(rows_per_second, SystemClock.now()));
        Pace(Box::new(move |n_rows| {
            let mut pacer = pacer.lock().expect("nothing panics in here");
            runtime.block_on(SystemClock.sleep(pacer.after(n_rows, SystemClock.now())));
        }))
    });
    let verifying = tokio::task::spawn_blocking(move || {
        let bar = progress_bar("verifying");
        let progress = &mut |done, all| show(&bar, done, all);
        let report = audit::verify_at_pace(&source, &options, pace, progress);
        bar.finish_and_clear();
        report
    });
    verifying.await.context("the audit ended in a panic")?
}

/// Where to look. A file or a folder that cannot be read was misspelt, which is not a finding.
fn source(folder: PathBuf, export: Option<PathBuf>) -> Result<Source> {
    let Some(export) = export else {
        check_ledger(&folder)?;
        return Ok(Source::Data(folder));
    };
    let opened =
        File::open(&export).with_context(|| format!("--export: cannot read {}", export.display()));
    usage(opened)?;
    Ok(Source::Export(export))
}

fn check_ledger(folder: &Path) -> Result<()> {
    let is_there = |name: &str| folder.join(name).exists();
    // If the ledger itself is lost, the rest is still checked, and the ledger is reported as
    // missing.
    if is_there(store::sqlite::FILE_NAME) || is_there(checkpoint_file::NEWEST_FILE) {
        return Ok(());
    }
    usage(Err(NoLedger(folder.to_owned()).into()))
}

fn print_entries(entries: &[Sequenced], json: bool) {
    for entry in entries {
        if json {
            output::line(&engine::ledger::feed::entry_json(entry));
        } else {
            output::line(&output::clean(&audit::human_line(entry)));
        }
    }
}

/// The key itself, or a file that holds it.
fn read_key(text: String) -> Result<String> {
    if text.contains('+') {
        return Ok(text);
    }
    let key =
        std::fs::read_to_string(&text).with_context(|| format!("--key: cannot read {text}"))?;
    Ok(key.trim().to_owned())
}

pub(super) fn print_report(report: &Report, json: bool) {
    if json {
        output::json(report);
        return;
    }
    for finding in &report.findings {
        output::line(&format!("FOUND {}", output::clean(&finding.to_string())));
    }
    for fork in &report.forks {
        output::line(&format!("FORK  {}", output::clean(&fork.to_string())));
    }
    for remark in &report.remarks {
        output::line(&format!("note  {}", output::clean(remark)));
    }
    let verdict = if report.is_sound() { "sound" } else { "NOT SOUND" };
    output::line(&format!(
        "{verdict}: {} entries, {} sealed, {} not sealed yet, {} bodies erased, \
         {} checkpoints and {} lines checked, {} findings",
        report.n_entries,
        report.n_sealed,
        report.n_unsealed,
        report.n_erased,
        report.n_checkpoints,
        report.n_lines,
        report.n_findings,
    ));
}

/// Hidden unless a person watches.
pub(super) fn progress_bar(what: &'static str) -> ProgressBar {
    let target = if output::is_for_people() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(0), target).with_message(what);
    match ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len} {eta}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

pub(super) fn show(bar: &ProgressBar, done: u64, all: u64) {
    bar.set_length(all);
    bar.set_position(done);
}
