//! A persistent connection to the server, and a minimal client.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::super::http::{find, is_whole};

/// The answers are short; a longer one is an error, which is printed.
const ANSWER_BYTES_MAX: usize = 16 * 1_024;

#[derive(Debug)]
pub struct Line {
    stream: TcpStream,
    token: String,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Line {
    pub async fn connect(address: SocketAddr, token: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).await.context("cannot reach the server")?;
        stream.set_nodelay(true)?;
        let (request, answer) = (Vec::new(), Vec::new());
        Ok(Self { stream, token: token.to_owned(), request, answer })
    }

    /// Events, one on each line.
    pub async fn announce(&mut self, events: &str) -> Result<()> {
        self.post("/aaep/v1/events", "application/x-ndjson", events).await?;
        Ok(())
    }

    /// Sends a request that must succeed, and returns the answer.
    pub async fn post(&mut self, path: &str, kind: &str, body: &str) -> Result<&str> {
        let Self { stream, token, request, answer } = self;
        request.clear();
        std::io::Write::write_fmt(
            request,
            format_args!(
                "POST {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {token}\r\n\
                 content-type: {kind}\r\ncontent-length: {}\r\n\r\n",
                body.len()
            ),
        )?;
        request.extend_from_slice(body.as_bytes());
        stream.write_all(request).await.context("cannot send")?;
        answer.clear();
        while !is_whole(answer) {
            if stream.read_buf(answer).await.context("cannot receive")? == 0 {
                bail!("the server closed the connection");
            }
            if answer.len() > ANSWER_BYTES_MAX {
                bail!("the answer does not end");
            }
        }
        if answer.get(9) != Some(&b'2') {
            bail!("the server said no: {}", String::from_utf8_lossy(answer));
        }
        let head = find(answer, b"\r\n\r\n").context("an answer has a head")?;
        std::str::from_utf8(&answer[head + 4..]).context("an answer is text")
    }

    /// Subscribes. The returned stream carries the events from now on.
    pub async fn listen(mut self, subscription: &str) -> Result<TcpStream> {
        let request = format!(
            "GET /aaep/v1/events?subscription_id={subscription} HTTP/1.1\r\nhost: bench\r\n\
             authorization: Bearer {}\r\n\r\n",
            self.token
        );
        self.stream.write_all(request.as_bytes()).await.context("cannot send")?;
        self.answer.clear();
        while find(&self.answer, b": connected\n\n").is_none() {
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                bail!("nothing is told: {}", String::from_utf8_lossy(&self.answer));
            }
        }
        Ok(self.stream)
    }
}
