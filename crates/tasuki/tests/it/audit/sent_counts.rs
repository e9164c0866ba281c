//! Tampering with the counts of messages, which decide how many a sender may send in a thread.

use std::path::Path;

use rusqlite::Connection;
use serde_json::json;
use store::sqlite::FILE_NAME;
use tasuki::client::Call;

use super::ledger::{copy_folder, findings, report};
use crate::server::{Server, ok};

async fn a_thread(data: &Path) {
    let server = Server::start_on(data, |_| {});
    let [alice, bob] = ["alice", "bob"].map(|name| server.agent(name));
    for (from, to, sequence) in [(&alice, "bob", 5), (&bob, "alice", 1), (&alice, "bob", 7)] {
        let message = json!({ "to": [to], "type": "status.update", "thread_id": "t",
                              "sequence": sequence });
        ok(from, Call::post("/v1/acp/messages", message)).await;
    }
    assert_eq!(server.stop(), Some(0));
}

#[tokio::test]
async fn a_count_that_is_not_of_its_messages_is_found() {
    let made = tempfile::tempdir().unwrap();
    let data = made.path().join("data");
    a_thread(&data).await;
    assert_eq!(findings(&report(&data)), "");
    for case in include_str!("sent_counts.sql").split("\n-- = ").skip(1) {
        let (name, sql) = case.split_once('\n').unwrap();
        let mut expected: Vec<_> =
            sql.lines().filter_map(|line| line.strip_prefix("-- > ")).collect();
        let folder = tempfile::tempdir().unwrap();
        copy_folder(&data, folder.path());
        let database = Connection::open(folder.path().join(FILE_NAME)).unwrap();
        database.execute_batch(sql).unwrap();
        drop(database);
        let found = findings(&report(folder.path()));
        let is_about_a_count = |line: &&str| line.contains("what is held of");
        let mut about_counts: Vec<_> = found.lines().filter(is_about_a_count).collect();
        about_counts.extend(found.lines().filter(|line| line.contains("has no count")));
        expected.retain(|line| {
            let place = about_counts.iter().position(|found| found.contains(line));
            place.map(|place| about_counts.remove(place)).is_none()
        });
        assert!(expected.is_empty() && about_counts.is_empty(), "{name}: {expected:?}\n{found}");
    }
}
