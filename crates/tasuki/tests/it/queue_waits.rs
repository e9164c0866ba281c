//! What waits in a queue, and what rings there: the figures are about the same customers, and the
//! times are those of their waits.

use std::time::Duration;

use serde_json::{Value, json};
use tasuki::client::Call;

use crate::cli::shell::{split, tasuki};
use crate::ledger::until_idle;
use crate::queues::until_told;
use crate::server::{Server, ok};
use crate::transfers::{Desk, act, open};
use crate::wire::Request;
use crate::ws::socket::Socket;

/// What rings for a person does not wait: neither figure counts it.
#[tokio::test]
async fn a_queue_counts_those_who_wait_and_not_those_who_ring() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let hana = desk.person("hana").await;
    let transfer = desk.request(&desk.customer, json!({})).await;
    let figures = async || {
        let queue = ok(&hana, Call::get("/v1/queues/default")).await;
        let listed = ok(&hana, Call::get("/v1/queues")).await["items"][0].clone();
        for figure in ["n_waiting", "longest_wait"] {
            assert_eq!(queue[figure].is_null(), listed[figure].is_null(), "{figure}");
        }
        (queue["n_waiting"].clone(), queue["longest_wait"].is_string())
    };
    assert_eq!(figures().await, (json!(1), true));
    act(&hana, &transfer, "pickup", json!({ "epoch": 2 })).await;
    assert_eq!(figures().await, (json!(0), false));
    act(&hana, &transfer, "decline", json!({ "epoch": 2 })).await;
    assert_eq!(figures().await, (json!(1), true));
}

#[tokio::test]
async fn the_report_is_printed_with_a_line_for_each_day_and_queue() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let hana = desk.person("hana").await;
    let answered = desk.request(&desk.customer, json!({})).await;
    act(&hana, &answered, "pickup", json!({ "epoch": 2, "accept": true })).await;
    let done = json!({ "epoch": 3, "disposition": "refunded" });
    let done = act(&hana, &answered, "complete", done).await;
    let settled = &done["record"]["settled"];
    assert_eq!(
        (&settled["outcome"], &settled["disposition"]),
        (&json!("completed"), &json!("refunded"))
    );
    let cancelled = desk.request(&desk.customer, json!({})).await;
    act(&desk.customer, &cancelled, "cancel", json!({})).await;
    let data = desk.server.data.clone();
    let report = |more: &str| {
        let typed = format!("report queues {more}--data {}", data.display());
        let shown = tasuki(&data, &split(&typed), &[], "");
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        (shown.stdout, shown.stderr)
    };
    let (printed, _) = report("");
    let mut lines = printed.lines();
    let header = lines.next().expect("a header");
    let columns =
        ["DAY", "QUEUE", "ASKED", "ANSWERED", "IN TIME", "ABANDONED", "FAILED", "WAITING"];
    assert!(columns.iter().all(|column| header.contains(column)), "{header}");
    let lines: Vec<Vec<&str>> =
        lines.map(|line| line.split_whitespace().skip(1).take(7).collect()).collect();
    // A test that runs at midnight has two lines.
    let counts = ["default", "2", "1", "1", "1", "0", "0"];
    assert!(lines == [counts] || lines.len() == 2, "{printed}");
    let (printed, said) = report("--queue nowhere ");
    assert_eq!((printed.lines().count(), said.trim()), (1, "there are none"));
}

/// A queue shows each setting, also one that was never set.
#[tokio::test]
async fn settings_at_their_default_are_shown() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let queue = ok(&desk.operator, Call::get("/v1/queues/default")).await;
    let settings = &queue["settings"];
    assert_eq!((&settings["rings"], &settings["target"]), (&json!(20), &json!("20s")));
    assert_eq!(settings["hours"], Value::Null);
}

/// An answer and an end count, although another process saw the request.
#[tokio::test]
async fn service_times_are_measured_over_a_restart() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().join("data");
    let (root, hana, transfer) = {
        let server = Server::start_on(&data, |_| {});
        let root = server.token("root", &["--kind", "operator"]);
        let operator = server.with_token(&root);
        ok(&operator, Call::put("/v1/agents/default", json!({ "kind": "queue" }))).await;
        ok(&operator, Call::put("/v1/queues/default", json!({ "mode": "pick" }))).await;
        let hana = json!({ "kind": "human" });
        ok(&operator, Call::put("/v1/agents/hana", hana)).await;
        let hana = server.token("hana", &[]);
        let bob = server.agent("bob");
        let (conversation, _) = open(&server, &bob).await;
        let path = format!("/v1/conversations/{conversation}/transfers");
        let transfer = ok(&operator, Call::post(path, json!({}))).await;
        until_idle(&data).await;
        assert_eq!(counted(&server).await, [0, 0]);
        server.stop();
        (root, hana, transfer)
    };
    let server = Server::start_on(&data, |_| {});
    let hana = server.with_token(&hana);
    let there = json!({ "presence": "available" });
    ok(&hana, Call::put("/v1/agents/hana/presence", there)).await;
    act(&hana, &transfer, "pickup", json!({ "epoch": 2, "accept": true })).await;
    until_counted(&server, [1, 0]).await;
    server.stop();

    // The end is in a third process, which does not count the answer again.
    let server = Server::start_on(&data, |_| {});
    assert_eq!(counted(&server).await, [0, 0]);
    act(&server.with_token(&root), &transfer, "complete", json!({})).await;
    until_counted(&server, [0, 1]).await;
}

