//! The work queue: its items follow the task, and whatever it does, the handoff goes on and records
//! their state.

mod queue;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use crate::server::{Server, act, offer, ok, refused, refused_start};
use queue::{Item, Mode, Queue};

/// The answer to `activate` waits this long for the queue, plus a margin for a slow machine.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);

/// A server beside a work queue.
struct Office {
    server: Server,
    queue: Queue,
    alice: Client,
    bob: Client,
    _folder: tempfile::TempDir,
}

impl Office {
    async fn open() -> Self {
        let queue = Queue::open().await;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let token = folder.path().join("token");
        fs::write(&token, "s3cret\n").expect("the folder is new");
        let server = Server::start_on(&folder.path().join("data"), |command: &mut Command| {
            command.env("TASUKI_WORKQ_URL", &queue.url);
            command.env("TASUKI_WORKQ_TOKEN_FILE", &token);
            command.env("TASUKI_WORKQ_ALLOW_PRIVATE_ADDRESSES", "true");
        });
        let (alice, bob) = (server.agent("alice"), server.agent("bob"));
        Self { server, queue, alice, bob, _folder: folder }
    }

    /// A handoff that names items, accepted.
    async fn accepted(&self, task: &str, items: &[&str]) -> String {
        accepted(&self.alice, &self.bob, task, items).await
    }
}

async fn accepted(alice: &Client, bob: &Client, task: &str, items: &[&str]) -> String {
    let mut offer = offer(task, "bob");
    let reference = |item: &&str| json!({ "type": "workq_item", "value": item });
    offer["task"]["external_refs"] = items.iter().map(reference).collect();
    let proposed = ok(alice, Call::post("/v1/handoffs", offer)).await;
    let id = proposed["handoff_id"].as_str().expect("an id").to_owned();
    assert_eq!(act(bob, &id, "accept", json!({})).await["status"], "accepted");
    id
}

async fn show(client: &Client, id: &str) -> Value {
    ok(client, Call::get(format!("/v1/handoffs/{id}"))).await
}

/// The entries about the queue, newest first.
async fn told(client: &Client, id: &str) -> Vec<(String, Value)> {
    let history = ok(client, Call::get(format!("/v1/handoffs/{id}/history"))).await;
    let entries = history["items"].as_array().expect("a list").iter();
    entries
        .map(|entry| {
            (entry["event"].as_str().unwrap_or_default().to_owned(), entry["data"].clone())
        })
        .filter(|(event, _)| event.starts_with("handoff.workq_"))
        .collect()
}

#[tokio::test]
async fn an_item_follows_its_task_to_the_new_owner_and_back() {
    let office = Office::open().await;
    let Office { queue, alice, bob, .. } = &office;
    queue.put("workq:task-123", "alice");
    let id = office.accepted("T-1", &["workq:task-123"]).await;
    assert_eq!(queue.calls(), [], "the queue is not asked before the task changes hands");
    assert_eq!(show(alice, &id).await["workq_status"], "not_applicable");

    let activated = act(bob, &id, "activate", json!({})).await;
    assert_eq!(
        (&activated["status"], &activated["workq_status"]),
        (&json!("activated"), &json!("transferred"))
    );
    assert_eq!(queue.owner("workq:task-123").as_deref(), Some("bob"));
    let token = || Some("Bearer s3cret".to_owned());
    let calls = [("workq.claim".to_owned(), token()), ("workq.get".to_owned(), token())];
    assert_eq!(queue.calls(), calls, "a claim is believed when it is still there afterwards");
    let shown = show(alice, &id).await;
    assert_eq!((&shown["workq_status"], shown.get("context")), (&json!("transferred"), None));
    let (event, data) = told(alice, &id).await.remove(0);
    assert_eq!((event.as_str(), &data["to"]), ("handoff.workq_settled", &json!("bob")));

    let body = json!({ "reason": "capacity_unavailable", "detail": "full" });
    let rejected = act(bob, &id, "reject", body).await;
    assert_eq!(
        (&rejected["status"], &rejected["workq_status"]),
        (&json!("rejected"), &json!("transferred"))
    );
    assert_eq!(queue.owner("workq:task-123").as_deref(), Some("alice"), "it came back");
    assert_eq!(told(alice, &id).await[0].1["to"], "alice");
}

