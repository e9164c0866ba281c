//! Connections that break off at every step, and slow readers: no client misses anything.

use serde_json::{Value, json};
use tasuki::client::Call;

use super::Chat;
use crate::server::{Server, ok};
use crate::sse::whole_ledger;

/// A ledger event of a frame, with its cursor.
fn entry(frame: &Value) -> Option<(Value, Value)> {
    let event = frame.get("event")?.clone();
    Some((frame["cursor"].clone(), event))
}

/// After each of these steps the connection is gone, without a close.
#[tokio::test]
async fn whoever_comes_back_after_any_frame_misses_nothing_and_repeats_nothing() {
    let chat = Chat::start().await;
    let mut ana = chat.socket(&chat.customer).await;
    let (mut bob, mut carol) = (chat.socket(&chat.bob).await, chat.socket(&chat.carol).await);
    for round in 0..4_u64 {
        let (holder, next) = if round % 2 == 0 { (&mut bob, "carol") } else { (&mut carol, "bob") };
        let epoch = round + 1;
        ana.ok(chat.say(&format!("question {round}"))).await;
        holder.ok(chat.answer(&format!("answer {round}"), epoch)).await;
        let route = json!({ "goto": next, "epoch": epoch });
        holder.ok(chat.command("route_conversation", route)).await;
        // Others' actions move the ledger on, and do not belong to this conversation.
        let other = json!({ "kind": "worker" });
        ok(&chat.operator, Call::put(format!("/v1/agents/other-{round}"), other)).await;
    }
    let root = chat.server.token("root", &["--kind", "operator"]);
    let filter = format!("&stream=conversation/{}", chat.id);
    let ledger = whole_ledger(&chat.operator, &filter).await;
    // Announcements have no cursor of their own.
    let expected: Vec<_> = ledger.iter().filter(|event| event.id.is_some()).collect();
    assert_eq!(ledger.len() - expected.len(), 8, "two announcements of each change of hands");
    let n_entries = expected.len();
    assert_eq!(n_entries, 13);
    for token in [&chat.customer, &root] {
        for frame in [chat.follow(None), json!({ "do": "subscribe" })] {
            let is_customer = *token == chat.customer;
            if !is_customer && frame.get("conversation").is_none() {
                continue;
            }
            // How many frames are read before the connection breaks off.
            for n_read in 1..=6 {
                let (mut place, mut read, mut announced) = (json!(0), Vec::new(), Vec::new());
                while read.len() < n_entries {
                    let mut socket = chat.socket(token).await;
                    let mut frame = frame.clone();
                    frame["after"] = place.clone();
                    socket.ok(frame).await;
                    // A change of hands takes three frames; a reader of fewer would never get past
                    // it.
                    let mut n_frames = 0;
                    while n_frames < n_read.max(3) && read.len() < n_entries {
                        let told = socket.told().await;
                        n_frames += 1;
                        if let Some((cursor, event)) = entry(&told) {
                            place = cursor.clone();
                            read.push((cursor, event));
                        }
                        announced.extend(told.get("eventId").cloned());
                    }
                }
                let places: Vec<_> = read.iter().map(|(cursor, _)| cursor.clone()).collect();
                let ids: Vec<_> = expected.iter().map(|event| json!(event.id)).collect();
                assert_eq!(places, ids, "{n_read} frames at a time");
                for ((_, event), entry) in read.iter().zip(&expected) {
                    assert_eq!(event["event"], entry.data["event"]);
                    assert!(is_customer || *event == entry.data, "{event}");
                }
                announced.dedup();
                announced.sort_by_key(ToString::to_string);
                announced.dedup();
                assert_eq!(announced.len(), 4, "each change of hands is announced: {announced:?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_of_everything_that_keeps_coming_back_has_the_ledger() {
    let chat = Chat::start().await;
    let root = chat.server.token("root", &["--kind", "operator"]);
    let mut ana = chat.socket(&chat.customer).await;
    let say = |number: usize| chat.say(&format!("message {number}"));
    let frames: Vec<_> = (0..150).map(say).collect();
    let writing = tokio::spawn(async move {
        for frame in frames {
            ana.ok(frame).await;
        }
    });
    let (mut place, mut read) = (json!(0), Vec::new());
    let (mut n_connections, mut n_said) = (0, 0);
    while n_said < 150 {
        let mut socket = chat.socket(&root).await;
        n_connections += 1;
        socket.ok(json!({ "do": "subscribe", "after": place })).await;
        for _ in 0..=(n_connections % 9) {
            if n_said == 150 {
                break;
            }
            let told = socket.told().await;
            place = told["cursor"].clone();
            n_said += usize::from(told["event"]["event"] == "conversation.said");
            read.extend(entry(&told));
        }
    }
    writing.await.unwrap();
    let ledger = whole_ledger(&chat.operator, "").await;
    let ledger: Vec<_> = ledger.into_iter().map(|event| (json!(event.id), event.data)).collect();
    assert_eq!(read, ledger[..read.len()]);
    println!("{n_connections} connections for {} entries", read.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_catches_up_and_holds_up_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start_on(&folder.path().join("data"), |command| {
        command.env("TASUKI_QUOTAS_CUSTOMER_REQUESTS_PER_MINUTE", "0");
    });
    let chat = Chat::open(server).await;
    let mut slow = chat.socket(&chat.bob).await;
    let id = slow.begin(chat.follow(Some(json!(0)))).await;
    let ana = chat.server.with_token(&chat.customer);
    let mut quick = chat.socket(&chat.bob).await;
    quick.ok(chat.follow(None)).await;
    let say = json!({ "parts": [{ "type": "text", "text": "x".repeat(15_000) }] });
    // More than the buffers of a connection hold: some 9 MB.
    for number in 1..=600 {
        let path = format!("/v1/conversations/{}/messages", chat.id);
        ok(&ana, Call::post(path, say.clone())).await;
        let heard = quick.event().await;
        assert_eq!(heard["event"]["data"]["number"], json!(number));
    }
    slow.answer_to(&json!(id)).await;
    assert_eq!(slow.event().await["event"]["event"], "conversation.opened");
    for number in 1..=600 {
        assert_eq!(slow.event().await["event"]["data"]["number"], json!(number));
    }
}
