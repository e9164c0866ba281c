//! Queues and transfers can be seen, and what happened in them can be counted: over HTTP, by each
//! kind of caller.

mod records;

use protocol::time::{Span, Time};
use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use crate::server::{ok, refused};
use crate::transfers::{Desk, act, open};
use crate::wire::Request;
use crate::ws::socket::Socket;

/// The list at a path, whole.
async fn items(who: &Client, path: &str) -> Vec<Value> {
    let page = ok(who, Call::get(path)).await;
    page["items"].as_array().expect("a list").clone()
}

fn ids(items: &[Value], name: &str) -> Vec<String> {
    items.iter().map(|item| item[name].as_str().expect("an id").to_owned()).collect()
}

/// Asks for a person in a new conversation. Returns the customer and the transfer.
async fn ask(desk: &Desk, body: Value) -> (Client, Value) {
    let (conversation, customer) = open(&desk.server, &desk.bob).await;
    let path = format!("/v1/conversations/{conversation}/transfers");
    let transfer = ok(&desk.operator, Call::post(path, body)).await;
    (customer, transfer)
}

#[tokio::test]
async fn all_queues_are_seen_with_who_waits_and_who_is_there() {
    let desk = Desk::open(json!({ "mode": "pick", "target": "45s" })).await;
    let hana = desk.person("hana").await;
    let tax = json!({ "name": "tax", "level_min": 2, "preferred": false });
    let settings = json!({ "mode": "pick", "hours": { "utc_offset_minutes": 0 },
                           "wanted": { "team": "bills", "skills": [tax] } });
    for queue in ["bills", "empty"] {
        let register = json!({ "kind": "queue" });
        ok(&desk.operator, Call::put(format!("/v1/agents/{queue}"), register)).await;
        ok(&desk.operator, Call::put(format!("/v1/queues/{queue}"), settings.clone())).await;
    }
    for _ in 0..2 {
        ask(&desk, json!({})).await;
    }
    let shown = loop {
        let shown = items(&hana, "/v1/queues").await;
        if shown.iter().any(|queue| queue["n_available"] == 1) {
            break shown;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(ids(&shown, "queue"), ["empty", "bills", "default"]);
    let [_, bills, default] = shown.as_slice() else { panic!("{shown:?}") };
    assert_eq!((&bills["is_open"], &bills["n_waiting"]), (&json!(false), &json!(0)));
    assert_eq!((&bills["wanted"], &bills["people"]), (&settings["wanted"], &Value::Null));
    assert_eq!((&bills["longest_wait"], &bills["target"]), (&Value::Null, &json!("20s")));
    assert_eq!((&default["mode"], &default["target"]), (&json!("pick"), &json!("45s")));
    assert_eq!((&default["n_waiting"], &default["n_available"]), (&json!(2), &json!(1)));
    assert!(default["longest_wait"].is_string(), "{default}");
    assert_eq!(default["people"][0]["agent"], "hana");
    assert_eq!(default["people"][0]["presence"], "available");
    // A bot sees how many, not who; a coordinator and an operator see all.
    let of_bob = items(&desk.bob, "/v1/queues").await;
    assert_eq!((&of_bob[2]["n_waiting"], &of_bob[2]["people"]), (&json!(2), &Value::Null));
    assert_eq!(items(&desk.operator, "/v1/queues").await[1]["people"], json!([]));
    // A customer is no member.
    let answer = refused(&desk.customer, Call::get("/v1/queues")).await;
    assert_eq!(answer.body["code"], "not_allowed");
    // By pages.
    let first = ok(&hana, Call::get("/v1/queues?limit=2")).await;
    let cursor = first["next_cursor"].as_str().expect("there is more");
    let rest = ok(&hana, Call::get(format!("/v1/queues?limit=2&cursor={cursor}"))).await;
    assert_eq!(
        (&rest["items"][0]["queue"], &rest["next_cursor"]),
        (&json!("default"), &Value::Null)
    );
}

/// It shows the first 50 who wait, and says so.
#[tokio::test]
async fn a_queue_says_that_it_does_not_show_all_who_wait() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let hana = desk.person("hana").await;
    for (n_more, is_incomplete) in [(50, Value::Null), (1, json!(true))] {
        for _ in 0..n_more {
            ask(&desk, json!({})).await;
        }
        let queue = ok(&hana, Call::get("/v1/queues/default")).await;
        assert_eq!(queue["waiting"].as_array().map(Vec::len), Some(50));
        assert_eq!(queue["is_incomplete"], is_incomplete, "{}", queue["n_waiting"]);
    }
    // The list of transfers has all of them.
    let waiting = items(&hana, "/v1/transfers?queue=default&status=queued&limit=200").await;
    let places: Vec<_> = waiting.iter().rev().map(|it| it["queue_position"].clone()).collect();
    assert_eq!(places, (1..=51).map(Value::from).collect::<Vec<_>>());
    // A bot is shown no place, so nothing is missing.
    let of_bob = ok(&desk.bob, Call::get("/v1/queues/default")).await;
    assert_eq!((&of_bob["n_waiting"], &of_bob["is_incomplete"]), (&json!(51), &Value::Null));
}

#[tokio::test]
async fn transfers_are_found_by_whom_they_concern() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let (hana, ivan) = (desk.person("hana").await, desk.person("ivan").await);
    let first = desk.request(&desk.customer, json!({})).await;
    let (_, second) = ask(&desk, json!({ "priority": 3 })).await;
    act(&hana, &first, "pickup", json!({ "epoch": 2, "accept": true })).await;
    act(&hana, &first, "complete", json!({ "epoch": 3 })).await;
    // A newer transfer replaces the first in its conversation, and both are listed.
    let third = desk.request(&desk.customer, json!({ "reason": "again" })).await;
    act(&ivan, &third, "pickup", json!({ "epoch": 5 })).await;
    let [first, second, third] =
        [first, second, third].map(|it| it["transfer_id"].as_str().expect("an id").to_owned());
    let by_id = format!("?transfer={first}");
    let by_conversation = format!("?conversation={}", desk.conversation);
    let none: [&String; 0] = [];
    for (filter, expected) in [
        ("", vec![&third, &second, &first]),
        ("?status=completed", vec![&first]),
        ("?status=ringing&queue=default", vec![&third]),
        ("?queue=nowhere", none.to_vec()),
        ("?agent=hana", vec![&first]),
        ("?agent=ivan", vec![&third]),
        (by_conversation.as_str(), vec![&third, &first]),
        ("?until=2020-01-01T00:00:00Z", none.to_vec()),
        ("?since=2020-01-01T00:00:00Z&status=queued", vec![&second]),
        (by_id.as_str(), vec![&first]),
        ("?transfer=01938c2e-0000-7000-8000-0000000000f1", none.to_vec()),
    ] {
        let path = format!("/v1/transfers{filter}");
        let found = ids(&items(&desk.operator, &path).await, "transfer_id");
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{filter}");
    }
    // Pages: one at a time, and each once.
    let (mut found, mut path) = (Vec::new(), "/v1/transfers?limit=1".to_owned());
    loop {
        let page = ok(&desk.operator, Call::get(path)).await;
        found.extend(ids(page["items"].as_array().expect("a list"), "transfer_id"));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/v1/transfers?limit=1&cursor={cursor}");
    }
    assert_eq!(found, [third.as_str(), &second, &first]);
    // A person of the queue sees what waits there, and the conversations they had. A stranger sees
    // none, and a bot those that it held.
    assert_eq!(
        ids(&items(&ivan, "/v1/transfers").await, "transfer_id"),
        [&*third, &second, &first]
    );
    let stranger = desk.server.agent("carol");
    ok(&desk.operator, Call::put("/v1/agents/carol", json!({ "kind": "worker" }))).await;
    assert!(items(&stranger, "/v1/transfers").await.is_empty());
    assert!(items(&stranger, &format!("/v1/transfers{by_id}")).await.is_empty());
    assert_eq!(items(&desk.bob, "/v1/transfers").await.len(), 3);
    let answer = refused(&desk.customer, Call::get("/v1/transfers")).await;
    assert_eq!(answer.body["code"], "not_allowed");

    what_rings(&desk, (&hana, &ivan), &third).await;
}