#[tokio::test]
async fn whatever_the_queue_does_the_handoff_completes_and_says_so() {
    let mut office = Office::open().await;
    let rows = [
        (Mode::Sound, "transferred", ""),
        (Mode::Failing, "degraded", "unavailable"),
        (Mode::Redirecting, "degraded", "unavailable"),
        (Mode::Silent, "degraded", "unavailable"),
        (Mode::Dripping, "degraded", "unavailable"),
        (Mode::NotHttp, "degraded", "unavailable"),
        (Mode::BreaksOff, "degraded", "unavailable"),
        (Mode::Endless, "degraded", "bad_answer"),
        (Mode::Garbage, "degraded", "bad_answer"),
        (Mode::KeyTwice, "degraded", "bad_answer"),
        (Mode::OtherId, "degraded", "bad_answer"),
        (Mode::OtherVersion, "degraded", "bad_answer"),
        (Mode::OtherItem, "degraded", "bad_answer"),
        (Mode::NoOwner, "degraded", "bad_answer"),
        (Mode::ResultAndError, "degraded", "bad_answer"),
        (Mode::Forgetful, "degraded", "bad_answer"),
        (Mode::Confused, "degraded", "bad_answer"),
        (Mode::Refusing, "degraded", "refused"),
    ];
    for (number, (mode, status, reason)) in rows.into_iter().enumerate() {
        let item = format!("item-{number}");
        office.queue.put(&item, "alice");
        office.queue.behave(mode);
        check(&office, &format!("{mode:?}"), &item, status, reason).await;
    }
    office.queue.behave(Mode::Sound);
    check(&office, "back again", "item-1", "transferred", "").await;
    office.queue.close().await;
    check(&office, "down", "item-2", "degraded", "unavailable").await;
    // Nothing is left to do, and nothing is given up.
    let root = office.server.with_token(&office.server.token("root", &["--kind", "operator"]));
    assert_eq!(ok(&root, Call::get("/v1/outbox")).await["items"], json!([]));
}

/// One handoff from its beginning to its end.
async fn check(office: &Office, name: &str, item: &str, status: &str, reason: &str) {
    let (alice, bob) = (&office.alice, &office.bob);
    let id = office.accepted(&format!("task of {name}"), &[item]).await;
    let activating = act(bob, &id, "activate", json!({}));
    let activated = tokio::time::timeout(ANSWERED_WITHIN, activating).await;
    let activated = activated.unwrap_or_else(|_| panic!("{name}: activate waits for the queue"));
    assert_eq!(activated["status"], "activated", "{name}");
    assert_eq!(activated["workq_status"], status, "{name}");
    let shown = show(alice, &id).await;
    assert_eq!(shown["workq_status"], status, "{name}");
    assert_eq!(shown["handoff_chain"], json!(["alice", "bob"]), "{name}: the task has moved");
    let (event, data) = told(alice, &id).await.remove(0);
    if status == "degraded" {
        assert_eq!(shown["context"]["workq_integration"], "degraded", "{name}");
        assert_eq!((event.as_str(), &data["reason"]), ("handoff.workq_degraded", &json!(reason)));
        assert_eq!(data["orphaned"], json!([item]), "{name}");
        let detail = data["detail"].as_str().expect("a detail");
        let is_ours = !detail.is_empty() && !detail.contains(['\u{1b}', '\u{0}', '<']);
        assert!(is_ours, "{name}: {detail}");
    } else {
        assert_eq!(event, "handoff.workq_settled", "{name}");
    }
    assert_eq!(act(bob, &id, "complete", json!({})).await["status"], "completed", "{name}");
    assert_eq!(act(alice, &id, "close", json!({})).await["status"], "closed", "{name}");
    assert_eq!(show(alice, &id).await["workq_status"], status, "{name}");
}

#[tokio::test]
async fn what_is_in_the_queue_decides_what_is_said() {
    let office = Office::open().await;
    let Office { queue, alice, bob, .. } = &office;
    queue.put("hers", "alice");
    queue.put("granted before", "bob");
    queue.put("taken", "carol");
    let rows: [(&[&str], &str); 5] = [
        (&["nowhere"], "not_applicable"),
        (&["hers", "nowhere"], "transferred"),
        (&["granted before"], "transferred"),
        (&["taken"], "degraded"),
        (&["hers", "taken"], "degraded"),
    ];
    for (number, (items, status)) in rows.into_iter().enumerate() {
        let id = office.accepted(&format!("T-{number}"), items).await;
        let activated = act(bob, &id, "activate", json!({})).await;
        assert_eq!(activated["workq_status"], status, "{items:?}");
        assert_eq!(show(alice, &id).await["workq_status"], status, "{items:?}");
    }
    assert_eq!(queue.owner("taken").as_deref(), Some("carol"), "nothing is taken from a third");

    queue.put("left behind", "alice");
    queue.behave(Mode::Refusing);
    let id = office.accepted("T-9", &["left behind"]).await;
    act(bob, &id, "activate", json!({})).await;
    let orphaned = Item { owner: None, status: "orphaned".to_owned() };
    assert_eq!(queue.item("left behind"), Some(orphaned), "the queue is told, if it listens");
}

