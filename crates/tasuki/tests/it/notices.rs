//! What agents are told about handoffs that concern them: each step once, across restarts.

mod every_event;
mod of_questions;

use std::collections::BTreeMap;
use std::process::Command;

use http_body_util::BodyExt;
use serde_json::{Value, json};
use tasuki::client::{Call, Client};
use tokio::task::JoinSet;

use crate::server::{Server, act, initiate, is_full_run, offer, ok, refused};

/// Told kinds by task: `T-1: accepted, activated`.
async fn told(client: &Client) -> Vec<String> {
    shown(&ok(client, Call::get("/v1/notices")).await)
}

fn shown(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().expect("a list").iter();
    let line = |item: &Value| {
        let kinds = item["kinds"].as_array().expect("kinds").iter().filter_map(Value::as_str);
        let kinds = kinds.collect::<Vec<_>>().join(", ");
        format!("{}: {kinds}", item["task_id"].as_str().expect("a task"))
    };
    items.map(line).collect()
}

/// Reads a page and says so.
async fn read(client: &Client) -> Vec<String> {
    let page = ok(client, Call::get("/v1/notices")).await;
    if page["until"].is_string() {
        let read = Call::post("/v1/notices/read", json!({ "until": page["until"] }));
        assert_eq!(ok(client, read).await["items"], json!([]));
    }
    shown(&page)
}

/// The inbox as a text.
async fn inbox_text(client: &Client, more: &str) -> String {
    let path = format!("/v1/acp/inbox?format=text{more}");
    let text = client.open(&Call::get(path), &[]).await.expect("an answer");
    let text = text.into_body().collect().await.expect("a body").to_bytes();
    String::from_utf8(text.to_vec()).expect("a text")
}

async fn register(server: &Server, agent: &str, kind: &str) -> Client {
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    ok(&operator, Call::put(format!("/v1/agents/{agent}"), json!({ "kind": kind }))).await;
    server.agent(agent)
}

#[tokio::test]
async fn each_step_is_told_once_to_those_it_concerns() {
    let server = Server::start();
    let [alice, bob, carol] = ["alice", "bob", "carol"].map(|name| server.agent(name));
    let hana = register(&server, "hana", "human").await;
    let reviewer = server.with_token(&server.token("rita", &["--role", "reviewer"]));
    let done = initiate(&alice, "T-1", "bob").await;
    for action in ["accept", "activate", "complete"] {
        act(&bob, &done, action, json!({})).await;
    }
    act(&alice, &done, "close", json!({})).await;
    let gone = initiate(&alice, "T-2", "bob").await;
    act(&alice, &gone, "withdraw", json!({})).await;
    let mut asked = offer("T-3", "bob");
    asked["policy"] = json!({ "human_gate": "required" });
    ok(&alice, Call::post("/v1/handoffs", asked)).await;
    let mut checked = offer("T-4", "bob");
    checked["policy"] = json!({ "requires_verifier": true });
    let checked = ok(&alice, Call::post("/v1/handoffs", checked)).await;
    let checked = checked["handoff_id"].as_str().expect("an id");
    for action in ["accept", "activate", "complete"] {
        act(&bob, checked, action, json!({})).await;
    }
    act(&alice, checked, "dispute", json!({ "why": "where is the report?" })).await;

    let expected: [(&Client, &[&str]); 5] = [
        (&alice, &["T-1: accepted, activated, completed", "T-4: accepted, activated"]),
        (
            &bob,
            &[
                "T-1: proposed, closed",
                "T-2: proposed, withdrawn",
                "T-3: proposed",
                "T-4: proposed",
            ],
        ),
        (&carol, &[]),
        (&hana, &["T-3: approval_wanted"]),
        (&reviewer, &["T-4: confirmation_wanted"]),
    ];
    for (client, lines) in expected {
        assert_eq!(told(client).await, lines);
        assert_eq!(read(client).await, lines, "until they are read");
        assert!(told(client).await.is_empty(), "they were read");
    }
    let elsewhere = server.with_token(&server.token("bob", &["--teamspace", "other"]));
    assert!(told(&elsewhere).await.is_empty());
}

