//! The layout that other tools speak, with a client that behaves like them: unnamed frames, no
//! resume, replies that name any subscription or none, a question before it listens.

pub mod client;

use std::process::Command;

use serde_json::{Value, json};
use tasuki::client::Call;

use crate::server::{Server, ok, refused};
use crate::wire::Request;
use client::{AT, Listener, Way, post, serve, text};

/// A secret that a user might say by mistake.
const SECRET: &str = "hunter2-8F3K";

/// How a listener answers a question.
#[derive(Clone, Copy)]
enum Answer {
    Decide(&'static str),
    Choose(&'static str),
    /// An empty answer first, as some tools send it.
    EmptyThenChoose(&'static str),
    Nothing,
}

/// A user says something; all events until the end of the session.
async fn play(listener: &mut Listener, words: &str, answer: Answer) -> Vec<Value> {
    let said = json!({ "kind": "user_input", "text": format!("{words} {SECRET}") });
    listener.send(&said).await;
    let acknowledged = listener.next().await;
    let session = text(&acknowledged, "session_id").to_owned();
    assert!(acknowledged.get("type").is_none(), "{acknowledged}");
    let mut events: Vec<Value> = Vec::new();
    loop {
        let event = listener.next().await;
        if event["session_id"] != session.as_str() {
            continue;
        }
        assert_eq!(event["sequence_number"], events.len(), "{event}");
        assert_eq!(event["producer"]["agent_id"], "scripted");
        if let Some(token) = event["reply_token"].as_str() {
            reply(listener, token, answer).await;
        }
        let kind = text(&event, "type").to_owned();
        events.push(event);
        let is_started = kind.ends_with("session.started");
        if kind.starts_with("aaep:agent.session.") && !is_started {
            return events;
        }
    }
}

async fn reply(listener: &mut Listener, token: &str, answer: Answer) {
    let clarify = |response: &str| {
        json!({ "type": "clarification.reply", "reply_token": token, "response": response,
            "timestamp": "2026-11-15T12:00:00+00:00" })
    };
    match answer {
        Answer::Decide(decision) => {
            let reply = json!({ "type": "confirmation.reply", "reply_token": token,
                "decision": decision, "subscription_id": "sub_0123456789abcdef",
                "timestamp": "2026-11-15T12:00:00.000000Z" });
            listener.send(&reply).await;
            // A second one changes nothing, and is accepted all the same.
            listener.send(&reply).await;
        }
        Answer::Choose(choice) => listener.send(&clarify(choice)).await,
        Answer::EmptyThenChoose(choice) => {
            listener.send(&clarify("")).await;
            listener.send(&clarify("midnight")).await;
            listener.send(&clarify(choice)).await;
        }
        Answer::Nothing => {}
    }
}

fn kinds(events: &[Value]) -> String {
    let kind = |event: &Value| text(event, "type").replace("aaep:agent.", "");
    events.iter().map(kind).collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn every_scene_plays_over_both_ways() {
    let (server, _folder) = serve(&[]);
    for way in [Way::Stream, Way::Socket] {
        let mut listener = Listener::open(&server, way, None).await;
        let scenes: &[(&str, Answer, &[&str])] = &[
            (
                "Transfer 500 dollars",
                Answer::Decide("accept"),
                &["awaiting.confirmation tool.invoked tool.completed", "session.completed"],
            ),
            (
                "Transfer 500 dollars",
                Answer::Decide("reject"),
                &["awaiting.confirmation state.changed state.changed", "session.completed"],
            ),
            (
                "Book a table",
                Answer::Choose("19:30"),
                &["awaiting.clarification state.changed tool.invoked", "session.completed"],
            ),
            ("Book a table", Answer::EmptyThenChoose("18:00"), &["session.completed"]),
            (
                "Write a report",
                Answer::Nothing,
                &["progress.updated", "output.streaming output.streaming", "session.completed"],
            ),
            ("Will it fail?", Answer::Nothing, &["tool.completed", "session.errored"]),
            ("Get me a person", Answer::Nothing, &["handoff.requested session.completed"]),
            (
                "Send an email to Bob",
                Answer::Decide("accept"),
                &["awaiting.confirmation tool.invoked tool.completed", "session.completed"],
            ),
            (
                "Delete my files",
                Answer::Decide("reject"),
                &["awaiting.confirmation state.changed", "session.completed"],
            ),
            (
                "Please confirm",
                Answer::Decide("accept"),
                &["awaiting.confirmation tool.invoked tool.completed", "session.completed"],
            ),
            (
                "Ask me something",
                Answer::Choose("green"),
                &["awaiting.clarification state.changed output.streaming session.completed"],
            ),
            ("What is the weather?", Answer::Nothing, &["tool.completed", "session.completed"]),
            (
                "Hello",
                Answer::Nothing,
                &["session.started state.changed output.streaming session.completed"],
            ),
        ];
        for (words, answer, expected) in scenes {
            let events = play(&mut listener, words, *answer).await;
            let told = kinds(&events);
            for part in *expected {
                assert!(told.contains(part), "{words} over {way:?}: {told}");
            }
        }
        let heard = listener.all.join("\n");
        assert!(!heard.contains(SECRET), "a user's words came back over {way:?}");
    }
}

#[tokio::test]
async fn without_an_answer_the_time_runs_out_and_nothing_is_done() {
    let (server, _folder) = serve(&[("TASUKI_AAEP_SCRIPTED_TIMEOUT_SECONDS", "1")]);
    for way in [Way::Stream, Way::Socket] {
        let mut listener = Listener::open(&server, way, None).await;
        let events = play(&mut listener, "Transfer 500 dollars", Answer::Nothing).await;
        assert!(kinds(&events).ends_with("awaiting.confirmation state.changed session.cancelled"));
        assert_eq!(events.last().unwrap()["cancelled_by"], "timeout");
    }
}

#[tokio::test]
async fn what_is_sent_before_somebody_listens_waits_for_them() {
    let (server, _folder) = serve(&[]);
    let request = json!({ "type": "subscription.request", "aaep_version": "1.0.0",
        "subscriber_id": "suite", "capabilities": { "preferred_verbosity": "terse" } });
    assert_eq!(post(&server, None, "messages", &request).await.0, 200);
    let said = json!({ "kind": "user_input", "text": "What is my balance?" });
    assert_eq!(post(&server, None, "messages", &said).await.0, 200);
    let mut listener = Listener::open(&server, Way::Stream, None).await;
    assert_eq!(listener.next().await["type"], "subscription.accepted");
    let session = text(&listener.next().await, "session_id").to_owned();
    let first = listener.next().await;
    assert_eq!(first["type"], "aaep:agent.session.started");
    assert_eq!(first["session_id"], session.as_str());
    while !text(&listener.next().await, "type").ends_with("session.completed") {}

    // A later listener hears nothing of it: the first events are of its own session.
    let mut late = Listener::open(&server, Way::Stream, None).await;
    let events = play(&mut late, "What is my balance?", Answer::Nothing).await;
    assert!(events.iter().all(|event| event["session_id"] != session.as_str()));
    let started = json!({ "user_message": "balance", "user_id": "u1" });
    let (status, body) = post(&server, None, "sessions", &started).await;
    assert_eq!((status, &body["status"]), (202, &json!("started")));
    assert!(!body.to_string().contains("balance"), "{body}");
    let first = late.next().await;
    assert_eq!(first["type"], "aaep:agent.session.started");
    assert_eq!(first["session_id"], body["session_id"]);
}

/// The session of the last input. Others may still be under way.
async fn acknowledged(listener: &mut Listener) -> String {
    loop {
        let frame = listener.next().await;
        if frame["kind"] == "user_input.received" {
            return text(&frame, "session_id").to_owned();
        }
    }
}

/// The type of the next event of a session.
async fn next_of(listener: &mut Listener, session: &str) -> String {
    loop {
        let frame = listener.next().await;
        if frame["session_id"] == session {
            return text(&frame, "type").to_owned();
        }
    }
}

/// The next message that is not an event.
async fn answered(listener: &mut Listener) -> Value {
    loop {
        let frame = listener.next().await;
        if frame.get("session_id").is_none() {
            return frame;
        }
    }
}

#[tokio::test]
async fn terms_are_answered_where_one_listens() {
    let (server, _folder) = serve(&[]);
    for way in [Way::Stream, Way::Socket] {
        let mut listener = Listener::open(&server, way, None).await;
        let request = |version: &str, capabilities: Value| {
            json!({ "type": "subscription.request", "aaep_version": version,
                "subscriber_id": "suite", "capabilities": capabilities })
        };
        let only_ends = json!({ "event_filters": { "include": ["aaep:agent.session.*"] },
            "supports_confirmation_reply": true });
        listener.send(&request("1.0.0", only_ends.clone())).await;
        let accepted = answered(&mut listener).await;
        assert_eq!(accepted["type"], "subscription.accepted", "{accepted}");
        assert_eq!(accepted["honored_capabilities"], only_ends, "no more than was asked");
        assert_eq!(accepted["producer"]["agent_id"], "scripted");
        let said = json!({ "kind": "user_input", "text": "balance" });
        listener.send(&said).await;
        let session = acknowledged(&mut listener).await;
        assert_eq!(next_of(&mut listener, &session).await, "aaep:agent.session.started");
        assert_eq!(next_of(&mut listener, &session).await, "aaep:agent.session.completed");

        // A refusal changes nothing, and the stream stays open.
        listener.send(&request("2.0.0", json!({}))).await;
        let rejected = answered(&mut listener).await;
        assert_eq!(rejected["reason_code"], "version_unsupported", "{rejected}");
        listener.send(&json!({ "type": "subscription.request" })).await;
        assert_eq!(answered(&mut listener).await["type"], "subscription.rejected");
        let again = json!({ "type": "subscription.renegotiate", "subscription_id": "sub_any",
            "capabilities": { "event_filters": { "include": ["aaep:agent.tool.*"] } } });
        listener.send(&again).await;
        let accepted = answered(&mut listener).await;
        assert_eq!(accepted["type"], "subscription.accepted", "{accepted}");
        listener.send(&said).await;
        let session = acknowledged(&mut listener).await;
        assert_eq!(next_of(&mut listener, &session).await, "aaep:agent.tool.invoked");
        assert_eq!(next_of(&mut listener, &session).await, "aaep:agent.tool.completed");
        let never = json!({ "type": "subscription.renegotiate", "subscription_id": "sub_any",
            "capabilities": { "coalesce_boundaries": [] } });
        listener.send(&never).await;
        assert_eq!(answered(&mut listener).await["type"], "subscription.rejected");
        listener.send(&request("1.0.0", json!({}))).await;
        assert_eq!(answered(&mut listener).await["type"], "subscription.accepted");
    }
}

#[tokio::test]
async fn garbage_is_refused_and_everything_else_received() {
    let (server, _folder) = serve(&[]);
    for (body, status) in [
        (json!({ "type": "ping" }), 200),
        (json!({}), 200),
        (
            json!({ "type": "confirmation.reply", "reply_token": "rpl_forged", "decision": "accept",
            "timestamp": "yesterday" }),
            200,
        ),
        (json!({ "type": "clarification.reply", "reply_token": "", "response": "" }), 200),
        (json!([]), 400),
        (json!("accept"), 400),
        (json!({ "kind": "user_input" }), 400),
    ] {
        let (actual, answer) = post(&server, None, "messages", &body).await;
        assert_eq!(actual, status, "{body}: {answer}");
        match status {
            200 => assert_eq!(answer, json!({ "status": "received" })),
            _ => assert!(answer["error"].is_string(), "{answer}"),
        }
    }
    assert_eq!(post(&server, None, "sessions", &json!({ "text": "x" })).await.0, 400);
    let healthy = ok(&server.anonymous(), Call::get(format!("{AT}/healthz"))).await;
    assert_eq!(healthy["status"], "ok");
}

#[tokio::test]
async fn a_token_is_needed_but_for_the_scripted_agent_on_this_machine() {
    let (server, _folder) = serve(&[]);
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    ok(&operator, Call::put("/v1/agents/teller", json!({ "kind": "worker" }))).await;
    let without = server.anonymous();
    for path in ["teller/events", "teller/healthz", "nobody/events"] {
        let answer = refused(&without, Call::get(format!("/aaep/compat/{path}"))).await;
        assert_eq!(answer.status, 401, "{path}");
    }
    assert_eq!(refused(&without, Call::get("/v1/agents")).await.status, 401);
    let garbage = server.with_token("tasuki_0000");
    assert_eq!(refused(&garbage, Call::get(format!("{AT}/healthz"))).await.status, 401);
    let here = server.address();
    for (host, origin, status) in [
        (here, None, 200),
        (here, Some("http://localhost:3000"), 200),
        (here, Some("http://evil.example"), 403),
        (here, Some("http://localhost.evil.example"), 403),
        ("evil.example", None, 401),
        ("evil.example", Some("http://evil.example"), 401),
    ] {
        let mut request = Request::new(&format!("GET {AT}/healthz"));
        request = request.header("host", host.as_bytes());
        if let Some(origin) = origin {
            request = request.header("origin", origin.as_bytes());
        }
        let answer = request.send(here).await;
        assert_eq!(answer.status, status, "{host} from {origin:?}");
        let shown = answer.headers.get("access-control-allow-origin");
        assert_eq!(shown.is_some(), status == 200 && origin.is_some(), "{host} from {origin:?}");
    }

    // If it is not switched on, it needs a token like any other path.
    let closed = Server::start();
    let answer = refused(&closed.anonymous(), Call::get(format!("{AT}/events"))).await;
    assert_eq!(answer.status, 401);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = Command::new(env!("CARGO_BIN_EXE_tasuki"))
        .args(["serve", "--listen", "0.0.0.0:0", "--aaep-compat", "scripted", "--data"])
        .arg(folder.path().join("data"))
        .output()
        .expect("the executable runs");
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("expected a loopback address"));
}

#[tokio::test]
async fn other_agents_are_asked_by_their_mailbox_and_heard_by_people() {
    let server = Server::start();
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    ok(&operator, Call::put("/v1/agents/hana", json!({ "kind": "human" }))).await;
    let teller = server.agent("teller");
    let hana = server.token("hana", &[]);
    let mut listener = Listener::open_at(&server, Way::Stream, Some(&hana), "teller").await;
    listener.send(&json!({ "kind": "user_input", "text": "What is my balance?" })).await;
    let session = text(&listener.next().await, "session_id").to_owned();
    let inbox = ok(&teller, Call::get("/v1/acp/inbox?format=json")).await;
    let asked = &inbox["items"][0];
    assert_eq!(asked["from"], "hana", "{inbox}");
    assert_eq!(asked["payload"]["text"], "What is my balance?");
    assert_eq!(asked["payload"]["session_id"], session.as_str());
    let started = json!({
        "@context": "https://aaep-protocol.org/context/v1",
        "type": "aaep:agent.session.started",
        "event_id": "evt_1",
        "session_id": session,
        "timestamp": "2026-11-15T12:00:00.000Z",
        "producer": { "agent_id": "teller" },
        "localization_hints": { "primary_language": "en" },
        "summary_normal": "I look it up.",
    });
    ok(&teller, Call::post("/aaep/v1/events", started)).await;
    assert_eq!(listener.next().await["summary_normal"], "I look it up.");

    // Another teamspace has no such agent, and a worker that listens hears nothing of it.
    let made = json!({ "teamspace": "other", "operator": "ada" });
    let theirs = ok(&operator, Call::post("/v1/teamspaces", made)).await;
    let theirs = server.with_token(text(&theirs, "token"));
    let answer = refused(&theirs, Call::get("/aaep/compat/teller/events")).await;
    assert_eq!(answer.status, 404);
}

#[tokio::test]
async fn who_lost_a_role_does_not_go_on_listening_with_it() {
    let server = Server::start();
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    let teller = server.agent("teller");
    ok(&operator, Call::put("/v1/agents/hana", json!({ "kind": "human" }))).await;
    let hana = server.token("hana", &[]);
    let roles = |roles: Value| Call::put("/v1/agents/hana/roles", json!({ "roles": roles }));
    for (way, session) in [(Way::Stream, "sess_a"), (Way::Socket, "sess_b")] {
        ok(&operator, roles(json!(["coordinator"]))).await;
        let mut listener = Listener::open_at(&server, way, Some(&hana), "teller").await;
        let open = json!({ "agent": "teller" });
        let opened = ok(&operator, Call::post("/v1/conversations", open)).await;
        let mut event = super::event(1, "session.started", json!({}));
        event["session_id"] = session.into();
        event["@context"] = json!(["https://aaep-protocol.org/context/v1", "urn:tasuki:aaep:v1"]);
        event["extensions"] = json!({ "tasuki": { "conversation_id": opened["conversation_id"] } });
        ok(&teller, Call::post("/aaep/v1/events", event)).await;
        assert_eq!(listener.next().await["session_id"], session, "a coordinator hears all");
        ok(&operator, roles(json!([]))).await;
        let mut number = 1;
        loop {
            number += 1;
            assert!(number < 5_000, "it hears a private session without the role over {way:?}");
            let mut event = super::progress(2);
            event["session_id"] = session.into();
            event["event_id"] = format!("evt_{number}").into();
            ok(&teller, Call::post("/aaep/v1/events", event)).await;
            if listener.next_if_open().await.is_none() {
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_stop_ends_sessions_and_a_crash_does_too() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().join("data");
    let start = || Server::start_on(&data, |command| client::switch_on(command, &[]));
    for is_crash in [false, true] {
        let server = start();
        let mut listener = Listener::open(&server, Way::Stream, None).await;
        listener.send(&json!({ "kind": "user_input", "text": "transfer" })).await;
        let session = text(&listener.next().await, "session_id").to_owned();
        while !text(&listener.next().await, "type").ends_with("awaiting.confirmation") {}
        if is_crash {
            server.kill();
        } else {
            assert_eq!(server.stop(), Some(0));
        }
        let server = start();
        let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
        let shown = ok(&operator, Call::get(format!("/aaep/v1/sessions/{session}"))).await;
        assert_eq!(shown["status"], "cancelled", "{shown}");
        let path = format!("/aaep/v1/sessions/{session}/events");
        let events = ok(&operator, Call::get(path)).await;
        let last = events["items"].as_array().and_then(|items| items.last()).expect("an end");
        assert_eq!(last["event"]["cancelled_by"], "system", "{last}");
    }
}
