//! A handoff walked through all its states over HTTP, the way a script would.

use rusqlite::Connection;
use serde_json::{Value, json};
use tasuki::client::Call;

use crate::server::{Server, act, initiate, offer, ok, refused};
use crate::wire::Request;

#[tokio::test]
async fn a_task_passes_from_alice_to_bob_and_on_to_carol() {
    let server = Server::start();
    let (alice, bob, carol) = (server.agent("alice"), server.agent("bob"), server.agent("carol"));

    let id = initiate(&alice, "T-1", "bob").await;
    assert_eq!(act(&bob, &id, "accept", json!({ "notes": "gladly" })).await["status"], "accepted");
    assert_eq!(act(&bob, &id, "activate", json!({})).await["status"], "activated");
    let done = act(&bob, &id, "complete", json!({ "completion_notes": "merged" })).await;
    assert_eq!(done["status"], "completed");
    assert_eq!(act(&alice, &id, "close", json!({})).await["status"], "closed");

    let second = initiate(&bob, "T-1", "carol").await;
    act(&carol, &second, "accept", json!({})).await;
    act(&carol, &second, "activate", json!({})).await;
    let shown = ok(&carol, Call::get(format!("/v1/handoffs/{second}"))).await;
    assert_eq!(shown["handoff_chain"], json!(["alice", "bob", "carol"]));
    assert_eq!(shown["package"]["provenance"]["handoff_chain"], json!(["alice", "bob"]));
    act(&carol, &second, "complete", json!({})).await;

    let back = refused(&carol, Call::post("/v1/handoffs", offer("T-1", "alice"))).await;
    assert_eq!((back.status, &back.body["code"]), (409, &json!("ownership_conflict")));
    assert_eq!(back.body["handoff_chain"], json!(["alice", "bob", "carol"]));

    let mut returned = offer("T-1", "bob");
    returned["return"] = true.into();
    let third = ok(&carol, Call::post("/v1/handoffs", returned)).await;
    let third = third["handoff_id"].as_str().unwrap();
    let shown = ok(&bob, Call::get(format!("/v1/handoffs/{third}"))).await;
    assert_eq!(shown["return"], true);
}

#[tokio::test]
async fn a_rejected_task_is_free_again_and_an_activated_one_can_be_reopened() {
    let server = Server::start();
    let (alice, bob, carol) = (server.agent("alice"), server.agent("bob"), server.agent("carol"));
    let refusal = json!({
        "reason": "capacity_unavailable",
        "detail": "two releases today",
        "suggested_fix": "ask carol",
    });

    let first = initiate(&alice, "T-2", "bob").await;
    assert_eq!(act(&bob, &first, "reject", refusal.clone()).await["status"], "rejected");

    let second = initiate(&alice, "T-2", "bob").await;
    act(&bob, &second, "accept", json!({})).await;
    act(&bob, &second, "activate", json!({})).await;
    assert_eq!(act(&bob, &second, "reject", refusal).await["status"], "rejected");
    let shown = ok(&alice, Call::get(format!("/v1/handoffs/{second}"))).await;
    assert_eq!(shown["handoff_chain"], json!(["alice"]));
    assert_eq!(shown["resolution_notes"][0]["rejection"]["suggested_fix"], "ask carol");

    let third = initiate(&alice, "T-2", "carol").await;
    assert_eq!(act(&carol, &third, "accept", json!({})).await["status"], "accepted");
}

/// The session of a handoff is the one that the caller names, or else that of its token.
#[tokio::test]
async fn a_package_says_in_which_session_it_was_made() {
    let server = Server::start();
    let token = server.token("alice", &[]);
    let (alice, _bob) = (server.with_token(&token), server.agent("bob"));
    let made_in = async |id: &str| {
        let shown = ok(&alice, Call::get(format!("/v1/handoffs/{id}"))).await;
        shown["package"]["provenance"]["origin_session"].as_str().unwrap().to_owned()
    };
    let unnamed = initiate(&alice, "T-6", "bob").await;
    let session = made_in(&unnamed).await;
    let id = session.strip_prefix("token:").expect("the token's id");
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    let tokens = ok(&operator, Call::get("/v1/tokens")).await;
    assert!(tokens.to_string().contains(id), "{session}");

    let request = Request::new("POST /v1/handoffs").token(&token).json(&offer("T-7", "bob"));
    let named = request.header("tasuki-session", b"nightly-17").send(server.address()).await;
    let named = named.json()["handoff_id"].as_str().unwrap().to_owned();
    assert_eq!(made_in(&named).await, "nightly-17");
}

