//! Starts on databases that are not as a server leaves them: from an interrupted first start, of
//! another release, of another program, with an entry that cannot be read. Each gets a message that
//! says what it is and what to do, and a refused one is not changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rusqlite::Connection;
use store::sqlite::FILE_NAME;
use tasuki::client::Call;

use crate::server::{Server, offer, ok, refused, refused_start};

#[test]
fn a_first_start_that_was_interrupted_is_finished_by_the_next() {
    let migrations = migrations();
    for n_ran in 0..=migrations.len() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        let connection = Connection::open(&path).unwrap();
        for (version, migration) in (1..).zip(&migrations[..n_ran]) {
            connection.execute_batch(&fs::read_to_string(migration).unwrap()).unwrap();
            connection.pragma_update(None, "user_version", version).unwrap();
        }
        drop(connection);
        for arguments in [&["audit", "verify"][..], &["doctor"]] {
            let (output, said) = run(folder.path(), arguments);
            assert!(output.status.success(), "{n_ran} {arguments:?}: {said}");
            let is_told = said.contains("the first start was interrupted");
            assert_eq!(is_told, n_ran < migrations.len(), "{n_ran} {arguments:?}: {said}");
        }
        let (output, said) = run(folder.path(), &["token", "create", "--init", "--agent", "alice"]);
        assert!(output.status.success(), "{n_ran}: {said}");
        let (output, said) = run(folder.path(), &["audit", "verify"]);
        assert!(output.status.success() && !said.contains("interrupted"), "{n_ran}: {said}");
    }
}

#[test]
fn a_database_that_is_not_ours_is_refused_and_left_alone() {
    let newer = ["is of a newer release: schema 99", "update tasuki, or restore a backup"];
    let not_ours = ["is no database of Tasuki", "it was not changed; use another folder"];
    let changed = ["says schema 7, but was changed: the ", "undo the change, or restore a backup"];
    for (is_filled, version, expected) in [
        (true, 99, newer),
        (true, -1, not_ours),
        (true, 0, not_ours),
        (false, 7, not_ours),
        (true, 7, changed),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        let connection = Connection::open(&path).unwrap();
        for migration in migrations().iter().filter(|_| is_filled) {
            connection.execute_batch(&fs::read_to_string(migration).unwrap()).unwrap();
        }
        connection.pragma_update(None, "user_version", version).unwrap();
        drop(connection);
        let before = fs::read(&path).unwrap();
        let output = refused_start(folder.path(), |_| {});
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{version}: {said}");
        for words in expected {
            assert!(said.contains(words), "{version}: {said}");
        }
        for arguments in [&["audit", "verify"][..], &["doctor"]] {
            let (output, said) = run(folder.path(), arguments);
            assert!(!output.status.success(), "{version} {arguments:?}: {said}");
            assert!(said.contains(expected[0]), "{version} {arguments:?}: {said}");
        }
        assert_eq!(fs::read(&path).unwrap(), before, "{version}");
    }
}

#[test]
fn an_unreadable_last_entry_is_named_at_start() {
    let folder = tempfile::tempdir().unwrap();
    let (output, said) = run(folder.path(), &["token", "create", "--init", "--agent", "alice"]);
    assert!(output.status.success(), "{said}");
    let path = folder.path().join(FILE_NAME);
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(include_str!("odd_databases/unreadable_entry.sql")).unwrap();
    drop(connection);
    let before = fs::read(&path).unwrap();
    let output = refused_start(folder.path(), |_| {});
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{said}");
    for words in ["the newest entry of", "cannot be read", "hint: `tasuki audit verify` says what"]
    {
        assert!(said.contains(words), "{said}");
    }
    let (output, said) = run(folder.path(), &["doctor"]);
    assert!(!output.status.success() && said.contains("the newest entry cannot be read"), "{said}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_server_is_not_ready_if_another_program_has_taken_the_next_number() {
    let server = Server::start();
    let alice = server.agent("alice");
    server.agent("bob");
    let connection = Connection::open(server.data.join(FILE_NAME)).unwrap();
    connection.execute_batch(include_str!("odd_databases/foreign_entry.sql")).unwrap();
    let answer = refused(&server.anonymous(), Call::get("/readyz")).await;
    assert_eq!((answer.status, &answer.body["code"]), (500, &"internal".into()));
    let answer = refused(&alice, Call::post("/v1/handoffs", offer("T-1", "bob"))).await;
    assert_eq!(answer.status, 500, "{}", answer.body);
    assert_eq!(ok(&alice, Call::get("/v1/handoffs")).await["items"], serde_json::json!([]));
}

fn migrations() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/migrations");
    let files = fs::read_dir(folder)
        .expect("it can be read")
        .map(|file| file.expect("it can be read").path());
    let mut files: Vec<_> = files.filter(|file| file.extension() == Some("sql".as_ref())).collect();
    files.sort();
    files
}

pub fn run(data: &Path, arguments: &[&str]) -> (Output, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_tasuki"))
        .args(arguments)
        .arg("--data")
        .arg(data)
        .output()
        .expect("the executable runs");
    let said = [&output.stdout[..], &output.stderr].concat();
    (output, String::from_utf8_lossy(&said).into_owned())
}
