//! A handoff walked through all its states over HTTP, the way a script would.

use serde_json::json;
use tasuki::client::Call;

use crate::server::{Server, act, initiate, offer, ok, refused};

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

    // What it said before it was proposed stays between alice and her coordinators.
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
