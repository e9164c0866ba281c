//! Progress, recalls and discarded drafts, seen by the agents: over HTTP, by `acp_handoff`, and on
//! the command line; with retries, a restart and callers at the same time.

use std::process::Command;

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use crate::server::{Server, act, initiate, offer, ok, refused};

async fn shown(client: &Client, id: &str) -> Value {
    ok(client, Call::get(format!("/v1/handoffs/{id}"))).await
}

async fn events(client: &Client, id: &str) -> Vec<String> {
    let page = ok(client, Call::get(format!("/v1/handoffs/{id}/history?limit=200"))).await;
    let items = page["items"].as_array().expect("a list").iter().rev();
    items.map(|entry| entry["event"].as_str().expect("a name").to_owned()).collect()
}

/// A handoff from alice to bob that bob works on.
async fn activated(alice: &Client, bob: &Client, task: &str) -> String {
    let id = initiate(alice, task, "bob").await;
    for action in ["accept", "activate"] {
        act(bob, &id, action, json!({})).await;
    }
    id
}

fn keyed(mut call: Call, key: &str) -> Call {
    call.key = Some(key.to_owned());
    call
}

async fn told(client: &Client) -> Vec<(String, Vec<String>)> {
    let page = ok(client, Call::get("/v1/notices?after=0")).await;
    let items = page["items"].as_array().expect("a list").iter();
    let kinds = |item: &Value| {
        let kinds = item["kinds"].as_array().expect("kinds").iter();
        kinds.map(|kind| kind.as_str().expect("a word").to_owned()).collect()
    };
    items.map(|item| (item["task_id"].as_str().expect("a task").to_owned(), kinds(item))).collect()
}

#[tokio::test]
async fn a_sender_sees_the_newest_report_and_no_deadline_moves() {
    let server = Server::start();
    let (alice, bob) = (server.agent("alice"), server.agent("bob"));
    let id = activated(&alice, &bob, "T-1").await;
    let before = shown(&alice, &id).await;
    assert_eq!(before.get("progress"), None);
    act(&bob, &id, "progress", json!({ "percent": 10 })).await;
    let report = json!({
        "percent": 40,
        "note": "half\u{200b}way",
        "steps": [{ "text": "read client.rs", "done": true }, { "text": "mend it" }],
        "blocked_by": "a key",
    });
    let done = act(&bob, &id, "progress", report).await;
    assert_eq!((&done["status"], &done["position"]), (&json!("activated"), &json!(6)));
    assert_eq!(done["waiting_for"], before["waiting_for"]);
    let after = shown(&alice, &id).await;
    assert_eq!(
        (&after["due_at"], &after["waiting_for"]),
        (&before["due_at"], &before["waiting_for"])
    );
    let progress = &after["progress"];
    assert_eq!((&progress["percent"], &progress["reports"]), (&json!(40), &json!(2)));
    assert_eq!(progress["blocked_by"], "a key");
    assert_eq!(progress["steps"][1], json!({ "text": "mend it", "done": false }));
    let note = progress["note"].as_str().expect("a note");
    assert!(!note.contains('\u{200b}') && note.starts_with("half"), "{note}");
    // The sender is told once for the handoff, and can mute the kind.
    let expected = ["accepted", "activated", "progressed"].map(str::to_owned).to_vec();
    assert_eq!(told(&alice).await, [("T-1".to_owned(), expected)]);
    ok(&alice, Call::put("/v1/notices/muted", json!({ "kinds": ["progressed"] }))).await;
    let expected = ["accepted", "activated"].map(str::to_owned).to_vec();
    assert_eq!(told(&alice).await, [("T-1".to_owned(), expected)]);
    // Another teamspace learns nothing, not even that there is one.
    let root = server.with_token(&server.token("root", &["--kind", "operator"]));
    let other = json!({ "teamspace": "other", "operator": "olga" });
    let olga = ok(&root, Call::post("/v1/teamspaces", other)).await;
    let olga = server.with_token(olga["token"].as_str().expect("a token"));
    for (action, body) in [
        ("progress", json!({ "percent": 1 })),
        ("recall", json!({ "reason": "mine" })),
        ("discard", json!({})),
    ] {
        let answer = refused(&olga, Call::post(format!("/v1/handoffs/{id}/{action}"), body)).await;
        assert_eq!((answer.status, &answer.body["code"]), (404, &json!("not_found")), "{action}");
    }
}

