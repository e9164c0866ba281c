//! Promises that only a file can make: it outlives its process, locks out others, and does not
//! write a large package twice.

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use engine::ports::store::{
    CommitError, HandoffFilter, KeyedOutcome, List, ListOf, Sealed, Store, StoreError, StoreReads,
    StoreWrites,
};
use protocol::handoff;
use protocol::handoff::Status;
use protocol::ids::TokenId;
use protocol::ledger::{Stream, Subject};
use protocol::step::{Command, Document};
use rusqlite::Connection;
use store::Sqlite;
use store::sqlite::{FILE_NAME, FolderLock, LOCK_FILE, OpenError};
use tempfile::TempDir;

use super::fixture::{
    Track, agent, deadline, free, handoff_id, held, hold, keyed, later, recorded, scope, teamspace,
    token,
};
use crate::support;

#[tokio::test(flavor = "multi_thread")]
async fn a_reopened_store_has_kept_everything() {
    let folder = TempDir::new().unwrap();
    let streams = fill(&Sqlite::open(folder.path()).unwrap()).await;
    let before = everything(&Sqlite::open(folder.path()).unwrap(), &streams).await;
    assert!(before.contains("the package"), "there is something to keep");
    for _ in 0..2 {
        let store = Sqlite::open(folder.path()).unwrap();
        assert_eq!(everything(&store, &streams).await, before);
    }
    let store = Sqlite::open(folder.path()).unwrap();
    let newest = store.newest().await.unwrap();
    let committed = store.commit(Track::handoff(9).step(Status::Draft)).await.unwrap();
    assert_eq!(committed.last_seq, newest + 1, "the sequence goes on where it ended");
}

/// One of everything that a store can keep.
async fn fill(store: &Sqlite) -> Vec<Stream> {
    let mut one = Track::handoff(1);
    let mut propose = one.step(Status::Proposed);
    propose.arm = vec![deadline("soon", 5), deadline("later", 50)];
    propose.holds = vec![hold("task/t1", free(), held(Some("h"), "[]"))];
    propose.document =
        Some(Document { hash: "package".to_owned(), text: "the package".to_owned() });
    propose.key = keyed("k", "done");
    store.commit(propose).await.expect("it is new");
    let mut accept = one.step(Status::Accepted);
    accept.disarm = vec![deadline("soon", 5)];
    store.commit(accept).await.expect("it continues");
    let mut barry = Track::new("default", Subject::Agent(support::id("barry")));
    store.commit(barry.next(agent("barry"), 1)).await.expect("it is new");
    let token_id: TokenId = handoff_id(1).to_string().parse().expect("a UUID");
    let mut of_barry = Track::new("other", Subject::Token(token_id));
    store.commit(of_barry.next(token(token_id, "secret"), 1)).await.expect("it is new");
    let mut two = Track::handoff(2);
    store.commit(two.step(Status::Draft)).await.expect("it is new");
    let mut erase = two.step(Status::Draft);
    erase.erase = Some(1);
    store.commit(erase).await.expect("it continues");
    let sealed = Sealed { size: 4, edge: vec![1; 32], note: "a note".to_owned() };
    store.seal(sealed).await.expect("it can be sealed");
    [one, barry, of_barry, two].into_iter().map(|track| track.stream).collect()
}

/// Every answer of the store, as one text.
async fn everything(store: &dyn Store, streams: &[Stream]) -> String {
    let mut text = format!("{:?}\n", store.entries(0, 1_000).await);
    for stream in streams {
        text.push_str(&format!("{:?}\n", store.load(stream).await));
        text.push_str(&format!("{:?}\n", store.history(stream, u64::MAX, 100).await));
        text.push_str(&format!("{:?}\n", store.document(stream, "package").await));
    }
    for name in ["default", "other"] {
        for of in [ListOf::Handoffs(HandoffFilter::default()), ListOf::Agents, ListOf::Tokens] {
            let list = List { teamspace: teamspace(name), of, before: None, limit: 100 };
            text.push_str(&format!("{:?}\n", store.list(list).await));
        }
        text.push_str(&format!("{:?}\n", store.hold(&teamspace(name), "task/t1").await));
        let key = scope(name, "agent:barry", "k");
        text.push_str(&format!("{:?}\n", store.outcome(&key).await));
    }
    text.push_str(&format!("{:?}\n", store.due(later(1_000), 100).await));
    text.push_str(&format!("{:?}\n", store.token_stream("secret").await));
    text.push_str(&format!("{:?}\n", store.sealed().await));
    text
}

