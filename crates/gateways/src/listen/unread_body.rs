//! Whether the body of a request was read to its end. If it was not, the connection ends after the
//! answer, and the answer must say so: a client would lose its next request otherwise.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};

/// Shared by the body and by the connection, unless there is no body.
#[derive(Debug, Clone)]
pub(super) struct Unread(Option<Arc<AtomicBool>>);

/// The body, which notes when its end was read.
#[derive(Debug)]
pub(super) struct WatchedBody {
    pub(super) body: Incoming,
    pub(super) watched: Unread,
}

impl Unread {
    pub(super) fn of(body: &Incoming) -> Self {
        Self((!body.is_end_stream()).then(|| Arc::new(AtomicBool::new(true))))
    }

    /// Whether something of the body is left.
    pub(super) fn is_left(&self) -> bool {
        self.0.as_ref().is_some_and(|is_left| is_left.load(Ordering::Relaxed))
    }

    fn end(&self) {
        if let Some(is_left) = &self.0 {
            is_left.store(false, Ordering::Relaxed);
        }
    }
}

impl Body for WatchedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) || self.body.is_end_stream() {
            self.watched.end();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
