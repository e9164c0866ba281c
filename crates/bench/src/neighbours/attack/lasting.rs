//! Attacks that hold something open: streams that are not read, sockets, requests whose answer is
//! not waited for, and heads that never end.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;

use super::super::super::load::sleep;
use super::super::wire::request;
use super::Attacker;

/// Streams of one token. Those of all are nearly as many as an address may have connections.
const STREAMS: usize = 40;

/// Requests of one token that wait for a slow check.
const WAITING: usize = 24;

/// Unfinished heads of one token.
const HEADS: usize = 100;

/// Frames that are sent at once.
const FRAMES: usize = 64;

/// Webhooks of one token: as many as it may have.
const WEBHOOKS: u64 = 8;

/// Between two bytes of a head that never ends.
const TRICKLE: Duration = Duration::from_millis(50);

const TEXT: u8 = 0x81;
/// A text of which more is to come.
const BEGUN: u8 = 0x01;
const BINARY: u8 = 0x82;
const PING: u8 = 0x89;

impl Attacker {
    /// Opens event streams from the beginning and never reads; then writes what they would tell.
    pub(super) async fn streams(&mut self) -> Result<()> {
        if self.kept.len() < STREAMS {
            let mut stream = self.wire.connect().await?;
            let open = request("GET", "/v1/events?after=0", self.token(), None);
            stream.write_all(&open).await?;
            let is_open = is_success(&mut stream).await?;
            self.count(is_open, 1);
            if is_open {
                self.kept.push_back(stream);
                return Ok(());
            }
        }
        let offer = self.target.bodies.middle(&self.unique());
        self.post("/v1/handoffs", &offer).await?;
        Ok(())
    }

    /// Artifacts and webhooks whose endpoint never answers. The verdicts are not waited for.
    pub(super) async fn slow_urls(&mut self) -> Result<()> {
        let silent = self.target.silent.clone();
        if self.n_steps < WEBHOOKS {
            let webhook = json!({ "url": format!("{silent}/{}", self.n_steps) }).to_string();
            self.post("/v1/webhooks", &webhook).await?;
        }
        let small = self.target.bodies.small(&self.unique());
        let url = format!("{silent}/{}", self.unique());
        let reference = json!({ "type": "url", "path": url });
        let artifacts = json!([{ "artifact_id": "a", "ref": reference }]);
        let offer = format!("{{\"artifacts\":{artifacts},{}", &small[1..]);
        let made = self.post("/v1/handoffs", &offer).await?;
        let Some(id) = made.field("handoff_id") else { return Ok(()) };
        let path = format!("/v1/handoffs/{id}/accept");
        let accept = request("POST", &path, &self.target.team.workers[0], Some("{}"));
        let mut stream = self.wire.connect().await?;
        stream.write_all(&accept).await?;
        self.count(true, 1);
        self.kept.push_back(stream);
        if self.kept.len() > WAITING {
            self.kept.pop_front();
        }
        Ok(())
    }

    /// Commands, garbage, pings and messages that are never finished, as fast as they are taken.
    pub(super) async fn sockets(&mut self) -> Result<()> {
        let mut socket = self.wire.connect().await?;
        let head = format!(
            "GET /ws HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {}\r\nupgrade: websocket\r\n\
             connection: upgrade\r\nsec-websocket-version: 13\r\n\
             sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
            self.token()
        );
        socket.write_all(head.as_bytes()).await?;
        let mut answer = [0; 12];
        socket.read_exact(&mut answer).await?;
        let is_open = &answer[9..] == b"101";
        self.count(is_open, 1);
        ensure!(is_open, "no socket");
        let (mut reading, writing) = socket.into_split();
        let frames = frames(self.number);
        let counted = async {
            let mut answers = vec![0; 16 * 1_024];
            loop {
                let n_read = reading.read(&mut answers).await?;
                ensure!(n_read > 0, "closed");
                let text = String::from_utf8_lossy(&answers[..n_read]);
                self.count(true, text.matches("\"status\":2").count() as u64);
                self.count(false, text.matches("\"status\":4").count() as u64);
            }
        };
        tokio::select! {
            ended = counted => ended,
            ended = flood(writing, &frames) => ended,
        }
    }

    /// Heads of requests that never end, and bodies that were announced and do not come.
    pub(super) async fn slow_heads(&mut self) -> Result<()> {
        let mut stream = self.wire.connect().await?;
        let beginning = match self.n_steps % 2 {
            0 => b"GET /v1/handoffs HTTP/1.1\r\nhost: bench\r\nx-slow: ".to_vec(),
            _ => {
                let mut whole =
                    request("POST", "/v1/handoffs", self.token(), Some(&"x".repeat(900)));
                whole.truncate(whole.len() - 800);
                whole
            }
        };
        stream.write_all(&beginning).await?;
        self.kept.push_back(stream);
        if self.kept.len() > HEADS {
            self.kept.pop_front();
            sleep(TRICKLE).await;
            for stream in &mut self.kept {
                // Those that were closed are replaced one by one.
                let _ = stream.write_all(b"x").await;
            }
        }
        Ok(())
    }
}

async fn flood(mut writing: OwnedWriteHalf, frames: &[u8]) -> Result<()> {
    loop {
        writing.write_all(frames).await?;
    }
}

/// Whether an answer begins with success. The rest is left unread.
async fn is_success(stream: &mut TcpStream) -> Result<bool> {
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await?;
    Ok(answer[9] == b'2')
}

/// Many frames in one piece; the last of every other one is a message that is not finished.
fn frames(number: usize) -> Vec<u8> {
    let command = json!({ "id": "7", "do": "list_handoffs", "with": { "limit": 200 } }).to_string();
    let mut frames = Vec::new();
    for at in 0..FRAMES {
        match at % 4 {
            0 => frame(&mut frames, TEXT, command.as_bytes()),
            1 => frame(&mut frames, TEXT, b"{\"do\": [[[[[[[[[[ no JSON"),
            2 => frame(&mut frames, BINARY, &[0xff; 512]),
            _ => frame(&mut frames, PING, b"?"),
        }
    }
    if number % 2 == 1 {
        frame(&mut frames, BEGUN, &[b' '; 60_000]);
        for _ in 0..FRAMES {
            frame(&mut frames, 0x00, &[b' '; 8_000]);
        }
        frame(&mut frames, 0x80, b" ");
    }
    frames
}

/// A frame of a client. Its mask is zero, which leaves the bytes as they are.
fn frame(frames: &mut Vec<u8>, opcode: u8, payload: &[u8]) {
    const MASKED: u8 = 0x80;
    frames.push(opcode);
    match u16::try_from(payload.len()) {
        Ok(short @ ..=125) => frames.push(MASKED | short as u8),
        Ok(long) => {
            frames.push(MASKED | 126);
            frames.extend_from_slice(&long.to_be_bytes());
        }
        Err(_) => unreachable!("frames of the bench are short"),
    }
    frames.extend_from_slice(&[0; 4]);
    frames.extend_from_slice(payload);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_the_form_of_a_client() {
        let mut frames = Vec::new();
        frame(&mut frames, PING, b"?");
        assert_eq!(frames, [0x89, 0x81, 0, 0, 0, 0, b'?']);
        frames.clear();
        frame(&mut frames, BINARY, &[7; 300]);
        assert_eq!(frames[..8], [0x82, 0xfe, 1, 44, 0, 0, 0, 0]);
        assert_eq!(frames.len(), 308);
    }
}
