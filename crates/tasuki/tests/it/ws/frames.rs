//! Frames: every operation answers as it does over HTTP, and what is wrong is answered too.

use gateways::http::{OPERATIONS, Who};
use serde_json::{Value, json};
use tasuki::client::Call;
use tokio_tungstenite::tungstenite::Message;

use super::Chat;
use crate::server::{offer, ok};
use crate::sse::whole_ledger;
use crate::wire::Request;

/// Nobody has this id.
const UNKNOWN: &str = "01938c2e-0000-7000-8000-000000000001";

#[tokio::test]
async fn every_operation_answers_as_it_does_over_http() {
    let chat = Chat::start().await;
    let mut n_same = 0;
    for token in [&chat.bob, &chat.customer] {
        let mut socket = chat.socket(token).await;
        for operation in OPERATIONS.iter().filter(|operation| operation.who != Who::Anyone) {
            let mut with = json!({});
            let mut path = operation.path.to_owned();
            for name in operation.path.split(['{', '}']).skip(1).step_by(2) {
                let id = if name == "agent" { "bob" } else { UNKNOWN };
                with[name] = json!(id);
                path = path.replace(&format!("{{{name}}}"), id);
            }
            let method = operation.method.to_uppercase();
            let request = Request::new(&format!("{method} {path}")).token(token);
            let mut frame = json!({ "do": operation.id, "with": with });
            let request = match operation.method {
                "get" => request,
                // Wrong for all of them: what is compared is the refusal.
                _ => {
                    frame["body"] = json!({ "nonsense": 1 });
                    request.json(&frame["body"])
                }
            };
            let answer = socket.ask(frame).await;
            if answer["body"]["code"] == "not_found" && answer["body"]["field"] == "do" {
                assert!(["/v1/events", "/ws"].contains(&operation.path) || path.ends_with('1'));
                continue;
            }
            let over_http = request.send(chat.server.address()).await;
            let actual = (answer["status"].as_u64(), &answer["body"]);
            let expected = over_http.json();
            assert_eq!(actual, (Some(over_http.status.into()), &expected), "{}", operation.id);
            n_same += 1;
        }
    }
    println!("{n_same} answers are the same");
    assert!(n_same > 100, "{n_same}");
}

#[tokio::test]
async fn a_command_takes_parameters_and_is_done_once_under_its_key() {
    let chat = Chat::start().await;
    let mut bob = chat.socket(&chat.bob).await;
    let propose = |task: &str| json!({ "do": "initiate_handoff", "body": offer(task, "carol"), "key": "key-1" });
    let first = bob.ok(propose("T-1")).await;
    assert_eq!(bob.ok(propose("T-1")).await, first);
    let another = bob.refused(propose("T-2")).await;
    assert_eq!(another, (422, "idempotency_key_reused".to_owned()));
    let with = json!({ "limit": 1, "task_id": "T-1" });
    let listed = bob.ok(json!({ "do": "list_handoffs", "with": with })).await;
    assert_eq!(listed["items"][0]["handoff_id"], first["handoff_id"]);
    // What was asked is done, also if whoever asked does not wait for it.
    let mut hasty = chat.socket(&chat.bob).await;
    for number in 1..=5 {
        hasty.begin(chat.answer(&format!("answer {number}"), 1)).await;
    }
    hasty.stream.close(None).await.expect("it is open");
    drop(hasty);
    let shown = || Call::get(format!("/v1/conversations/{}", chat.id));
    while ok(&chat.operator, shown()).await["n_messages"] != json!(5) {}
    // Those that do not wait for their answers are done in the order in which they came.
    let mut ana = chat.socket(&chat.customer).await;
    let mut ids = Vec::new();
    for number in 1..=20 {
        ids.push(ana.begin(chat.say(&format!("message {number}"))).await);
    }
    for (number, id) in (6..).zip(&ids) {
        assert_eq!(ana.answer_to(&json!(id)).await["body"]["number"], json!(number));
    }
}