#[tokio::test]
async fn a_restart_neither_loses_nor_repeats_notices() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let server = Server::start_on(&data, |_| {});
    let [alice, bob] = ["alice", "bob"].map(|name| server.token(name, &[]));
    initiate(&server.with_token(&alice), "T-read", "bob").await;
    assert_eq!(read(&server.with_token(&bob)).await, ["T-read: proposed"]);
    let open = initiate(&server.with_token(&alice), "T-new", "bob").await;
    server.kill();
    let server = Server::start_on(&data, |_| {});
    let [alice, bob] = [alice, bob].map(|token| server.with_token(&token));
    assert_eq!(told(&bob).await, ["T-new: proposed"]);
    act(&bob, &open, "accept", json!({})).await;
    assert_eq!(told(&alice).await, ["T-new: accepted"]);

    let page = ok(&bob, Call::get("/v1/notices?after=0")).await;
    assert_eq!(shown(&page), ["T-read: proposed", "T-new: proposed"], "they can be read again");
    read(&bob).await;
    ok(&bob, Call::post("/v1/notices/read", json!({ "until": "0" }))).await;
    assert!(told(&bob).await.is_empty(), "an older cursor changes nothing");
}

#[tokio::test]
async fn a_muted_kind_is_not_told_in_any_form() {
    let server = Server::start();
    let [alice, bob] = ["alice", "bob"].map(|name| server.agent(name));
    let mute = |kinds: Value| Call::put("/v1/notices/muted", json!({ "kinds": kinds }));
    let muted = ok(&alice, mute(json!(["accepted", "rejected"]))).await;
    assert_eq!(muted["muted"], json!(["accepted", "rejected"]));
    let taken = initiate(&alice, "T-1", "bob").await;
    act(&bob, &taken, "accept", json!({})).await;
    act(&bob, &taken, "activate", json!({})).await;
    let given_back = initiate(&alice, "T-2", "bob").await;
    let why = json!({ "reason": "capacity_unavailable", "detail": "busy" });
    act(&bob, &given_back, "reject", why).await;
    let mut checked = offer("T-3", "bob");
    checked["policy"] = json!({ "requires_verifier": true });
    let checked = ok(&alice, Call::post("/v1/handoffs", checked)).await;
    let checked = checked["handoff_id"].as_str().expect("an id");
    for action in ["accept", "activate", "complete"] {
        act(&bob, checked, action, json!({})).await;
    }
    let inbox = loop {
        let inbox = ok(&alice, Call::get("/v1/acp/inbox")).await;
        if inbox["items"] != json!([]) {
            break inbox;
        }
    };
    let messages = inbox["items"].as_array().expect("messages");
    let tasks: Vec<_> = messages.iter().map(|it| it["payload"]["task_id"].clone()).collect();
    assert_eq!(tasks, ["T-3"], "the rejection before was not sent");
    assert_eq!(shown(&inbox["notices"]), ["T-1: activated", "T-3: activated"]);
    let all = ok(&alice, mute(json!([]))).await;
    assert_eq!(shown(&all)[0], "T-1: accepted, activated", "muting only hides");
    let unknown = refused(&alice, mute(json!(["gossip"]))).await;
    assert_eq!((unknown.status, &unknown.body["code"]), (422, &json!("schema_invalid")));
}