#[tokio::test]
async fn the_acp_answer_says_what_became_of_the_item_and_a_retry_says_the_same() {
    let office = Office::open().await;
    let Office { queue, bob, .. } = &office;
    for (mode, status) in [(Mode::Sound, "transferred"), (Mode::Failing, "degraded")] {
        let item = format!("{mode:?}");
        queue.put(&item, "alice");
        queue.behave(mode);
        let id = office.accepted(&item, &[&item]).await;
        let body = json!({ "action": "activate", "handoff_id": id });
        let key = Some(item.clone());
        let call = || Call { key: key.clone(), ..Call::post("/v1/acp/handoff", body.clone()) };
        let answer = ok(bob, call()).await;
        assert_eq!((&answer["status"], &answer["success"]), (&json!("activated"), &json!(true)));
        assert_eq!(answer["metadata"]["workq_status"], status);
        queue.calls();
        assert_eq!(ok(bob, call()).await, answer);
        assert_eq!(queue.calls(), [], "{item}: a retry does not ask the queue");
    }
    let id = office.accepted("without", &[]).await;
    let body = json!({ "action": "activate", "handoff_id": id });
    let answer = ok(bob, Call::post("/v1/acp/handoff", body)).await;
    assert_eq!(answer["metadata"]["workq_status"], "not_applicable");
    assert_eq!(queue.calls(), []);
}

#[tokio::test]
async fn a_handoff_that_ends_before_the_queue_answers_is_at_its_end() {
    let office = Office::open().await;
    let Office { queue, alice, bob, .. } = &office;
    queue.put("item", "alice");
    queue.behave(Mode::Silent);
    let id = office.accepted("T-1", &["item"]).await;
    let (activated, ()) = tokio::join!(act(bob, &id, "activate", json!({})), async {
        queue.until_called().await;
        assert_eq!(show(alice, &id).await["workq_status"], "pending");
        let completed = act(bob, &id, "complete", json!({})).await;
        assert_eq!(completed["status"], "completed", "nothing waits for the queue");
        assert_eq!(act(alice, &id, "close", json!({})).await["status"], "closed");
    });
    assert_eq!(activated["status"], "activated");
    assert_eq!(activated["workq_status"], "degraded");
    let shown = show(alice, &id).await;
    assert_eq!((&shown["status"], &shown["workq_status"]), (&json!("closed"), &json!("degraded")));
    assert_eq!(told(alice, &id).await, [], "nothing is recorded after the end");
}

#[tokio::test]
async fn an_item_among_the_artifacts_is_looked_up() {
    let office = Office::open().await;
    let Office { queue, alice, bob, .. } = &office;
    queue.put("there", "carol");
    let digest = "ab".repeat(32);
    let rows = [
        (Mode::Sound, json!({ "path": "there" }), "passed"),
        (Mode::Sound, json!({ "path": "there", "sha256": digest }), "not passed"),
        (Mode::Sound, json!({ "path": "nowhere" }), "missing_artifact"),
        (Mode::Sound, json!({ "path": "nowhere", "required": false }), "not passed"),
        (Mode::Failing, json!({ "path": "there" }), "not passed"),
        (Mode::OtherItem, json!({ "path": "there" }), "not passed"),
        (Mode::Silent, json!({ "path": "there" }), "not passed"),
    ];
    for (number, (mode, mut reference, expected)) in rows.into_iter().enumerate() {
        queue.behave(mode);
        reference["type"] = json!("workq_item");
        let mut offer = offer(&format!("T-{number}"), "bob");
        offer["artifacts"] = json!([{ "artifact_id": "item", "ref": reference }]);
        let proposed = ok(alice, Call::post("/v1/handoffs", offer)).await;
        let id = proposed["handoff_id"].as_str().expect("an id");
        let accept = Call::post(format!("/v1/handoffs/{id}/accept"), json!({}));
        let answer = bob.call(accept).await.expect("the server answers");
        let passed = answer.body["verification_passed"].as_array().cloned().unwrap_or_default();
        let outcome = match answer.body["status"].as_str() {
            Some("accepted") if passed.contains(&json!("artifact:item")) => "passed",
            Some("accepted") => "not passed",
            Some(_) | None => answer.body["code"].as_str().unwrap_or_default(),
        };
        assert_eq!(outcome, expected, "{mode:?} {reference}: {}", answer.body);
    }
}

