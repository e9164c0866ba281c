//! A client that behaves like other tools. It splits frames at blank lines, ignores names and ids,
//! and never reconnects.

use std::process::Command;
use std::time::Duration;

use axum::body::Body;
use futures_util::{SinkExt, StreamExt};
use http_body_util::BodyExt;
use serde_json::Value;
use tasuki::client::{Call, Client};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::server::Server;

pub const AT: &str = "/aaep/compat/scripted";

/// Everything arrives sooner, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Stream,
    Socket,
}

/// A listener that also sends messages.
pub struct Listener {
    client: Client,
    base: String,
    carrier: Carrier,
    /// Everything that was heard.
    pub all: Vec<String>,
}

enum Carrier {
    Stream { body: Body, waiting: Vec<u8> },
    Socket(Box<WebSocketStream<TcpStream>>),
}

/// A server whose scripted agent makes no pauses and asks for no token, and its folder.
pub fn serve(environment: &[(&str, &str)]) -> (Server, TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().join("data");
    (Server::start_on(&data, |command| switch_on(command, environment)), folder)
}

pub fn switch_on(command: &mut Command, environment: &[(&str, &str)]) {
    command.args(["--aaep-compat", "scripted"]).env("TASUKI_AAEP_SCRIPTED_PACE_PERCENT", "0");
    command.envs(environment.iter().copied());
}

pub fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} is missing: {value}"))
}

/// The status and the body of an answer.
pub async fn post(server: &Server, token: Option<&str>, to: &str, body: &Value) -> (u16, Value) {
    let client = token.map_or_else(|| server.anonymous(), |token| server.with_token(token));
    let call = Call::post(format!("{AT}/{to}"), body.clone());
    let answer = client.call(call).await.expect("the server answers");
    (answer.status, answer.body)
}

impl Listener {
    pub async fn open(server: &Server, way: Way, token: Option<&str>) -> Self {
        Self::open_at(server, way, token, "scripted").await
    }

    pub async fn open_at(server: &Server, way: Way, token: Option<&str>, agent: &str) -> Self {
        let client = token.map_or_else(|| server.anonymous(), |token| server.with_token(token));
        let base = format!("/aaep/compat/{agent}");
        let carrier = match way {
            Way::Stream => {
                let call = Call::get(format!("{base}/events"));
                let response = client.open(&call, &[]).await.expect("the server answers");
                assert_eq!(response.status().as_u16(), 200);
                let kind = response.headers()["content-type"].to_str().expect("text");
                assert!(kind.starts_with("text/event-stream"), "{kind}");
                Carrier::Stream { body: response.into_body(), waiting: Vec::new() }
            }
            Way::Socket => {
                let url = format!("ws://{}{base}/ws", server.address());
                let mut request = url.into_client_request().expect("the URL is one");
                if let Some(token) = token {
                    let bearer = format!("Bearer {token}").parse().expect("a header");
                    request.headers_mut().append("authorization", bearer);
                }
                let tcp = TcpStream::connect(server.address()).await.expect("it listens");
                let (socket, answer) =
                    tokio_tungstenite::client_async(request, tcp).await.expect("it opens");
                assert!(!answer.headers().contains_key("sec-websocket-protocol"));
                Carrier::Socket(Box::new(socket))
            }
        };
        Self { client, base, carrier, all: Vec::new() }
    }

    /// Says something that must be received.
    pub async fn send(&mut self, message: &Value) {
        match &mut self.carrier {
            Carrier::Stream { .. } => {
                let call = Call::post(format!("{}/messages", self.base), message.clone());
                let answer = self.client.call(call).await.expect("the server answers");
                assert_eq!(answer.status, 200, "{message}: {}", answer.body);
            }
            Carrier::Socket(socket) => {
                socket.send(Message::text(message.to_string())).await.expect("it is open");
            }
        }
    }

    /// The next frame.
    pub async fn next(&mut self) -> Value {
        self.next_if_open().await.expect("it is open")
    }

    /// The same; `None` once the server has closed it.
    pub async fn next_if_open(&mut self) -> Option<Value> {
        let frame = match &mut self.carrier {
            Carrier::Stream { body, waiting } => next_block(body, waiting).await?,
            Carrier::Socket(socket) => loop {
                let message = tokio::time::timeout(PATIENCE, socket.next()).await;
                match message.expect("something is told")?.expect("readable") {
                    Message::Text(text) => break text.to_string(),
                    Message::Ping(_) | Message::Pong(_) => {}
                    Message::Close(_) => return None,
                    other @ (Message::Binary(_) | Message::Frame(_)) => panic!("{other:?}"),
                }
            },
        };
        self.all.push(frame.clone());
        Some(serde_json::from_str(&frame).expect("a frame is JSON"))
    }
}

/// The data of the next block that is not a comment.
async fn next_block(body: &mut Body, waiting: &mut Vec<u8>) -> Option<String> {
    loop {
        if let Some(end) = waiting.windows(2).position(|pair| pair == b"\n\n") {
            let block: Vec<u8> = waiting.drain(..end + 2).collect();
            let block = String::from_utf8(block).expect("a stream is text");
            assert!(!block.contains('\r') && !block.contains("event:"), "{block}");
            let mut data = block.lines().filter_map(|line| line.strip_prefix("data: "));
            let Some(first) = data.next() else { continue };
            assert_eq!(data.next(), None, "one line for each frame");
            return Some(first.to_owned());
        }
        let frame = tokio::time::timeout(PATIENCE, body.frame()).await.expect("it goes on");
        let frame = frame?.expect("it can be read");
        waiting.extend(frame.into_data().unwrap_or_default());
    }
}
