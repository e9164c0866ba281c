//! The reserve of the disk: when less is free, only operators and what ends something may write.

use serde_json::json;
use tasuki::client::Call;

use super::propose;
use crate::server::{Server, act, initiate, ok, refused};

/// More than any disk has.
const ALL_MIB: &str = "4000000000";

#[tokio::test]
async fn the_last_of_the_disk_is_for_operators_and_for_what_ends_something() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let server = Server::start_on(&data, |_| {});
    let token = server.token("alice", &[]);
    let root = server.token("root", &["--kind", "operator"]);
    server.agent("bob");
    let alice = server.with_token(&token);
    let id = initiate(&alice, "T-1", "bob").await;
    ok(&alice, Call::get("/readyz")).await;
    assert_eq!(server.stop(), Some(0));

    let server = Server::start_on(&data, |command| {
        command.env("TASUKI_STORAGE_RESERVE_MIB", ALL_MIB);
    });
    let (alice, operator) = (server.with_token(&token), server.with_token(&root));
    let answer = refused(&alice, propose("T-2")).await;
    assert_eq!((answer.status, &answer.body["code"]), (507, &json!("storage_reserved")));
    let ready = refused(&alice, Call::get("/readyz")).await;
    assert_eq!((ready.status, &ready.body["code"]), (507, &json!("storage_reserved")));
    act(&alice, &id, "withdraw", json!({})).await;
    ok(&operator, Call::put("/v1/agents/carol", json!({ "kind": "worker" }))).await;
    let erase = json!({ "position": 1, "reason": "to make room" });
    ok(&operator, Call::post(format!("/v1/handoffs/{id}/erase"), erase)).await;
    let shown = ok(&alice, Call::get("/v1/handoffs")).await;
    assert_eq!(shown["items"].as_array().expect("a list").len(), 1, "reading is not affected");
}