#[tokio::test]
async fn without_a_queue_items_are_orphaned_at_once() {
    let server = Server::start();
    let (alice, bob) = (server.agent("alice"), server.agent("bob"));
    let id = accepted(&alice, &bob, "T-1", &["item"]).await;
    let activated = act(&bob, &id, "activate", json!({})).await;
    assert_eq!(activated["workq_status"], "degraded");
    assert_eq!(told(&alice, &id).await[0].1["reason"], "not_configured");
    let told_by_cli = Command::new(env!("CARGO_BIN_EXE_tasuki"))
        .args(["handoff", "show", &id, "--data"])
        .arg(&server.data)
        .output()
        .expect("the executable runs");
    let told_by_cli = String::from_utf8(told_by_cli.stdout).expect("a story is text");
    assert!(told_by_cli.contains("workq     degraded"), "{told_by_cli}");
    let sentence = "orphaned in the work queue (not_configured): item";
    assert!(told_by_cli.contains(sentence), "{told_by_cli}");
    let id = accepted(&alice, &bob, "T-2", &[]).await;
    let activated = act(&bob, &id, "activate", json!({})).await;
    assert_eq!(activated["workq_status"], "not_applicable");
    assert_eq!(told(&alice, &id).await, []);
    let mut nameless = offer("T-3", "bob");
    nameless["task"]["external_refs"] = json!([{ "type": "workq_item", "value": "" }]);
    let refusal = refused(&alice, Call::post("/v1/handoffs", nameless)).await;
    assert_eq!(refusal.body["field"], "task.external_refs[0].value");

    assert_eq!(server.stop(), Some(0));
    let log = server.data.join("teamspaces/default/handoffs/handoffs.jsonl");
    let lines = fs::read_to_string(log).expect("the log is there");
    let degradation = lines.lines().find(|line| line.contains("handoff_degradation"));
    let line: Value = serde_json::from_str(degradation.expect("a line about it")).expect("JSON");
    assert_eq!(
        (&line["reason"], &line["item_status"], &line["items"]),
        (&json!("not_configured"), &json!("orphaned"), &json!(["item"]))
    );
}

#[tokio::test]
async fn a_private_address_needs_a_setting() {
    let queue = Queue::open().await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = Server::start_on(&folder.path().join("data"), |command: &mut Command| {
        command.env("TASUKI_WORKQ_URL", &queue.url);
    });
    let (alice, bob) = (server.agent("alice"), server.agent("bob"));
    queue.put("item", "alice");
    let id = accepted(&alice, &bob, "T-1", &["item"]).await;
    assert_eq!(act(&bob, &id, "activate", json!({})).await["workq_status"], "degraded");
    assert_eq!(queue.calls(), []);
    let detail = told(&alice, &id).await[0].1["detail"].clone();
    assert_eq!(detail, "the work queue is at an address that is not public");
}

#[test]
fn a_queue_that_cannot_be_asked_as_it_is_set_is_an_error_at_the_start() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let blank = folder.path().join("blank");
    fs::write(&blank, " \n").expect("the folder is new");
    let rows: [(&str, &Path, &str); 4] = [
        ("queue.example", Path::new(""), "workq.url: expected a plain http or https URL"),
        ("http://me:pw@queue.example", Path::new(""), "workq.url: expected a plain"),
        ("http://queue.example", Path::new("/nowhere/token"), "workq.token_file: cannot read"),
        ("http://queue.example", &blank, "workq.token_file: expected a token"),
    ];
    for (url, token_file, expected) in rows {
        let output = refused_start(&folder.path().join("data"), |command: &mut Command| {
            command.env("TASUKI_WORKQ_URL", url).env("TASUKI_WORKQ_TOKEN_FILE", token_file);
        });
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(expected), "{url}: {said}");
        assert!(!said.contains("me:pw"), "{said}");
    }
}
