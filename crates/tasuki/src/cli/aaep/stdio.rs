//! `tasuki aaep stdio`: a program that starts this one speaks AAEP with it over standard input and
//! output, as JSON-RPC 2.0. This process lasts as long as its connection.

use std::future::Pending;
use std::io::{BufRead, Read};
use std::pin::Pin;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use futures_util::{SinkExt, StreamExt};
use gateways::json_rpc::{Bridge, Step, WAITING_MAX, notify};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::Timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::cli::reach::Reach;
use crate::client::Unreachable;
use crate::node::control_socket;
use crate::socket::Socket;
use crate::{exit_code, output};

const PATH: &str = "/aaep/v1/ws";
const PROTOCOL: &str = "aaep.v1";

/// The longest line: a message of the greatest length, and what JSON-RPC puts around it.
const LINE_BYTES_MAX: usize = 1024 * 1024 + 4 * 1024;

/// Lines that were read and not yet sent.
const LINES_MAX: usize = 4;

/// How long to wait for the last answers after the end of the input.
const LAST_ANSWERS_MAX: Duration = Duration::from_secs(10);

/// It speaks JSON whatever is asked for.
#[derive(Debug, Args)]
#[command(mut_arg("json", |flag| flag.hide(true)))]
pub struct StdioArgs {
    #[command(flatten)]
    reach: Reach,
}

/// Elapses some time after the end of the input.
type Late = Pin<Box<Timeout<Pending<()>>>>;

enum StdioStep {
    Line(Option<StdioLine>),
    Told(Option<Message>),
    Late,
}

enum StdioLine {
    Text(String),
    TooLong,
}

pub async fn run(args: StdioArgs) -> Result<u8> {
    let reach = args.reach;
    if reach.server.is_none() {
        let path = control_socket(&reach.data()?);
        let is_there = tokio::net::UnixStream::connect(&path).await;
        is_there.map_err(|_| Unreachable(path.display().to_string()))?;
    }
    let reached = reach.connect().await?;
    let mut socket = reached.client.socket_at(PATH, PROTOCOL).await?;
    let code = converse(&mut socket).await?;
    reached.finish().await;
    Ok(code)
}

async fn converse(socket: &mut Socket) -> Result<u8> {
    let mut lines = lines();
    let mut bridge = Bridge::default();
    let mut late: Option<Late> = None;
    loop {
        if late.is_some() && bridge.n_waiting() == 0 {
            return leave(socket).await;
        }
        let may_read = late.is_none() && bridge.n_waiting() < WAITING_MAX;
        let next = tokio::select! {
            line = lines.recv(), if may_read => StdioStep::Line(line),
            told = socket.next() => StdioStep::Told(told.transpose().unwrap_or_default()),
            () = passed(&mut late) => StdioStep::Late,
        };
        match next {
            StdioStep::Line(Some(StdioLine::Text(line))) => match bridge.heard(&line) {
                Step::Send(message) => {
                    let sent = socket.send(Message::text(message)).await;
                    sent.context("the server is gone")?;
                }
                Step::Say(line) => say(&line)?,
                Step::Leave => return leave(socket).await,
                Step::Nothing => {}
            },
            StdioStep::Line(Some(StdioLine::TooLong)) => say(&too_long())?,
            StdioStep::Line(None) => {
                let waiting = tokio::time::timeout(LAST_ANSWERS_MAX, std::future::pending());
                late = Some(Box::pin(waiting));
            }
            StdioStep::Late => return leave(socket).await,
            StdioStep::Told(Some(Message::Text(text))) => {
                if let Some(line) = bridge.told(&text) {
                    say(&line)?;
                }
            }
            StdioStep::Told(Some(Message::Close(frame))) => return closed(frame),
            StdioStep::Told(Some(
                Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_),
            )) => {}
            StdioStep::Told(None) => return closed(None),
        }
    }
}

/// Closes the connection, after the end of the input or at the peer's request.
async fn leave(socket: &mut Socket) -> Result<u8> {
    let frame = CloseFrame { code: CloseCode::Normal, reason: "".into() };
    // A peer that is gone already needs no close frame.
    let _ = socket.close(Some(frame)).await;
    let gone = async { while let Some(Ok(_)) = socket.next().await {} };
    let _ = tokio::time::timeout(Duration::from_secs(1), gone).await;
    Ok(exit_code::OK)
}

/// The server has closed the connection: what it said, and the exit code.
fn closed(frame: Option<CloseFrame>) -> Result<u8> {
    let (code, reason) = match &frame {
        Some(frame) => (u16::from(frame.code), frame.reason.as_str()),
        None => (1006, "the connection broke off"),
    };
    say(&notify("aaep.close", &json!({ "code": code, "reason": reason }).to_string()))?;
    Ok(match code {
        1000 | 4000 | 4005 => exit_code::OK,
        4001..=4004 => exit_code::REFUSED,
        _ => exit_code::UNREACHABLE,
    })
}

async fn passed(late: &mut Option<Late>) {
    match late {
        Some(late) => {
            let _ = late.await;
        }
        None => std::future::pending().await,
    }
}

fn say(line: &str) -> Result<()> {
    let line: &RawValue = serde_json::from_str(line).context("what is said is JSON")?;
    output::json_to_keep(&line).context("standard output is closed")
}

fn too_long() -> String {
    let message = format!("a line: expected at most {LINE_BYTES_MAX} bytes");
    let code = gateways::json_rpc::INVALID_REQUEST;
    json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": message } })
        .to_string()
}

/// The lines of standard input. Read on a thread of its own, which may still block when the process
/// ends.
fn lines() -> mpsc::Receiver<StdioLine> {
    let (sender, lines) = mpsc::channel(LINES_MAX);
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        while let Some(line) = read_line(&mut input) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// Skips empty lines. A line that is too long is dropped.
fn read_line(input: &mut impl BufRead) -> Option<StdioLine> {
    loop {
        let mut bytes = Vec::new();
        let limit = u64::try_from(LINE_BYTES_MAX + 1).expect("it is small");
        let n_read = input.by_ref().take(limit).read_until(b'\n', &mut bytes).ok()?;
        if n_read == 0 {
            return None;
        }
        if bytes.last() != Some(&b'\n') && bytes.len() > LINE_BYTES_MAX {
            skip_line(input)?;
            return Some(StdioLine::TooLong);
        }
        let text = String::from_utf8_lossy(&bytes);
        if !text.trim().is_empty() {
            return Some(StdioLine::Text(text.trim().to_owned()));
        }
    }
}

fn skip_line(input: &mut impl BufRead) -> Option<()> {
    loop {
        let (n_bytes, is_end) = {
            let bytes = input.fill_buf().ok()?;
            match bytes.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (bytes.len(), bytes.is_empty()),
            }
        };
        input.consume(n_bytes);
        if is_end {
            return Some(());
        }
    }
}
