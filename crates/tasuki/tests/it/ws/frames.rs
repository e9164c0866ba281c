//! Frames: every operation answers as it does over HTTP, and invalid frames are answered too.

use gateways::http::{OPERATIONS, Who};
use serde_json::{Value, json};
use tasuki::client::Call;
use tokio_tungstenite::tungstenite::Message;

use super::Chat;
use crate::server::{offer, ok};
use crate::sse::whole_ledger;
use crate::wire::Request;

/// This id does not exist.
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
                // Invalid for all of them: the refusals are compared.
                _ => {
                    frame["body"] = json!({ "nonsense": 1 });
                    request.json(&frame["body"])
                }
            };
            let answer = socket.ask(frame).await;
            if answer["body"]["code"] == "not_found" && answer["body"]["field"] == "do" {
                let plain = ["1", "/export", "/files", "/healthz", "/metrics"];
                let is_file = plain.iter().any(|end| path.ends_with(end));
                let is_lasting = path.ends_with("/events") || path.ends_with("ws");
                assert!(is_lasting || is_file, "{path}");
                continue;
            }
            let over_http = request.send(chat.server.address()).await;
            let mut answer = answer;
            let mut expected = over_http.json();
            // Both requests count themselves, and what they took refills.
            for shown in [&mut answer["body"], &mut expected] {
                for quota in shown["own"].as_array_mut().into_iter().flatten() {
                    quota["used"].take();
                }
            }
            let actual = (answer["status"].as_u64(), &answer["body"]);
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
    let propose = |task: &str| {
        let body = offer(task, "carol");
        json!({ "do": "initiate_handoff", "body": body, "key": "key-1" })
    };
    let first = bob.ok(propose("T-1")).await;
    assert_eq!(bob.ok(propose("T-1")).await, first);
    let another = bob.refused(propose("T-2")).await;
    assert_eq!(another, (422, "idempotency_key_reused".to_owned()));
    let with = json!({ "limit": 1, "task_id": "T-1" });
    let listed = bob.ok(json!({ "do": "list_handoffs", "with": with })).await;
    assert_eq!(listed["items"][0]["handoff_id"], first["handoff_id"]);
    // A request is carried out even if its caller does not wait for the answer.
    let mut hasty = chat.socket(&chat.bob).await;
    for number in 1..=5 {
        hasty.begin(chat.answer(&format!("answer {number}"), 1)).await;
    }
    hasty.stream.close(None).await.expect("it is open");
    drop(hasty);
    let shown = || Call::get(format!("/v1/conversations/{}", chat.id));
    while ok(&chat.operator, shown()).await["n_messages"] != json!(5) {}
    // Requests sent without waiting for answers are carried out in order.
    let mut ana = chat.socket(&chat.customer).await;
    let mut ids = Vec::new();
    for number in 1..=20 {
        ids.push(ana.begin(chat.say(&format!("message {number}"))).await);
    }
    for (number, id) in (6..).zip(&ids) {
        assert_eq!(ana.answer_to(&json!(id)).await["body"]["number"], json!(number));
    }
}

