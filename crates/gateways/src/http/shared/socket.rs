//! One open WebSocket. A message has a limited time to arrive, and what has come of it counts
//! against what its sender may write, because a message that is never finished takes memory too.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use protocol::caller::Caller;
use protocol::rejection::Rejection;
use protocol::time::Span;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Utf8Bytes};

use crate::http::shared::frame_reader::FrameReader;
use crate::http::shared::gateway::Gateway;

pub use tokio_tungstenite::tungstenite::Message;

/// How long a peer may take to close its side. If we close before it has read our last frame, that
/// frame may be lost.
const FAREWELL_MAX: Duration = Duration::from_secs(1);

/// Bytes are counted in pieces of this size.
const KIB: usize = 1_024;

pub struct Socket {
    stream: WebSocketStream<Watched>,
    gateway: Gateway,
    caller: Caller,
    /// Ends when the message that is arriving has had its time.
    timer: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// What the message that is arriving has taken of the quotas.
    n_taken: usize,
}

/// Why nothing more is read.
#[derive(Debug)]
pub enum ReceiveError {
    /// A message was not finished in time.
    Unfinished,
    /// The caller has sent as much as it may write.
    QuotaReached,
    Unreadable(tungstenite::Error),
}

/// The peer does not receive any more.
#[derive(Debug, Clone, Copy)]
pub struct PeerGone;

/// The connection, with a look at what comes in.
struct Watched {
    connection: TokioIo<Upgraded>,
    frames: FrameReader,
}

impl Socket {
    pub async fn new(
        connection: Upgraded,
        config: WebSocketConfig,
        gateway: Gateway,
        caller: Caller,
    ) -> Self {
        let connection = TokioIo::new(connection);
        let watched = Watched { connection, frames: FrameReader::default() };
        let stream = WebSocketStream::from_raw_socket(watched, Role::Server, Some(config)).await;
        Self { stream, gateway, caller, timer: None, n_taken: 0 }
    }

    /// The next message. Dropping the future loses nothing.
    pub async fn recv(&mut self) -> Option<Result<Message, ReceiveError>> {
        poll_fn(|context| self.poll_recv(context)).await
    }

    fn poll_recv(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Message, ReceiveError>>> {
        let next = self.stream.poll_next_unpin(context);
        match &next {
            Poll::Ready(Some(Ok(Message::Text(_)))) => self.finish(),
            // Nothing here takes binary messages, so nothing else counts them.
            Poll::Ready(Some(Ok(Message::Binary(bytes)))) => {
                self.finish();
                if self.count(bytes.len()).is_err() {
                    return Poll::Ready(Some(Err(ReceiveError::QuotaReached)));
                }
            }
            // Pings do not prolong the time of a message.
            Poll::Pending | Poll::Ready(Some(Ok(_))) => {
                if let Poll::Ready(why) = self.poll_limits(context) {
                    return Poll::Ready(Some(Err(why)));
                }
            }
            Poll::Ready(Some(Err(_)) | None) => {}
        }
        next.map(|next| next.map(|message| message.map_err(ReceiveError::Unreadable)))
    }

    fn poll_limits(&mut self, context: &mut Context<'_>) -> Poll<ReceiveError> {
        let Some(n_bytes) = self.stream.get_ref().frames.unfinished() else {
            return Poll::Pending;
        };
        let clock = self.gateway.engine.clock();
        let n_so_far = usize::try_from(n_bytes).unwrap_or(usize::MAX).next_multiple_of(KIB);
        let n_more = n_so_far.saturating_sub(self.n_taken);
        if n_more > 0 {
            let usage = self.gateway.engine.usage();
            if usage.send_more(&self.caller, n_more, n_so_far, clock.now()).is_err() {
                return Poll::Ready(ReceiveError::QuotaReached);
            }
            self.n_taken = n_so_far;
        }
        let read_ms = i64::try_from(self.gateway.limits.message_read_ms_max).unwrap_or(i64::MAX);
        let timer = self.timer.get_or_insert_with(|| clock.sleep(Span::from_millis(read_ms)));
        timer.as_mut().poll(context).map(|()| ReceiveError::Unfinished)
    }

    /// Counts a message that leads to no request. Those that do are counted there.
    pub fn count(&self, n_bytes: usize) -> Result<(), Rejection> {
        let engine = &self.gateway.engine;
        engine.usage().send_more(&self.caller, n_bytes, n_bytes, engine.clock().now())
    }

    /// The message is counted again where it is taken.
    fn finish(&mut self) {
        self.timer = None;
        let n_bytes = std::mem::take(&mut self.n_taken);
        self.gateway.engine.usage().give_back(&self.caller, n_bytes);
    }

    pub async fn send(&mut self, message: Message) -> Result<(), PeerGone> {
        self.stream.send(message).await.map_err(|_| PeerGone)
    }

    /// Sends with the next [`flush`](Self::flush).
    pub async fn feed(&mut self, message: Message) -> Result<(), PeerGone> {
        self.stream.feed(message).await.map_err(|_| PeerGone)
    }

    pub async fn flush(&mut self) -> Result<(), PeerGone> {
        self.stream.flush().await.map_err(|_| PeerGone)
    }

    pub async fn ping(&mut self) -> Result<(), PeerGone> {
        self.send(Message::Ping(bytes::Bytes::new())).await
    }

    /// Says why the connection ends, as far as the peer still listens.
    pub async fn close(&mut self, why: Option<(u16, &'static str)>) {
        let closing = async {
            if let Some((code, reason)) = why {
                let reason = Utf8Bytes::from_static(reason);
                let frame = CloseFrame { code: code.into(), reason };
                let _ = self.send(Message::Close(Some(frame))).await;
            }
            while let Some(Ok(_)) = self.stream.next().await {}
        };
        let _ = tokio::time::timeout(FAREWELL_MAX, closing).await;
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let n_before = into.filled().len();
        let read = Pin::new(&mut self.connection).poll_read(context, into);
        self.frames.read(&into.filled()[n_before..]);
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.connection).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_shutdown(context)
    }
}
