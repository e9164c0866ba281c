//! Agents' announcements over HTTP: a session from its start to its end, with a person who decides,
//! and everything that is refused on the way.

pub mod bank;
mod lines;
mod listener;
mod story;
mod terms;
mod troubles;

mod announced;
mod announcement_follower;
mod banking;
mod callback;
mod session_handoffs;

mod transports;

mod compat;

use aaep::event::Decision;
use axum::body::Body;
use axum::http::Request;
use engine::aaep::announce::Counted;
use gateways::listen::Peer;
use http_body_util::BodyExt;
use protocol::session::{Answer, Given};
use serde_json::{Value, json};
use tasuki::config::Config;
use tasuki::node::Node;
use tempfile::TempDir;
use tokio::sync::watch;
use tower::ServiceExt;

use crate::support::agent;

const SESSION: &str = "sess_2c91a7b4d23f1e88";
const TOKEN: &str = "rpl_4f8a2e7d9c1b6a3f";
const EVENTS: &str = "/aaep/v1/events";

/// A server without its network, as the owner of its folder sees it.
struct Bank {
    node: Node,
    _stop: watch::Sender<bool>,
    _folder: TempDir,
}

impl Bank {
    async fn open() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (stop, stopping) = watch::channel(false);
        let config = Config { data: folder.path().join("data"), ..Config::default() };
        let node = Node::start(&config, stopping).expect("a new folder can be opened");
        let bank = Self { node, _stop: stop, _folder: folder };
        for (name, kind) in [("teller", "worker"), ("other", "worker"), ("dana", "human")] {
            let body = json!({ "kind": kind }).to_string();
            bank.ask("", &format!("PUT /v1/agents/{name}"), "application/json", &body).await;
        }
        bank
    }

    /// Asks as an agent, or as the operator.
    async fn ask(&self, who: &str, line: &str, kind: &str, body: &str) -> (u16, Value) {
        let (method, path) = line.split_once(' ').expect("a method and a path");
        let mut request = Request::builder().method(method).uri(path).header("host", "tasuki");
        if !who.is_empty() {
            request = request.header("tasuki-act-as", who);
        }
        let body = Body::from(body.to_owned());
        let mut request = request.header("content-type", kind).body(body).expect("a request");
        request.extensions_mut().insert(Peer::Local);
        let answer = self.node.router.clone().oneshot(request).await.expect("an answer");
        let status = answer.status().as_u16();
        let bytes = answer.into_body().collect().await.expect("a body").to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    async fn get(&self, who: &str, path: &str) -> (u16, Value) {
        self.ask(who, &format!("GET {path}"), "application/json", "").await
    }

    async fn post(&self, who: &str, events: &[Value]) -> (u16, Value) {
        let body = Value::from(events.to_vec()).to_string();
        self.ask(who, &format!("POST {EVENTS}"), "application/json", &body).await
    }

    async fn lines(&self, events: &[Value]) -> (u16, Value) {
        let lines: String = events.iter().map(|event| format!("{event}\n")).collect();
        self.ask("teller", &format!("POST {EVENTS}"), "application/x-ndjson", &lines).await
    }
}

fn event(number: u32, kind: &str, more: Value) -> Value {
    let mut event = json!({
        "@context": "https://aaep-protocol.org/context/v1",
        "type": format!("aaep:agent.{kind}"),
        "event_id": format!("evt_{number}"),
        "session_id": SESSION,
        "timestamp": format!("2026-02-21T13:22:{number:02}.000Z"),
        "producer": { "agent_id": "teller" },
        "summary_normal": "What happens",
    });
    let fields = event.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
    event
}

fn progress(number: u32) -> Value {
    event(number, "progress.updated", json!({ "progress": { "percent": 5 } }))
}

fn asks(number: u32) -> Value {
    let question = json!({
        "urgency": "critical", "action": "Transfer $500", "consequence": "It cannot be undone",
        "reply_token": TOKEN, "timeout_seconds": 300, "default_decision": "reject",
        "risk_level": "high", "irreversible": true,
    });
    event(number, "awaiting.confirmation", question)
}