/// How many waits and handle times `/metrics` has.
async fn counted(server: &Server) -> [u64; 2] {
    let asked = Request::new("GET /metrics").header("host", b"localhost");
    let metrics = asked.send(server.address()).await;
    let text = String::from_utf8_lossy(&metrics.bytes).into_owned();
    ["wait", "handle"].map(|time| {
        let name = format!("tasuki_transfer_{time}_seconds_count ");
        let count = text.lines().find_map(|line| line.strip_prefix(&name));
        count.and_then(|count| count.parse().ok()).expect("a count")
    })
}

async fn until_counted(server: &Server, expected: [u64; 2]) {
    let seen = async { while counted(server).await != expected {} };
    let seen = tokio::time::timeout(Duration::from_secs(60), seen).await;
    seen.unwrap_or_else(|_| panic!("it does not count {expected:?}"));
}

/// A customer who waits again has waited since then, and a colleague's customer does not wait.
#[tokio::test]
async fn news_say_since_when_a_customer_waits_now() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let hana = desk.person("hana").await;
    desk.person("ivan").await;
    let mut ivan = Socket::open(&desk.server, &desk.server.token("ivan", &[])).await;
    ivan.ok(json!({ "do": "subscribe" })).await;
    let transfer = desk.request(&desk.bob, json!({ "epoch": 1 })).await;
    let asked = until_queued(&mut ivan).await;
    assert_eq!(asked["waitingSince"], transfer["requested_at"]);
    act(&hana, &transfer, "pickup", json!({ "epoch": 2, "accept": true })).await;
    // The clock of the server goes on between two requests.
    let again = json!({ "to": "default", "type": "blind", "epoch": 3 });
    let again = act(&hana, &transfer, "transfer", again).await;
    let waits = until_queued(&mut ivan).await;
    assert_eq!(waits["waitingSince"], again["record"]["waiting_since"], "{again}");
    assert_ne!(waits["waitingSince"], asked["waitingSince"]);
    let epoch = again["epoch"].clone();
    act(&hana, &transfer, "pickup", json!({ "epoch": epoch, "accept": true })).await;
    let id = transfer["transfer_id"].as_str().expect("an id");
    let with_hana = ok(&hana, Call::get(format!("/v1/transfers/{id}"))).await;
    let asks_in = json!({ "to": "default", "epoch": with_hana["epoch"] });
    act(&hana, &transfer, "transfer", asks_in).await;
    let leg = loop {
        let queued = until_queued(&mut ivan).await;
        if queued.get("leg").is_some() {
            break queued;
        }
    };
    assert_eq!((&leg["epoch"], &leg["waitingSince"]), (&with_hana["epoch"], &Value::Null));
}

/// Who is asked by name need not belong to the queue.
#[tokio::test]
async fn a_person_from_outside_of_the_queue_is_told_what_a_pickup_needs() {
    let desk = Desk::open(json!({ "mode": "pick", "wanted": { "team": "care" } })).await;
    let hana = desk.person("hana").await;
    let profile = json!({ "kind": "human", "profile": { "name": "Hana", "team": "care" } });
    ok(&desk.operator, Call::put("/v1/agents/hana", profile)).await;
    desk.person("pam").await;
    let mut socket = Socket::open(&desk.server, &desk.server.token("pam", &[])).await;
    socket.ok(json!({ "do": "subscribe" })).await;
    let transfer = desk.request(&desk.customer, json!({})).await;
    let id = transfer["transfer_id"].as_str().expect("an id");
    let of = "/v1/transfers?queue=default&status=queued";
    let listed = ok(&desk.operator, Call::get(of)).await["items"][0].clone();
    assert_eq!(listed["queue_position"], 1);
    assert_eq!(listed["waiting_for"][0]["who"], "queue:default");
    let waiting = &ok(&desk.customer, Call::get(format!("/v1/transfers/{id}"))).await;
    let waiting = &waiting["waiting_for"][0];
    assert_eq!((&waiting["for"], &waiting["then"]), (&json!([]), &json!("fails")));
    let taken = json!({ "epoch": 2, "accept": true });
    ok(&hana, Call::post(format!("/v1/transfers/{id}/pickup"), taken)).await;
    let asks_in = json!({ "to": "pam", "type": "human_to_human", "epoch": 3 });
    ok(&hana, Call::post(format!("/v1/transfers/{id}/transfer"), asks_in)).await;
    let told = until_told(&mut socket, "queue_changed").await;
    assert_eq!((&told["status"], &told["leg"]), (&json!("ringing"), &json!(1)));
    assert_eq!((&told["epoch"], &told["targetAgent"]["agentId"]), (&json!(3), &json!("pam")));
}

async fn until_queued(socket: &mut Socket) -> Value {
    loop {
        let told = until_told(socket, "queue_changed").await;
        if told["status"] == "queued" {
            return told;
        }
    }
}
