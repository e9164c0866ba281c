//! The bytes of one connection, with timeouts.
//!
//! Wraps any byte stream. It notes that bytes arrived, gives up on a peer that does not read, and
//! closes so that a last answer is not lost. It holds the connection's place at the gate, so a
//! stream that is upgraded and leaves HTTP behind keeps being counted. It must not know what the
//! bytes mean; the length watch does.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Sleep, Timer};
use hyper_util::rt::TokioTimer;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::admission::Admission;
use super::head_timer::Activity;
use super::length_watch::LengthWatch;

/// How long we go on discarding a body that was refused. Closing while bytes arrive makes the
/// kernel reset the connection, and a reset can destroy the refusal before its reader sees it. A
/// second is several round trips; a peer that still sends after that does not read answers.
const LINGER_MAX: Duration = Duration::from_secs(1);

/// Bytes discarded at a time. Lives on the stack, and only while closing.
const LINGER_BYTES: usize = 4_096;

pub(super) struct PatientStream<S> {
    inner: S,
    activity: Arc<Activity>,
    length_watch: LengthWatch,
    write_stall_max: Duration,
    /// Runs while the peer keeps us from writing.
    stall: Option<Pin<Box<dyn Sleep>>>,
    /// Runs from the moment our side is closed. It is separate from `stall`, which ends whenever
    /// there is nothing left to flush, as is always the case here.
    linger: Option<Pin<Box<dyn Sleep>>>,
    _admission: Admission,
}

impl<S: AsyncRead + AsyncWrite + Unpin> PatientStream<S> {
    pub(super) fn new(
        inner: S,
        activity: Arc<Activity>,
        write_stall_max: Duration,
        _admission: Admission,
    ) -> Self {
        let length_watch = LengthWatch::default();
        let (stall, linger) = (None, None);
        Self { inner, activity, length_watch, write_stall_max, stall, linger, _admission }
    }

    /// Takes one step of writing; an error once no step got through for `write_stall_max`.
    fn unless_stalled<T>(
        &mut self,
        context: &mut Context<'_>,
        step: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if let Poll::Ready(outcome) = step(Pin::new(&mut self.inner), context) {
            self.stall = None;
            return Poll::Ready(outcome);
        }
        let stall_max = self.write_stall_max;
        let stall = self.stall.get_or_insert_with(|| TokioTimer::new().sleep(stall_max));
        ready!(stall.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer takes no more bytes")))
    }

    /// Discards what still arrives, until the peer closes or the time is over.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(linger) = &mut self.linger else { return Poll::Ready(()) };
        // The timer is polled first: a peer that sends without pause uses up the task's budget,
        // after which the runtime reports the socket and every timer as pending.
        if linger.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        let mut discarded = [0; LINGER_BYTES];
        loop {
            let mut discarded = ReadBuf::new(&mut discarded);
            let read = ready!(Pin::new(&mut self.inner).poll_read(context, &mut discarded));
            if read.is_err() || discarded.filled().is_empty() {
                return Poll::Ready(());
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for PatientStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let n_before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let read = &buffer.filled()[n_before..];
        if !read.is_empty() {
            self.activity.hear();
        }
        if let Some(n_head) = self.length_watch.read(read) {
            self.activity.doubt(n_head);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for PatientStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.unless_stalled(context, |inner, context| inner.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.unless_stalled(context, |inner, context| inner.poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.unless_stalled(context, |inner, context| inner.poll_flush(context))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.linger.is_none() {
            ready!(self.unless_stalled(context, |inner, context| inner.poll_shutdown(context)))?;
            if !self.activity.body_announced() {
                return Poll::Ready(Ok(()));
            }
            self.linger = Some(TokioTimer::new().sleep(LINGER_MAX));
        }
        self.poll_linger(context).map(Ok)
    }
}
