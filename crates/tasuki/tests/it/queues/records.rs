//! What is kept of transfers: it survives a restart, and `tasuki audit verify` compares it with the
//! ledger.

use std::path::Path;

use rusqlite::Connection;
use serde_json::{Value, json};
use store::sqlite::FILE_NAME;
use tasuki::client::{Call, Client};

use super::{ask, items};
use crate::ledger::{audit, until_idle};
use crate::server::{Server, ok};
use crate::transfers::{Desk, act, open, until};

/// The statements of `records.sql`, by name.
fn changed_and_undone(name: &str) -> (&'static str, &'static str) {
    let mut lines = include_str!("records.sql").lines();
    let of = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).expect("a change");
    of.split_once("; ").unwrap_or((of, ""))
}

/// What an older release wrote has no records; they are made from the ledger at the first start.
#[tokio::test]
async fn records_survive_a_restart_and_are_made_for_older_databases() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let (root, before) = {
        let server = Server::start_on(&data, |_| {});
        let root = server.token("root", &["--kind", "operator"]);
        let operator = server.with_token(&root);
        ok(&operator, Call::put("/v1/agents/default", json!({ "kind": "queue" }))).await;
        let settings = json!({ "mode": "pick", "ring": "10m" });
        ok(&operator, Call::put("/v1/queues/default", settings)).await;
        let bob = server.agent("bob");
        let (conversation, customer) = open(&server, &bob).await;
        let desk = Desk { server, operator, bob, customer, conversation };
        let hana = desk.person("hana").await;
        let transfer = desk.request(&desk.customer, json!({})).await;
        act(&hana, &transfer, "pickup", json!({ "epoch": 2, "accept": true })).await;
        act(&hana, &transfer, "complete", json!({ "epoch": 3 })).await;
        let (_, waiting) = ask(&desk, json!({})).await;
        act(&hana, &waiting, "pickup", json!({ "epoch": 2 })).await;
        let before = records(&desk.operator).await;
        until_idle(&data).await;
        desk.server.stop();
        (root, before)
    };
    audit(&data).unwrap();
    for is_older in [false, true] {
        if is_older {
            forget_records(&data);
        }
        let server = Server::start_on(&data, |_| {});
        let operator = server.with_token(&root);
        assert_eq!(records(&operator).await, before, "{is_older}");
        server.stop();
        audit(&data).unwrap();
    }
}

/// The records, without the spans that grow.
async fn records(operator: &Client) -> Vec<Value> {
    let mut records = items(operator, "/v1/transfers").await;
    for record in &mut records {
        let fields = record.as_object_mut().expect("a record");
        fields.retain(|name, _| !["waited", "handled", "held"].contains(&name.as_str()));
    }
    records
}

/// The database as the release before left it.
fn forget_records(data: &Path) {
    let connection = Connection::open(data.join(FILE_NAME)).expect("a database");
    connection
        .execute_batch(
            "DROP TABLE transfers; DROP TABLE last_rings; DROP INDEX entries_by_previous;
             PRAGMA user_version = 12;",
        )
        .expect("the tables are there");
}

/// `tasuki audit verify` compares each row with the entries.
#[tokio::test]
async fn rows_that_do_not_follow_from_the_ledger_are_found() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let hana = desk.person("hana").await;
    let transfer = desk.request(&desk.customer, json!({})).await;
    act(&hana, &transfer, "pickup", json!({ "epoch": 2, "accept": true })).await;
    act(&hana, &transfer, "complete", json!({ "epoch": 3 })).await;
    // A second one, so that the first is no longer in the state of its conversation.
    desk.request(&desk.customer, json!({})).await;
    let data = desk.server.data.clone();
    until_idle(&data).await;
    desk.server.stop();
    audit(&data).unwrap();
    for (name, expected) in [
        ("status", "does not follow from its entries"),
        ("rings", "does not follow from its entries"),
        ("made_up", "follow from nothing"),
        ("last", "is not that of an entry"),
        ("forgotten", "is missing"),
    ] {
        let (change, undo) = changed_and_undone(name);
        let connection = Connection::open(data.join(FILE_NAME)).expect("a database");
        assert!(connection.execute(change, []).unwrap() > 0, "{change}");
        let found = audit(&data).unwrap_err();
        assert!(found.contains(expected), "{change}: {found}");
        if !undo.is_empty() {
            connection.execute(undo, []).unwrap();
            audit(&data).unwrap();
        }
    }
}

/// The person idle longest is asked first, also when the server has forgotten who that was.
#[tokio::test]
async fn who_was_idle_longest_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::start_on(&data, |_| {});
    let root = server.token("root", &["--kind", "operator"]);
    let operator = server.with_token(&root);
    ok(&operator, Call::put("/v1/agents/default", json!({ "kind": "queue" }))).await;
    let bob = server.agent("bob");
    let (conversation, customer) = open(&server, &bob).await;
    let desk = Desk { server, operator, bob, customer, conversation };
    // By name `ada` would be first, but she had a customer last.
    let (ada, zoe) = (desk.person("ada").await, desk.person("zoe").await);
    for (person, name) in [(&zoe, "zoe"), (&ada, "ada")] {
        let (_, transfer) = ask(&desk, json!({})).await;
        let epoch = json!({ "epoch": 2 });
        let ringing = until(&desk.operator, &transfer, "ringing").await;
        if ringing["agent"]["agentId"] != name {
            // The other person was asked; this one takes it after they decline.
            let other = if name == "zoe" { &ada } else { &zoe };
            act(other, &transfer, "decline", epoch.clone()).await;
            until(&desk.operator, &transfer, "ringing").await;
        }
        act(person, &transfer, "accept", epoch).await;
        act(person, &transfer, "complete", json!({ "epoch": 3 })).await;
    }
    let last = last_rung(&desk.operator).await;
    desk.server.stop();
    let server = Server::start_on(&data, |_| {});
    let operator = server.with_token(&root);
    let bob = server.agent("bob");
    let (conversation, customer) = open(&server, &bob).await;
    let desk = Desk { server, operator, bob, customer, conversation };
    let (_, transfer) = ask(&desk, json!({})).await;
    let ringing = until(&desk.operator, &transfer, "ringing").await;
    assert_ne!(ringing["record"]["agent"].as_str(), Some(last.as_str()), "{ringing}");
}

/// The person who answered the newest transfer.
async fn last_rung(operator: &Client) -> String {
    items(operator, "/v1/transfers").await[0]["agent"].as_str().expect("a person").to_owned()
}
