//! The limits of a connection, and when it must end.

use std::time::Duration;

use engine::ports::clock::Stopwatch;
use futures_util::SinkExt;
use serde_json::{Value, json};
use tasuki::client::Call;
use tokio_tungstenite::tungstenite::Message;

use super::{Chat, Socket};
use crate::server::{Server, is_full_run, ok, raise_open_files};

/// An idle connection with a subscription, in a build for tests. Streams of events need 32 KB.
const IDLE_BYTES_MAX: u64 = 64 * 1_024;

#[tokio::test]
async fn a_connection_is_refused_more_than_its_share_and_goes_on() {
    let chat = Chat::start().await;
    let mut ana = chat.socket(&chat.customer).await;
    let mut flood = Vec::new();
    for number in 0..600 {
        flood.push(ana.begin(json!({ "do": "ping", "id": number })).await);
    }
    let mut n_refused = 0;
    for id in &flood {
        let answer = ana.answer_to(&json!(id)).await;
        if answer["status"] == 429 {
            assert_eq!(answer["body"]["code"], "rate_limited");
            assert!(answer["retry_after"].as_u64().is_some_and(|seconds| seconds > 0), "{answer}");
            n_refused += 1;
        }
    }
    assert!((1..600).contains(&n_refused), "{n_refused} of 600");
    let mut bob = chat.socket(&chat.bob).await;
    assert_eq!(bob.ask(json!({ "do": "ping" })).await["status"], 200, "others have their own");

    let mut waiting = Vec::new();
    for number in 0..150 {
        waiting.push(bob.begin(chat.answer(&format!("answer {number}"), 1)).await);
    }
    let mut statuses = Vec::new();
    for id in &waiting {
        statuses.push(bob.answer_to(&json!(id)).await["status"].clone());
    }
    assert!(
        statuses.iter().all(|status| [json!(201), json!(503)].contains(status)),
        "{statuses:?}"
    );
    let n_done = statuses.iter().filter(|status| **status == json!(201)).count();
    let view = ok(&chat.operator, Call::get(format!("/v1/conversations/{}", chat.id))).await;
    assert_eq!(view["n_messages"], json!(n_done), "what was refused was not done");

    for _ in 0..8 {
        bob.ok(json!({ "do": "subscribe", "after": 0 })).await;
    }
    let ninth = bob.refused(json!({ "do": "subscribe" })).await;
    assert_eq!(ninth, (429, "too_many_streams".to_owned()));
}

#[tokio::test]
async fn a_subscription_ends_when_it_is_asked_to() {
    let chat = Chat::start().await;
    let mut bob = chat.socket(&chat.bob).await;
    let id = bob.begin(chat.follow(None)).await;
    bob.answer_to(&json!(id)).await;
    let mut same = chat.follow(None);
    same["id"] = json!(id);
    bob.send(Message::text(same.to_string())).await;
    assert_eq!(bob.answer_to(&json!(id)).await["body"]["code"], "already_exists");
    bob.ok(json!({ "do": "unsubscribe", "of": id })).await;
    bob.ok(chat.answer("hello", 1)).await;
    bob.ok(json!({ "do": "subscribe", "after": 0, "kind": "conversation" })).await;
    let mut told = Vec::new();
    while told.len() < 2 {
        told.push(bob.event().await);
    }
    assert!(told.iter().all(|frame| frame["of"] != json!(id)), "{told:?}");
}

#[tokio::test]
async fn a_customer_has_a_few_connections() {
    let chat = Chat::start().await;
    let mut tabs = Vec::new();
    for _ in 0..16 {
        tabs.push(chat.socket(&chat.customer).await);
    }
    let bearer = [("authorization", format!("Bearer {}", chat.customer))];
    let refused = Socket::try_open(&chat.server, "/ws", &bearer).await.expect_err("one too many");
    assert_eq!((refused.status, &refused.body["code"]), (429, &json!("too_many_streams")));
    drop(tabs.pop());
    // The server notices the disconnect asynchronously.
    while Socket::try_open(&chat.server, "/ws", &bearer).await.is_err() {}
}

#[tokio::test]
async fn a_connection_ends_with_its_token_and_when_its_roles_change() {
    let chat = Chat::start().await;
    let issued = ok(&chat.operator, Call::post("/v1/tokens", json!({ "agent": "bob" }))).await;
    let mut bob = chat.socket(issued["token"].as_str().unwrap()).await;
    bob.ok(chat.follow(None)).await;
    let stopwatch = Stopwatch::start();
    let revoke = format!("/v1/tokens/{}/revoke", issued["token_id"].as_str().unwrap());
    ok(&chat.operator, Call::post(revoke, json!({}))).await;
    assert_eq!(bob.closed().await, Some(4001));
    assert!(stopwatch.seconds() < 5.0, "{}", stopwatch.seconds());
    let mut carol = chat.socket(&chat.carol).await;
    let roles = json!({ "roles": ["coordinator"] });
    ok(&chat.operator, Call::put("/v1/agents/carol/roles", roles)).await;
    assert_eq!(carol.closed().await, Some(4001));
}

#[tokio::test]
async fn a_connection_ends_when_its_peer_is_silent_or_senseless_or_the_server_stops() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_on(&folder.path().join("data"), |command| {
        command.env("TASUKI_LIMITS_PING_MS", "700");
    });
    let chat = Chat::open(server).await;
    // A client answers pings only while it reads.
    let mut silent = chat.socket(&chat.bob).await;
    let mut lively = chat.socket(&chat.bob).await;
    let stopwatch = Stopwatch::start();
    while stopwatch.seconds() < 2.5 {
        let _ = tokio::time::timeout(Duration::from_millis(200), lively.told()).await;
    }
    assert_eq!(silent.closed().await, Some(4002));
    assert_eq!(lively.ask(json!({ "do": "ping" })).await["status"], 200);

    let mut senseless = chat.socket(&chat.bob).await;
    let huge = Message::text("x".repeat(3 << 20));
    // It is cut off while it sends.
    let _ = senseless.stream.send(huge).await;
    assert!(matches!(senseless.closed().await, Some(1002) | None));
    assert_eq!(lively.ask(json!({ "do": "ping" })).await["status"], 200);

    lively.ok(chat.follow(None)).await;
    assert_eq!(chat.server.stop(), Some(0));
    assert_eq!(lively.closed().await, Some(1001));
}

#[tokio::test]
async fn an_idle_connection_costs_little() {
    raise_open_files();
    let n_sockets: u64 = if is_full_run() { 1_500 } else { 200 };
    let chat = Chat::start().await;
    let mut sockets = Vec::new();
    let open = async |sockets: &mut Vec<Socket>, n_sockets: u64| {
        for _ in 0..n_sockets {
            let mut socket = chat.socket(&chat.bob).await;
            socket.ok(chat.follow(None)).await;
            sockets.push(socket);
        }
    };
    // The first sockets load what is shared into memory.
    open(&mut sockets, 50).await;
    let before = resident_bytes(chat.server.pid());
    open(&mut sockets, n_sockets).await;
    let bytes = resident_bytes(chat.server.pid()).saturating_sub(before) / n_sockets;
    println!("{bytes} bytes for an idle connection with a subscription");
    assert!(bytes < IDLE_BYTES_MAX, "{bytes}");
    let last: Value = sockets.last_mut().expect("many").ask(json!({ "do": "ping" })).await;
    assert_eq!(last["status"], 200);
}

fn resident_bytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kilobytes * 1_024
}
