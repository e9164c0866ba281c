//! What waits for whom, over HTTP and on the command line.

use std::process::Command;

use engine::read::query::LIST_ROWS_MAX;
use engine::read::reading::ROWS_LOOKED_THROUGH_MAX;
use serde_json::{Value, json};
use tasuki::client::{Call, Client};
use tokio::task::JoinSet;

use crate::server::{Server, act, initiate, offer, ok, refused};
use crate::sse::Stream;

/// The tasks of the handoffs that a filter finds.
async fn tasks(client: &Client, filter: &str) -> Vec<String> {
    let page = ok(client, Call::get(format!("/v1/handoffs?{filter}"))).await;
    let items = page["items"].as_array().expect("a list").iter();
    items.map(|item| item["task_id"].as_str().expect("a task").to_owned()).collect()
}

async fn with_people(server: &Server) -> (Client, Client, Client, Client) {
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    ok(&operator, Call::put("/v1/agents/hana", json!({ "kind": "human" }))).await;
    let (alice, bob, hana) = (server.agent("alice"), server.agent("bob"), server.agent("hana"));
    (operator, alice, bob, hana)
}

#[tokio::test]
async fn each_caller_finds_what_waits_for_it() {
    let server = Server::start();
    let (operator, alice, bob, hana) = with_people(&server).await;
    let open = initiate(&alice, "T-open", "bob").await;
    let mut guarded = offer("T-guarded", "bob");
    guarded["policy"] = json!({ "human_gate": "required" });
    ok(&alice, Call::post("/v1/handoffs", guarded)).await;
    let done = initiate(&alice, "T-done", "bob").await;
    for action in ["accept", "activate", "complete"] {
        act(&bob, &done, action, json!({})).await;
    }
    let closed = initiate(&alice, "T-closed", "bob").await;
    act(&bob, &closed, "reject", json!({ "reason": "capacity_unavailable", "detail": "busy" }))
        .await;
    act(&alice, &closed, "close", json!({})).await;

    for (client, filter, expected) in [
        (&bob, "waiting_for=me", &["T-guarded", "T-open"][..]),
        (&alice, "waiting_for=me", &["T-done"]),
        (&hana, "waiting_for=me", &["T-guarded"]),
        (&operator, "waiting_for=me", &[]),
        (&operator, "waiting_for=agent:bob", &["T-guarded", "T-open"]),
        (&operator, "waiting_for=role:integrator", &["T-guarded"]),
        (&alice, "approval=wanted", &["T-guarded"]),
        (&alice, "overdue=true", &[]),
        (&alice, "overdue=false", &["T-done", "T-guarded", "T-open"]),
        (&alice, "overdue=false&status=proposed", &["T-guarded", "T-open"]),
        (&alice, "waiting_for=agent:bob&task_id=T-open", &["T-open"]),
    ] {
        assert_eq!(tasks(client, filter).await, expected, "{filter}");
    }
    let shown = ok(&bob, Call::get(format!("/v1/handoffs/{open}"))).await;
    let wait = &shown["waiting_for"][0];
    assert_eq!((&wait["who"], &wait["for"]), (&json!("agent:bob"), &json!(["accept", "reject"])));
    assert_eq!((&wait["until"], &wait["then"]), (&shown["due_at"], &json!("escalates")));
    let closed = ok(&alice, Call::get(format!("/v1/handoffs/{closed}"))).await;
    assert_eq!(closed.get("waiting_for"), None);
}

/// Events of an open handoff say it, as it is when they are sent.
#[tokio::test]
async fn an_event_says_what_its_handoff_waits_for() {
    let server = Server::start();
    let [alice, bob] = ["alice", "bob"].map(|name| server.agent(name));
    let id = initiate(&alice, "T-1", "bob").await;
    let of = format!("/v1/events?stream=handoff/{id}&after=0");
    let mut live = Stream::open(&alice, &of, None).await;
    let proposed = live.next_entry().await.expect("an entry").data;
    assert_eq!(proposed["waiting_for"][0]["who"], "agent:bob");
    act(&bob, &id, "reject", json!({ "reason": "capacity_unavailable", "detail": "busy" })).await;
    let rejected = live.next_entry().await.expect("an entry").data;
    assert_eq!(rejected["waiting_for"][0]["for"], json!(["counter", "close"]));
    act(&alice, &id, "close", json!({})).await;
    let mut replayed = Stream::open(&alice, &of, None).await;
    let replayed = replayed.next_entry().await.expect("an entry").data;
    assert_eq!(replayed.get("waiting_for"), None, "it is closed now");
}