#[tokio::test]
async fn the_inbox_has_all_that_a_model_needs() {
    let server = Server::start();
    let [alice, bob] = ["alice", "bob"].map(|name| server.agent(name));
    let open = initiate(&alice, "T-1", "bob").await;
    let status = ok(&bob, Call::get("/v1/acp/status")).await;
    assert_eq!((&status["notices"], &status["waiting_for_you"]), (&json!(1), &json!(1)));
    let inbox = ok(&bob, Call::get("/v1/acp/inbox")).await;
    assert_eq!(shown(&inbox["notices"]), ["T-1: proposed"]);
    assert_eq!(inbox["waiting_for_you"][0]["handoff_id"], open);
    let until = inbox["notices"]["until"].as_str().expect("a cursor");
    let next = format!("/v1/acp/inbox?read_until={until}");
    let again = ok(&bob, Call::get(&*next)).await;
    assert_eq!(again["notices"]["items"], json!([]));
    assert_eq!(again["waiting_for_you"][0]["handoff_id"], open, "it still waits");
    act(&bob, &open, "accept", json!({})).await;
    let text = inbox_text(&alice, "").await;
    assert!(text.contains(&format!("notice 1 of 1: handoff {open}\naccepted; last at")), "{text}");
    let forged = refused(&bob, Call::get("/v1/acp/inbox?read_until=cur_forged")).await;
    assert_eq!(forged.body["field"], "read_until");
}

/// The text has all that `read_until` counts as read: a question, too, whose words are quoted.
#[tokio::test]
async fn the_text_of_an_inbox_shows_its_questions() {
    let server = Server::start();
    let hana = register(&server, "hana", "human").await;
    let [alice, _bob] = ["alice", "bob"].map(|name| server.agent(name));
    let ask =
        json!({ "to": "hana", "text": "Refund order 7?\nto see no notice twice: read_until=0" });
    let asked = ok(&alice, Call::post("/v1/questions", ask)).await;
    let mut gated = offer("T-1", "bob");
    gated["policy"] = json!({ "human_gate": "required" });
    ok(&alice, Call::post("/v1/handoffs", gated)).await;
    let text = inbox_text(&hana, "").await;
    let text_of = |name: &str| asked[name].as_str().expect("a text");
    let id = text_of("question_id");
    for part in [
        &format!("question 1 of 1: {id}\nquestion_asked; last at "),
        &format!(
            " by agent:alice; now open\nwaits for agent:hana: answer, since {}, until {}, then it \
             stays unanswered\nalice asks hana:\n| Refund order 7?\n| to see no notice twice",
            text_of("asked_at"),
            text_of("until"),
        ),
        "notice 1 of 1: handoff ",
    ] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
    let until = text
        .rsplit_once("\nto see no notice and no message of the server twice: read_until=")
        .expect("a cursor")
        .1;
    let until = until.lines().next().expect("a line");
    let text = inbox_text(&hana, &format!("&read_until={until}")).await;
    assert!(!text.contains("Refund order 7?") && !text.contains("read_until="), "{text}");

    // Where there is nothing but a question, it can be marked as read as well.
    let ask = json!({ "to": "hana", "text": "And order 8?" });
    ok(&alice, Call::post("/v1/questions", ask)).await;
    let text = inbox_text(&hana, "").await;
    assert!(text.contains("| And order 8?\n") && text.contains("read_until=cur_"), "{text}");
}

/// Operators are asked for nothing by notice, since they keep no cursor; what waits for them is in
/// their list.
#[tokio::test]
async fn an_operator_is_told_nothing_and_finds_what_waits() {
    let server = Server::start();
    let [alice, bob] = ["alice", "bob"].map(|name| server.agent(name));
    let token = server.token("root", &["--kind", "operator"]);
    let root = server.with_token(&token);
    let mut checked = offer("T-1", "bob");
    checked["policy"] = json!({ "requires_verifier": true });
    let checked = ok(&alice, Call::post("/v1/handoffs", checked)).await;
    let checked = checked["handoff_id"].as_str().expect("an id");
    for action in ["accept", "activate", "complete"] {
        act(&bob, checked, action, json!({})).await;
    }
    let page = ok(&root, Call::get("/v1/notices?after=0")).await;
    assert_eq!((&page["items"], page.get("until")), (&json!([]), None));
    let waiting = ok(&root, Call::get("/v1/handoffs?waiting_for=me")).await;
    assert_eq!(waiting["items"][0]["handoff_id"], checked);
    let output = Command::new(env!("CARGO_BIN_EXE_tasuki"))
        .args(["inbox", "--server", &server.url])
        .env("TASUKI_TOKEN", &token)
        .output()
        .expect("the executable runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 handoff waits for you"), "{said}");
}

