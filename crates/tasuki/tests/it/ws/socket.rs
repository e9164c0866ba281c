//! A client of `/ws` that keeps everything it was told, in order.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::server::Server;

/// Everything arrives sooner, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub struct Socket {
    pub stream: WebSocketStream<TcpStream>,
    n_asked: u64,
    told: VecDeque<Value>,
}

/// A handshake that was refused: its status and its problem.
#[derive(Debug)]
pub struct Refused {
    pub status: u16,
    pub body: Value,
}

impl Socket {
    /// As a program does, with its token in a header.
    pub async fn open(server: &Server, token: &str) -> Self {
        let headers = [("authorization", format!("Bearer {token}"))];
        Self::try_open(server, "/ws", &headers).await.expect("the socket opens")
    }

    pub async fn try_open(
        server: &Server,
        path: &str,
        headers: &[(&'static str, String)],
    ) -> Result<Self, Refused> {
        let url = format!("ws://{}{path}", server.address());
        let mut request = url.into_client_request().expect("the URL is one");
        for (name, value) in headers {
            request.headers_mut().append(*name, value.parse().expect("a header"));
        }
        let stream = TcpStream::connect(server.address()).await.expect("the server listens");
        match tokio_tungstenite::client_async(request, stream).await {
            Ok((stream, _response)) => Ok(Self { stream, n_asked: 0, told: VecDeque::new() }),
            Err(Error::Http(response)) => {
                let status = response.status().as_u16();
                let body = response.into_body().unwrap_or_default();
                Err(Refused { status, body: serde_json::from_slice(&body).unwrap_or(Value::Null) })
            }
            Err(error) => panic!("the handshake broke off: {error}"),
        }
    }

    pub async fn send(&mut self, message: Message) {
        self.stream.send(message).await.expect("the socket is open");
    }

    /// Sends a frame under an id of its own, and returns the id.
    pub async fn begin(&mut self, mut frame: Value) -> String {
        self.n_asked += 1;
        let id = self.n_asked.to_string();
        frame["id"] = json!(id);
        self.send(Message::text(frame.to_string())).await;
        id
    }

    /// Sends a request, and returns the answer. Events that come meanwhile are kept.
    pub async fn ask(&mut self, frame: Value) -> Value {
        let id = self.begin(frame).await;
        self.answer_to(&json!(id)).await
    }

    pub async fn answer_to(&mut self, id: &Value) -> Value {
        let answers = |frame: &Value| frame.get("re").is_some_and(|re| re == id);
        if let Some(at) = self.told.iter().position(answers) {
            return self.told.remove(at).expect("it is there");
        }
        loop {
            let frame = self.read().await.expect("the socket stays open until it has answered");
            if answers(&frame) {
                return frame;
            }
            self.told.push_back(frame);
        }
    }

    /// Sends a request that must succeed, and returns the body of the answer.
    pub async fn ok(&mut self, frame: Value) -> Value {
        let asked = frame.to_string();
        let answer = self.ask(frame).await;
        let status = answer["status"].as_u64().unwrap_or_default();
        assert!((200..300).contains(&status), "{asked}: {answer}");
        answer["body"].clone()
    }

    /// Sends a request that must be refused, and returns the status with the code.
    pub async fn refused(&mut self, frame: Value) -> (u64, String) {
        let answer = self.ask(frame).await;
        let code = answer["body"]["code"].as_str().unwrap_or_default().to_owned();
        (answer["status"].as_u64().unwrap_or_default(), code)
    }

    /// The next frame that is not an answer.
    pub async fn told(&mut self) -> Value {
        match self.told.pop_front() {
            Some(frame) => frame,
            None => self.read().await.expect("the socket stays open"),
        }
    }

    /// The next frame with an event of the ledger.
    pub async fn event(&mut self) -> Value {
        loop {
            let frame = self.told().await;
            if frame.get("event").is_some() {
                return frame;
            }
        }
    }

    /// Everything told so far: what was sent before the answer to a ping.
    pub async fn all_told(&mut self) -> Vec<Value> {
        assert_eq!(self.ask(json!({ "do": "ping" })).await["status"], 200);
        self.told.drain(..).collect()
    }

    /// The close code of the other side; `None` if it breaks off.
    pub async fn closed(&mut self) -> Option<u16> {
        loop {
            match self.next().await {
                Some(Ok(Message::Close(Some(frame)))) => return Some(frame.code.into()),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return None,
            }
        }
    }

    /// The next frame of text, as JSON; `None` once it is closed.
    async fn read(&mut self) -> Option<Value> {
        loop {
            match self.next().await? {
                Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).expect("JSON")),
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    async fn next(&mut self) -> Option<Result<Message, Error>> {
        let next = tokio::time::timeout(PATIENCE, self.stream.next());
        next.await.expect("something comes in time")
    }
}
