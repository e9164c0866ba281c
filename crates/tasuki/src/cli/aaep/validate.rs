//! `tasuki aaep validate`: whether files follow the protocol, each document and each session. Works
//! offline.

use std::path::{Path, PathBuf};

use aaep::flaw::Tier;
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use super::check::{Options, check_all};
use super::found::{FileReport, Level, counted, junit};
use crate::cli::audit_commands::progress_bar;
use crate::{exit_code, output};

/// The default maximum of printed findings.
const ERRORS_MAX: usize = 1_000;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct ValidateArgs {
    /// Files with documents: one on each line, one over many lines, or a list; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Only look at these rules: schema is the JSON Schemas, spec what a document must be besides,
    /// session the order of events; may be repeated [default: all]
    #[arg(long, value_enum)]
    tier: Vec<TierName>,
    /// Also print warnings: what is allowed but looks wrong, such as a password in a text
    #[arg(long)]
    warnings: bool,
    /// An answer or an end that the recording lacks is an error
    #[arg(long)]
    strict: bool,
    /// Print no more errors than this, and no more warnings; all are counted
    #[arg(long, value_name = "N", default_value_t = ERRORS_MAX)]
    max_errors: usize,
    /// Print one JSON object for each error instead of text
    #[arg(long)]
    json: bool,
    /// Write a report in the form of JUnit; - is standard output, without the text
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

const HELP: &str = "Exit codes: 0 everything is valid, 1 something is not, 2 usage or a file that \
                    cannot be opened. The rules are in docs/aaep-rules.md.";

#[derive(Debug, Clone, Copy, ValueEnum)]
enum TierName {
    Schema,
    Spec,
    Session,
}

impl From<TierName> for Tier {
    fn from(name: TierName) -> Self {
        match name {
            TierName::Schema => Tier::Schema,
            TierName::Spec => Tier::Spec,
            TierName::Session => Tier::Session,
        }
    }
}

pub fn run(args: &ValidateArgs) -> Result<u8> {
    if args.json && args.junit.as_deref() == Some(Path::new("-")) {
        output::remark("error: --json and --junit - both print to standard output");
        output::remark("hint: name a file for --junit");
        return Ok(exit_code::USAGE);
    }
    if let Err(error) = super::documents::check_readable(&args.files) {
        output::remark(&format!("error: {}", output::clean(&format!("{error:#}"))));
        return Ok(exit_code::USAGE);
    }
    let options = Options {
        tiers: args.tier.iter().copied().map(Tier::from).collect(),
        warnings: args.warnings,
        strict: args.strict,
        findings_max: args.max_errors,
    };
    let bar = progress_bar("checking");
    bar.set_length(args.files.iter().filter_map(|it| it.metadata().ok()).map(|it| it.len()).sum());
    let files: Vec<&Path> = args.files.iter().map(PathBuf::as_path).collect();
    let (n_errors_left, n_warnings_left) = (args.max_errors, args.max_errors);
    let mut told = Reported { args, n_errors_left, n_warnings_left, reports: Vec::new() };
    let mut failed = None;
    check_all(&files, &options, &bar, |_, report| match report {
        Ok(report) => told.add(report),
        Err(error) => failed = failed.take().or(Some(error)),
    });
    bar.finish_and_clear();
    if let Some(error) = failed {
        return Err(error);
    }
    told.end()
}

/// What was reported so far.
struct Reported<'a> {
    args: &'a ValidateArgs,
    n_errors_left: usize,
    n_warnings_left: usize,
    reports: Vec<FileReport>,
}

impl Reported<'_> {
    fn add(&mut self, mut report: FileReport) {
        let is_text = self.args.junit.as_deref() != Some(Path::new("-"));
        for finding in &report.findings {
            let n_left = match finding.level {
                Level::Error => &mut self.n_errors_left,
                Level::Warning => &mut self.n_warnings_left,
            };
            let Some(left) = n_left.checked_sub(1) else { continue };
            *n_left = left;
            match self.args.json {
                true => output::json(finding),
                false if is_text => output::line(&finding.text()),
                false => {}
            }
        }
        if self.args.junit.is_none() {
            report.findings = Vec::new();
        }
        self.reports.push(report);
    }

    fn end(self) -> Result<u8> {
        if let Some(path) = &self.args.junit {
            let xml = junit(&self.reports);
            if path.as_os_str() == "-" {
                output::line(xml.trim_end());
            } else {
                std::fs::write(path, xml)
                    .with_context(|| format!("cannot write {}", path.display()))?;
            }
        }
        let sum = |n: fn(&FileReport) -> usize| self.reports.iter().map(n).sum::<usize>();
        let (n_errors, n_warnings) = (sum(|it| it.n_errors), sum(|it| it.n_warnings));
        output::remark(&format!(
            "{}, {}, {}: {}, {}",
            counted(self.reports.len(), "file"),
            counted(sum(|it| it.n_documents), "document"),
            counted(sum(|it| it.n_sessions), "session"),
            if n_errors == 0 { "valid".to_owned() } else { counted(n_errors, "error") },
            counted(n_warnings, "warning"),
        ));
        Ok(if n_errors == 0 { exit_code::OK } else { exit_code::FAILED })
    }
}