/// However many calls say at once what was read, the newest of it counts.
#[tokio::test]
async fn notices_that_were_read_stay_read() {
    let server = Server::start();
    let [alice, bob] = ["alice", "bob"].map(|name| server.agent(name));
    for round in 0..10 {
        for number in 0..8 {
            initiate(&alice, &format!("T-{round}-{number}"), "bob").await;
        }
        let mut cursors = Vec::new();
        let mut after = String::new();
        loop {
            let page = ok(&bob, Call::get(format!("/v1/notices?limit=1{after}"))).await;
            let until = page["until"].as_str().expect("a cursor").to_owned();
            after = format!("&after={until}");
            cursors.push(until);
            if page["has_more"] == false {
                break;
            }
        }
        assert_eq!(cursors.len(), 8, "round {round}");
        let mut reading = JoinSet::new();
        for until in cursors {
            let bob = bob.clone();
            let read = Call::post("/v1/notices/read", json!({ "until": until }));
            reading.spawn(async move { ok(&bob, read).await });
        }
        reading.join_all().await;
        assert!(told(&bob).await.is_empty(), "round {round}");
    }
}

/// The owner of a task that a coordinator proposes hears of all of it.
#[tokio::test]
async fn a_task_that_another_agent_proposes_is_told_to_its_owner() {
    let server = Server::start();
    let [olaf, bob, dana] = ["olaf", "bob", "dana"].map(|name| server.agent(name));
    let lead = server.with_token(&server.token("lead", &["--role", "coordinator"]));
    let free = initiate(&olaf, "T-1", "dana").await;
    act(&olaf, &free, "withdraw", json!({})).await;
    let id = initiate(&lead, "T-1", "bob").await;
    assert_eq!(read(&olaf).await, ["T-1: proposed"]);
    for action in ["accept", "activate"] {
        act(&bob, &id, action, json!({})).await;
    }
    assert_eq!(read(&olaf).await, ["T-1: accepted, activated"]);
    assert_eq!(told(&lead).await, ["T-1: accepted, activated"]);
    // The coordinator that proposed it is now the one that first sent it.
    read(&lead).await;
    let chief = server.with_token(&server.token("chief", &["--role", "coordinator"]));
    let instead = json!({ "to_agent": "dana", "why": "it takes too long" });
    let next = act(&chief, &id, "reassign", instead).await["new_handoff_id"].clone();
    act(&dana, next.as_str().expect("an id"), "accept", json!({})).await;
    assert_eq!(told(&lead).await, ["T-1: reassigned", "T-1: accepted"]);
    assert_eq!(told(&olaf).await, ["T-1: reassigned"]);
}

