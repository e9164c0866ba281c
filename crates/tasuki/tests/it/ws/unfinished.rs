//! Messages that are begun and not finished: they have a limited time, and count against what may
//! be written.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use super::{Chat, Socket};
use crate::server::Server;

/// How often a client that does not finish sends something else.
const PACE: Duration = Duration::from_millis(50);

/// One frame of a message in several.
fn part(of: Data, text: &str, is_last: bool) -> Message {
    Message::Frame(Frame::message(text.as_bytes().to_vec(), OpCode::Data(of), is_last))
}

/// Waits until everything that was sent before has been read.
async fn until_read(socket: &mut Socket) {
    socket.send(Message::Ping("read".into())).await;
    while !matches!(socket.stream.next().await, Some(Ok(Message::Pong(_)))) {}
}

/// The code and the reason with which the server closes.
async fn farewell(socket: &mut Socket) -> Option<(u16, String)> {
    while let Some(Ok(message)) = socket.stream.next().await {
        if let Message::Close(Some(frame)) = message {
            return Some((frame.code.into(), frame.reason.to_string()));
        }
    }
    None
}

async fn chat_with(setting: &'static str, value: &'static str) -> (Chat, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start_on(&folder.path().join("data"), |command| {
        command.env(setting, value);
    });
    (Chat::open(server).await, folder)
}

#[tokio::test]
async fn a_message_that_is_not_finished_in_time_ends_its_connection() {
    let (chat, _folder) = chat_with("TASUKI_LIMITS_MESSAGE_READ_MS", "700").await;
    for (path, protocol, code) in [("/ws", "tasuki.v1", 4003), ("/aaep/v1/ws", "aaep.v1", 4004)] {
        let headers = [
            ("authorization", format!("Bearer {}", chat.bob)),
            ("sec-websocket-protocol", protocol.to_owned()),
        ];
        let mut socket = Socket::try_open(&chat.server, path, &headers).await.expect("it opens");
        socket.send(part(Data::Text, "{", false)).await;
        let (mut sending, mut reading) = socket.stream.split();
        // Neither pings nor more of the same message prolong its time.
        let goes_on = async {
            let mut pace = tokio::time::interval(PACE);
            loop {
                pace.tick().await;
                let ping = sending.send(Message::Ping("still here".into())).await;
                let more = sending.send(part(Data::Continue, " ", false)).await;
                if ping.and(more).is_err() {
                    return std::future::pending::<()>().await;
                }
            }
        };
        let closed = async {
            loop {
                match reading.next().await {
                    Some(Ok(Message::Close(Some(frame)))) => return Some(frame),
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return None,
                }
            }
        };
        let frame = tokio::select! {
            () = goes_on => unreachable!("it goes on for ever"),
            closed = closed => closed.expect("the server says why"),
        };
        let expected = (code, "a message was not finished in time");
        assert_eq!((u16::from(frame.code), frame.reason.as_str()), expected, "{path}");
    }
    // One in several parts is as good as another.
    let mut bob = chat.socket(&chat.bob).await;
    bob.send(part(Data::Text, r#"{ "do": "ping", "#, false)).await;
    until_read(&mut bob).await;
    bob.send(part(Data::Continue, r#""id": "1" }"#, true)).await;
    assert_eq!(bob.answer_to(&json!("1")).await["status"], 200);
}

#[tokio::test]
async fn what_has_come_of_a_message_counts_until_it_is_finished() {
    let (chat, _folder) = chat_with("TASUKI_QUOTAS_CUSTOMER_KIB_PER_MINUTE", "64").await;
    let mut ana = chat.socket(&chat.customer).await;
    ana.send(part(Data::Text, &"x".repeat(40_000), false)).await;
    until_read(&mut ana).await;
    ana.send(part(Data::Continue, &"x".repeat(40_000), false)).await;
    assert_eq!(farewell(&mut ana).await, Some(used_up()));
    let mut bob = chat.socket(&chat.bob).await;
    assert_eq!(bob.ask(json!({ "do": "ping" })).await["status"], 200, "others have their own");
}

/// No request counts these messages, so the socket does.
#[tokio::test]
async fn a_message_that_leads_to_no_request_counts_too() {
    let blank = " ".repeat(30_000);
    let nothing = format!(r#"{{ "do": "nothing",{blank}"id": "1" }}"#);
    let ping = format!(r#"{{ "do": "ping",{blank}"id": "1" }}"#);
    for text in [&blank, &nothing, &ping] {
        let (chat, _folder) = chat_with("TASUKI_QUOTAS_CUSTOMER_KIB_PER_MINUTE", "64").await;
        let mut ana = chat.socket(&chat.customer).await;
        for _ in 0..2 {
            ana.send(Message::text(text.clone())).await;
            assert_ne!(ana.told().await["body"]["code"], "quota_reached");
        }
        // One that arrives in pieces is not waited for.
        ana.send(Message::text(text.clone())).await;
        let next = ana.stream.next().await.expect("an answer").expect("it can be read");
        if let Message::Close(frame) = &next {
            assert_eq!(frame.as_ref().map(|frame| u16::from(frame.code)), Some(4004));
        } else {
            assert!(next.to_string().contains("quota_reached"), "{next}");
        }
    }
    let (chat, _folder) = chat_with("TASUKI_QUOTAS_CUSTOMER_KIB_PER_MINUTE", "64").await;
    let mut ana = chat.socket(&chat.customer).await;
    for _ in 0..3 {
        ana.send(Message::binary(vec![0; 30_000])).await;
    }
    assert_eq!(farewell(&mut ana).await, Some(used_up()));
}

fn used_up() -> (u16, String) {
    (4004, "what may be written in a minute is used up".to_owned())
}