#[tokio::test]
async fn a_recall_waits_for_the_owner_and_survives_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let server = Server::start_on(&data, |_| {});
    let (alices, bobs) = (server.token("alice", &[]), server.token("bob", &[]));
    let (alice, bob) = (server.with_token(&alices), server.with_token(&bobs));
    let id = initiate(&alice, "T-1", "bob").await;
    let path = format!("/v1/handoffs/{id}/recall");
    let early =
        refused(&alice, Call::post(path.clone(), json!({ "reason": "plans changed" }))).await;
    assert_eq!((early.status, &early.body["code"]), (409, &json!("wrong_state")));
    assert!(early.body["detail"].as_str().expect("a text").contains("`withdraw`"), "{early:?}");
    act(&bob, &id, "accept", json!({})).await;
    let recall = || keyed(Call::post(path.clone(), json!({ "reason": "plans changed" })), "r-1");
    let first = ok(&alice, recall()).await;
    let wait = &first["waiting_for"][0];
    assert_eq!((&wait["who"], &wait["for"]), (&json!("agent:bob"), &json!(["reject", "activate"])));
    server.kill();
    let server = Server::start_on(&data, |_| {});
    let (alice, bob) = (server.with_token(&alices), server.with_token(&bobs));
    let again = ok(&alice, recall()).await;
    assert_eq!((&again["position"], &again["status"]), (&first["position"], &first["status"]));
    act(&alice, &id, "recall", json!({ "reason": "and soon" })).await;
    let handoff = shown(&alice, &id).await;
    let recalled = &handoff["recall"];
    assert_eq!(
        (&recalled["reason"], &recalled["escalated"]),
        (&json!("plans changed"), &json!(false))
    );
    assert_eq!((&recalled["since"], &recalled["until"]), (&wait["since"], &wait["until"]));
    assert_eq!(recalled["until"], handoff["due_at"], "the stage ends first");
    let (_, kinds) = &told(&bob).await[0];
    assert_eq!(kinds.last().map(String::as_str), Some("recalled"));
    let mine = ok(&bob, Call::get("/v1/handoffs?waiting_for=me")).await;
    assert_eq!(mine["items"][0]["recall"]["reason"], "plans changed");
    let reject = json!({ "reason": "other", "detail": "as you asked" });
    act(&bob, &id, "reject", reject).await;
    let handoff = shown(&alice, &id).await;
    assert_eq!((&handoff["status"], handoff.get("recall")), (&json!("rejected"), None));
    let expected = ["proposed", "validation_started", "accepted", "recalled", "rejected"]
        .map(|name| format!("handoff.{name}"));
    assert_eq!(events(&alice, &id).await, expected);
}

