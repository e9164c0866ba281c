//! Erased bodies: on the record, and off it.

use std::fs;
use std::path::Path;

use adapters::audit_log::files::TEAMSPACES_FOLDER;
use protocol::ledger::Subject;
use protocol::step::Command;
use protocol::{canonical, handoff};
use rusqlite::{Connection, params};
use store::sqlite::FILE_NAME;
use tasuki::audit::{self, Source};
use tempfile::TempDir;

use super::ledger::{Server, assert_findings, caller, copy, findings, lines_path, report};

/// A package with its proposal, and the rejection that followed: entries 10 and 12.
const ERASED_POSITIONS: [u64; 2] = [1, 2];

#[tokio::test]
async fn an_erasure_on_the_record_is_counted_and_no_damage() {
    let folder = copy();
    erase_on_record(folder.path()).await;
    let erased = report(folder.path());
    assert_eq!(findings(&erased), "");
    assert_eq!((erased.n_entries, erased.n_erased, erased.n_unsealed), (23, 2, 0));
    assert_eq!(erased.remarks.len(), 0, "{:?}", erased.remarks);

    let mut export = Vec::new();
    audit::export(folder.path(), &mut export, &mut |_, _| {}).unwrap();
    let text = String::from_utf8(export.clone()).unwrap();
    assert!(!text.contains("no time this week"));
    let n_bytes = export.len() as u64;
    let exported =
        audit::verify_export(&export[..], n_bytes, &Default::default(), &mut |_, _| {}).unwrap();
    assert_eq!((findings(&exported).as_str(), exported.n_erased), ("", 2));

    let entries = audit::tail(&Source::Data(folder.path().to_owned()), 12).unwrap();
    let shown: Vec<String> = entries.iter().map(audit::human_line).collect();
    assert!(shown[0].ends_with("handoff.rejected  by agent:barry (body erased)"), "{shown:?}");
}

#[tokio::test]
async fn the_log_loses_the_lines_of_erased_bodies_and_no_others() {
    let folder = copy();
    let path = lines_path(folder.path(), "default");
    let before = fs::read_to_string(&path).unwrap();
    assert!(before.contains("no time this week"));
    erase_on_record(folder.path()).await;
    let after = fs::read_to_string(&path).unwrap();
    assert!(!after.contains("no time this week"));
    let n_lines_of_close = 2;
    assert_eq!(after.lines().count() + 5, before.lines().count() + n_lines_of_close);
}

/// A crash after the erasure, before the log was written again.
#[tokio::test]
async fn a_log_with_lines_of_erased_bodies_is_written_again_on_the_next_start() {
    let folder = erased_before_the_log_knew().await;
    let path = lines_path(folder.path(), "default");
    assert!(fs::read_to_string(&path).unwrap().contains("no time this week"));
    let left = report(folder.path());
    let remark = "5 lines are about bodies that were erased since, and cannot be derived again";
    assert_eq!(findings(&left), "");
    assert!(left.remarks.iter().any(|found| found == remark), "{:?}", left.remarks);
    Server::start(folder.path(), 9).stop().await;
    assert!(!fs::read_to_string(&path).unwrap().contains("no time this week"));
    let derived = report(folder.path());
    assert_eq!((findings(&derived).as_str(), derived.remarks.len()), ("", 0));
}

/// What is still known about the lines of an erased body is compared.
#[tokio::test]
async fn lines_of_erased_bodies_cannot_say_just_anything() {
    let folder = erased_before_the_log_knew().await;
    let path = lines_path(folder.path(), "default");
    let text = fs::read_to_string(&path).unwrap();
    let changed = text.replacen(r#""to_status":"rejected""#, r#""to_status":"accepted""#, 1);
    assert_ne!(text, changed);
    fs::write(&path, changed).unwrap();
    let expected = "entry 13 (handoff/…handoffs.jsonl:9 differs";
    assert_findings("the line of an erased body", &report(folder.path()), expected);
}

#[test]
fn an_erasure_off_the_record_is_found() {
    let folder = copy();
    let database = Connection::open(folder.path().join(FILE_NAME)).unwrap();
    let read = include_str!("erase_read.sql");
    let (salt, body): (Vec<u8>, String) =
        database.query_row(read, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let commitment = canonical::sha256(&[&salt, body.as_bytes()]);
    database.execute(include_str!("erase_write.sql"), params![commitment]).unwrap();
    drop(database);
    let expected = "entry 12 (handoff/…the body is missing, and no entry says that it was erased";
    assert_findings("a body", &report(folder.path()), expected);
}

/// The ledger after an erasure with the audit log from before it.
async fn erased_before_the_log_knew() -> TempDir {
    let (before, folder) = (copy(), copy());
    erase_on_record(folder.path()).await;
    let teamspaces = folder.path().join(TEAMSPACES_FOLDER);
    fs::remove_dir_all(&teamspaces).unwrap();
    fs::rename(before.path().join(TEAMSPACES_FOLDER), &teamspaces).unwrap();
    folder
}

/// Only a closed handoff can be erased.
async fn erase_on_record(folder: &Path) {
    let entries = audit::tail(&Source::Data(folder.to_owned()), 20).unwrap();
    let of_refused = entries.iter().find(|one| one.seq == 10).unwrap();
    let Subject::Handoff(refused) = of_refused.entry.stream.subject else {
        panic!("entry 10 is of a handoff")
    };
    let server = Server::start(folder, 7);
    let operator = caller("default", "operator:root");
    let close = handoff::Command::Close { closure_notes: None };
    server.handoff(&operator, refused, close).await;
    for position in ERASED_POSITIONS {
        let erase = Command::Erase { position, reason: "asked by the customer".to_owned() };
        server.submit(&operator, Subject::Handoff(refused), erase).await;
    }
    server.seal().await;
    server.stop().await;
}
