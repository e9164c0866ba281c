//! The other end of a connection, over each transport: messages go in, and messages come out.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::branch::{Branch, Who};
use crate::ws::socket::Socket;

/// Everything arrives sooner, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Lines of a process that were not read yet.
const LINES_MAX: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Road {
    WebSocket,
    Unix,
    Stdio,
}

#[derive(Debug)]
pub enum Peer {
    WebSocket(Box<WebSocketStream<TcpStream>>),
    Unix(UnixStream),
    Stdio(Process),
}

/// A process that speaks for the test; it ends with the test.
#[derive(Debug)]
pub struct Process {
    pub child: Child,
    pub input: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
    n_asked: u64,
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Process {
    fn start(branch: &Branch, who: &Who) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tasuki"))
            .args(["aaep", "stdio", "--as", who.name, "--teamspace", who.teamspace, "--data"])
            .arg(&branch.server.data)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the executable starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let (sender, lines) = mpsc::channel(LINES_MAX);
        std::thread::spawn(move || {
            let mut lines = output.lines().map_while(Result::ok);
            lines.try_for_each(|line| sender.blocking_send(line))
        });
        Self { child, input, lines, n_asked: 0 }
    }

    pub fn write(&mut self, line: &str) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(format!("{line}\n").as_bytes()).expect("it reads");
    }

    /// The next line it writes; `None` once it has ended.
    pub async fn line(&mut self) -> Option<Value> {
        let line = tokio::time::timeout(PATIENCE, self.lines.recv());
        let line = line.await.expect("something comes in time")?;
        Some(serde_json::from_str(&line).expect("JSON"))
    }
}

/// The last thing received, where a transport tells it apart from messages.
enum Came {
    Message(Value),
    Closed(Option<u16>),
}

impl Peer {
    /// With a token on the network; as the owner of the server elsewhere.
    pub async fn open(branch: &Branch, road: Road, who: &Who) -> Self {
        let token = &who.token;
        match road {
            Road::WebSocket => {
                let headers = [
                    ("authorization", format!("Bearer {token}")),
                    ("sec-websocket-protocol", "aaep.v1".to_owned()),
                ];
                let opened = Socket::try_open(&branch.server, "/aaep/v1/ws", &headers).await;
                Self::WebSocket(Box::new(opened.expect("the socket opens").stream))
            }
            Road::Unix => {
                let stream =
                    UnixStream::connect(&branch.socket).await.expect("the socket is there");
                let mut peer = Self::Unix(stream);
                peer.send(json!({ "type": "tasuki.hello", "token": token })).await;
                peer
            }
            Road::Stdio => Self::Stdio(Process::start(branch, who)),
        }
    }

    pub async fn send(&mut self, message: Value) {
        match self {
            Self::WebSocket(socket) => {
                let sent = socket.send(Message::text(message.to_string())).await;
                sent.expect("the socket is open");
            }
            Self::Unix(stream) => {
                let text = message.to_string();
                let length = u32::try_from(text.len()).expect("it is small").to_be_bytes();
                let bytes = [&length[..], text.as_bytes()].concat();
                stream.write_all(&bytes).await.expect("the socket is open");
            }
            Self::Stdio(process) => {
                let kind = message["type"].as_str().unwrap_or_default();
                let (method, is_asked) = match kind {
                    "subscription.request" => ("aaep.subscribe", true),
                    "subscription.renegotiate" => ("aaep.renegotiate", true),
                    "subscription.close" => ("aaep.close", false),
                    kind if kind.ends_with(".reply") => ("aaep.reply", false),
                    _ => ("aaep.announce", true),
                };
                let mut call = json!({ "jsonrpc": "2.0", "method": method, "params": message });
                if is_asked {
                    process.n_asked += 1;
                    call["id"] = json!(process.n_asked);
                }
                process.write(&call.to_string());
            }
        }
    }

    /// The next message, without the transport's envelope.
    pub async fn next(&mut self) -> Value {
        match self.came().await {
            Came::Message(message) => message,
            Came::Closed(code) => panic!("the connection is closed: {code:?}"),
        }
    }

    /// Everything that arrived until the sent messages are handled: messages are handled in order,
    /// and an invalid one is always answered.
    pub async fn received(&mut self) -> Vec<Value> {
        let nonsense = json!({ "type": "subscription.close", "subscription_id": "sub_none" });
        self.send(nonsense).await;
        let mut came = Vec::new();
        loop {
            let message = self.next().await;
            if message["type"] == "tasuki.refused" {
                assert_eq!(message["code"], "not_found", "{message}");
                return came;
            }
            came.push(message);
        }
    }

    /// The process behind standard input and output.
    pub fn process(self) -> Process {
        match self {
            Self::Stdio(process) => process,
            Self::WebSocket(_) | Self::Unix(_) => panic!("there is none"),
        }
    }

    /// The close code of the other side, after any messages; `None` if it breaks off.
    pub async fn closed(&mut self) -> Option<u16> {
        loop {
            match self.came().await {
                Came::Message(_) => {}
                Came::Closed(code) => return code,
            }
        }
    }

    async fn came(&mut self) -> Came {
        let came = tokio::time::timeout(PATIENCE, self.receive());
        came.await.expect("something comes in time")
    }

    async fn receive(&mut self) -> Came {
        match self {
            Self::WebSocket(socket) => loop {
                match socket.next().await {
                    Some(Ok(Message::Text(text))) => {
                        return Came::Message(serde_json::from_str(&text).expect("JSON"));
                    }
                    Some(Ok(Message::Close(frame))) => {
                        return Came::Closed(frame.map(|frame| frame.code.into()));
                    }
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return Came::Closed(None),
                }
            },
            Self::Unix(stream) => {
                let Ok(length) = stream.read_u32().await else { return Came::Closed(None) };
                let mut bytes = vec![0; usize::try_from(length).expect("it is small")];
                if stream.read_exact(&mut bytes).await.is_err() {
                    return Came::Closed(None);
                }
                let message: Value = serde_json::from_slice(&bytes).expect("JSON");
                match message["type"] == "tasuki.closed" {
                    true => {
                        Came::Closed(message["code"].as_u64().and_then(|it| it.try_into().ok()))
                    }
                    false => Came::Message(message),
                }
            }
            Self::Stdio(process) => {
                let Some(line) = process.line().await else { return Came::Closed(None) };
                assert_eq!(line["jsonrpc"], "2.0", "{line}");
                let code = line["params"]["code"].as_u64().and_then(|code| code.try_into().ok());
                match (&line["method"], &line["error"]) {
                    (Value::String(method), _) if method == "aaep.close" && code.is_some() => {
                        Came::Closed(code)
                    }
                    (Value::String(_), _) => Came::Message(line["params"].clone()),
                    (_, Value::Null) => Came::Message(line["result"].clone()),
                    (_, error) => Came::Message(error["data"].clone()),
                }
            }
        }
    }
}