/// What an answer says in a field, as `agent:bob: accept, reject`.
fn waits(answer: &Value, field: &str) -> Vec<String> {
    let words = |value: &Value| {
        let all = value.as_array().into_iter().flatten().filter_map(Value::as_str);
        all.collect::<Vec<_>>().join(", ")
    };
    let all = answer[field].as_array().into_iter().flatten();
    all.map(|wait| {
        format!("{}: {}", wait["who"].as_str().expect("who must act"), words(&wait["for"]))
    })
    .collect()
}

/// A refusal leaves the handoff as it was, and says what that waits for, over HTTP and by the tool.
#[tokio::test]
async fn a_refusal_says_what_the_handoff_waits_for() {
    let server = Server::start();
    let [alice, bob, mia] = ["alice", "bob", "mia"].map(|name| server.agent(name));
    let id = initiate(&alice, "T-1", "bob").await;
    for (client, action, mut body, code) in [
        (&mia, "accept", json!({}), "not_allowed"),
        (&bob, "complete", json!({}), "wrong_state"),
        (&alice, "counter", json!({ "reason": "once more" }), "wrong_state"),
        (&bob, "accept", json!({ "speed": 1 }), "schema_invalid"),
    ] {
        let path = format!("/v1/handoffs/{id}/{action}");
        let by_http = refused(client, Call::post(path, body.clone())).await.body;
        assert_eq!(by_http["code"], code, "{action}");
        (body["action"], body["handoff_id"]) = (json!(action), json!(id));
        let by_tool = refused(client, Call::post("/v1/acp/handoff", body)).await.body;
        assert_eq!(by_tool["handoff_id"], json!(id));
        for member in ["code", "field", "handoff_status"] {
            assert_eq!(by_tool["error"][member], by_http[member], "{by_tool}");
        }
        if code == "schema_invalid" {
            continue;
        }
        for answer in [by_http, by_tool] {
            assert_eq!(waits(&answer, "waiting_for"), ["agent:bob: accept, reject"], "{answer}");
        }
    }
    // A caller that may not read the handoff learns that there is none.
    let mut hidden = offer("T-2", "bob");
    hidden["policy"] = json!({ "visibility": "private" });
    let hidden = ok(&alice, Call::post("/v1/handoffs", hidden)).await;
    let path = format!("/v1/handoffs/{}/accept", hidden["handoff_id"].as_str().expect("an id"));
    let unseen = refused(&mia, Call::post(path, json!({}))).await;
    assert_eq!((unseen.status, unseen.body.get("waiting_for")), (404, None));
}

/// A caller that has only this tool reads the package also while an approval is awaited.
#[tokio::test]
async fn the_tool_shows_the_package_that_it_accepts() {
    let server = Server::start();
    let (_, alice, bob, _) = with_people(&server).await;
    for (gate, status) in [("none", "accepted"), ("required", "validating")] {
        let mut offer = offer(gate, "bob");
        offer["policy"] = json!({ "human_gate": gate });
        let offered = ok(&alice, Call::post("/v1/handoffs", offer.clone())).await;
        let accept = json!({ "action": "accept", "handoff_id": offered["handoff_id"] });
        let accepted = ok(&bob, Call::post("/v1/acp/handoff", accept)).await;
        assert_eq!(accepted["status"], status);
        let package = &accepted["handoff"]["package"];
        assert_eq!(package["context"]["summary"], offer["context"]["summary"], "{accepted}");
    }
}

/// An action that begins another handoff says what both wait for. A private part is named only to
/// its readers.
#[tokio::test]
async fn an_answer_says_what_a_handoff_that_it_began_waits_for() {
    let server = Server::start();
    let [alice, bob, mia] = ["alice", "bob", "mia"].map(|name| server.agent(name));
    server.agent("carl");
    let lead = server.with_token(&server.token("lead", &["--role", "coordinator"]));
    let id = initiate(&alice, "T-1", "bob").await;
    for action in ["accept", "activate"] {
        act(&bob, &id, action, json!({})).await;
    }
    let part = |task: &str| {
        let mut part = offer(task, "carl");
        part["policy"] = json!({ "visibility": "private" });
        part
    };
    let by_http = act(&bob, &id, "delegate", part("T-1.1")).await;
    let mut body = part("T-1.2");
    (body["action"], body["handoff_id"]) = (json!("delegate"), json!(id));
    let by_tool = ok(&bob, Call::post("/v1/acp/handoff", body)).await;
    for answer in [&by_http, &by_tool] {
        assert_eq!(waits(answer, "new_waiting_for"), ["agent:carl: accept, reject"], "{answer}");
        assert_eq!(waits(answer, "waiting_for"), ["parts: "], "{answer}");
    }
    for (client, n_parts) in [(&bob, 2), (&alice, 2), (&mia, 0)] {
        let path = format!("/v1/handoffs/{id}/complete");
        let refusal = refused(client, Call::post(path, json!({ "evidence": [] }))).await.body;
        let of = format!("/v1/events?stream=handoff/{id}&after=0");
        let first = Stream::open(client, &of, None).await.next_entry().await;
        for answer in [refusal, first.expect("an entry").data] {
            assert_eq!(waits(&answer, "waiting_for"), ["parts: "], "{answer}");
            let parts = answer["waiting_for"][0]["parts"].as_array().map_or(0, Vec::len);
            assert_eq!(parts, n_parts, "{answer}");
        }
    }
    let next = initiate(&alice, "T-2", "bob").await;
    let instead = json!({ "to_agent": "carl", "why": "bob is away" });
    let done = act(&lead, &next, "reassign", instead).await;
    assert!(waits(&done, "waiting_for").is_empty(), "it is closed");
    assert_eq!(waits(&done, "new_waiting_for"), ["agent:carl: accept, reject"]);
}