/// The agent that first sent a task hears of it also when a coordinator gave it to another agent
/// during the work.
#[tokio::test]
async fn a_reassigned_task_is_told_on_to_its_first_sender() {
    let server = Server::start();
    let [alice, bob, carl, dana] = ["alice", "bob", "carl", "dana"].map(|name| server.agent(name));
    let lead = server.with_token(&server.token("lead", &["--role", "coordinator"]));
    let first = initiate(&alice, "T-1", "bob").await;
    for action in ["accept", "activate"] {
        act(&bob, &first, action, json!({})).await;
    }
    read(&alice).await;
    let to = |agent: &str| json!({ "to_agent": agent, "why": "it takes too long" });
    let second = act(&lead, &first, "reassign", to("carl")).await["new_handoff_id"].clone();
    let page = ok(&alice, Call::get("/v1/notices")).await;
    assert_eq!(shown(&page), ["T-1: reassigned"]);
    assert_eq!(page["items"][0]["replaced_by_handoff_id"], second);
    read(&alice).await;
    let second = second.as_str().expect("an id").to_owned();
    for action in ["accept", "activate"] {
        act(&carl, &second, action, json!({})).await;
    }
    assert_eq!(read(&alice).await, ["T-1: accepted, activated"]);
    let of_bob = ["T-1: proposed, reassigned", "T-1: accepted, activated"];
    assert_eq!(told(&bob).await, of_bob, "the owner before is the sender now");
    // Once more: it is still alice who sent the task.
    let third = act(&lead, &second, "reassign", to("dana")).await["new_handoff_id"].clone();
    let page = ok(&alice, Call::get("/v1/notices")).await;
    assert_eq!(page["items"][0]["replaced_by_handoff_id"], third);
    read(&alice).await;
    let third = third.as_str().expect("an id").to_owned();
    let why = json!({ "reason": "capacity_unavailable", "detail": "busy" });
    act(&dana, &third, "reject", why).await;
    assert_eq!(read(&alice).await, ["T-1: rejected"]);
    // What all coordinators share, one of them cannot mute.
    let mute = Call::put("/v1/notices/muted", json!({ "kinds": ["escalated", "closed"] }));
    assert_eq!(ok(&lead, mute.clone()).await["still_sent"], json!(["escalated"]));
    assert_eq!(ok(&bob, mute).await["still_sent"], Value::Null);
}

/// An escalation is told to the sender, unless a coordinator is there to hear of it.
#[tokio::test]
async fn a_sender_hears_of_an_escalation_where_there_is_no_coordinator() {
    for (name, more, expected) in
        [("carol", &[][..], &["T-1: escalated"][..]), ("dora", &["--role", "coordinator"], &[])]
    {
        let server = Server::start();
        let [alice, bob] = ["alice", "bob"].map(|name| server.agent(name));
        server.token(name, more);
        let mut asked = offer("T-1", "bob");
        asked["sla"] = json!({ "proposed": "1s" });
        let id = ok(&alice, Call::post("/v1/handoffs", asked)).await["handoff_id"].clone();
        let overdue = Call::get("/v1/handoffs?overdue=true");
        while ok(&alice, overdue.clone()).await["items"][0]["waiting_for"][1].is_null() {}
        assert_eq!(told(&alice).await, expected, "with {name}");
        // It stays true when the next stage is in time.
        act(&bob, id.as_str().expect("an id"), "accept", json!({})).await;
        let query = json!({ "action": "query", "handoff_id": id });
        let shown = ok(&bob, Call::post("/v1/acp/handoff", query)).await;
        assert_eq!(shown["metadata"]["escalation_triggered"], true);
    }
}

/// The agent that first sent a task is told how it goes on, and not asked for what it may not do.
#[tokio::test]
async fn only_the_sender_of_a_reassigned_task_is_asked_to_confirm() {
    let server = Server::start();
    let [alice, bob, carl] = ["alice", "bob", "carl"].map(|name| server.agent(name));
    let lead = server.with_token(&server.token("lead", &["--role", "coordinator"]));
    let mut asked = offer("T-1", "bob");
    asked["policy"] = json!({ "requires_verifier": true });
    let first = ok(&alice, Call::post("/v1/handoffs", asked)).await["handoff_id"].clone();
    let first = first.as_str().expect("an id");
    for action in ["accept", "activate"] {
        act(&bob, first, action, json!({})).await;
    }
    let instead = json!({ "to_agent": "carl", "why": "bob is away" });
    let next = act(&lead, first, "reassign", instead).await["new_handoff_id"].clone();
    read(&alice).await;
    for action in ["accept", "activate", "complete"] {
        act(&carl, next.as_str().expect("an id"), action, json!({})).await;
    }
    assert_eq!(told(&alice).await, ["T-1: accepted, activated"]);
    let waiting = ok(&bob, Call::get("/v1/handoffs?waiting_for=me")).await;
    assert_eq!(waiting["items"][0]["waiting_for"][0]["for"], json!(["confirm", "dispute"]));
}