/// The status, the code, and the `re` of the answer; then the frame.
const BAD: &str = r#"
400 json_invalid   - hello
400 json_invalid   - {"do":"ping","do":"say"}
400 json_invalid   - {"do":"ping","a":"\u0000"}
422 schema_invalid - []
422 schema_invalid - null
422 schema_invalid - {"id":7,"do":"ping"}
422 schema_invalid - {"id":"","do":"ping"}
422 schema_invalid - {"do":"subscribe"}
422 schema_invalid 1 {"id":"1"}
422 schema_invalid 1 {"id":"1","do":7}
422 schema_invalid 1 {"id":"1","do":"ping","x":1}
404 not_found      1 {"id":"1","do":"fly"}
404 not_found      1 {"id":"1","do":"follow_events"}
404 not_found      1 {"id":"1","do":"metrics"}
404 not_found      1 {"id":"1","do":"open_socket"}
422 schema_invalid 1 {"id":"1","do":"say"}
422 schema_invalid 1 {"id":"1","do":"say","with":7}
422 schema_invalid 1 {"id":"1","do":"say","body":[]}
422 schema_invalid 1 {"id":"1","do":"say","x":{}}
422 schema_invalid 1 {"id":"1","do":"say","with":{"conversation":{}},"body":{}}
422 schema_invalid 1 {"id":"1","do":"say","with":{"conversation":""},"body":{}}
404 not_found      1 {"id":"1","do":"say","with":{"conversation":"../../tokens"},"body":{}}
422 schema_invalid 1 {"id":"1","do":"say","with":{"conversation":"CHAT"},"body":{}}
422 schema_invalid 1 {"id":"1","do":"say","with":{"conversation":"CHAT","x":1},"body":{}}
422 schema_invalid 1 {"id":"1","do":"show_conversation","with":{"conversation":"CHAT"},"body":{}}
404 not_found      1 {"id":"1","do":"show_conversation","with":{"conversation":"CHAT/messages"}}
404 not_found      1 {"id":"1","do":"show_conversation","with":{"conversation":"CHAT%2Fmessages"}}
422 schema_invalid 1 {"id":"1","do":"read_transcript","with":{"conversation":"CHAT","limit":"1&x=1"}}
422 schema_invalid 1 {"id":"1","type":"fly"}
422 schema_invalid 1 {"id":"1","type":"select_agent"}
422 schema_invalid 1 {"id":"1","do":"say","type":"x"}
422 schema_invalid 1 {"id":"1","do":"subscribe","after":-1}
400 cursor_invalid 1 {"id":"1","do":"subscribe","after":99999}
404 not_found      1 {"id":"1","do":"subscribe","conversation":"x"}
404 not_found      1 {"id":"1","do":"unsubscribe","of":"9"}
404 not_found      1 {"id":"1","do":"typing","conversation":"x"}
422 schema_invalid 1 {"id":"1","do":"typing","on":"yes"}
"#;

#[tokio::test]
async fn a_bad_frame_is_answered_and_changes_nothing() {
    let chat = Chat::start().await;
    let mut ana = chat.socket(&chat.customer).await;
    let mut bob = chat.socket(&chat.bob).await;
    bob.ok(chat.follow(Some(json!(0)))).await;
    let before = whole_ledger(&chat.operator, "").await;
    let mut rows: Vec<(String, String)> = Vec::new();
    for line in BAD.lines().filter(|line| !line.is_empty()) {
        let (expected, frame) = line.split_at(21);
        rows.push((expected.to_owned(), frame.replace("CHAT", &chat.id)));
    }
    let deep = format!(r#"{{"do":"say","body":{}1{}}}"#, "[".repeat(40), "]".repeat(40));
    let large = format!(r#"{{"do":"ping","x":"{}"}}"#, "x".repeat(1_060_000));
    let long_id = json!({ "id": "x".repeat(65), "do": "ping" }).to_string();
    rows.push(("400 json_invalid -".to_owned(), String::new()));
    rows.push(("400 json_invalid -".to_owned(), deep));
    rows.push(("413 body_too_large -".to_owned(), large));
    rows.push(("422 schema_invalid -".to_owned(), long_id));
    for (expected, frame) in rows {
        let expected: Vec<_> = expected.split_whitespace().collect();
        let re = if expected[2] == "-" { Value::Null } else { json!(expected[2]) };
        ana.send(Message::text(frame.clone())).await;
        let answer = ana.answer_to(&re).await;
        let shown: String = frame.chars().take(120).collect();
        let actual = [answer["status"].to_string(), text(&answer["body"]["code"])];
        assert_eq!(actual, expected[..2], "{shown}: {answer}");
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
    // The socket is still open, and so are the others.
    ana.ok(chat.say("still here")).await;
    while bob.event().await["event"]["event"] != "conversation.said" {}
    let view = ok(&chat.operator, Call::get(format!("/v1/conversations/{}", chat.id))).await;
    assert_eq!(view["n_messages"], 1);
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