#[tokio::test]
async fn a_bad_frame_is_answered_and_changes_nothing() {
    let chat = Chat::start().await;
    let mut ana = chat.socket(&chat.customer).await;
    let mut bob = chat.socket(&chat.bob).await;
    bob.ok(chat.follow(Some(0))).await;
    let before = whole_ledger(&chat.operator, "").await;
    let deep = format!("{}1{}", "[".repeat(40), "]".repeat(40));
    let large = format!(r#"{{"do":"ping","x":"{}"}}"#, "x".repeat(1_060_000));
    let said = chat.say("hi");
    let with_id = |frame: &Value, id: Value| {
        let mut frame = frame.clone();
        frame["id"] = id;
        frame.to_string()
    };
    let rows: Vec<(String, u64, &str, Value)> = vec![
        (String::new(), 400, "json_invalid", Value::Null),
        ("hello".into(), 400, "json_invalid", Value::Null),
        ("[]".into(), 422, "schema_invalid", Value::Null),
        ("null".into(), 422, "schema_invalid", Value::Null),
        (format!(r#"{{"do":"say","body":{deep}}}"#), 400, "json_invalid", Value::Null),
        (r#"{"do":"ping","do":"say"}"#.into(), 400, "json_invalid", Value::Null),
        ("{\"do\":\"ping\",\"a\":\"\\u0000\"}".into(), 400, "json_invalid", Value::Null),
        (large, 413, "body_too_large", Value::Null),
        (r#"{"id":"1"}"#.into(), 422, "schema_invalid", json!("1")),
        (r#"{"id":"1","do":7}"#.into(), 422, "schema_invalid", json!("1")),
        (r#"{"id":7,"do":"ping"}"#.into(), 422, "schema_invalid", Value::Null),
        (with_id(&said, json!("")), 422, "schema_invalid", Value::Null),
        (with_id(&said, json!("x".repeat(65))), 422, "schema_invalid", Value::Null),
        (r#"{"id":"1","do":"fly"}"#.into(), 404, "not_found", json!("1")),
        (r#"{"id":"1","do":"follow_events"}"#.into(), 404, "not_found", json!("1")),
        (r#"{"id":"1","do":"metrics"}"#.into(), 404, "not_found", json!("1")),
        (r#"{"id":"1","do":"open_socket"}"#.into(), 404, "not_found", json!("1")),
        (r#"{"id":"1","do":"ping","x":1}"#.into(), 422, "schema_invalid", json!("1")),
        (r#"{"id":"1","do":"say"}"#.into(), 422, "schema_invalid", json!("1")),
        (r#"{"id":"1","do":"say","with":7}"#.into(), 422, "schema_invalid", json!("1")),
        (r#"{"id":"1","do":"say","body":[]}"#.into(), 422, "schema_invalid", json!("1")),
        (r#"{"id":"1","do":"say","x":{}}"#.into(), 422, "schema_invalid", json!("1")),
        (
            r#"{"id":"1","do":"say","with":{"conversation":"../../tokens"},"body":{}}"#.into(),
            404,
            "not_found",
            json!("1"),
        ),
        (
            r#"{"id":"1","do":"say","with":{"conversation":{}},"body":{}}"#.into(),
            422,
            "schema_invalid",
            json!("1"),
        ),
        (
            format!(
                r#"{{"id":"1","do":"show_conversation","with":{{"conversation":"{}","a":1}}}}"#,
                chat.id
            ),
            422,
            "schema_invalid",
            json!("1"),
        ),
        (
            format!(
                r#"{{"id":"1","do":"show_conversation","with":{{"conversation":"{}"}},"body":{{}}}}"#,
                chat.id
            ),
            422,
            "schema_invalid",
            json!("1"),
        ),
        (
            format!(
                r#"{{"id":"1","do":"show_conversation","with":{{"conversation":"{}%2Fmessages"}}}}"#,
                chat.id
            ),
            404,
            "not_found",
            json!("1"),
        ),
        (r#"{"id":"1","type":"fly"}"#.into(), 422, "schema_invalid", json!("1")),
        (r#"{"id":"1","type":"select_agent"}"#.into(), 422, "schema_invalid", json!("1")),
        (r#"{"id":"1","do":"say","type":"x"}"#.into(), 422, "schema_invalid", json!("1")),
        (r#"{"do":"subscribe"}"#.into(), 422, "schema_invalid", Value::Null),
        (r#"{"id":"1","do":"subscribe","after":-1}"#.into(), 422, "schema_invalid", json!("1")),
        (r#"{"id":"1","do":"subscribe","after":99999}"#.into(), 400, "cursor_invalid", json!("1")),
        (r#"{"id":"1","do":"subscribe","conversation":"x"}"#.into(), 404, "not_found", json!("1")),
        (r#"{"id":"1","do":"unsubscribe","of":"9"}"#.into(), 404, "not_found", json!("1")),
        (r#"{"id":"1","do":"typing","conversation":"x"}"#.into(), 404, "not_found", json!("1")),
        (r#"{"id":"1","do":"typing","on":"yes"}"#.into(), 422, "schema_invalid", json!("1")),
    ];
    for (frame, status, code, re) in rows {
        ana.send(Message::text(frame.clone())).await;
        let answer = ana.answer_to(&re).await;
        let shown: String = frame.chars().take(120).collect();
        let actual = (answer["status"].as_u64(), answer["body"]["code"].as_str());
        assert_eq!(actual, (Some(status), Some(code)), "{shown}: {answer}");
    }
    let mut keyed = chat.say("hi");
    for key in ["", "a b", "ä", &"k".repeat(201)] {
        keyed["key"] = json!(key);
        assert_eq!(ana.refused(keyed.clone()).await.0, 422, "{key}");
    }
    ana.send(Message::binary(br#"{"do":"ping"}"#.to_vec())).await;
    let binary = ana.answer_to(&Value::Null).await;
    assert_eq!((&binary["status"], &binary["re"]), (&json!(415), &Value::Null));
    assert_eq!(whole_ledger(&chat.operator, "").await, before);
    // It is as open as before, and so is everybody else's.
    ana.ok(chat.say("still here")).await;
    while bob.event().await["event"]["event"] != "conversation.said" {}
    let view = ok(&chat.operator, Call::get(format!("/v1/conversations/{}", chat.id))).await;
    assert_eq!(view["n_messages"], 1);
}
