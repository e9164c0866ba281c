//! Validates a recorded session with this crate alone: one event on each line of a file.

use aaep::read::read;
use aaep::recorded::{Recorded, Weight};

fn main() {
    let path = std::env::args().nth(1).unwrap_or_else(|| SAMPLE.to_owned());
    let text = std::fs::read_to_string(&path).expect("the file can be read");
    let mut recorded = Recorded::default();
    let mut flaws = Vec::new();
    let lines = (1..).zip(text.lines());
    for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        match read(line) {
            Ok(event) => flaws.extend(
                recorded
                    .event(&event)
                    .filter(|remark| remark.weight == Weight::Broken)
                    .map(|remark| (number, remark.flaw)),
            ),
            Err(found) => flaws.extend(found.into_iter().map(|flaw| (number, flaw))),
        }
    }
    assert!(flaws.is_empty(), "{path}: {flaws:#?}");
}

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/session.jsonl");
