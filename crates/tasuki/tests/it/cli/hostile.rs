//! Control sequences in others' texts are shown, never executed: not even from a hostile server.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::path::Path;

use serde_json::{Value, json};

use super::shell::{Outcome, split, tasuki};

/// Clears the screen, renames the window, reverses the text, and hides a tag.
const HOSTILE: &str = "a\u{1b}[2J\u{9b}1m\u{1b}]0;x\u{7}\u{202e}b\u{e0041}\r\nc";

#[test]
fn nothing_a_server_says_reaches_the_terminal_unseen() {
    let handoff = handoff();
    let entry = |event: &str| {
        let data = json!({
            "parties": { "to": HOSTILE }, "reason": HOSTILE, "detail": HOSTILE, "passed": [HOSTILE],
            "artifacts": [{ "artifact_id": HOSTILE,
                            "finding": { "result": HOSTILE, "detail": HOSTILE } }],
            "suggested_fix": HOSTILE, "notes": HOSTILE, "stage": HOSTILE, "closure_notes": HOSTILE,
        });
        json!({ "event": event, "actor": HOSTILE, "at": HOSTILE, "data": data })
    };
    let events = ["drafted", "proposed", "accepted", "rejected", "closed", "escalated", HOSTILE];
    let events = events.map(|name| entry(&format!("handoff.{name}")));
    let mut story = handoff.clone();
    story["items"] = json!(events);
    let agent = json!({ "agent": HOSTILE, "kind": HOSTILE, "profile": { "name": HOSTILE } });
    let token =
        json!({ "token_id": HOSTILE, "agent": HOSTILE, "bearer": HOSTILE, "roles": [HOSTILE] });
    let file = json!({ "name": HOSTILE, "size_bytes": HOSTILE });
    let said = json!({ "number": 1, "from": { "kind": "agent", "agentId": HOSTILE },
                       "parts": [{ "text": HOSTILE }, file] });
    let handed = json!({ "number": 1, "from": { "kind": "system" }, "parts": [{
        "fromAgent": { "agentId": HOSTILE }, "toAgent": { "agentId": HOSTILE }, "reason": HOSTILE,
        "context": HOSTILE, "insteadOf": HOSTILE,
    }] });
    let conversation = json!({
        "conversation_id": HOSTILE, "status": "closed", "holder": HOSTILE, "epoch": HOSTILE,
        "n_messages": 1, "opened_by": HOSTILE, "customer": { "name": HOSTILE },
        "shared": { "x": HOSTILE }, "customer_token": HOSTILE, "number": HOSTILE,
        "currentAgent": { "agentId": HOSTILE }, "items": [said, handed],
    });
    let message = json!({
        "id": HOSTILE, "status": HOSTILE, "type": HOSTILE, "topic": HOSTILE, "priority": HOSTILE,
        "from": HOSTILE, "to": [HOSTILE], "payload": { "x": HOSTILE },
    });
    let mismatch = json!({ "code": "identity_mismatch", "detail": HOSTILE, "bearer": HOSTILE,
                           "field": "tasuki-act-as" });
    let problem = json!({ "code": HOSTILE, "detail": HOSTILE });
    let cases = [
        (200, json!({ "items": [handoff], "next_cursor": HOSTILE }), "handoff list"),
        (200, story.clone(), "handoff show 1"),
        (200, story, "handoff show 1 --json"),
        (200, handoff, "handoff accept 1"),
        (200, json!({ "items": [agent] }), "agent list"),
        (200, json!({ "items": [token] }), "token list"),
        (200, json!({ "token": HOSTILE }), "token create --agent a"),
        (200, conversation.clone(), "conversation show 1"),
        (200, conversation.clone(), "conversation show 1 --json"),
        (200, conversation.clone(), "conversation tail 1 --after 0"),
        (200, conversation.clone(), "conversation open --agent a"),
        (200, conversation.clone(), "conversation say 1 x --epoch 1"),
        (200, conversation.clone(), "conversation route 1 --to a --epoch 1"),
        (200, conversation.clone(), "conversation select 1 a"),
        (200, json!({ "items": [conversation] }), "conversation list"),
        (200, json!({ "items": [message] }), "inbox"),
        (200, json!({ "agent": HOSTILE, "endpoint": HOSTILE }), "agent endpoint 1"),
        (409, problem, "handoff accept 1"),
        (403, mismatch, "handoff list --as a --token b"),
    ];
    shows_nothing_hostile(&cases);
}