/// A large document has pages of its own, which are free afterwards, and must be empty too.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_what_was_erased_is_left_in_the_file() {
    let folder = TempDir::new().unwrap();
    let holds = |word: &str| {
        let bytes = fs::read(folder.path().join(FILE_NAME)).unwrap();
        bytes.windows(word.len()).any(|window| window == word.as_bytes())
    };
    let mut track = Track::handoff(1);
    let mut propose = track.step(Status::Proposed);
    let text = "zebra ".repeat(20_000);
    propose.document = Some(Document { hash: "package".to_owned(), text });
    let store = Sqlite::open(folder.path()).unwrap();
    store.commit(propose).await.unwrap();
    drop(store);
    assert!(holds("zebra"), "what is not erased is there");
    let mut erase = track.step(Status::Proposed);
    erase.erase = Some(1);
    let store = Sqlite::open(folder.path()).unwrap();
    store.commit(erase).await.unwrap();
    drop(store);
    assert!(!holds("zebra"));
}

#[test]
fn a_second_server_on_the_same_folder_is_refused() {
    let folder = TempDir::new().unwrap();
    let first = Sqlite::open(folder.path()).unwrap();
    for _ in 0..2 {
        let second = Sqlite::open(folder.path());
        assert!(matches!(second, Err(OpenError::InUse(_))), "{second:?}");
    }
    let clone = first.clone();
    drop(first);
    assert!(matches!(Sqlite::open(folder.path()), Err(OpenError::InUse(_))));
    drop(clone);
    Sqlite::open(folder.path()).unwrap();
}

#[test]
fn a_database_in_use_is_refused_by_whichever_way_it_is_reached() {
    let folder = TempDir::new().unwrap();
    let _first = Sqlite::open(folder.path()).unwrap();
    fs::remove_file(folder.path().join(LOCK_FILE)).unwrap();
    assert!(matches!(Sqlite::open(folder.path()), Err(OpenError::InUse(_))));
    assert!(matches!(FolderLock::take(folder.path()), Err(OpenError::InUse(_))));
    let elsewhere = TempDir::new().unwrap();
    let there = elsewhere.path().join(FILE_NAME);
    std::os::unix::fs::symlink(folder.path().join(FILE_NAME), there).unwrap();
    assert!(matches!(Sqlite::open(elsewhere.path()), Err(OpenError::InUse(_))));
}

#[test]
fn a_database_of_a_newer_release_is_refused_and_left_alone() {
    let folder = TempDir::new().unwrap();
    drop(Sqlite::open(folder.path()).unwrap());
    let path = folder.path().join(FILE_NAME);
    // The file format keeps `user_version` in the four bytes at 60.
    let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start(60)).unwrap();
    file.write_all(&99u32.to_be_bytes()).unwrap();
    drop(file);
    let before = fs::read(&path).unwrap();
    match Sqlite::open(folder.path()) {
        Err(OpenError::Newer { found: 99, known, .. }) => assert!(known < 99),
        other => panic!("expected a refusal, got {other:?}"),
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_else_can_read_the_files() {
    let folder = TempDir::new().unwrap();
    let store = Sqlite::open(folder.path()).unwrap();
    store.commit(Track::handoff(1).step(Status::Draft)).await.unwrap();
    let mut names = Vec::new();
    for entry in fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        let name = entry.file_name().into_string().unwrap();
        assert_eq!(mode, 0o600, "{name}");
        names.push(name);
    }
    names.sort();
    assert_eq!(names, ["tasuki.db", "tasuki.db-shm", "tasuki.db-wal", "tasuki.lock"]);
}