/// What rings for a person, with what is needed to answer it.
async fn what_rings(desk: &Desk, (hana, ivan): (&Client, &Client), third: &str) {
    let ringing = items(ivan, "/v1/transfers?ringing_for=me").await;
    assert_eq!(ids(&ringing, "transfer_id"), [third]);
    assert_eq!(
        (&ringing[0]["epoch"], &ringing[0]["ringing"]["agent"]),
        (&json!(5), &json!("ivan"))
    );
    assert!(items(hana, "/v1/transfers?ringing_for=me").await.is_empty());
    for (path, field) in [
        ("/v1/transfers?ringing_for=hana", "ringing_for"),
        ("/v1/transfers?ringing_for=me&status=queued", "status"),
        ("/v1/transfers?transfer=first", "transfer"),
        ("/v1/transfers?status=lost", "status"),
        ("/v1/transfers?since=yesterday", "since"),
        ("/v1/transfers?limit=0", "limit"),
        ("/v1/transfers?cursor=5", "cursor"),
        ("/v1/transfers?color=red", "color"),
    ] {
        let answer = refused(ivan, Call::get(path)).await;
        let status = if field == "cursor" { 400 } else { 422 };
        assert_eq!((answer.status, &answer.body["field"]), (status, &json!(field)), "{path}");
    }
    assert!(items(&desk.operator, "/v1/transfers?ringing_for=me").await.is_empty());
}