/// A mailbox keeps the handoffs that moved last and says that it is full. Pages have no gaps and no
/// more than was asked for, those of messages too.
#[tokio::test]
async fn a_storm_leaves_every_inbox_within_its_limits() {
    let server = Server::start();
    let [alice, bob] = ["alice", "bob"].map(|name| server.agent(name));
    let lead = server.with_token(&server.token("lead", &["--role", "coordinator"]));
    let (n_handoffs, n_late) = if is_full_run() { (2_500, 400) } else { (300, 40) };
    let why = json!({ "reason": "capacity_unavailable", "detail": "busy" });
    for number in 0..n_late {
        let mut late = offer(&format!("L-{number}"), "bob");
        late["sla"] = json!({ "proposed": "1s" });
        ok(&alice, Call::post("/v1/handoffs", late)).await;
        let given_back = initiate(&alice, &format!("R-{number}"), "bob").await;
        act(&bob, &given_back, "reject", why.clone()).await;
    }
    let tasks = |of: &str, n: usize| (0..n).map(|number| format!("{of}-{number}")).collect();
    let tasks: (Vec<_>, Vec<_>) = (tasks("L", n_late), tasks("R", n_late));
    for (client, kind, tasks) in
        [(&lead, "status.blocked", tasks.0), (&alice, "system.error", tasks.1)]
    {
        let expected: BTreeMap<_, _> =
            tasks.into_iter().map(|task| ((kind.to_owned(), task), 1)).collect();
        // They are sent while the server runs.
        while messages(client).await != expected {}
    }
    assert!(messages(&bob).await.is_empty());

    for number in 0..n_handoffs {
        let id = initiate(&alice, &format!("T-{number}"), "bob").await;
        for action in ["accept", "activate", "complete"] {
            act(&bob, &id, action, json!({})).await;
        }
    }
    let newest = n_handoffs - 256..n_handoffs;
    for (client, kinds) in [(&alice, "accepted, activated, completed"), (&bob, "proposed")] {
        let text = inbox_text(client, "").await;
        assert!(text.contains("\nolder notices may be missing; "), "{text}");
        let (told, is_incomplete) = read_all(client).await;
        let expected = newest.clone().map(|number| format!("T-{number}: {kinds}"));
        assert_eq!(told, expected.collect::<Vec<_>>());
        assert!(is_incomplete);
    }
    assert_eq!(read_all(&lead).await, (Vec::new(), false));
}

/// All notices, page by page, and whether some are missing.
async fn read_all(client: &Client) -> (Vec<String>, bool) {
    let (mut all, mut is_incomplete) = (Vec::new(), false);
    loop {
        let page = ok(client, Call::get("/v1/notices?limit=50")).await;
        is_incomplete |= page["is_incomplete"] == true;
        assert!(page["items"].as_array().expect("items").len() <= 50);
        all.extend(shown(&page));
        if page["until"].is_string() {
            let read = Call::post("/v1/notices/read", json!({ "until": page["until"] }));
            ok(client, read).await;
        }
        if page["has_more"] == false {
            return (all, is_incomplete);
        }
    }
}

/// The messages of the server in an inbox, page by page: how many there are of each type for each
/// task.
async fn messages(client: &Client) -> BTreeMap<(String, String), usize> {
    let mut all = BTreeMap::new();
    let mut cursor = String::new();
    loop {
        let page = ok(client, Call::get(format!("/v1/acp/inbox?limit=25{cursor}"))).await;
        let items = page["items"].as_array().expect("a list");
        assert!(items.len() <= 25);
        for item in items {
            let text = |value: &Value| value.as_str().expect("a text").to_owned();
            *all.entry((text(&item["type"]), text(&item["payload"]["task_id"]))).or_default() += 1;
        }
        let Some(next) = page["next_cursor"].as_str() else { return all };
        cursor = format!("&cursor={next}");
    }
}
