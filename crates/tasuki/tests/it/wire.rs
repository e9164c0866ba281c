//! One HTTP request, fully controlled by the test, and its complete answer. Knows no route.

use axum::http::{self, HeaderMap};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    pub path: String,
    /// In order; a name may repeat.
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
}

#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub bytes: Bytes,
}

impl Request {
    /// From its first line, such as `POST /v1/handoffs`.
    pub fn new(line: &str) -> Self {
        let (method, path) = line.split_once(' ').expect("a method and a path");
        let (method, path) = (method.to_owned(), path.to_owned());
        Self { method, path, headers: Vec::new(), body: Vec::new() }
    }

    pub fn header(mut self, name: &str, value: &[u8]) -> Self {
        self.headers.push((name.to_owned(), value.to_vec()));
        self
    }

    pub fn token(self, token: &str) -> Self {
        self.header("authorization", format!("Bearer {token}").as_bytes())
    }

    pub fn json(mut self, body: &Value) -> Self {
        self.body = body.to_string().into_bytes();
        self.header("content-type", b"application/json")
    }

    pub fn text(mut self, body: &str) -> Self {
        self.body = body.as_bytes().to_vec();
        self.header("content-type", b"text/plain")
    }

    /// Sends it on a connection of its own.
    pub async fn send(&self, address: &str) -> Answer {
        Line::open(address).await.ask(self).await
    }

    /// As hyper's type; an error if a header or the path is not valid HTTP.
    pub fn build(&self) -> http::Result<http::Request<Full<Bytes>>> {
        let mut request = http::Request::builder().method(self.method.as_str()).uri(&self.path);
        if !self.headers.iter().any(|(name, _)| name == "host") {
            request = request.header("host", "tasuki");
        }
        for (name, value) in &self.headers {
            request = request.header(name, value.as_slice());
        }
        request.body(Full::new(Bytes::from(self.body.clone())))
    }
}

impl Answer {
    pub async fn read<B>(response: http::Response<B>) -> Self
    where
        B: hyper::body::Body<Data = Bytes>,
        B::Error: std::fmt::Debug,
    {
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.expect("the answer is complete").to_bytes();
        Self { status: parts.status.as_u16(), headers: parts.headers, bytes }
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("headers are text"))
    }

    /// The body as JSON; `null` if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or(Value::Null)
    }
}

/// An open connection, for requests that must not wait for one.
#[derive(Debug)]
pub struct Line {
    sender: SendRequest<Full<Bytes>>,
}

impl Line {
    pub async fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).await.expect("the server listens");
        let (sender, connection) =
            handshake(TokioIo::new(stream)).await.expect("the server speaks HTTP");
        tokio::spawn(connection);
        Self { sender }
    }

    pub async fn ask(&mut self, request: &Request) -> Answer {
        Answer::read(self.exchange(request).await).await
    }

    /// The beginning of an answer that may never end. A refusal is read whole.
    pub async fn begin(&mut self, request: &Request) -> Answer {
        let response = self.exchange(request).await;
        if response.status().is_success() {
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            return Answer { status, headers, bytes: Bytes::new() };
        }
        Answer::read(response).await
    }

    async fn exchange(&mut self, request: &Request) -> http::Response<Incoming> {
        let described = format!("{} {}", request.method, request.path);
        let request = request.build().expect("a request that can be written down");
        self.sender.ready().await.unwrap_or_else(|error| panic!("{described}: {error}"));
        let response = self.sender.send_request(request).await;
        response.unwrap_or_else(|error| panic!("{described}: {error}"))
    }
}