#[tokio::test]
async fn a_person_sees_whom_to_call_beside_what_rings() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let hana = desk.person("hana").await;
    let opened = ok(&desk.bob, Call::get(desk.path(""))).await["opened_at"].clone();
    let opened: Time = opened.as_str().expect("a time").parse().expect("a time");
    let tomorrow = opened.plus(Span::from_minutes(24 * 60)).to_string();
    let later = json!({ "contact": "later", "not_before": tomorrow });
    for body in [json!({ "contact": "now" }), later] {
        let (conversation, customer) = open(&desk.server, &desk.bob).await;
        let path = format!("/v1/conversations/{conversation}/callbacks");
        ok(&customer, Call::post(path, body)).await;
    }
    let shown = ok(&hana, Call::get("/v1/transfers?ringing_for=me")).await;
    assert_eq!(shown["items"], json!([]));
    let callbacks = shown["callbacks"].as_array().expect("a list");
    assert_eq!((callbacks.len(), &callbacks[0]["contact"]), (1, &json!("now")));
    // A bot belongs to no queue.
    let shown = ok(&desk.bob, Call::get("/v1/transfers?ringing_for=me")).await;
    assert_eq!(shown["callbacks"], json!([]));
}

#[tokio::test]
async fn a_transfer_keeps_what_happened_to_it() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let (hana, ivan) = (desk.person("hana").await, desk.person("ivan").await);
    let transfer = desk.request(&desk.bob, json!({ "epoch": 1, "reason": "secret words" })).await;
    let path = format!("/v1/transfers/{}", transfer["transfer_id"].as_str().expect("an id"));
    act(&ivan, &transfer, "pickup", json!({ "epoch": 2 })).await;
    act(&ivan, &transfer, "decline", json!({ "epoch": 2 })).await;
    act(&hana, &transfer, "pickup", json!({ "epoch": 2, "accept": true })).await;
    act(&hana, &transfer, "hold", json!({ "epoch": 3 })).await;
    act(&hana, &transfer, "resume", json!({ "epoch": 3 })).await;
    let on = json!({ "epoch": 3, "to": "ivan" });
    act(&hana, &transfer, "transfer", on).await;
    act(&ivan, &transfer, "accept", json!({ "epoch": 3 })).await;
    act(&ivan, &transfer, "complete", json!({ "epoch": 4, "summary": "more secret words" })).await;
    act(&desk.customer, &transfer, "rate", json!({ "score": 4 })).await;
    let shown = ok(&ivan, Call::get(path.clone())).await;
    let record = &shown["record"];
    assert_eq!(record["requested_by"], "agent:bob");
    assert_eq!(record["served_by"], json!(["hana", "ivan"]));
    assert_eq!((&record["rings"], &record["missed"]), (&json!(2), &json!(0)));
    assert_eq!((&record["answered_in_time"], &record["rating"]), (&json!(true), &json!(4)));
    let settled = &record["settled"];
    assert_eq!((&settled["outcome"], &settled["by"]), (&json!("completed"), &json!("agent:ivan")));
    for span in ["waited", "handled", "held"] {
        assert!(record[span].is_string(), "{span}: {record}");
    }
    assert!(!record.to_string().contains("secret"), "{record}");
    // The customer sees no record.
    assert_eq!(ok(&desk.customer, Call::get(path)).await["record"], Value::Null);
}

