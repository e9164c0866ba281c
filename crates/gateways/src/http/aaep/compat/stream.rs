//! `GET events`: frames without a name, one `data` line each.

use std::convert::Infallible;
use std::sync::Arc;

use aaep::shape::Cursor;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use protocol::time::Span;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

use crate::http::aaep::compat::line::{CompatLine, Frame, LineStep};
use crate::http::aaep::compat::mount::Mount;
use crate::http::aaep::compat::{is_still_allowed, now, readable};
use crate::http::aaep::state::Aaep;
use crate::http::shared::cursors;
use crate::http::shared::problem::Problem;
use crate::http::shared::streams::OpenStream;

/// How often the token is checked.
const LOOK: Span = Span::from_millis(1_000);

/// How many token checks lie between heartbeats on a quiet stream. Clients give up after 30
/// seconds.
const LOOKS_PER_BEAT: u32 = 10;

/// Chunks on their way to a slow reader. Past this it falls behind in the ledger instead.
const CHUNKS_MAX: usize = 2;

pub async fn listen(
    State(gateway): State<Aaep>,
    mount: Mount,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    if *gateway.stopping.borrow() {
        return Err(Problem::new("stopping", "the server is stopping"));
    }
    let place = OpenStream::take(&gateway, &mount.asker, gateway.limits.streams_per_token_max)?;
    // The cursor is read before the stream joins, so that nothing in between is missed.
    let newest = now(&gateway).await?;
    let joined = gateway.compat.lines.join(&mount.key(), gateway.engine.clock().now());
    let from =
        joined.from.or_else(|| resumed(&gateway, &mount, &headers, newest)).unwrap_or(newest);
    let line = CompatLine::open(gateway.clone(), mount.clone(), joined, from).await?;
    let (chunks, stream) = mpsc::channel::<Bytes>(CHUNKS_MAX);
    let (lane, teamspace) = (Arc::clone(&gateway.slow_lane), mount.asker.caller.teamspace.clone());
    lane.spawn(teamspace, Sending { gateway, mount, line, chunks, _place: place }.run());
    let body = Body::from_stream(ReceiverStream::new(stream).map(Ok::<_, Infallible>));
    let kind = [
        (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok(readable(&headers, (kind, body).into_response()))
}

/// The cursor of a browser that reconnects by itself. Other clients start anew.
fn resumed(gateway: &Aaep, mount: &Mount, headers: &HeaderMap, newest: Cursor) -> Option<Cursor> {
    let text = headers.get("last-event-id")?.to_str().ok()?;
    let given = ("Last-Event-ID", text);
    let cursor = cursors::announced_after(gateway, &mount.asker.caller.teamspace, given).ok()?;
    Some(cursor).filter(|cursor| cursor.sequence <= newest.sequence)
}

/// One open stream.
struct Sending {
    gateway: Aaep,
    mount: Mount,
    line: CompatLine,
    chunks: mpsc::Sender<Bytes>,
    _place: OpenStream,
}

enum Wake {
    Line(Result<LineStep, Problem>),
    Look,
    Stop,
}

impl Sending {
    async fn run(mut self) {
        if self.chunks.send(Bytes::from_static(b": connected\n\n")).await.is_err() {
            return;
        }
        let mut stopping = self.gateway.stopping.clone();
        let mut looked_at = self.gateway.engine.clock().now();
        let mut n_looks = 0;
        loop {
            let wake = tokio::select! {
                next = self.line.next() => Wake::Line(next),
                () = self.gateway.engine.clock().sleep(LOOK) => Wake::Look,
                () = self.chunks.closed() => return,
                _ = stopping.wait_for(|stopping| *stopping) => Wake::Stop,
            };
            // This also runs while there is always something to send.
            let now = self.gateway.engine.clock().now();
            if now.since(looked_at) >= LOOK || now < looked_at {
                looked_at = now;
                if !is_still_allowed(&self.gateway, &self.mount).await {
                    return;
                }
            }
            let chunk = match wake {
                Wake::Line(next) => match self.chunk(next).await {
                    Ok(Some(chunk)) => chunk,
                    Ok(None) => return,
                    Err(problem) => {
                        tracing::warn!(code = problem.code, "a stream was cut off");
                        return;
                    }
                },
                Wake::Look => {
                    n_looks = (n_looks + 1) % LOOKS_PER_BEAT;
                    if n_looks > 0 {
                        continue;
                    }
                    Bytes::from_static(b": beat\n\n")
                }
                Wake::Stop => return,
            };
            if !chunk.is_empty() && self.chunks.send(chunk).await.is_err() {
                return;
            }
        }
    }

    /// What is sent next; nothing once the listener has ended the line.
    async fn chunk(&mut self, next: Result<LineStep, Problem>) -> Result<Option<Bytes>, Problem> {
        let frames = self.line.frames(next?).await?;
        Ok(frames.ok().map(|frames| {
            let mut text = String::new();
            for frame in &frames {
                self.write(&mut text, frame);
            }
            Bytes::from(text)
        }))
    }

    fn write(&self, text: &mut String, frame: &Frame) {
        if let Some(id) = frame.id {
            let teamspace = &self.mount.asker.caller.teamspace;
            let id = cursors::announced(&self.gateway, teamspace, id);
            text.push_str(&format!("id: {id}\n"));
        }
        text.push_str("data: ");
        text.push_str(&frame.text);
        text.push_str("\n\n");
    }
}
