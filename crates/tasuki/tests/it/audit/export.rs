//! Tampering with an export. It is verified alone, without the server.

use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::sync::OnceLock;

use adapters::checkpoint_file::NEWEST_FILE;
use adapters::ledger_key::PUBLIC_FILE;
use proptest::prelude::*;
use tasuki::audit::{self, Options, Report, Source, verify, verify_export};

use super::ledger::{Forgery, assert_findings, copy, findings, forged};

#[test]
fn an_export_verifies_alone() {
    let folder = copy();
    let text = export(folder.path());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], r#"{"format":"tasuki-ledger","version":1,"checkpoint_sizes":[7,13,19]}"#);
    assert_eq!(lines.iter().filter(|line| line.starts_with(r#"{"entry":"#)).count(), 20);
    assert_eq!(lines.iter().filter(|line| line.starts_with(r#"{"document":"#)).count(), 6);
    assert!(lines[27].starts_with(r#"{"end":{"n_entries":20,"checkpoints":["tasuki-"#), "{text}");
    assert_eq!(lines.len(), 28);

    let path = folder.path().join("export.jsonl");
    fs::write(&path, &text).unwrap();
    let key = fs::read_to_string(folder.path().join(PUBLIC_FILE)).unwrap();
    let newest = fs::read_to_string(folder.path().join(NEWEST_FILE)).unwrap();
    for options in [Options::default(), Options { key: Some(key), notes: vec![newest] }] {
        let report = verify(&Source::Export(path.clone()), &options, &mut |_, _| {}).unwrap();
        assert_eq!(findings(&report), "");
        assert_eq!((report.n_entries, report.n_sealed, report.n_unsealed), (20, 19, 1));
    }
    let newest = audit::tail(&Source::Export(path), 2).unwrap();
    let in_data = audit::tail(&Source::Data(folder.path().to_owned()), 2).unwrap();
    assert_eq!(newest, in_data);
}

/// An export of a ledger from when answers, too, left out trailing zeros of a fraction. Hashed
/// texts still do.
#[test]
fn a_ledger_of_times_without_zeros_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("export.jsonl");
    let text = include_str!("times_without_zeros.jsonl");
    assert!(text.contains(r#""at":"2026-11-16T18:32:01.99Z""#));
    fs::write(&path, text).unwrap();
    let source = Source::Export(path);
    let report = verify(&source, &Options::default(), &mut |_, _| {}).unwrap();
    assert_eq!((findings(&report).as_str(), report.n_entries), ("", 16));
    let shown = engine::ledger::feed::entry_json(&audit::tail(&source, 1).unwrap()[0]);
    assert!(shown.contains(r#""at":"2026-11-16T18:32:11.850Z""#), "{shown}");
}

#[test]
fn every_change_to_an_export_is_found_and_named() {
    check("a byte of a body", "entry 9 (handoff/…the hash does not follow", |lines| {
        edit(lines, 9, "schema", "schemb");
    });
    check("a byte of an actor", "entry 13 (handoff/…the hash does not follow", |lines| {
        edit(lines, 13, "agent:barry", "agent:harry");
    });
    check("a byte of a hash", "entry 12 (handoff/…the hash does not follow", |lines| {
        edit_hash(lines, 12);
    });
    check("the spelling of a time", "entry 12: cannot be read: line 16: expected the", |lines| {
        edit(lines, 12, "14:00:10Z", "14:00:10+00:00");
    });
    check("a salt that is none", "entry 12: cannot be read: line 16: expected a salt", |lines| {
        edit(lines, 12, r#""salt":""#, r#""salt":"xy"#);
    });
    check("an unknown field", "entry 12: cannot be read: line 16: expected a line", |lines| {
        edit(lines, 12, r#""salt":"#, r#""pepper":1,"salt":"#);
    });
    check(
        "an entry removed",
        "entry 11: missing\n\
         entry 13 (handoff/…at the wrong position of its stream, 4 comes next\n\
         entry 21: the export has 19 entries and says 20",
        |lines| drop(lines.remove(line_of(lines, 11))),
    );
    check(
        "two swapped",
        "entry 8: missing\n\
         entry 9 (handoff/…at the wrong position of its stream, 2 comes next\n\
         entry 8 (handoff/…out of order, entry 10 belongs here\n\
         entry 8 (handoff/…at the wrong position of its stream, 4 comes next\n\
         entry 11 (handoff/…at the wrong position of its stream, 3 comes next",
        |lines| {
            let (a, b) = (line_of(lines, 8), line_of(lines, 9));
            lines.swap(a, b);
        },
    );
    check(
        "two swapped, with their numbers",
        "entries 1 to 7: changed, added or moved after the first 7 entries were sealed",
        |lines| {
            edit(lines, 3, r#""seq":3"#, r#""seq":4"#);
            let at = lines.iter().rposition(|line| line.contains(r#""seq":4,"#)).unwrap();
            lines[at] = lines[at].replace(r#""seq":4"#, r#""seq":3"#);
            lines.swap(at, at - 1);
        },
    );
    check(
        "a sealed tail cut",
        "entries 18 to 19: missing, although\nentry 18: the export has 17 entries and says 20",
        |lines| {
            let (from, to) = (line_of(lines, 18), lines.len() - 1);
            lines.drain(from..to);
        },
    );
}

#[test]
fn what_comes_with_the_entries_is_checked_too() {
    check("a document", "entry 7 (handoff/…its document is not the one", |lines| {
        let at = line_of(lines, 7) + 1;
        lines[at] = lines[at].replace("Half", "Part");
    });
    check("a document removed", "entry 7 (handoff/…its document is missing", |lines| {
        lines.remove(line_of(lines, 7) + 1);
    });
    check("a document garbled", "entry 7 (handoff/…line 10: expected a line", |lines| {
        let at = line_of(lines, 7) + 1;
        lines[at].truncate(40);
    });
    check(
        "a document elsewhere",
        "entry 7 (handoff/…its document is missing\n\
         entry 7: line 11: a document that does not follow its entry",
        |lines| {
            let at = line_of(lines, 7) + 1;
            lines.swap(at, at + 1);
        },
    );
    check(
        "a checkpoint",
        "checkpoint 2 of the export: checkpoint: expected a valid signature",
        |lines| {
            let end = lines.last_mut().unwrap();
            *end = end.replace(r"\n13\n", r"\n12\n");
        },
    );
    check("the last line", "entry 21: the export ends before its last line", |lines| {
        lines.pop();
    });
    check("a line after the last", "line 29: the export has ended before it", |lines| {
        lines.push(lines[1].clone());
        lines.push(lines[2].clone());
    });
    check(
        "the header",
        "line 1: expected the format tasuki-ledger, version 1\n\
         line 1: it does not announce all checkpoints of the last line",
        |lines| lines[0] = lines[0].replace(r#""version":1"#, r#""version":2"#),
    );
    check(
        "a checkpoint in the header",
        "line 1: it does not announce all checkpoints of the last line",
        |lines| lines[0] = lines[0].replace("[7,13,19]", "[7,13,18]"),
    );
    let cut_unsealed = |lines: &mut Vec<String>| {
        lines[0] = lines[0].replace("[7,13,19]", "[]");
        lines.drain(line_of(lines, 15)..lines.len() - 1);
        let end = lines.last_mut().unwrap();
        let (checkpoints, key) = (end.find('[').unwrap(), end.rfind(r#","key":"#).unwrap());
        end.replace_range(checkpoints..key, "[]");
        *end = end.replace(r#""n_entries":20"#, r#""n_entries":14"#);
    };
    check("all checkpoints", "there is no checkpoint, though entries are", cut_unsealed);
    check("the key", "there is no key to check the checkpoints with (ledger.pub)", |lines| {
        let end = lines.last_mut().unwrap();
        let key = end.rfind(r#","key":"#).unwrap();
        end.replace_range(key.., r#","key":null}}"#);
    });
}

/// Everything recomputed, by an attacker without the key.
#[test]
fn an_export_that_was_made_anew_does_not_fit_its_checkpoints() {
    let forged = export(forged(Forgery::OtherDetail).path());
    let mut lines: Vec<String> = forged.lines().map(str::to_owned).collect();
    let real = export(copy().path());
    *lines.last_mut().unwrap() = real.lines().last().unwrap().to_owned();
    let report = check_text(&join(&lines), &Options::default());
    let expected =
        "entries 8 to 13: changed, added or moved after the first 13 entries were sealed";
    assert_findings("an edit", &report, expected);

    // With another key it fits, and only a holder of the real key can tell.
    let forged = export(super::ledger::forged(Forgery::OtherKey).path());
    assert_eq!(findings(&check_text(&forged, &Options::default())), "");
    let key = fs::read_to_string(copy().path().join(PUBLIC_FILE)).unwrap();
    let options = Options { key: Some(key), ..Options::default() };
    let found = findings(&check_text(&forged, &options));
    assert!(found.contains("the key beside the ledger is not the one that was given"), "{found}");
    assert!(found.contains("checkpoint 1 of the export: checkpoint: expected a signature by"));
}

/// A change to any byte of an export is noticed. Every eleventh is tried, which is some two
/// thousand.
#[test]
fn no_byte_of_an_export_is_free() {
    let text = sound();
    for at in (0..text.len()).step_by(11) {
        let mut bytes = text.as_bytes().to_vec();
        bytes[at] ^= 1 << (at % 7);
        let report = check_bytes(&bytes, &Options::default());
        assert!(!report.is_sound(), "byte {at}: {}", &text[at.saturating_sub(20)..at + 1]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The fuzz target of the export's reader: any bytes get a report.
    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        prop_assert!(!check_bytes(&bytes, &Options::default()).is_sound());
    }

    /// Lines of a real export, cut, doubled, mixed and garbled.
    #[test]
    fn any_mixture_of_lines_is_answered(
        picks in prop::collection::vec((0..28usize, any::<u16>(), 0..4u8), 0..40),
        numbers in prop::collection::vec(any::<u64>(), 0..4),
    ) {
        let sound: Vec<&str> = sound().lines().collect();
        let sizes: Vec<String> = numbers.iter().map(u64::to_string).collect();
        let header = sound[0].replace("7,13,19", &sizes.join(","));
        let mut lines = vec![header];
        for (line, place, change) in picks {
            let mut line = sound[line].to_owned();
            let place = usize::from(place) % (line.len() + 1);
            match change {
                0 => {}
                1 if line.is_char_boundary(place) => line.truncate(place),
                2 if line.is_char_boundary(place) => line.insert_str(place, "18446744073709551615"),
                _ => line = line.replacen(r#""seq":"#, r#""seq":1844674407370955161"#, 1),
            }
            lines.push(line);
        }
        let report = check_text(&join(&lines), &Options::default());
        prop_assert!(report.findings.len() as u64 <= report.n_findings);
    }
}

fn sound() -> &'static str {
    static SOUND: OnceLock<String> = OnceLock::new();
    SOUND.get_or_init(|| export(copy().path()))
}

fn export(folder: &Path) -> String {
    let mut out = Vec::new();
    let exported = audit::export(folder, &mut out, &mut |_, _| {}).unwrap();
    assert_eq!((exported.n_entries, exported.n_documents), (20, 6));
    String::from_utf8(out).unwrap()
}

fn check(name: &str, expected: &str, change: impl FnOnce(&mut Vec<String>)) {
    let mut lines: Vec<String> = sound().lines().map(str::to_owned).collect();
    change(&mut lines);
    assert_findings(name, &check_text(&join(&lines), &Options::default()), expected);
}

fn check_text(text: &str, options: &Options) -> Report {
    check_bytes(text.as_bytes(), options)
}

fn check_bytes(bytes: &[u8], options: &Options) -> Report {
    let n_bytes = bytes.len() as u64;
    verify_export(Cursor::new(bytes), n_bytes, options, &mut |_, _| {}).unwrap()
}

fn join(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

fn line_of(lines: &[String], seq: u64) -> usize {
    let start = format!(r#"{{"entry":{{"seq":{seq},"#);
    lines.iter().position(|line| line.starts_with(&start)).unwrap()
}

fn edit(lines: &mut [String], seq: u64, from: &str, to: &str) {
    let line = &mut lines[line_of(lines, seq)];
    assert!(line.contains(from), "{line}");
    *line = line.replacen(from, to, 1);
}

fn edit_hash(lines: &mut [String], seq: u64) {
    let line = &mut lines[line_of(lines, seq)];
    let digit = line.len() - 5;
    let other = if &line[digit..=digit] == "0" { "1" } else { "0" };
    line.replace_range(digit..=digit, other);
}
