//! Rows beside the entries that no MAC covers: a running server finds what was changed in them, in
//! the background, and does not show a message under the number of another one.

use std::path::Path;

use rusqlite::Connection;
use serde_json::{Value, json};
use store::sqlite::FILE_NAME;
use tasuki::client::Call;

use super::ledger::{copy_folder, findings, report};
use crate::server::{Server, ok, refused};
use crate::wire::Request;

/// What is changed, and what the log of the scrub says about it.
const CHANGES: [(&str, &str); 14] = [
    ("swapped", "message 1 in the transcript of conversation/"),
    ("no_line", "message 3 in the transcript of conversation/"),
    ("erased_line", "which is no such message"),
    ("other_line", "points to entry 1, which is no such message"),
    ("rating", "does not follow from its entries"),
    ("served_by", "does not follow from its entries"),
    ("more", "does not follow from its entries"),
    ("no_transfer", "the row of the transfer that entry"),
    ("new_transfer", "row 1 of the transfers follows from nothing"),
    ("earlier_ring", "the time of the last ring for hana in default is before that of entry"),
    ("new_ring", "the time of the last ring for mallory in default is not that of an entry"),
    ("new_deadline", "the deadline unused of agent/"),
    ("new_effect", "the effect wake/x of agent/"),
    ("new_party", "a message in the mailbox of mallory in default follows from nothing"),
];

/// The statements of `scrubbed.sql`, by name.
fn statement(name: &str) -> &'static str {
    let mut lines = include_str!("scrubbed.sql").lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap()
}

/// A conversation of four messages, the second one erased, which rings for a person; and a message
/// between agents. Returns the token of the bot, and the path of the conversation.
async fn rung(data: &Path) -> (String, String) {
    let server = Server::start_on(data, |_| {});
    let root = server.with_token(&server.token("root", &["--kind", "operator"]));
    let [bob, token] = [(); 2].map(|()| server.token("bob", &[]));
    let bob = server.with_token(&bob);
    ok(&root, Call::put("/v1/agents/default", json!({ "kind": "queue" }))).await;
    ok(&root, Call::put("/v1/agents/hana", json!({ "kind": "human" }))).await;
    let message = json!({ "to": ["hana"], "type": "status.update", "payload": { "text": "T" } });
    ok(&bob, Call::post("/v1/acp/messages", message)).await;
    let opened = ok(&bob, Call::post("/v1/conversations", json!({ "agent": "bob" }))).await;
    let path = format!("/v1/conversations/{}", opened["conversation_id"].as_str().unwrap());
    let customer = server.with_token(opened["customer_token"].as_str().unwrap());
    for text in ["one", "two", "three"] {
        let say = json!({ "parts": [{ "type": "text", "text": text }] });
        ok(&customer, Call::post(format!("{path}/messages"), say)).await;
    }
    let second = json!({ "position": 3, "reason": "asked for" });
    ok(&root, Call::post(format!("{path}/erase"), second)).await;
    ok(&customer, Call::post(format!("{path}/transfers"), json!({}))).await;
    let hana = server.agent("hana");
    ok(&hana, Call::put("/v1/agents/hana/presence", json!({ "presence": "available" }))).await;
    while ok(&hana, Call::get("/v1/transfers?ringing_for=me")).await["items"] == json!([]) {}
    let lines = ok(&bob, Call::get(format!("{path}/messages"))).await;
    let erased: Vec<&Value> = lines["items"].as_array().unwrap().iter().collect();
    assert_eq!(erased[1]["erased"], true, "{lines}");
    assert_eq!(server.stop(), Some(0));
    (token, path)
}

fn start(data: &Path) -> Server {
    Server::start_on(data, |command| {
        command.env("TASUKI_LEDGER_SCRUB_ROWS_PER_SECOND", "10000");
    })
}

async fn metric(server: &Server, name: &str) -> u64 {
    let request = Request::new("GET /metrics").header("host", b"localhost");
    let answer = request.send(server.address()).await;
    let text = String::from_utf8(answer.bytes.to_vec()).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap().parse::<u64>().unwrap()
}

#[tokio::test]
async fn what_no_mac_covers_is_scrubbed_too() {
    let made = tempfile::tempdir().unwrap();
    let whole = made.path().join("data");
    let (token, path) = rung(&whole).await;
    // Where nothing was changed, rounds find nothing.
    let server = start(&whole);
    let n_rows = report(&whole).n_entries * 20;
    while metric(&server, "tasuki_rows_scrubbed_total").await < n_rows {
        ok(&server.with_token(&token), Call::get(format!("{path}/messages"))).await;
    }
    assert_eq!(metric(&server, "tasuki_scrub_findings_total").await, 0, "{:?}", server.log());
    assert_eq!(server.stop(), Some(0));
    for (name, expected) in CHANGES {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        copy_folder(&whole, &data);
        let connection = Connection::open(data.join(FILE_NAME)).unwrap();
        connection.execute_batch(statement(name)).unwrap();
        drop(connection);
        assert_ne!(findings(&report(&data)), "", "{name}: the audit finds it at once");
        let server = start(&data);
        while metric(&server, "tasuki_scrub_findings_total").await == 0 {
            tokio::task::yield_now().await;
        }
        if name == "swapped" {
            let bob = server.with_token(&token);
            let answer = refused(&bob, Call::get(format!("{path}/messages"))).await;
            assert_eq!((answer.status, &answer.body["code"]), (500, &json!("internal")));
        }
        assert_eq!(server.stop(), Some(0));
        let log = server.log();
        let later = log.iter().filter_map(|line| line["message"].as_str());
        let mut said = server.said_at_start.iter().map(String::as_str).chain(later);
        assert!(said.any(|line| line.contains(expected)), "{name}: {log:?}");
    }
}
