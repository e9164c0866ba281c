//! Callers of the server. Each has a persistent connection and a minimal client, because it shares
//! the machine with the server that is measured.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use engine::ports::clock::{Clock, SystemClock};
use engine::ports::ids::{Ids, SeededIds};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::child::Server;
use super::load::{Meter, Seen, Walker, Window, drive};
use super::work::{COMPLETION_NOTES, TARGET, cheap_ids, new_task_id, offer_json};

/// The answers of the walk are a few hundred bytes; a longer one is an error, which is printed.
const ANSWER_BYTES_MAX: usize = 16 * 1_024;

/// The length of an id in JSON.
const ID_BYTES: usize = 36;

/// The credentials of the two agents of the bench.
#[derive(Debug, Clone)]
pub struct Tokens {
    pub sender: String,
    pub target: String,
}

/// Lets callers walk over HTTP for a while. Blocks; the callers have a thread of their own.
pub fn measure(server: &Server, tokens: &Tokens, n_callers: usize, window: Window) -> Result<Seen> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut walkers = Vec::with_capacity(n_callers);
        for _ in 0..n_callers {
            walkers.push(HttpWalker::connect(server.address, tokens.clone()).await?);
        }
        drive(walkers, window, server.process()).await
    })
}

/// The same for callers that only read, each the directory entry of an agent: what a request costs
/// before it writes anything.
pub fn measure_reads(
    server: &Server,
    tokens: &Tokens,
    n_callers: usize,
    window: Window,
) -> Result<Seen> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut readers = Vec::with_capacity(n_callers);
        for _ in 0..n_callers {
            readers.push(HttpReader(HttpWalker::connect(server.address, tokens.clone()).await?));
        }
        drive(readers, window, server.process()).await
    })
}

struct HttpReader(HttpWalker);

impl Walker for HttpReader {
    async fn walk(&mut self, meter: &mut Meter) -> Result<()> {
        meter.time(self.0.get(&format!("/v1/agents/{TARGET}"))).await
    }
}

pub(super) struct HttpWalker {
    stream: TcpStream,
    tokens: Tokens,
    /// The offer around its task id.
    offer: (Arc<str>, Arc<str>),
    completion: Arc<str>,
    ids: SeededIds,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl HttpWalker {
    pub(super) async fn connect(address: SocketAddr, tokens: Tokens) -> Result<Self> {
        let stream = TcpStream::connect(address).await.context("cannot reach the server")?;
        stream.set_nodelay(true)?;
        let offer = offer_json("BENCH-0").to_string();
        let (before, after) = offer.split_once("BENCH-0").context("the offer names its task")?;
        Ok(Self {
            stream,
            tokens,
            offer: (before.into(), after.into()),
            completion: json!({ "completion_notes": COMPLETION_NOTES }).to_string().into(),
            ids: cheap_ids(),
            request: Vec::with_capacity(4_096),
            answer: Vec::with_capacity(4_096),
        })
    }

    /// Builds the request from `path` and `body`, sends it and reads the answer.
    async fn post(&mut self, path: [&str; 3], from: From, body: [&str; 3]) -> Result<()> {
        let token = match from {
            From::Sender => &self.tokens.sender,
            From::Target => &self.tokens.target,
        };
        let key = self.ids.uuid(SystemClock.now());
        let length: usize = body.iter().map(|part| part.len()).sum();
        self.request.clear();
        self.request.extend_from_slice(b"POST ");
        for part in path {
            self.request.extend_from_slice(part.as_bytes());
        }
        std::io::Write::write_fmt(
            &mut self.request,
            format_args!(
                " HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {token}\r\n\
                 idempotency-key: {key}\r\ncontent-type: application/json\r\n\
                 content-length: {length}\r\n\r\n"
            ),
        )?;
        for part in body {
            self.request.extend_from_slice(part.as_bytes());
        }
        self.stream.write_all(&self.request).await.context("cannot send")?;
        self.read_answer().await
    }

    async fn get(&mut self, path: &str) -> Result<()> {
        let token = &self.tokens.sender;
        self.request.clear();
        std::io::Write::write_fmt(
            &mut self.request,
            format_args!(
                "GET {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {token}\r\n\r\n"
            ),
        )?;
        self.stream.write_all(&self.request).await.context("cannot send")?;
        self.read_answer().await
    }

    async fn read_answer(&mut self) -> Result<()> {
        self.answer.clear();
        loop {
            if self.stream.read_buf(&mut self.answer).await.context("cannot receive")? == 0 {
                bail!("the server closed the connection");
            }
            if is_whole(&self.answer) {
                break;
            }
            if self.answer.len() > ANSWER_BYTES_MAX {
                bail!("the answer does not end");
            }
        }
        if self.answer.get(9) != Some(&b'2') {
            bail!("the server said no: {}", String::from_utf8_lossy(&self.answer));
        }
        Ok(())
    }

    fn handoff_id(&self) -> Result<String> {
        let text = std::str::from_utf8(&self.answer).context("the answer is text")?;
        let (_, rest) = text.split_once("\"handoff_id\":\"").context("the answer has an id")?;
        Ok(rest.get(..ID_BYTES).context("the id is whole")?.to_owned())
    }
}

impl Walker for HttpWalker {
    async fn walk(&mut self, meter: &mut Meter) -> Result<()> {
        let task_id = new_task_id(&self.ids, SystemClock.now());
        let (before, after) = self.offer.clone();
        let body = [&*before, &task_id, &*after];
        meter.time(self.post(["/v1/handoffs", "", ""], From::Sender, body)).await?;
        let id = self.handoff_id()?;
        let completion = self.completion.clone();
        let rest =
            [("/accept", "{}"), ("/activate", "{}"), ("/complete", &completion), ("/close", "{}")];
        for (action, body) in rest {
            let path = ["/v1/handoffs/", &id, action];
            meter.time(self.post(path, From::Target, [body, "", ""])).await?;
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy)]
enum From {
    Sender,
    Target,
}

/// Whether head and announced body have arrived.
pub(super) fn is_whole(answer: &[u8]) -> bool {
    const LENGTH: &[u8; 16] = b"content-length: ";
    let Some(head) = find(answer, b"\r\n\r\n") else { return false };
    let length = find(&answer[..head], LENGTH).map_or(0, |at| {
        let digits = answer[at + LENGTH.len()..].iter().take_while(|byte| byte.is_ascii_digit());
        digits.fold(0, |length, digit| length * 10 + usize::from(digit - b'0'))
    });
    answer.len() >= head + 4 + length
}

pub(super) fn find<const N: usize>(bytes: &[u8], wanted: &[u8; N]) -> Option<usize> {
    bytes.array_windows().position(|window: &[u8; N]| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_its_body_is() {
        let whole =
            b"HTTP/1.1 200 OK\r\ncontent-type: a\r\ncontent-length: 12\r\n\r\n{\"a\": \"b\" }\n";
        for end in 0..whole.len() {
            assert!(!is_whole(&whole[..end]), "{end}");
        }
        assert!(is_whole(whole));
        assert!(is_whole(b"HTTP/1.1 204 No Content\r\n\r\n"));
    }
}
