//! An untouched ledger: nothing is found, whatever a server does meanwhile.

use std::fs;
use std::sync::{Arc, Mutex};

use adapters::checkpoint_file::{LOG_FILE, split_log};
use engine::ledger::feed::entry_json;
use store::sqlite::FILE_NAME;
use tasuki::audit::{self, Options, Pace, Source, Tail, verify, verify_at_pace};

use super::ledger::{Server, caller, copy, findings, report};

#[test]
fn nothing_is_found_where_nothing_was_done() {
    let folder = copy();
    let mut steps = Vec::new();
    let source = Source::Data(folder.path().to_owned());
    let report =
        verify(&source, &Default::default(), &mut |done, all| steps.push((done, all))).unwrap();
    assert_eq!(findings(&report), "");
    assert_eq!(report.remarks, Vec::<String>::new());
    let counts = (report.n_entries, report.n_sealed, report.n_unsealed, report.n_erased);
    assert_eq!(counts, (20, 19, 1, 0));
    assert_eq!((report.n_checkpoints, report.n_lines), (5, 29));
    assert_eq!(steps, [(20, 20)]);
    let log = fs::read_to_string(folder.path().join(LOG_FILE)).unwrap();
    assert_eq!(split_log(&log).notes.len(), 3);
}

/// An audit beside a busy server waits after each page, so the pace has to hear of every page.
#[test]
fn the_pace_is_told_of_every_page_of_rows() {
    let folder = copy();
    let told = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&told);
    let pace = Pace(Box::new(move |n_rows| kept.lock().unwrap().push(n_rows)));
    let source = Source::Data(folder.path().to_owned());
    let report = verify_at_pace(&source, &Options::default(), Some(pace), &mut |_, _| {}).unwrap();
    assert!(report.is_sound());
    let database = rusqlite::Connection::open(folder.path().join(FILE_NAME)).unwrap();
    let counted = database.query_row(include_str!("counts.sql"), [], |row| row.get(0));
    let n_rows: u64 = counted.unwrap();
    let told = told.lock().unwrap();
    assert_eq!(told.iter().sum::<u64>(), n_rows);
    assert!(told.iter().all(|n_rows| *n_rows <= 512), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_running_can_be_verified() {
    let folder = copy();
    let server = Server::start(folder.path(), 5);
    let path = folder.path().to_owned();
    let verifying = tokio::task::spawn_blocking(move || {
        let mut n_entries = Vec::new();
        while n_entries.len() < 30 {
            let report = report(&path);
            assert_eq!(findings(&report), "");
            n_entries.push(report.n_entries);
        }
        n_entries
    });
    let tim = caller("default", "agent:tim");
    let mut n_proposed = 0;
    while !verifying.is_finished() && n_proposed < 10_000 {
        server.initiate(&tim, &format!("task {n_proposed}")).await;
        n_proposed += 1;
        if n_proposed % 7 == 0 {
            server.seal().await;
        }
    }
    let n_entries = verifying.await.unwrap();
    assert!(n_entries.is_sorted() && n_entries.first() < n_entries.last(), "{n_entries:?}");
    server.stop().await;
    assert_eq!(report(folder.path()).n_entries, 20 + n_proposed);
}

#[tokio::test]
async fn a_tail_follows_the_ledger() {
    let folder = copy();
    let mut tail = Tail::open(folder.path(), 2).unwrap();
    let newest = tail.look().unwrap();
    let shown: Vec<String> = newest.iter().map(audit::human_line).collect();
    assert!(
        shown[0].starts_with("      19  2026-02-21T14:06:16.000Z  default  handoff/"),
        "{shown:?}"
    );
    assert!(shown[0].ends_with("#2  handoff.escalated  by system"), "{shown:?}");
    assert!(entry_json(&newest[1]).starts_with(r#"{"seq":20,"teamspace":"default","stream":"#));
    assert!(tail.look().unwrap().is_empty());
    let server = Server::start(folder.path(), 6);
    server.initiate(&caller("default", "agent:tim"), "new").await;
    assert_eq!(tail.look().unwrap().iter().map(|one| one.seq).collect::<Vec<_>>(), [21]);
    server.stop().await;
}