/// The list says that it failed and who gave up. Why is in the transcript, for members only: the
/// record has no text that a person wrote.
#[tokio::test]
async fn a_failed_transfer_is_in_the_list_and_its_reason_in_the_transcript() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let transfer = desk.request(&desk.bob, json!({ "epoch": 1, "reason": "a refund" })).await;
    act(&desk.operator, &transfer, "fail", json!({ "reason": "no person today" })).await;
    let listed = items(&desk.bob, "/v1/transfers?status=failed").await;
    assert_eq!(ids(&listed, "transfer_id"), ids(&[transfer], "transfer_id"));
    let settled = &listed[0]["settled"];
    assert_eq!((&settled["outcome"], &settled["by"]), (&json!("failed"), &json!("operator:root")));
    assert!(!listed[0].to_string().contains("no person today"), "{}", listed[0]);
    let of_customer =
        "No person could take over. The conversation goes on with \u{2068}bob\u{2069}.";
    for (who, reason, by) in [
        (&desk.bob, "no person today", json!("operator")),
        (&desk.customer, of_customer, Value::Null),
    ] {
        let lines = items(who, &desk.path("/messages")).await;
        let part = &lines.last().expect("the end of the transfer")["parts"][0];
        assert_eq!(
            (&part["status"], &part["reason"]),
            (&json!("failed"), &json!(reason)),
            "{part}"
        );
        assert_eq!(part["reasonBy"], by, "{part}");
    }
}

#[tokio::test]
async fn the_report_counts_what_the_events_tell() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let hana = desk.person("hana").await;
    for number in 0..6 {
        let (customer, transfer) = ask(&desk, json!({})).await;
        match number {
            0 | 1 => {
                act(&hana, &transfer, "pickup", json!({ "epoch": 2, "accept": true })).await;
                act(&hana, &transfer, "complete", json!({ "epoch": 3 })).await;
            }
            2 => drop(act(&customer, &transfer, "cancel", json!({})).await),
            3 => {
                let fail = json!({ "reason": "no person today" });
                drop(act(&desk.operator, &transfer, "fail", fail).await);
            }
            _ => {}
        }
    }
    let report = ok(&desk.operator, Call::get("/v1/reports/queues")).await;
    // A test that runs at midnight has two lines.
    let sum = |name: &str| -> u64 {
        let lines = report["items"].as_array().expect("lines").iter();
        lines.map(|line| line[name].as_u64().expect("a count")).sum()
    };
    let figures =
        ["requested", "answered", "answered_in_time", "abandoned", "failed", "waiting", "open"];
    assert_eq!(figures.map(sum), [6, 2, 2, 1, 1, 2, 0], "{report}");
    assert_eq!(report["items"][0]["queue"], "default");
    let other = ok(&desk.operator, Call::get("/v1/reports/queues?queue=nowhere")).await;
    assert_eq!(other["items"], json!([]));

    // Histograms without the names of teamspaces and queues.
    let metrics = loop {
        let asked = Request::new("GET /metrics").header("host", b"localhost");
        let metrics = asked.send(desk.server.address()).await;
        let text = String::from_utf8_lossy(&metrics.bytes).into_owned();
        if text.contains("tasuki_transfer_handle_seconds_count 2") {
            break text;
        }
        tokio::task::yield_now().await;
    };
    assert!(metrics.contains("tasuki_transfer_wait_seconds_count 2"), "{metrics}");
    assert!(!metrics.contains("default"), "it names a queue or a teamspace: {metrics}");

    for who in [&desk.bob, &hana, &desk.customer] {
        let answer = refused(who, Call::get("/v1/reports/queues")).await;
        assert_eq!(answer.body["code"], "not_allowed");
    }
    for query in [
        "from=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z",
        "from=2026-01-01T00:00:00Z&until=2026-04-04T00:00:00Z",
        "until=soon",
    ] {
        let path = format!("/v1/reports/queues?{query}");
        let answer = refused(&desk.operator, Call::get(path)).await;
        assert_eq!((answer.status, &answer.body["field"]), (422, &json!("until")), "{query}");
    }
}