/// The stage ends after a second, so the recall does.
#[tokio::test]
async fn an_unanswered_recall_goes_to_a_coordinator() {
    let server = Server::start();
    let root = server.with_token(&server.token("root", &["--kind", "operator"]));
    let (alice, bob) = (server.agent("alice"), server.agent("bob"));
    let lead = server.with_token(&server.token("lead", &["--role", "coordinator"]));
    let mut short = offer("T-1", "bob");
    short["sla"] = json!({ "activated": "2s" });
    let id = ok(&alice, Call::post("/v1/handoffs", short)).await;
    let id = id["handoff_id"].as_str().expect("an id").to_owned();
    for action in ["accept", "activate"] {
        act(&bob, &id, action, json!({})).await;
    }
    act(&alice, &id, "recall", json!({ "reason": "plans changed" })).await;
    let told = || Call::get("/v1/acp/messages?type=status.blocked&limit=200");
    let issues = async || {
        let page = ok(&root, told()).await;
        let items = page["items"].as_array().expect("a list").clone();
        let issue = |item: &Value| item["payload"]["blocking_issue"].clone();
        items.iter().map(issue).collect::<Vec<_>>()
    };
    while !issues().await.contains(&json!("recall")) {}
    let handoff = shown(&alice, &id).await;
    assert_eq!(handoff["recall"]["escalated"], true);
    let notes = handoff["resolution_notes"].as_array().expect("a list").iter();
    let triggers: Vec<_> = notes.map(|note| &note["escalation"]["trigger"]).collect();
    assert!(triggers.contains(&&json!("recall")), "{triggers:?}");
    let waiters = handoff["waiting_for"].as_array().expect("a list").iter();
    let waiters: Vec<_> = waiters.map(|wait| &wait["who"]).collect();
    assert_eq!(waiters, [&json!("agent:bob"), &json!("coordinator")]);
    let mine = ok(&lead, Call::get("/v1/handoffs?waiting_for=me")).await;
    assert_eq!(mine["items"][0]["handoff_id"], id.as_str());
    let reassign = json!({ "to_agent": "alice", "why": "she wants it back" });
    let done = act(&lead, &id, "reassign", reassign).await;
    assert_eq!(done["status"], "closed");
    assert_eq!(shown(&alice, &id).await.get("recall"), None);
}

#[tokio::test]
async fn the_tool_of_acp_has_the_three_actions() {
    let server = Server::start();
    let (alice, bob) = (server.agent("alice"), server.agent("bob"));
    let acp = |body: Value| Call::post("/v1/acp/handoff", body);
    let id = activated(&alice, &bob, "T-1").await;
    let report = json!({ "action": "progress", "handoff_id": id, "percent": 70, "note": "nearly" });
    let done = ok(&bob, keyed(acp(report.clone()), "p-1")).await;
    assert_eq!((&done["success"], &done["status"]), (&json!(true), &json!("activated")));
    ok(&bob, keyed(acp(report), "p-1")).await;
    let recall = json!({ "action": "recall", "handoff_id": id, "reason": "plans changed" });
    let done = ok(&alice, acp(recall)).await;
    assert_eq!(done["waiting_for"][0]["for"], json!(["reject", "complete"]));
    let found = ok(&bob, acp(json!({ "action": "query", "handoff_id": id }))).await;
    assert_eq!(found["handoff"]["progress"]["reports"], 1);
    assert_eq!(found["handoff"]["recall"]["reason"], "plans changed");
    let nothing = refused(&bob, acp(json!({ "action": "progress", "handoff_id": id }))).await;
    assert_eq!((nothing.status, &nothing.body["error"]["code"]), (422, &json!("schema_invalid")));
    let drafted = ok(&alice, Call::post("/v1/handoffs/drafts", offer("T-2", "bob"))).await;
    let discard = json!({ "action": "discard", "handoff_id": drafted["handoff_id"] });
    for _ in 0..2 {
        let done = ok(&alice, acp(discard.clone())).await;
        assert_eq!((&done["success"], &done["status"]), (&json!(true), &json!("closed")));
    }
    let id = drafted["handoff_id"].as_str().expect("an id");
    assert_eq!(events(&alice, id).await, ["handoff.drafted", "handoff.closed"]);
    // The target never learns that there was a draft.
    let unknown = refused(&bob, Call::post(format!("/v1/handoffs/{id}/discard"), json!({}))).await;
    assert_eq!(unknown.status, 404);
    assert_eq!(told(&bob).await.len(), 1, "only of the handoff that was proposed");
}

#[tokio::test]
async fn a_discarded_draft_makes_room_for_another() {
    let server = Server::start();
    let root = server.with_token(&server.token("root", &["--kind", "operator"]));
    let alice = server.agent("alice");
    let quotas = json!({ "teamspace": "default", "quotas": { "member_drafts": 1 } });
    ok(&root, Call::put("/v1/quotas", quotas)).await;
    let draft = |task: &str| Call::post("/v1/handoffs/drafts", offer(task, "bob"));
    let first = ok(&alice, draft("T-1")).await;
    assert_eq!(refused(&alice, draft("T-2")).await.body["code"], "quota_full");
    act(&alice, first["handoff_id"].as_str().expect("an id"), "discard", json!({})).await;
    ok(&alice, draft("T-2")).await;
}

