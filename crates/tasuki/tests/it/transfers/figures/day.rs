//! The figures of one busy day, by queue, are those that the script computes from the ledger as
//! `tasuki audit export` prints it.

use std::fs;
use std::path::Path;
use std::process::Command as Program;
use std::sync::Arc;

use engine::ports::clock::Clock;
use protocol::time::{Span, Time};
use serde_json::Value;
use store::Sqlite;

use super::{Shift, counted, told};
use crate::server::{is_full_run, seed};
use crate::support::start;

/// Transfers of the day, at least: with `TASUKI_TEST_FULL=1`, and otherwise.
const N_TRANSFERS_MIN: [usize; 2] = [10_000, 200];
/// A transfer takes fewer steps than this.
const STEPS_PER_TRANSFER: usize = 7;
/// So each conversation has its next step after some minutes.
const TRANSFERS_PER_CHAT: usize = 80;
const DAY: Span = Span::from_minutes(24 * 60);
/// Some customers of the evening before are still there at midnight.
const EVENING: Span = Span::from_minutes(30);

#[tokio::test(flavor = "multi_thread")]
async fn the_figures_of_a_busy_day_are_those_of_a_script_over_the_export() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store: Arc<dyn engine::ports::store::Store> =
        Arc::new(Sqlite::open(folder.path()).expect("a new database"));
    let n_min = N_TRANSFERS_MIN[usize::from(!is_full_run())];
    let n_chats = n_min.div_ceil(TRANSFERS_PER_CHAT);
    let mut shift = Shift::begin(&store, seed("transfers::figures::day"), n_chats).await;
    let midnight: Time = "2026-02-22T00:00:00Z".parse().expect("a time");
    let next = midnight.plus(DAY);
    let quiet = midnight.since(start()).as_millis() - EVENING.as_millis();
    shift.clock.advance(Span::from_millis(quiet));
    let pause_ms = DAY.as_millis() as usize / (n_min * STEPS_PER_TRANSFER);
    loop {
        let pause_ms = shift.random.below(2 * pause_ms + 1) as i64;
        if shift.clock.now().plus(Span::from_millis(pause_ms)) >= next {
            break;
        }
        shift.step(pause_ms).await;
    }

    let exported = exported(folder.path());
    let told = told(exported.into_iter());
    shift.check(&told, midnight, next).await;
    shift.check(&told, start(), next).await;
    let day = counted(&told, midnight, next, None);
    let sum = |figure: &str| -> u64 { day.iter().filter_map(|line| line[figure].as_u64()).sum() };
    assert_eq!(day.len(), 2, "a line for each queue");
    assert!(sum("requested") >= n_min as u64, "{} transfers are too few", sum("requested"));
    println!("{} transfers on one day", sum("requested"));
    // A day without these would prove little.
    for figure in ["answered_in_time", "abandoned", "failed"] {
        assert!(sum(figure) > 0, "{figure}");
    }
    let before = counted(&told, start(), midnight, None);
    assert!(!before.is_empty(), "the evening before counts for itself");
}

/// The entries of the export, as time, name and body.
fn exported(data: &Path) -> Vec<(Time, String, String)> {
    let out = data.join("ledger.jsonl");
    let mut program = Program::new(env!("CARGO_BIN_EXE_tasuki"));
    let output = program.args(["audit", "export", "--data"]).arg(data).arg("--out").arg(&out);
    let output = output.output().expect("the executable runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(out).expect("it was written");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let entries = lines.filter_map(|mut line| line.get_mut("entry").map(Value::take));
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let entries = entries.map(|entry| {
        let at = text(&entry["at"]).parse().expect("a time");
        (at, text(&entry["event"]), text(&entry["body"]))
    });
    entries.collect()
}