#[tokio::test]
async fn news_of_a_queue_say_what_a_pickup_needs_and_places_move_up() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let hana = desk.person("hana").await;
    let mut socket = Socket::open(&desk.server, &desk.server.token("hana", &[])).await;
    socket.ok(json!({ "do": "subscribe" })).await;
    let opened = json!({ "agent": "bob", "customer": { "name": "Ana" } });
    let opened = ok(&desk.bob, Call::post("/v1/conversations", opened)).await;
    let ana = opened["conversation_id"].as_str().expect("an id").to_owned();
    let skills = json!([{ "name": "tax", "level_min": 1, "preferred": false }]);
    let asked = json!({ "epoch": 1, "priority": 2, "wanted": { "skills": skills } });
    let asked = Call::post(format!("/v1/conversations/{ana}/transfers"), asked);
    let first = ok(&desk.bob, asked).await;
    let told = until_told(&mut socket, "queue_changed").await;
    assert_eq!((&told["status"], &told["customer"]), (&json!("queued"), &json!("Ana")));
    assert_eq!((&told["epoch"], &told["priority"]), (&json!(2), &json!(2)));
    assert_eq!((&told["skills"], &told["waitingSince"]), (&skills, &first["requested_at"]));

    // A second customer waits behind the first, and hears when that one is answered.
    let (conversation, token) = opened_by(&desk).await;
    let customer = desk.server.with_token(&token);
    let mut waiting = Socket::open(&desk.server, &token).await;
    waiting.ok(json!({ "do": "subscribe" })).await;
    let path = format!("/v1/conversations/{conversation}/transfers");
    let second = ok(&customer, Call::post(path, json!({}))).await;
    assert_eq!(second["queue_position"], 2);
    let told = until_place(&mut waiting, 2).await;
    assert_eq!(told["status"], "queued");
    let mut late = Socket::open(&desk.server, &token).await;
    late.ok(json!({ "do": "subscribe" })).await;
    until_place(&mut late, 2).await;
    act(&hana, &first, "pickup", json!({ "epoch": 2, "accept": true })).await;
    for socket in [&mut waiting, &mut late] {
        let told = until_place(socket, 1).await;
        assert_eq!(told["requestId"], second["transfer_id"]);
    }

    // A callback is told with its queue.
    let path = format!("/v1/conversations/{}/callbacks", desk.conversation);
    ok(&desk.customer, Call::post(path, json!({ "contact": "+34 600" }))).await;
    let told = loop {
        let told = until_told(&mut socket, "queue_changed").await;
        if told["status"] == "callback_asked" {
            break told;
        }
    };
    assert_eq!((&told["queue"], &told["transferId"]), (&json!("default"), &Value::Null));
    assert!(!told.to_string().contains("+34"), "{told}");
}

async fn opened_by(desk: &Desk) -> (String, String) {
    let opened = ok(&desk.bob, Call::post("/v1/conversations", json!({ "agent": "bob" }))).await;
    let text = |name: &str| opened[name].as_str().expect("a text").to_owned();
    (text("conversation_id"), text("customer_token"))
}

pub async fn until_told(socket: &mut Socket, kind: &str) -> Value {
    loop {
        let told = socket.told().await;
        if told["type"] == kind {
            return told;
        }
    }
}

async fn until_place(socket: &mut Socket, place: u64) -> Value {
    loop {
        let told = until_told(socket, "handoff.status").await;
        if told["queuePosition"] == place {
            return told;
        }
    }
}