/// A constraint that the engine never violates: if it ever did, the rest of the group would
/// succeed.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_breaks_a_constraint_fails_alone() {
    let folder = TempDir::new().unwrap();
    let store = Sqlite::open(folder.path()).unwrap();
    let mut receipts = Vec::new();
    for number in 0..100u32 {
        let mut track = Track::handoff(number);
        let status = if number % 10 == 1 { Status::Proposed } else { Status::Draft };
        receipts.push(store.commit(track.step(status)));
    }
    for (number, receipt) in (0..).zip(receipts) {
        match (number % 10, receipt.await) {
            (1, Ok(_)) => assert_eq!(number, 1, "the first has the task"),
            (1, Err(CommitError::Failed(StoreError::Corrupt(_)))) => assert_ne!(number, 1),
            (1, other) => panic!("commit {number}: {other:?}"),
            (_, committed) => drop(committed.unwrap()),
        }
    }
    assert_eq!(store.newest().await.unwrap(), 91);
}

#[tokio::test(flavor = "multi_thread")]
async fn outcomes_are_forgotten_after_a_week() {
    let folder = TempDir::new().unwrap();
    let store = Sqlite::open(folder.path()).unwrap();
    let minutes_a_day = 24 * 60;
    let mut track = Track::handoff(1);
    for (key, days) in [("old", 0), ("young", 2)] {
        let mut commit = track.step(Status::Draft);
        let scope = scope("default", "agent:barry", key);
        let at = later(days * minutes_a_day);
        commit.key = Some(KeyedOutcome { scope, recorded: recorded(key), at });
        store.commit(commit).await.unwrap();
    }
    let mut later_on = Track::handoff(2);
    for _ in 0..64 {
        let mut commit = later_on.step(Status::Draft);
        for entry in &mut commit.entries {
            entry.at = later(8 * minutes_a_day);
        }
        store.commit(commit).await.unwrap();
    }
    let kept = async |key| store.outcome(&scope("default", "agent:barry", key)).await.unwrap();
    assert_eq!(kept("old").await, None);
    assert_eq!(kept("young").await, Some(recorded("young")));
}

/// A package is written once: later transitions cost the same for a large one.
#[tokio::test(flavor = "multi_thread")]
async fn later_transitions_do_not_write_the_package_again() {
    let small = bytes_of_later_transitions(2 * 1024).await;
    let large = bytes_of_later_transitions(256 * 1024).await;
    assert!(small > 0);
    assert!(large * 2 <= small * 3, "{large} bytes with a large package, {small} with a small one");
}

/// One caller at a time writes whole pages for a few rows, so the log grows by pages, not by rows.
#[tokio::test]
async fn the_log_stays_short_however_small_the_commits_are() {
    let folder = TempDir::new().expect("a temporary folder");
    let store = Arc::new(Sqlite::open(folder.path()).expect("a new database"));
    let (engine, _) = support::engine_on(store);
    support::register(&engine, &["barry", "tim"]).await;
    for n in 0..1_600 {
        let stream = support::handoff_stream(engine.new_handoff_id());
        let offer = Some(Box::new(support::offer("tim", &format!("t{n}"))));
        let initiate = Command::Handoff(handoff::Command::Initiate { offer });
        let done = engine.submit(&support::agent("barry"), stream, initiate, None).await;
        done.expect("the task is free");
    }
    let log_bytes = log_bytes(folder.path());
    assert!(log_bytes < 64 * 1024 * 1024, "the log has {log_bytes} bytes");
}

