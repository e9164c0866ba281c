//! Proof that the harness can fail: small programs, one that keeps its promises and some that do
//! not.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

use super::{Ack, Log, Report, check_images, compile, monotonic_ns, record};

const N_RECORDS: u64 = 120;
const N_IMAGES: usize = 400;
const SEED: u64 = 0x7461_7375_6b69;

#[test]
fn what_was_synced_before_the_answer_is_never_lost() {
    let report = judge("safe");
    assert!(report.failures.is_empty(), "{report}");
    assert!(report.reached.torn > N_IMAGES / 20, "{report}");
    assert!(report.reached.lost_writes > N_IMAGES / 10, "{report}");
    assert!(report.reached.lost_names > N_IMAGES / 100, "{report}");
    assert!(report.reached.with_acks > N_IMAGES * 9 / 10, "{report}");
}

#[test]
fn what_was_answered_before_a_sync_is_lost_in_most_images() {
    let report = judge("no-sync");
    assert!(report.failures.len() >= N_IMAGES / 2, "{report}");
}

#[test]
fn a_rename_without_a_sync_of_its_directory_is_found() {
    let report = judge("no-rename-sync");
    assert!(report.failures.len() >= N_IMAGES / 5, "{report}");
    let is_about_the_rename = |message: &str| message.starts_with("latest is");
    assert!(
        report.failures.iter().all(|failure| is_about_the_rename(&failure.message)),
        "{report}"
    );
}

#[test]
fn every_recorded_call_is_replayed_exactly() {
    let Place { root, log, .. } = &Place::new();
    let mut command = Command::new(workload());
    command.arg(root).arg("everything");
    record(&mut command, root, log);
    let before_ns = monotonic_ns();
    assert!(command.status().expect("the workload was compiled").success());
    let recorded = Log::read(log, root).expect("the workload uses only what is supported");
    assert_eq!(recorded.unrecorded(root).expect("the root is readable"), Vec::<PathBuf>::new());
    let times = recorded.entries.iter().map(|entry| entry.at_ns);
    assert!(times.clone().all(|at_ns| (before_ns..monotonic_ns()).contains(&at_ns)));

    fs::write(root.join("stranger"), "unseen").expect("the root is writable");
    let unrecorded = recorded.unrecorded(root).expect("the root is readable");
    assert_eq!(unrecorded, [PathBuf::from("stranger")]);
}

/// Drives one variant of the workload in lock step, kills it and checks its images.
fn judge(variant: &str) -> Report {
    let Place { root, log, .. } = &Place::new();
    let mut command = Command::new(workload());
    command.arg(root).arg(variant).stdin(Stdio::piped()).stdout(Stdio::piped());
    record(&mut command, root, log);
    let mut child = command.spawn().expect("the workload was compiled");
    let mut requests = child.stdin.take().expect("stdin is piped");
    let answers = BufReader::new(child.stdout.take().expect("stdout is piped"));
    let mut answers = answers.lines();
    let mut acks = Vec::new();
    for n in 1..=N_RECORDS {
        writeln!(requests, "{n}").expect("the workload reads");
        let answer = answers.next().expect("the workload answers").expect("in text");
        assert_eq!(answer, n.to_string());
        acks.push(Ack::received(n));
    }
    child.kill().expect("it still runs");
    child.wait().expect("it was killed");
    let recorded = Log::read(log, root).expect("the workload uses only what is supported");
    assert_eq!(recorded.unrecorded(root).expect("the root is readable"), Vec::<PathBuf>::new());
    check_images(&recorded, &acks, N_IMAGES, SEED, check_promises)
}

fn check_promises(image: &Path, acks: &[Ack<u64>]) -> Result<(), String> {
    let promised = acks.last().map_or(0, |ack| ack.what);
    let records = fs::read(image.join("records")).unwrap_or_default();
    let n_intact = (1..).zip(records.chunks(RECORD)).take_while(|(n, bytes)| is_record(*n, bytes));
    let n_intact = n_intact.count() as u64;
    if n_intact < promised {
        return Err(format!("{n_intact} records are intact, {promised} were promised"));
    }
    let published = promised - promised % PUBLISH_EVERY;
    let latest = fs::read(image.join("latest")).unwrap_or_default();
    let latest = latest.try_into().map_or(0, u64::from_le_bytes);
    if latest < published {
        return Err(format!("latest is {latest}, {published} was promised"));
    }
    Ok(())
}

/// As in `workload.c`.
const RECORD: usize = 1500;
const PUBLISH_EVERY: u64 = 8;

fn is_record(n: u64, bytes: &[u8]) -> bool {
    let filling = |at: usize| (n * 31 + at as u64) as u8;
    bytes.len() == RECORD
        && bytes[..8] == n.to_le_bytes()
        && bytes.iter().enumerate().skip(8).all(|(at, byte)| *byte == filling(at))
}

fn workload() -> &'static Path {
    static WORKLOAD: OnceLock<PathBuf> = OnceLock::new();
    WORKLOAD.get_or_init(|| compile("workload.c", include_str!("workload.c"), &[]))
}

struct Place {
    root: PathBuf,
    log: PathBuf,
    _directory: TempDir,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("the temporary directory is writable");
        let (root, log) = (directory.path().join("root"), directory.path().join("log"));
        Self { root, log, _directory: directory }
    }
}
