//! What customers, people and bots are told of a transfer while it happens, over every road.

use serde_json::{Value, json};
use tasuki::client::Call;

use crate::server::{ok, refused};
use crate::transfers::{Desk, act, until};
use crate::ws::socket::Socket;

/// A socket that follows the conversation of a desk from its beginning.
async fn following(desk: &Desk, token: &str) -> Socket {
    let mut socket = Socket::open(&desk.server, token).await;
    let follow = json!({ "do": "subscribe", "conversation": desk.conversation, "after": 0 });
    socket.ok(follow).await;
    socket
}

/// Another token of the customer, with which to open a socket.
async fn customer_token(desk: &Desk) -> String {
    let minted = ok(&desk.bob, Call::post(desk.path("/tokens"), json!({}))).await;
    minted["token"].as_str().expect("a token").to_owned()
}

/// Everything that is told up to an entry of that name.
async fn told_until(socket: &mut Socket, event: &str) -> Vec<Value> {
    let mut told = Vec::new();
    while told.last().is_none_or(|frame: &Value| frame["event"]["event"] != event) {
        told.push(socket.told().await);
    }
    told
}

/// What colleagues tell each other reaches no customer, on any road.
#[tokio::test]
async fn notes_and_whispers_are_for_colleagues() {
    let desk = Desk::open(json!({})).await;
    let hana = desk.person("hana").await;
    let token = customer_token(&desk).await;
    let mut live = following(&desk, &token).await;
    let transfer = desk.request(&desk.customer, json!({})).await;
    until(&hana, &transfer, "ringing").await;
    act(&hana, &transfer, "accept", json!({ "epoch": 2 })).await;
    act(&hana, &transfer, "note", json!({ "epoch": 3, "text": "hush, a note" })).await;
    let ivan = desk.person("ivan").await;
    let asked = json!({ "to": "ivan", "type": "supervisor_consult", "epoch": 3 });
    act(&hana, &transfer, "transfer", asked).await;
    act(&ivan, &transfer, "accept", json!({ "epoch": 3 })).await;
    act(&ivan, &transfer, "whisper", json!({ "epoch": 3, "text": "hush, a whisper" })).await;
    desk.say(&hana, "all is well", Some(3)).await;
    let summary = json!({ "epoch": 3, "summary": "hush, a summary" });
    act(&hana, &transfer, "complete", summary).await;
    ok(&desk.bob, Call::post(desk.path("/close"), json!({}))).await;

    let mut late = following(&desk, &token).await;
    for socket in [&mut live, &mut late] {
        let told = json!(told_until(socket, "conversation.closed").await).to_string();
        assert!(told.contains("all is well"), "{told}");
        assert!(!told.contains("hush") && !told.contains("transfer.noted"), "{told}");
    }
    let read = ok(&desk.customer, Call::get(desk.path("/messages?limit=200"))).await;
    assert!(!read.to_string().contains("hush"), "{read}");
    for number in 1..=8 {
        let file = Call::get(desk.path(&format!("/messages/{number}/attachments/0")));
        assert_eq!(refused(&desk.customer, file).await.status, 404);
    }
    let stream = format!("/v1/events?stream=conversation/{}", desk.conversation);
    assert_eq!(refused(&desk.customer, Call::get(stream)).await.status, 403);
    for reader in [&hana, &desk.operator] {
        let read = ok(reader, Call::get(desk.path("/messages?limit=200"))).await.to_string();
        assert!(read.contains("hush, a note") && read.contains("hush, a whisper"), "{read}");
    }
}
