//! Everything that can be open: as many as the quota says, one more is refused, closing one makes
//! room, and a restart counts them again.

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use super::{full, reached, restarted_with, server_with};
use crate::server::{Server, offer, ok};

/// How one kind is opened and closed.
struct Kind {
    quota: &'static str,
    open: fn(usize) -> Call,
    /// With the answer to `open`.
    close: fn(usize, &Value) -> Call,
    /// Subscriptions are refused in the words of AAEP.
    is_aaep: bool,
}

const LIMIT: u32 = 2;

const KINDS: [Kind; 7] = [
    Kind {
        quota: "member_drafts",
        open: |_| Call::post("/v1/handoffs/drafts", json!({})),
        close: |_, made| on_handoff(made, "close", json!({})),
        is_aaep: false,
    },
    Kind {
        quota: "member_handoffs",
        open: |number| Call::post("/v1/handoffs", offer(&format!("T-{number}"), "bob")),
        close: |_, made| on_handoff(made, "withdraw", json!({})),
        is_aaep: false,
    },
    Kind {
        quota: "member_conversations",
        open: |_| Call::post("/v1/conversations", json!({ "agent": "bob" })),
        close: |_, made| {
            let id = made["conversation_id"].as_str().expect("a text");
            Call::post(format!("/v1/conversations/{id}/close"), json!({}))
        },
        is_aaep: false,
    },
    Kind {
        quota: "member_sessions",
        open: |number| events(number, 1, "session.started"),
        close: |number, _| events(number, 2, "session.cancelled"),
        is_aaep: false,
    },
    Kind {
        quota: "member_subscriptions",
        open: |_| {
            let request = json!({
                "type": "subscription.request", "aaep_version": "1.0.0",
                "subscriber_id": "reader", "capabilities": {},
            });
            Call::post("/aaep/v1/subscriptions", request)
        },
        close: |_, made| {
            let close = json!({
                "type": "subscription.close", "subscription_id": made["subscription_id"],
            });
            Call::post("/aaep/v1/replies", close)
        },
        is_aaep: true,
    },
    Kind {
        quota: "member_questions",
        open: |number| {
            let text = format!("May I do {number}?");
            Call::post("/v1/questions", json!({ "to": "hana", "text": text }))
        },
        close: |_, made| {
            let id = made["question_id"].as_str().expect("a text");
            Call::post(format!("/v1/questions/{id}/withdraw"), json!({}))
        },
        is_aaep: false,
    },
    Kind {
        quota: "teamspace_graphs",
        open: |number| {
            let nodes = json!([{ "id": "all", "kind": "specialist", "agent": "bob" }]);
            let graph = json!({ "entry": "all", "nodes": nodes });
            Call::put(format!("/v1/graphs/graph-{number}"), graph)
        },
        close: |number, _| Call::post(format!("/v1/graphs/graph-{number}/remove"), json!({})),
        is_aaep: false,
    },
];

fn on_handoff(made: &Value, action: &str, body: Value) -> Call {
    let id = made["handoff_id"].as_str().expect("a text");
    Call::post(format!("/v1/handoffs/{id}/{action}"), body)
}

fn events(session: usize, number: u32, kind: &str) -> Call {
    let event = json!({
        "@context": "https://aaep-protocol.org/context/v1",
        "type": format!("aaep:agent.{kind}"),
        "event_id": format!("evt_{number}"),
        "session_id": format!("sess_{session}"),
        "timestamp": format!("2026-02-21T13:22:{number:02}.000Z"),
        "producer": { "agent_id": "alice" },
        "summary_normal": "What happens",
        "cancelled_by": "user",
    });
    Call::post("/aaep/v1/events", json!([event]))
}

#[tokio::test]
async fn what_is_open_is_limited_and_closing_makes_room() {
    let quotas = KINDS.map(|kind| (kind.quota, LIMIT));
    let (server, folder) = server_with(&quotas);
    let token = server.token("alice", &["--role", "coordinator"]);
    server.agent("bob");
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    ok(&operator, Call::put("/v1/agents/hana", json!({ "kind": "human" }))).await;
    let mut made = Vec::new();
    for kind in &KINDS {
        let alice = server.with_token(&token);
        let first = ok(&alice, (kind.open)(1)).await;
        ok(&alice, (kind.open)(2)).await;
        check_refused(&alice, kind, 3).await;
        made.push(first);
    }
    assert_eq!(server.stop(), Some(0));

    let server = restarted_with(&folder, &quotas);
    let alice = server.with_token(&token);
    for (kind, first) in KINDS.iter().zip(&made) {
        check_refused(&alice, kind, 4).await;
        ok(&alice, (kind.close)(1, first)).await;
        ok(&alice, (kind.open)(5)).await;
        check_refused(&alice, kind, 6).await;
    }
    pass_as_operator(&server).await;
}

async fn check_refused(alice: &Client, kind: &Kind, number: usize) {
    let answer = alice.call((kind.open)(number)).await.expect("the server answers");
    if kind.is_aaep {
        let found = (answer.status, answer.body["reason_code"].clone());
        assert_eq!(found, (429, json!("rate_limit")), "{}", answer.body);
        let message = answer.body.to_string();
        assert!(message.contains(kind.quota), "{message}");
        return;
    }
    assert_eq!(reached(&answer), full(kind.quota), "{}", answer.body);
    let counted = (&answer.body["used"], &answer.body["limit"]);
    assert_eq!(counted, (&json!(LIMIT), &json!(LIMIT)), "{}", kind.quota);
}

/// Operators are not refused.
async fn pass_as_operator(server: &Server) {
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    for kind in KINDS.iter().filter(|kind| kind.quota == "teamspace_graphs") {
        ok(&operator, (kind.open)(7)).await;
    }
}
