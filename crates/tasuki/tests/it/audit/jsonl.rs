//! Tampering with the audit log.

use std::fs;
use std::path::Path;

use tasuki::audit::Report;

use super::ledger::{assert_findings, copy, findings, lines_path, report};

#[test]
fn every_change_to_the_audit_log_is_found_and_named() {
    check("a byte", "entry 12 (handoff/…handoffs/handoffs.jsonl:11 differs", |text| {
        text.replace("no time this week", "no time this Week")
    });
    check("a line removed", "entry 8 (handoff/…handoffs.jsonl:3 differs", |text| {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        [&lines[..2], &lines[3..]].concat().concat()
    });
    check("a line doubled", "entry 9 (handoff/…handoffs.jsonl:4 differs", |text| {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        [&lines[..3], &lines[2..]].concat().concat()
    });
    check("two lines swapped", "entry 7 (handoff/…handoffs.jsonl:1 differs", |text| {
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        lines.swap(0, 1);
        lines.concat()
    });
    check("the tail cut", "entry 20 (handoff/…handoffs.jsonl:20 is missing", |text| {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        lines[..19].concat()
    });
    check("half a line cut", "entry 20 (handoff/…handoffs.jsonl:20 differs", |text| {
        text[..text.len() - 9].to_owned()
    });
    check("all of it cut", "entry 7 (handoff/…handoffs.jsonl:1 is missing", |_| String::new());
}

#[test]
fn a_file_that_was_removed_is_missed() {
    let folder = copy();
    fs::remove_file(lines_path(folder.path(), "other")).unwrap();
    let expected = "entry 14 (handoff/…teamspaces/other/handoffs/handoffs.jsonl:1 is missing";
    assert_findings("a file", &report(folder.path()), expected);
    fs::remove_dir_all(folder.path().join("teamspaces/other")).unwrap();
    let roles = "entry 3 (agent/…teamspaces/other/roles/ledger.jsonl:1 is missing";
    assert_findings("a folder", &report(folder.path()), &format!("{roles}\n{expected}"));
    fs::remove_dir_all(folder.path().join("teamspaces")).unwrap();
    let removed = report(folder.path());
    assert_eq!(findings(&removed), "");
    assert_eq!(
        removed.remarks,
        [
            "teamspaces/default/handoffs/handoffs.jsonl is 20 lines behind the ledger",
            "teamspaces/other/handoffs/handoffs.jsonl is 5 lines behind the ledger",
            "teamspaces/default/roles/ledger.jsonl is 2 lines behind the ledger",
            "teamspaces/other/roles/ledger.jsonl is 2 lines behind the ledger",
        ]
    );
}

/// Bytes after the recorded end are left to the next start of the server.
#[test]
fn what_comes_after_the_recorded_end_is_a_remark() {
    let report = changed(|text| format!("{text}{{\"event\":\"hand"));
    assert_eq!(findings(&report), "");
    let remark = "teamspaces/default/handoffs/handoffs.jsonl has 14 bytes after its recorded end";
    assert!(report.remarks[0].starts_with(remark), "{:?}", report.remarks);
}

/// A crash leaves halves of lines, and space reserved for lines, but no lines that the server did
/// not write.
#[test]
fn whole_lines_after_the_recorded_end_must_be_right_too() {
    let forged = r#"{"event":"handoff_closed","handoff_id":"x","actor":"agent:mallory"}"#;
    let expected = "teamspaces/default/handoffs/handoffs.jsonl:21: no entry says this";
    check("a line appended", expected, |text| format!("{text}{forged}\n"));
    check("a line and half of one", expected, |text| format!("{text}{forged}\n{{\"event"));
}

#[test]
fn a_changed_line_is_found_without_any_recorded_end() {
    let folder = copy();
    let path = lines_path(folder.path(), "default");
    change_file(&path, |text| text.replacen("proposed", "accepted", 1));
    fs::remove_file(path.with_added_extension("position")).unwrap();
    fs::remove_file(folder.path().join("teamspaces/.position")).unwrap();
    let expected = "entry 7 (handoff/…handoffs.jsonl:1 differs";
    assert_findings("line 1", &report(folder.path()), expected);

    // A part that is recorded as complete cannot be torn.
    let folder = copy();
    let path = lines_path(folder.path(), "default");
    change_file(&path, |text| text.replacen("proposed", "prop\0sed", 1));
    fs::remove_file(path.with_added_extension("position")).unwrap();
    assert_findings("a byte of nothing", &report(folder.path()), expected);
}

#[test]
fn a_line_that_no_entry_says_is_found_without_a_recorded_end() {
    let folder = copy();
    let path = lines_path(folder.path(), "default");
    let text = fs::read_to_string(&path).unwrap();
    let line = text.lines().last().unwrap();
    fs::write(&path, format!("{text}{line}\n")).unwrap();
    fs::remove_file(path.with_added_extension("position")).unwrap();
    let expected = "teamspaces/default/handoffs/handoffs.jsonl:21: no entry says this";
    assert_findings("a line added", &report(folder.path()), expected);
}

/// The first lines of a new file, as a power cut may leave them.
#[test]
fn a_file_without_any_recorded_end_is_no_finding() {
    let folder = copy();
    let path = lines_path(folder.path(), "other");
    fs::write(&path, [0; 700]).unwrap();
    fs::remove_file(path.with_added_extension("position")).unwrap();
    fs::remove_file(folder.path().join("teamspaces/.position")).unwrap();
    let torn = report(folder.path());
    assert_eq!(findings(&torn), "");
    let remark = "teamspaces/other/handoffs/handoffs.jsonl has no recorded end; compared up to \
                  line 0";
    assert_eq!(torn.remarks, [remark]);
}

fn check(name: &str, expected: &str, change: impl FnOnce(&str) -> String) {
    assert_findings(name, &changed(change), expected);
}

fn changed(change: impl FnOnce(&str) -> String) -> Report {
    let folder = copy();
    change_file(&lines_path(folder.path(), "default"), change);
    report(folder.path())
}

fn change_file(path: &Path, change: impl FnOnce(&str) -> String) {
    let text = fs::read_to_string(path).unwrap();
    fs::write(path, change(&text)).unwrap();
}
