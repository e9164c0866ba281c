//! Cursors reveal nothing about other tenants, and work only for their own tenant.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use crate::server::{Server, initiate, ok, refused};
use crate::sse::{Stream, whole_ledger};
use crate::wire::Request;
use crate::ws::socket::Socket;

/// Two teamspaces on one server, with an operator and two agents in each.
struct Tenants {
    server: Server,
    red: Tenant,
    blue: Tenant,
}

struct Tenant {
    operator: Client,
    ann: Client,
    token: String,
}

impl Tenants {
    fn start() -> Self {
        let server = Server::start();
        let [red, blue] = ["red", "blue"].map(|name| {
            let token = |agent: &str, more: &[&str]| {
                server.token(agent, &[more, &["--teamspace", name]].concat())
            };
            let (root, ann) = (token("root", &["--kind", "operator"]), token("ann", &[]));
            token("ben", &[]);
            let operator = server.with_token(&root);
            Tenant { operator, ann: server.with_token(&ann), token: ann }
        });
        Self { server, red, blue }
    }
}

/// Whether any number of an answer, or any part of a text of it, counts entries of all teamspaces.
fn has_global_number(answer: &Value, numbers: &BTreeSet<u64>) -> bool {
    match answer {
        Value::Number(number) => number.as_u64().is_some_and(|number| numbers.contains(&number)),
        Value::Array(items) => items.iter().any(|item| has_global_number(item, numbers)),
        Value::Object(fields) => {
            fields.contains_key("seq")
                || fields.values().any(|value| has_global_number(value, numbers))
        }
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

fn is_opaque(cursor: &Value) -> bool {
    cursor.as_str().is_some_and(|text| text.starts_with("cur_") && text.len() == 36)
}

#[tokio::test]
async fn tenants_see_no_number_that_counts_what_others_do() {
    let Tenants { server, red, blue } = Tenants::start();
    // Numbers that count a tenant's own entries are small here; numbers that count all are not.
    for number in 0..60 {
        initiate(&blue.ann, &format!("B-{number}"), "ben").await;
    }
    let first = initiate(&red.ann, "R-1", "ben").await;
    initiate(&red.ann, "R-2", "ben").await;
    let global: BTreeSet<u64> = (60..200).collect();
    for client in [&red.ann, &red.operator] {
        for path in [
            "/readyz".to_owned(),
            "/v1/handoffs?limit=1".to_owned(),
            "/v1/agents?limit=1".to_owned(),
            format!("/v1/handoffs/{first}"),
            format!("/v1/handoffs/{first}/history"),
        ] {
            let answer = ok(client, Call::get(&*path)).await;
            assert!(!has_global_number(&answer, &global), "{path}: {answer}");
            let next = &answer["next_cursor"];
            assert!(next.is_null() || is_opaque(next), "{path}: {answer}");
        }
        let entries = whole_ledger(client, "").await;
        assert!(entries.len() >= 4);
        for entry in &entries {
            assert!(!has_global_number(&entry.data, &global), "{:?}", entry.data);
            assert!(is_opaque(&entry.data["cursor"]) && entry.data["cursor"] == json!(entry.id));
        }
    }
    let mut socket = Socket::open(&server, &red.token).await;
    let begun = socket.ok(json!({ "do": "subscribe", "after": 0 })).await;
    assert!(is_opaque(&begun["cursor"]), "{begun}");
    for _ in 0..3 {
        let frame = socket.event().await;
        assert!(is_opaque(&frame["cursor"]) && !has_global_number(&frame, &global), "{frame}");
    }
    // Operators of the whole server see the numbers.
    let root = server.with_token(&server.token("root", &["--kind", "operator"]));
    let mut seen: Vec<u64> = Vec::new();
    for entry in whole_ledger(&root, "").await {
        seen.extend(entry.data["seq"].as_u64());
    }
    assert!(seen.len() > 1 && seen.is_sorted(), "{seen:?}");
    let last = seen[seen.len() - 1];
    let mut rest = Stream::open(&root, &format!("/v1/events?after={}", last - 1), None).await;
    assert_eq!(rest.next_entry().await.expect("there is one").data["seq"], last);
}

#[tokio::test]
async fn metrics_are_for_this_machine_and_for_operators_of_the_server() {
    let Tenants { server, red, .. } = Tenants::start();
    let root = server.token("root", &["--kind", "operator"]);
    let request = |host: &str| Request::new("GET /metrics").header("host", host.as_bytes());
    let rows = [
        ("a program on this machine", request("localhost:7420"), 200),
        ("by its address", request("127.0.0.1:7420"), 200),
        ("a page with its own name", request("evil.example"), 401),
        ("through a proxy", request("localhost").header("x-forwarded-for", b"192.0.2.1"), 401),
        ("a tenant", request("tasuki.example").token(&red.token), 403),
        ("an operator of the server", request("tasuki.example").token(&root), 200),
    ];
    for (what, request, status) in rows {
        let answer = request.send(server.address()).await;
        assert_eq!(answer.status, status, "{what}: {}", String::from_utf8_lossy(&answer.bytes));
    }
    for (setting, anybody, here) in [("everyone", 200, 200), ("operators", 401, 401)] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let server = Server::start_on(&folder.path().join("data"), |command| {
            command.env("TASUKI_METRICS", setting);
        });
        for (host, status) in [("tasuki.example", anybody), ("localhost", here)] {
            let answer = request(host).send(server.address()).await;
            assert_eq!(answer.status, status, "{setting}, {host}");
        }
    }
}

/// Heartbeats come at their own pace, and are never equal.
#[tokio::test]
async fn a_quiet_stream_does_not_tell_that_others_are_busy() {
    let Tenants { server: _server, red, blue } = Tenants::start();
    let mut stream = Stream::open(&red.ann, "/v1/events", None).await;
    let mut ids = BTreeSet::new();
    for round in 0..3 {
        if round == 1 {
            for number in 0..20 {
                initiate(&blue.ann, &format!("B-{number}"), "ben").await;
            }
        }
        let beat = stream.next().await.expect("the stream goes on");
        assert_eq!(beat.name, None);
        assert!(ids.insert(beat.id.expect("a beat has an id")), "two beats look alike");
    }
}

#[tokio::test]
async fn a_cursor_is_refused_where_it_was_not_given() {
    let Tenants { server, red, blue } = Tenants::start();
    for task in ["T-1", "T-2"] {
        initiate(&red.ann, task, "ben").await;
        initiate(&blue.ann, task, "ben").await;
    }
    let page = ok(&red.ann, Call::get("/v1/handoffs?limit=1")).await;
    let row = page["next_cursor"].as_str().expect("there is more").to_owned();
    let place = whole_ledger(&red.ann, "").await.remove(0).id.expect("an entry has an id");
    ok(&red.ann, Call::get(format!("/v1/handoffs?cursor={row}"))).await;

    let cut = &place[..place.len() - 1];
    let forged = format!("{}A", &place[..place.len() - 1]);
    let forged = if forged == place { format!("{cut}B") } else { forged };
    let list = ok(&red.ann, Call::get("/v1/handoffs")).await;
    let history = |index: usize| {
        let id = list["items"][index]["handoff_id"].as_str().expect("an id");
        format!("/v1/handoffs/{id}/history?limit=1")
    };
    ok(&red.ann, Call::post(history(0).replace("history?limit=1", "withdraw"), json!({}))).await;
    let entries = ok(&red.ann, Call::get(history(0))).await;
    let entry = entries["next_cursor"].as_str().expect("there is more").to_owned();
    ok(&red.ann, Call::get(format!("{}&cursor={entry}", history(0)))).await;
    let cases = [
        ("of another history", &red.ann, format!("{}&cursor={entry}", history(1)), "cursor"),
        ("a history's for a list", &red.ann, format!("/v1/handoffs?cursor={entry}"), "cursor"),
        ("of another teamspace", &blue.ann, format!("/v1/events?after={place}"), "after"),
        ("a row of another one", &blue.ann, format!("/v1/handoffs?cursor={row}"), "cursor"),
        ("of another list", &red.ann, format!("/v1/agents?cursor={row}"), "cursor"),
        ("for another purpose", &red.ann, format!("/v1/events?after={row}"), "after"),
        ("an event for a list", &red.ann, format!("/v1/handoffs?cursor={place}"), "cursor"),
        ("cut off", &red.ann, format!("/v1/events?after={cut}"), "after"),
        ("forged", &red.ann, format!("/v1/events?after={forged}"), "after"),
    ];
    let mut details = BTreeSet::new();
    for (what, who, path, field) in cases {
        let answer = refused(who, Call::get(&*path)).await;
        let code = (answer.status, &answer.body["code"], &answer.body["field"]);
        assert_eq!(code, (400, &json!("cursor_invalid"), &json!(field)), "{what}");
        details.insert(answer.body["detail"].to_string());
    }
    assert_eq!(details.len(), 2, "one sentence for each field, whatever is wrong: {details:?}");
    for number in ["3", "3.0", "99999"] {
        for path in [format!("/v1/events?after={number}"), format!("/v1/tokens?cursor={number}")] {
            let answer = refused(&red.operator, Call::get(&*path)).await;
            assert_eq!((answer.status, &answer.body["code"]), (400, &json!("cursor_invalid")));
            let detail = answer.body["detail"].as_str().expect("a sentence");
            assert!(detail.contains("a sequence number is no cursor"), "{path}: {detail}");
        }
    }
    let mut socket = Socket::open(&server, &blue.token).await;
    for after in [json!(place), json!(3), json!("3"), json!("x")] {
        let frame = json!({ "do": "subscribe", "after": after });
        assert_eq!(socket.refused(frame).await, (400, "cursor_invalid".to_owned()), "{after}");
    }
}

#[tokio::test]
async fn cursors_survive_a_restart_and_a_restored_backup() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (data, other) = (folder.path().join("data"), folder.path().join("other"));
    let server = Server::start_on(&data, |_| {});
    let token = server.token("alice", &[]);
    let alice = server.with_token(&token);
    server.agent("bob");
    for task in ["T-1", "T-2", "T-3"] {
        initiate(&alice, task, "bob").await;
    }
    let page = ok(&alice, Call::get("/v1/handoffs?limit=1")).await;
    let row = page["next_cursor"].as_str().expect("there is more").to_owned();
    let rest = async |alice: &Client| {
        ok(alice, Call::get(format!("/v1/handoffs?cursor={row}"))).await["items"].clone()
    };
    let entries = whole_ledger(&alice, "&kind=handoff").await;
    let before = rest(&alice).await;
    assert_eq!(server.stop(), Some(0));
    let kept = folder.path().join("kept.db");
    tasuki(&["backup", "--with-key", "--to"], &kept, &data);
    tasuki(&["restore", "--from"], &kept, &other);
    for data in [&data, &other] {
        let server = Server::start_on(data, |_| {});
        let alice = server.with_token(&token);
        assert_eq!(rest(&alice).await, before);
        let place = entries[0].id.as_deref();
        let mut stream = Stream::open(&alice, "/v1/events?kind=handoff", place).await;
        for expected in &entries[1..] {
            assert_eq!(stream.next_entry().await.as_ref(), Some(expected));
        }
    }
}

fn tasuki(words: &[&str], file: &Path, data: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tasuki"));
    let output = command.args(words).arg(file).arg("--data").arg(data).output();
    let output = output.expect("the executable runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
