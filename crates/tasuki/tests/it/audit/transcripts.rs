//! Tampering with the rows that map entries to the lines of a conversation.

use std::path::Path;

use rusqlite::Connection;
use serde_json::json;
use store::sqlite::FILE_NAME;
use tasuki::client::Call;

use super::ledger::{findings, report};
use crate::server::{Server, ok};

/// Two conversations of three messages, one of them erased.
async fn two_conversations(data: &Path) {
    let server = Server::start_on(data, |_| {});
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    let shop = server.agent("shop");
    let [bob, _carol] = ["bob", "carol"].map(|name| server.agent(name));
    for _ in 0..2 {
        let opened = ok(&shop, Call::post("/v1/conversations", json!({ "agent": "bob" }))).await;
        let customer = server.with_token(opened["customer_token"].as_str().unwrap());
        let path = format!("/v1/conversations/{}", opened["conversation_id"].as_str().unwrap());
        let say = json!({ "parts": [{ "type": "text", "text": "hello" }] });
        ok(&customer, Call::post(format!("{path}/messages"), say.clone())).await;
        let route = json!({ "goto": "carol", "epoch": 1 });
        ok(&bob, Call::post(format!("{path}/commands"), route)).await;
        ok(&customer, Call::post(format!("{path}/messages"), say)).await;
        let erase = json!({ "position": 2, "reason": "asked for" });
        ok(&operator, Call::post(format!("{path}/erase"), erase)).await;
    }
    assert_eq!(server.stop(), Some(0));
}

#[tokio::test]
async fn a_line_that_is_missing_or_points_elsewhere_is_found_and_named() {
    let whole = tempfile::tempdir().unwrap();
    let data = whole.path().join("data");
    two_conversations(&data).await;
    assert_eq!(findings(&report(&data)), "");
    let cases = include_str!("transcripts.sql").split("\n-- = ").skip(1);
    for case in cases {
        let (name, sql) = case.split_once('\n').unwrap();
        let expected = sql.lines().find_map(|line| line.strip_prefix("-- > ")).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for file in std::fs::read_dir(&data).unwrap().map(Result::unwrap) {
            if file.file_type().unwrap().is_file() {
                std::fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
            }
        }
        let database = Connection::open(folder.path().join(FILE_NAME)).unwrap();
        database.execute_batch(sql).unwrap();
        drop(database);
        let found = findings(&report(folder.path()));
        assert!(found.contains(expected), "{name}\n{found}");
        assert_eq!(found.lines().filter(|line| line.contains("message ")).count(), 1, "{found}");
    }
}