/// A rejected part is offered to its sender again only while the whole allows that. Who may not
/// read the whole learns nothing of it.
#[tokio::test]
async fn a_rejected_part_waits_for_what_its_whole_allows() {
    let server = Server::start();
    let [alice, bob, carl] = ["alice", "bob", "carl"].map(|name| server.agent(name));
    let mut whole = offer("T-1", "bob");
    whole["policy"] = json!({ "visibility": "private" });
    let whole = ok(&alice, Call::post("/v1/handoffs", whole)).await;
    let id = whole["handoff_id"].as_str().expect("an id");
    for action in ["accept", "activate"] {
        act(&bob, id, action, json!({})).await;
    }
    let mut part = offer("T-1.1", "carl");
    part["policy"] = json!({ "visibility": "private" });
    let delegated = act(&bob, id, "delegate", part).await;
    let part = delegated["new_handoff_id"].as_str().expect("an id");
    let busy = json!({ "reason": "capacity_unavailable", "detail": "busy" });
    act(&carl, part, "reject", busy).await;
    let again = "agent:bob: counter, close";
    for (asked_back, to_bob) in [(false, again), (true, "agent:bob: close")] {
        if asked_back {
            act(&alice, id, "recall", json!({ "reason": "not needed" })).await;
        }
        for (client, expected) in [(&bob, to_bob), (&carl, again)] {
            let shown = ok(client, Call::get(format!("/v1/handoffs/{part}"))).await;
            assert_eq!(waits(&shown, "waiting_for"), [expected], "asked back: {asked_back}");
        }
    }
}

/// The gate refuses, and says whose turn it is.
#[tokio::test]
async fn a_refusal_by_the_gate_says_what_the_handoff_waits_for() {
    let server = Server::start();
    let [alice, bob] = ["alice", "bob"].map(|name| server.agent(name));
    let mut asked = offer("T-1", "bob");
    asked["artifacts"] = json!([
        { "artifact_id": "log", "ref": { "type": "file", "path": "/outside/of/all/roots" } },
    ]);
    let id = ok(&alice, Call::post("/v1/handoffs", asked)).await;
    let id = id["handoff_id"].as_str().expect("an id");
    let refusal = refused(&bob, Call::post(format!("/v1/handoffs/{id}/accept"), json!({}))).await;
    assert_eq!(refusal.body["handoff_status"], "rejected");
    let wait = &refusal.body["waiting_for"][0];
    assert_eq!((&wait["who"], &wait["for"]), (&json!("agent:alice"), &json!(["counter", "close"])));
}

#[tokio::test]
async fn a_filter_that_cannot_be_read_is_refused_by_name() {
    let server = Server::start();
    let alice = server.agent("alice");
    for (field, value) in [
        ("waiting_for", "bob"),
        ("waiting_for", "role:boss"),
        ("approval", "given"),
        ("overdue", "yes"),
    ] {
        let answer = refused(&alice, Call::get(format!("/v1/handoffs?{field}={value}"))).await;
        let said = (answer.status, &answer.body["code"], &answer.body["field"]);
        assert_eq!(said, (422, &json!("schema_invalid"), &json!(field)), "{value}");
    }
}