/// An update is recorded exactly as it was sent.
#[tokio::test]
async fn an_update_says_nothing_that_was_not_sent() {
    let server = Server::start();
    let (alice, bob) = (server.agent("alice"), server.agent("bob"));
    let id = initiate(&alice, "T-9", "bob").await;
    act(&bob, &id, "accept", json!({})).await;
    let update = json!({ "percent_complete": 70.0 });
    act(&bob, &id, "activate", json!({ "work_state_update": update })).await;
    let history = ok(&bob, Call::get(format!("/v1/handoffs/{id}/history"))).await;
    assert_eq!(history["items"][0]["data"]["work_state_update"], update);
    // The state of the work is the last reported one, and goes along to the next agent.
    let shown = ok(&alice, Call::get(format!("/v1/handoffs/{id}"))).await;
    let mut latest = json!({
        "next_step": "Read client.rs",
        "percent_complete": 70.0,
        "status": "in_progress",
    });
    assert_eq!(shown["work_state"], latest);
    let cora = server.with_token(&server.token("cora", &["--role", "coordinator"]));
    let _carl = server.agent("carl");
    let why = json!({ "to_agent": "carl", "why": "bob is away" });
    let instead = act(&cora, &id, "reassign", why).await;
    let path = format!("/v1/handoffs/{}", instead["new_handoff_id"].as_str().unwrap());
    // A package is canonical JSON.
    latest["percent_complete"] = json!(70);
    assert_eq!(ok(&alice, Call::get(path)).await["package"]["work_state"], latest);

    let mut unsaid = offer("T-10", "bob");
    unsaid["work_state"] = json!({ "next_step": "Read" });
    let made = ok(&alice, Call::post("/v1/handoffs", unsaid)).await;
    let id = made["handoff_id"].as_str().unwrap();
    let shown = ok(&bob, Call::get(format!("/v1/handoffs/{id}"))).await;
    assert_eq!(shown["package"]["work_state"]["status"], "not_started");

    // Nor does a counter-offer remove what it does not mention.
    let mut begun = offer("T-13", "bob");
    begun["work_state"] = json!({ "next_step": "Read", "status": "blocked", "branch": "main" });
    let made = ok(&alice, Call::post("/v1/handoffs", begun)).await;
    let id = made["handoff_id"].as_str().unwrap();
    let refusal = json!({ "reason": "capacity_unavailable", "detail": "two releases today" });
    act(&bob, id, "reject", refusal).await;
    act(&alice, id, "counter", json!({ "work_state": { "next_step": "Wait" } })).await;
    let shown = ok(&bob, Call::get(format!("/v1/handoffs/{id}"))).await;
    let kept = json!({ "next_step": "Wait", "status": "blocked", "branch": "main" });
    assert_eq!(shown["package"]["work_state"], kept);
}

/// The idempotency key of a write is returned, also if the server made it up.
#[tokio::test]
async fn every_write_is_answered_with_its_key() {
    let server = Server::start();
    let token = server.token("alice", &[]);
    server.agent("bob");
    let request = |line: &str, body: &Value| Request::new(line).token(&token).json(body);
    let mut initiate = offer("T-11", "bob");
    initiate["action"] = "initiate".into();
    let close = json!({ "action": "close", "handoff_id": "01938c2e-0000-7000-8000-000000000001" });
    for (line, body) in [
        ("POST /v1/handoffs", offer("T-12", "bob")),
        ("POST /v1/acp/handoff", initiate),
        ("POST /v1/acp/handoff", close),
        ("POST /v1/conversations", json!({ "agent": "bob" })),
        ("POST /v1/acp/messages", json!({ "to": ["bob"], "type": "status.blocked" })),
        ("PUT /v1/agents/alice/presence", json!({ "presence": "offline" })),
    ] {
        let answer = request(line, &body).send(server.address()).await;
        assert_eq!(answer.header("idempotency-key").len(), 36, "{line} {body}");
    }
    let query = request("POST /v1/acp/handoff", &json!({ "action": "query" }));
    assert_eq!(query.send(server.address()).await.header("idempotency-key"), "");
}

/// The OpenAPI document names the header only where a repeat takes effect once.
#[tokio::test]
async fn a_write_without_a_key_does_not_promise_one() {
    let server = Server::start();
    let token = server.token("root", &["--kind", "operator"]);
    let document = Request::new("GET /openapi.json").send(server.address()).await.json();
    let takes_key = |path: &str| {
        let parameters = document["paths"][path]["post"]["parameters"].as_array();
        parameters.is_some_and(|all| all.iter().any(|it| it["name"] == "Idempotency-Key"))
    };
    assert!(takes_key("/v1/handoffs"));
    for path in [
        "/v1/tokens",
        "/v1/teamspaces",
        "/v1/conversations/{conversation}/tokens",
        "/aaep/v1/events",
        "/aaep/v1/replies",
        "/aaep/v1/subscriptions",
        "/aaep/compat/{agent}/messages",
        "/aaep/compat/{agent}/sessions",
    ] {
        assert!(!takes_key(path), "{path}");
    }
    let token = Request::new("POST /v1/tokens").token(&token).json(&json!({ "name": "bob" }));
    let issued = token.header("idempotency-key", b"k-1").send(server.address()).await;
    assert_eq!(issued.header("idempotency-key"), "", "it was not used");
}