#[tokio::test]
async fn a_producer_announces_waits_and_goes_on() {
    let bank = Bank::open().await;
    let thinking = json!({ "from_state": "idle", "to_state": "thinking" });
    let opening =
        [event(1, "session.started", json!({})), event(2, "state.changed", thinking), asks(3)];
    let (status, recorded) = bank.post("teller", &opening).await;
    assert_eq!((status, &recorded["n_events"]), (200, &json!(3)), "{recorded}");
    let path = format!("/aaep/v1/sessions/{SESSION}/decisions/{TOKEN}");
    let (_, open) = bank.get("teller", &path).await;
    assert_eq!(open["status"], "open");
    let answer = Answer {
        reply_token: TOKEN.to_owned(),
        given: Given::Decision(Decision::Accept),
        decided_by: Some("user:dana".to_owned()),
        rationale: None,
        modified_action: None,
        confidence: None,
        subscription_id: None,
    };
    let waiting = format!("{path}?wait=20s");
    let session = SESSION.parse().expect("an id");
    let dana = agent("dana");
    let ((_, decided), heard) = tokio::join!(
        bank.get("teller", &waiting),
        bank.node.engine.sessions().answer(&dana, &session, answer)
    );
    assert_eq!(heard.expect("it is recorded"), Counted::Yes);
    assert_eq!((&decided["status"], &decided["decision"]), (&json!("answered"), &json!("accept")));
    assert_eq!(decided["answered_by"], "agent:dana");
    let call = json!({ "tool": "transfer_funds", "tool_call_id": "call_2", "irreversible": true });
    let done = json!({ "tool": "transfer_funds", "tool_call_id": "call_2", "status": "success" });
    let ending = [
        event(4, "tool.invoked", call),
        event(5, "tool.completed", done),
        event(6, "session.completed", json!({})),
    ];
    assert_eq!(bank.lines(&ending).await.0, 200);
    assert_eq!(bank.lines(&ending).await.0, 200, "who is not sure sends it again");
    let (_, shown) = bank.get("", &format!("/aaep/v1/sessions/{SESSION}")).await;
    assert_eq!((&shown["status"], &shown["n_events"]), (&json!("completed"), &json!(6)));
    for (who, status, n_listed) in [("teller", 200, 1), ("", 200, 1), ("other", 404, 0)] {
        assert_eq!(bank.get(who, &path).await.0, status, "{who}");
        let (_, list) = bank.get(who, "/aaep/v1/sessions?status=completed").await;
        assert_eq!(list["items"].as_array().map(Vec::len), Some(n_listed), "{who}");
    }
    let mut after = String::new();
    let mut seen = Vec::new();
    loop {
        let path = format!("/aaep/v1/sessions/{SESSION}/events?limit=4{after}");
        let (_, page) = bank.get("teller", &path).await;
        seen.extend(page["items"].as_array().expect("items").iter().map(|it| it["event"].clone()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        after = format!("&after={cursor}");
    }
    assert_eq!(seen, [opening, ending].concat(), "as they were sent, in order");
}

#[tokio::test]
async fn what_is_refused_is_named_with_its_rule() {
    let bank = Bank::open().await;
    let started = || event(1, "session.started", json!({}));
    let twice = [started(), progress(2), event(3, "session.started", json!({}))];
    let (status, problem) = bank.post("teller", &twice).await;
    assert_eq!((status, &problem["code"]), (422, &json!("protocol_violation")), "{problem}");
    assert_eq!((&problem["index"], &problem["tier"]), (&json!(2), &json!("session")));
    assert_eq!(problem["field"], "type");
    assert!(problem["rule"].is_string() && problem["expected"].is_string(), "{problem}");
    let (status, nothing) = bank.get("teller", &format!("/aaep/v1/sessions/{SESSION}")).await;
    assert_eq!(status, 404, "all of a request or nothing: {nothing}");
    // The number that `tasuki aaep validate` gives for it.
    let (_, problem) = bank.post("teller", &[progress(1)]).await;
    assert_eq!((&problem["rule"], &problem["field"]), (&json!("4.1.1"), &json!("type")));
    let mut nobody = started();
    nobody["event_id"] = Value::Null;
    let (status, problem) = bank.post("teller", &[nobody]).await;
    assert_eq!((status, &problem["code"]), (422, &json!("schema_invalid")), "{problem}");
    let (status, problem) = bank.post("other", &[started()]).await;
    assert_eq!((status, &problem["field"]), (422, &json!("producer.agent_id")), "{problem}");
    let post = format!("POST {EVENTS}");
    for (kind, body, code) in [
        ("text/plain", "{}", "unsupported_media_type"),
        ("application/json", "{", "json_invalid"),
        ("application/json", "[]", "schema_invalid"),
        ("application/x-ndjson", "{}\n{\n", "json_invalid"),
        ("application/x-ndjson", "\n\n", "schema_invalid"),
        ("application/json", "7", "schema_invalid"),
    ] {
        let (_, problem) = bank.ask("teller", &post, kind, body).await;
        assert_eq!(problem["code"], code, "{kind} {body}");
    }
    let large = format!("[{}]", " ".repeat(1024 * 1024));
    let (status, _) = bank.ask("teller", &post, "application/json", &large).await;
    assert_eq!(status, 413);
    assert_eq!(bank.post("teller", &[started()]).await.0, 200);
    let (_, problem) =
        bank.get("teller", &format!("/aaep/v1/sessions/{SESSION}/events?after=1.0")).await;
    assert_eq!(problem["code"], "cursor_invalid", "of another stream");
}

#[tokio::test]
async fn many_sessions_do_not_make_up_for_the_limit_of_one() {
    let bank = Bank::open().await;
    let flood = |who: &str, session: u32| {
        let mut events = vec![event(0, "session.started", json!({}))];
        let shout = json!({ "urgency": "critical", "progress": { "percent": 5 } });
        events.extend((1..=50).map(|number| event(number, "progress.updated", shout.clone())));
        for event in &mut events {
            event["session_id"] = format!("sess_{who}{session}").into();
            event["producer"]["agent_id"] = who.into();
        }
        events
    };
    let mut refusal = Value::Null;
    for session in 0..20 {
        let (status, answer) = bank.post("teller", &flood("teller", session)).await;
        if status != 200 {
            assert!(session >= 5, "{session} {answer}");
            refusal = answer;
            break;
        }
    }
    assert_eq!(refusal["code"], "rate_limited", "{refusal}");
    assert_eq!(bank.post("other", &flood("other", 0)).await.0, 200, "others are not to blame");
}

#[tokio::test]
async fn a_session_belongs_to_a_conversation_of_its_producer() {
    let bank = Bank::open().await;
    let open = json!({ "agent": "teller" }).to_string();
    let (_, opened) = bank.ask("", "POST /v1/conversations", "application/json", &open).await;
    let conversation = opened["conversation_id"].as_str().expect("an id").to_owned();
    let begins = |session: &str, who: &str, conversation: &str| {
        let mut event = event(1, "session.started", json!({}));
        event["session_id"] = session.into();
        event["producer"]["agent_id"] = who.into();
        event["@context"] = json!(["https://aaep-protocol.org/context/v1", "urn:tasuki:aaep:v1"]);
        event["extensions"] = json!({ "tasuki": { "conversation_id": conversation } });
        event
    };
    let nowhere = "01938c2e-0000-7000-8000-000000000001";
    for (session, who, conversation) in [
        ("sess_a", "other", conversation.as_str()),
        ("sess_b", "teller", nowhere),
        ("sess_c", "teller", "no id"),
    ] {
        let (status, problem) = bank.post(who, &[begins(session, who, conversation)]).await;
        let field = "extensions.tasuki.conversation_id";
        assert_eq!((status, &problem["field"]), (422, &json!(field)), "{session}: {problem}");
    }
    let (status, _) = bank.post("teller", &[begins("sess_d", "teller", &conversation)]).await;
    assert_eq!(status, 200);
    let (_, shown) = bank.get("teller", "/aaep/v1/sessions/sess_d").await;
    assert_eq!(shown["conversation_id"], conversation);
}