/// A handoff in which every text is hostile.
fn handoff() -> Value {
    json!({
        "handoff_id": HOSTILE, "status": HOSTILE, "title": HOSTILE, "task_id": HOSTILE,
        "from_agent": HOSTILE, "to_agent": HOSTILE, "handoff_chain": [HOSTILE],
        "changed_at": HOSTILE, "package": {
            "context": { "summary": HOSTILE, "constraints": [HOSTILE], "known_risks": [HOSTILE],
                         "open_questions": [HOSTILE], "assumptions": [HOSTILE] },
            "work_state": { "next_step": HOSTILE, "status": HOSTILE, "branch": HOSTILE,
                            "completed_steps": [HOSTILE], "test_status": HOSTILE },
            "task": { "success_criteria": [HOSTILE], "priority": HOSTILE, "objective": HOSTILE,
                      "external_refs": [{ "type": HOSTILE, "value": HOSTILE }] },
            "policy": { "classification": HOSTILE, "visibility": HOSTILE, "sensitivity": HOSTILE,
                        "export_restrictions": [HOSTILE] },
            "artifacts": [{ "artifact_id": HOSTILE, "ref": { "type": HOSTILE, "path": HOSTILE } }],
        },
        "open_delegations": [HOSTILE],
        "items": [],
    })
}

#[test]
fn nothing_a_customer_says_reaches_the_terminal_unseen() {
    let transfer = json!({
        "transfer_id": HOSTILE, "conversation_id": HOSTILE, "status": HOSTILE, "holder": HOSTILE,
        "queue": HOSTILE, "requested_at": HOSTILE, "requested_by": HOSTILE, "reason": HOSTILE,
        "agent": { "agentName": HOSTILE }, "queue_position": 1, "epoch": HOSTILE,
        "estimated_wait": { "from": HOSTILE, "to": HOSTILE },
        "leg": { "to": HOSTILE, "type": HOSTILE, "status": HOSTILE },
        "bundle": {
            "identity": { "displayName": HOSTILE }, "transcriptSummary": HOSTILE,
            "warmContext": { "x": HOSTILE }, "customAttributes": { HOSTILE: HOSTILE },
        },
    });
    let queue = json!({
        "queue": HOSTILE, "n_waiting": HOSTILE, "n_available": HOSTILE, "opens_at": HOSTILE,
        "settings": { "mode": HOSTILE, "ring": HOSTILE }, "waiting": [transfer.clone()],
        "estimated_wait": { "from": HOSTILE, "to": HOSTILE },
    });
    let said = [("customer", "text"), ("internal", HOSTILE), ("system", "text")].map(|(kind, of)| {
        let agent = json!({ "agentName": HOSTILE });
        let from = json!({ "kind": kind, "by": HOSTILE });
        let parts = json!([{ "type": of, "text": HOSTILE, "reason": HOSTILE, "status": "connected",
            "toAgent": agent, "fromAgent": agent, "targetAgent": agent }, { "name": HOSTILE }]);
        json!({ "number": 1, "from": from, "parts": parts })
    });
    let chat = json!({
        "status": "closed", "n_messages": 1, "items": said, "opened_by": HOSTILE,
        "customer": { "name": HOSTILE },
    });
    let cases = [
        (200, transfer.clone(), "transfer show 1"),
        (200, transfer.clone(), "transfer show 1 --json"),
        (200, transfer.clone(), "transfer accept 1"),
        (200, transfer, "transfer request 1"),
        (200, queue.clone(), "queue show"),
        (200, queue, "queue show --json"),
        (200, chat, "chat --conversation 1"),
    ];
    shows_nothing_hostile(&cases);
}

#[test]
fn a_server_that_makes_no_sense_is_no_server() {
    let cases = [
        ("", 4, "did not answer"),
        ("SSH-2.0-OpenSSH_9.2\r\n", 4, "did not answer"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{", 4, "broke off"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n<p>Login</p", 1, "not JSON"),
        ("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n", 1, "status 502"),
    ];
    for (answer, code, words) in cases {
        let url = answer_with(answer.as_bytes().to_vec());
        let outcome = run(&format!("agent list --server {url}"));
        assert_eq!((outcome.code, outcome.stdout.as_str()), (code, ""), "{answer:?}");
        assert!(outcome.stderr.contains(words), "{answer:?}: {}", outcome.stderr);
    }
}

fn shows_nothing_hostile(cases: &[(u16, Value, &str)]) {
    for (status, answer, typed) in cases {
        let url = pretend(*status, answer);
        let outcome = run(&format!("{typed} --server {url}"));
        assert_eq!(outcome.code, if *status == 200 { 0 } else { 3 }, "{typed}: {}", outcome.stderr);
        for shown in [&outcome.stdout, &outcome.stderr] {
            let bad = shown.chars().find(|c| *c != '\n' && protocol::json::is_forbidden(*c));
            assert_eq!(bad, None, "{typed} shows it: {shown:?}");
            assert!(!shown.contains('\r'), "{typed} returns to the start of the line: {shown:?}");
        }
    }
}

fn run(line: &str) -> Outcome {
    tasuki(Path::new("/"), &split(line), &[], "")
}

/// A server that answers everything with the same JSON.
fn pretend(status: u16, answer: &Value) -> String {
    let body = answer.to_string();
    let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n", body.len());
    answer_with(format!("{head}{body}").into_bytes())
}

/// Sends one answer on every connection, and closes it.
fn answer_with(answer: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = [0; 8_192];
            // The request does not matter; whether the answer arrives is up to the test.
            let _ = stream.read(&mut request);
            let _ = stream.write_all(&answer);
            let _ = stream.shutdown(Shutdown::Both);
        }
    });
    format!("http://{address}")
}
