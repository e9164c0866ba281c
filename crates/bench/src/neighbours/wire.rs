//! A minimal HTTP client for callers that share the machine with the server. Each side calls from
//! an address of its own, as it would from another machine.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::super::http::find;

/// Exports and pages are longer than most answers; no answer of the server is longer than this.
const ANSWER_BYTES_MAX: usize = 64 * 1_024 * 1_024;

/// Who calls. Limits that hold for an address do not mix them up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Victim,
    Beside,
}

/// One whole answer.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub text: String,
}

/// A connection that is opened again when it was closed.
#[derive(Debug)]
pub struct Wire {
    address: SocketAddr,
    side: Side,
    stream: Option<TcpStream>,
    answer: Vec<u8>,
}

impl Answer {
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// A field of the answer that is a text without escapes, such as an id.
    pub fn field(&self, name: &str) -> Option<&str> {
        let (_, rest) = self.text.split_once(&format!("\"{name}\":\""))?;
        Some(rest.split_once('"')?.0)
    }
}

impl Wire {
    pub fn new(address: SocketAddr, side: Side) -> Self {
        Self { address, side, stream: None, answer: Vec::new() }
    }

    /// A new connection with a small buffer, so that the server notices who does not read.
    pub async fn connect(&self) -> Result<TcpStream> {
        let last = match self.side {
            Side::Victim => 1,
            Side::Beside => 2,
        };
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)), 0))?;
        if self.side == Side::Beside {
            socket.set_recv_buffer_size(16 * 1_024)?;
        }
        let stream = socket.connect(self.address).await.context("cannot reach the server")?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// Sends a request and reads its answer.
    pub async fn ask(&mut self, request: &[u8]) -> Result<Answer> {
        let asked = self.ask_once(request).await;
        let head = find(&self.answer, b"\r\n\r\n").unwrap_or_default();
        let closes = find(&self.answer[..head], b"connection: close").is_some();
        if asked.is_err() || closes {
            self.stream = None;
        }
        asked
    }

    async fn ask_once(&mut self, request: &[u8]) -> Result<Answer> {
        self.answer.clear();
        if self.stream.is_none() {
            self.stream = Some(self.connect().await?);
        }
        let stream = self.stream.as_mut().context("it was just opened")?;
        let sent = stream.write_all(request).await;
        while !is_whole(&self.answer) {
            let n_read = stream.read_buf(&mut self.answer).await.context("cannot receive")?;
            if n_read == 0 || self.answer.len() > ANSWER_BYTES_MAX {
                // A refusal may come before all of the request is sent, and ends the connection.
                sent.context("cannot send")?;
                bail!("the answer does not end");
            }
        }
        let head = String::from_utf8_lossy(self.answer.get(9..12).unwrap_or_default());
        let status = head.parse().context("an answer has a status")?;
        let body = find(&self.answer, b"\r\n\r\n").map_or(0, |head| head + 4);
        let text = String::from_utf8_lossy(&self.answer[body..]).into_owned();
        Ok(Answer { status, text })
    }
}

/// The bytes of a request with a JSON body, or without a body.
pub fn request(method: &str, path: &str, token: &str, body: Option<&str>) -> Vec<u8> {
    let kind = if path == "/aaep/v1/events" { "x-ndjson" } else { "json" };
    let body_head = body.map_or(String::new(), |body| {
        format!("content-type: application/{kind}\r\ncontent-length: {}\r\n", body.len())
    });
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {token}\r\n\
         {body_head}\r\n"
    );
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(body.unwrap_or_default().as_bytes());
    bytes
}

/// Whether head and body have arrived.
fn is_whole(answer: &[u8]) -> bool {
    let Some(head) = find(answer, b"\r\n\r\n") else { return false };
    match find(&answer[..head + 2], b"transfer-encoding: chunked\r\n") {
        Some(_) => answer.ends_with(b"\r\n0\r\n\r\n"),
        None => super::super::http::is_whole(answer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_in_chunks_ends_with_an_empty_one() {
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        for (body, expected) in
            [("", false), ("2\r\n{}\r\n", false), ("2\r\n{}\r\n0\r\n\r\n", true)]
        {
            assert_eq!(is_whole(format!("{head}{body}").as_bytes()), expected, "{body:?}");
        }
        assert!(is_whole(b"HTTP/1.1 204 No Content\r\n\r\n"));
    }

    #[test]
    fn ids_are_found_in_answers() {
        let answer = Answer { status: 201, text: "{\"handoff_id\":\"7\"}".to_owned() };
        assert_eq!((answer.field("handoff_id"), answer.field("id")), (Some("7"), None));
    }
}