#[tokio::test]
async fn a_recall_and_a_completion_at_once_end_in_one_of_two_stories() {
    let server = Server::start();
    let (alice, bob) = (server.agent("alice"), server.agent("bob"));
    for number in 0..10 {
        let id = activated(&alice, &bob, &format!("T-{number}")).await;
        let at = |action: &str| format!("/v1/handoffs/{id}/{action}");
        let recall = alice.call(Call::post(at("recall"), json!({ "reason": "plans changed" })));
        let complete = bob.call(Call::post(at("complete"), json!({})));
        let (recalled, completed) = tokio::join!(recall, complete);
        let (recalled, completed) = (recalled.expect("an answer"), completed.expect("an answer"));
        assert_eq!(completed.status, 200, "{completed:?}");
        let handoff = shown(&alice, &id).await;
        assert_eq!((&handoff["status"], handoff.get("recall")), (&json!("completed"), None));
        let events = events(&alice, &id).await;
        let has_recall = events.iter().any(|event| event == "handoff.recalled");
        assert_eq!(recalled.status, if has_recall { 200 } else { 409 }, "{events:?}");
        assert_eq!(events.last().map(String::as_str), Some("handoff.completed"));
    }
}

#[tokio::test]
async fn the_command_line_reports_recalls_and_discards() {
    let server = Server::start();
    let (alices, bobs) = (server.token("alice", &[]), server.token("bob", &[]));
    let (alice, bob) = (server.with_token(&alices), server.with_token(&bobs));
    let id = activated(&alice, &bob, "T-1").await;
    let run = |token: &str, args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_tasuki"))
            .arg("handoff")
            .args(args)
            .args(["--server", &format!("http://{}", server.address())])
            .env("TASUKI_TOKEN", token)
            .output()
            .expect("the executable runs");
        let text = |bytes| String::from_utf8(bytes).expect("a text");
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, said, remark) = run(
        &bobs,
        &[
            "progress",
            &id,
            "--percent",
            "40",
            "--note",
            "half of it",
            "--done-step",
            "read client.rs",
            "--step",
            "mend it",
            "--blocked-by",
            "a key",
        ],
    );
    assert_eq!((code, said.trim()), (Some(0), id.as_str()), "{remark}");
    assert!(remark.contains(&format!("The progress of handoff {id} is reported")), "{remark}");
    let (_, said, remark) = run(&alices, &["recall", &id, "--reason", "plans changed"]);
    assert_eq!(said.trim(), id, "{remark}");
    assert!(remark.contains("its owner is asked to give it back"), "{remark}");
    let (_, story, _) = run(&alices, &["show", &id]);
    for sentence in [
        "40 %, 1 of 2 steps: “half of it”; blocked by “a key” (",
        "read client.rs [done]",
        "mend it [to do]",
        "“plans changed”; a coordinator decides in ",
        "bob to give it back or complete it",
        "bob reported progress: 40 %, 1 of 2 steps: “half of it”; blocked by “a key”",
        "alice asked for the task back: “plans changed”",
    ] {
        assert!(story.contains(sentence), "{sentence:?} is missing in\n{story}");
    }
    let (code, _, error) = run(&bobs, &["progress", &id]);
    assert_ne!(code, Some(0));
    assert!(error.contains("at least one of `percent`"), "{error}");
    let (_, drafted, _) = run(&alices, &["draft", "--title", "Perhaps"]);
    let (code, said, remark) = run(&alices, &["discard", drafted.trim(), "--why", "no longer"]);
    assert_eq!((code, said.trim()), (Some(0), drafted.trim()), "{remark}");
    let (_, story, _) = run(&alices, &["show", drafted.trim()]);
    assert!(story.contains("alice discarded the draft: “no longer”"), "{story}");
}