/// A reader keeps the log from beginning anew. Once it is gone, the log soon does, and its file is
/// cut.
#[tokio::test]
async fn a_log_that_grew_because_of_a_long_reader_is_cut_after_it() {
    let folder = TempDir::new().expect("a temporary folder");
    let store = Sqlite::open(folder.path()).expect("a new database");
    let reader = Connection::open(folder.path().join(FILE_NAME)).expect("a database");
    reader.execute_batch(include_str!("begin_reading.sql")).expect("it can be read");
    let mut track = Track::handoff(1);
    let commit_until = async |track: &mut Track, is_enough: &dyn Fn(u64) -> bool| {
        for n in 0..400 {
            let mut commit = track.step(Status::Draft);
            let text = "x".repeat(512 * 1024);
            commit.document = Some(Document { hash: format!("{n}"), text });
            store.commit(commit).await.expect("it continues");
            if is_enough(log_bytes(folder.path())) {
                return;
            }
        }
        panic!("the log has {} bytes", log_bytes(folder.path()));
    };
    commit_until(&mut track, &|n_bytes| n_bytes > 100 * 1024 * 1024).await;
    reader.execute_batch("COMMIT").expect("it reads no more");
    commit_until(&mut track, &|n_bytes| n_bytes <= 64 * 1024 * 1024).await;
}

/// The next commit would take a position that is taken.
#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_that_was_put_back_is_not_continued() {
    for is_reopened in [false, true] {
        let folder = TempDir::new().unwrap();
        let mut store = Sqlite::open(folder.path()).unwrap();
        let other = Connection::open(folder.path().join(FILE_NAME)).unwrap();
        let mut track = Track::handoff(1);
        for status in [Status::Draft, Status::Proposed] {
            store.commit(track.step(status)).await.unwrap();
        }
        other.execute_batch(include_str!("keep_snapshot.sql")).unwrap();
        let mut old = track.clone();
        store.commit(track.step(Status::Accepted)).await.unwrap();
        assert!(store.load(&track.stream).await.unwrap().is_some());
        other.execute_batch(include_str!("put_back.sql")).unwrap();
        if is_reopened {
            drop(store);
            store = Sqlite::open(folder.path()).unwrap();
        }
        let loaded = store.load(&track.stream).await;
        assert!(matches!(loaded, Err(StoreError::Corrupt(_))), "{loaded:?}");
        for next in [old.step(Status::Rejected), track.step(Status::Activated)] {
            let is_current = next.expected_position == 3;
            match store.commit(next).await {
                Err(CommitError::Failed(StoreError::Corrupt(_))) if is_reopened => {}
                Err(CommitError::Moved) if !is_reopened && !is_current => {}
                // The writer knows what it wrote, and writes over what was put back.
                Ok(_) if !is_reopened && is_current => {}
                other => panic!("reopened {is_reopened}, current {is_current}: {other:?}"),
            }
        }
    }
}

/// How much the log grows while a handoff with a package of this size goes from proposed to closed.
async fn bytes_of_later_transitions(package_bytes: usize) -> u64 {
    let folder = TempDir::new().expect("a temporary folder");
    let store = Arc::new(Sqlite::open(folder.path()).expect("a new database"));
    let (engine, _) = support::engine_on(store);
    support::register(&engine, &["barry", "tim"]).await;
    let mut offer = support::offer("tim", "t1");
    let context = offer.context.as_mut().expect("an offer has a context");
    context.constraints = vec!["x".repeat(1024); package_bytes / 1024];
    let stream = support::handoff_stream(engine.new_handoff_id());
    let initiate = Command::Handoff(handoff::Command::Initiate { offer: Some(Box::new(offer)) });
    let (barry, tim) = (support::agent("barry"), support::agent("tim"));
    let done = engine.submit(&barry, stream.clone(), initiate, None).await;
    done.expect("the task is free");
    let before = log_bytes(folder.path());
    assert!(before > package_bytes as u64, "the package was written");
    for command in [support::accept(), support::activate(), support::complete(), support::close()] {
        let done = engine.submit(&tim, stream.clone(), command, None).await;
        done.expect("the target may do all of it");
    }
    log_bytes(folder.path()) - before
}

fn log_bytes(folder: &Path) -> u64 {
    let log = fs::metadata(folder.join(format!("{FILE_NAME}-wal")));
    log.expect("the log is not moved before it is large").len()
}