/// The columns of the ACP design, for people with a SQL shell.
#[tokio::test]
async fn the_view_of_handoffs_has_what_its_columns_promise() {
    let server = Server::start();
    let (alice, bob) = (server.agent("alice"), server.agent("bob"));
    let mut offered = offer("T-8", "bob");
    offered["reason"] = "She is on leave.".into();
    let made = ok(&alice, Call::post("/v1/handoffs", offered)).await;
    let id = made["handoff_id"].as_str().unwrap();
    let refusal = json!({ "reason": "capacity_unavailable", "detail": "two releases today" });
    act(&bob, id, "reject", refusal).await;
    let shown = ok(&alice, Call::get(format!("/v1/handoffs/{id}"))).await;

    let database = Connection::open(server.data.join("tasuki.db")).unwrap();
    let mut rows = database.prepare(include_str!("lifecycle_view.sql")).unwrap();
    let names: Vec<String> = rows.column_names().map(str::to_owned).collect();
    let row = rows.query_row([], |row| {
        let texts = (0..names.len()).map(|column| row.get::<_, Option<String>>(column));
        texts.collect::<Result<Vec<_>, _>>()
    });
    let row = row.unwrap();
    for (name, text) in names.iter().zip(row) {
        let text = text.unwrap_or_else(|| panic!("{name} is empty"));
        let parsed = || serde_json::from_str::<Value>(&text).unwrap();
        match name.as_str() {
            "teamspace" => assert_eq!(text, "default"),
            "id" => assert_eq!(text, id),
            "package_json" => assert_eq!(parsed(), shown["package"]),
            "provenance_json" => assert_eq!(parsed(), shown["package"]["provenance"]),
            "verification_json" => assert_eq!(parsed(), shown["package"]["verification"]),
            "resolution_notes" => assert!(text.contains("two releases today"), "{text}"),
            "initiated_at" | "resolved_at" => {
                let millis = |time: &str| time.parse::<protocol::time::Time>().unwrap();
                assert_eq!(millis(&text), millis(shown[name].as_str().unwrap()));
            }
            _ => assert_eq!(shown[name], text, "{name}"),
        }
    }
    assert_eq!(names.len(), 15, "{names:?}");
}

#[tokio::test]
async fn a_draft_is_saved_edited_and_proposed() {
    let server = Server::start();
    let (alice, bob) = (server.agent("alice"), server.agent("bob"));

    let draft = json!({ "task": { "title": "Mend it" } });
    let saved = ok(&alice, Call::post("/v1/handoffs/drafts", draft)).await;
    let id = saved["handoff_id"].as_str().unwrap().to_owned();
    let early = refused(&alice, Call::post(format!("/v1/handoffs/{id}/initiate"), json!({}))).await;
    assert_eq!((early.status, &early.body["field"]), (422, &json!("to_agent")));
    let hidden = refused(&bob, Call::get(format!("/v1/handoffs/{id}"))).await;
    assert_eq!(hidden.status, 404);

    ok(&alice, Call::put(format!("/v1/handoffs/{id}/draft"), offer("T-3", "bob"))).await;
    let proposed = ok(&alice, Call::post(format!("/v1/handoffs/{id}/initiate"), json!({}))).await;
    assert_eq!(proposed["status"], "proposed");
    let shown = ok(&bob, Call::get(format!("/v1/handoffs/{id}"))).await;
    assert_eq!(shown["package"]["task"]["title"], "Mend the retry logic");

    // Its history from before the proposal is for alice and her coordinators.
    for (who, expected) in [(&alice, 3), (&bob, 1)] {
        let history = ok(who, Call::get(format!("/v1/handoffs/{id}/history"))).await;
        assert_eq!(history["items"].as_array().unwrap().len(), expected);
    }
}

#[tokio::test]
async fn a_retry_gets_the_first_answer_and_another_request_does_not() {
    let server = Server::start();
    let alice = server.agent("alice");
    server.agent("bob");
    let call = |task: &str| Call {
        key: Some("my-key-1".to_owned()),
        ..Call::post("/v1/handoffs", offer(task, "bob"))
    };
    let first = ok(&alice, call("T-4")).await;
    assert_eq!(ok(&alice, call("T-4")).await, first);
    let other = refused(&alice, call("T-5")).await;
    assert_eq!((other.status, &other.body["code"]), (422, &json!("idempotency_key_reused")));
    let listed = ok(&alice, Call::get("/v1/handoffs")).await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
}