/// Closed handoffs do not count, however many there are: a page is full of what waits.
#[tokio::test]
async fn what_waits_is_found_behind_what_is_over() {
    let server = Server::start();
    let (_, alice, bob, _) = with_people(&server).await;
    initiate(&alice, "T-first", "bob").await;
    for number in 0..20 {
        let id = initiate(&alice, &format!("T-{number}"), "bob").await;
        ok(&alice, Call::post(format!("/v1/handoffs/{id}/withdraw"), json!({}))).await;
    }
    let page = ok(&bob, Call::get("/v1/handoffs?waiting_for=me&limit=1")).await;
    assert_eq!(page["items"][0]["task_id"], "T-first");
    assert_eq!(page["next_cursor"], Value::Null);
}

#[tokio::test]
async fn the_command_line_shows_what_is_to_do() {
    let server = Server::start();
    let alice = server.agent("alice");
    let bob = server.token("bob", &[]);
    let todo = |more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_tasuki"))
            .arg("todo")
            .args(more)
            .args(["--server", &format!("http://{}", server.address())])
            .env("TASUKI_TOKEN", &bob)
            .output()
            .expect("the executable runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("a text")
    };
    assert_eq!(todo(&[]), "nothing waits\n");
    initiate(&alice, "T-1", "bob").await;
    let shown = todo(&[]);
    assert!(shown.contains("you: accept, reject"), "{shown}");
    assert_eq!(todo(&["--overdue"]), "nothing waits\n");
    assert_eq!(todo(&["--for", "agent:alice"]), "nothing waits\n");
    let listed: Value = serde_json::from_str(&todo(&["--json"])).expect("JSON");
    assert_eq!(listed[0]["task_id"], "T-1");
}

/// What waits for an agent as sender and as target comes in one order, on pages of any size.
#[tokio::test]
async fn pages_of_what_was_sent_and_got_have_no_gaps() {
    let server = Server::start();
    let [alice, bob] = ["alice", "bob"].map(|name| server.agent(name));
    let why = json!({ "reason": "capacity_unavailable", "detail": "busy" });
    let mut expected = Vec::new();
    for number in 0..9 {
        let task = format!("T-{number}");
        if number % 3 == 0 {
            initiate(&alice, &task, "bob").await;
        } else {
            let id = initiate(&bob, &task, "alice").await;
            act(&alice, &id, "reject", why.clone()).await;
        }
        expected.insert(0, task);
        initiate(&bob, &format!("T-other-{number}"), "alice").await;
    }
    for limit in [1, 2, 4, 9, 200] {
        let mut found = Vec::new();
        let mut cursor = String::new();
        loop {
            let path = format!("/v1/handoffs?waiting_for=me&limit={limit}{cursor}");
            let page = ok(&bob, Call::get(path)).await;
            let items = page["items"].as_array().expect("a list").iter();
            found.extend(items.map(|it| it["task_id"].as_str().expect("a task").to_owned()));
            let Some(next) = page["next_cursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(found, expected, "limit {limit}");
    }
}

/// A count that looked through many handoffs of others says that it may not be all.
#[tokio::test]
async fn a_count_says_when_there_may_be_more() {
    let server = Server::start();
    let [alice, bob] = ["alice", "bob"].map(|name| server.agent(name));
    let open = initiate(&alice, "T-mine", "bob").await;
    let why = json!({ "reason": "capacity_unavailable", "detail": "busy" });
    act(&bob, &open, "reject", why).await;
    let status = ok(&alice, Call::get("/v1/acp/status")).await;
    let counted = (&status["waiting_for_you"], &status["more_wait_for_you"]);
    assert_eq!(counted, (&json!(1), &json!(false)));

    // A page that has begun is looked through to its end.
    let numbers: Vec<_> = (0..ROWS_LOOKED_THROUGH_MAX + LIST_ROWS_MAX).collect();
    for some in numbers.chunks(50) {
        let mut proposing = JoinSet::new();
        for number in some {
            let (alice, task) = (alice.clone(), format!("T-{number}"));
            proposing.spawn(async move { initiate(&alice, &task, "bob").await });
        }
        proposing.join_all().await;
    }
    let status = ok(&alice, Call::get("/v1/acp/status")).await;
    let counted = (&status["waiting_for_you"], &status["more_wait_for_you"]);
    assert_eq!(counted, (&json!(0), &json!(true)));
    let inbox = ok(&alice, Call::get("/v1/acp/inbox")).await;
    assert_eq!(
        (&inbox["waiting_for_you"], &inbox["more_wait_for_you"]),
        (&json!([]), &json!(true))
    );
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/v1/handoffs?waiting_for=me&limit=200{cursor}");
        let page = ok(&alice, Call::get(path)).await;
        let items = page["items"].as_array().expect("a list").iter();
        found.extend(items.map(|item| item["task_id"].clone()));
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(found, ["T-mine"]);
}
