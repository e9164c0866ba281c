//! One connection from its first byte to its last.
//!
//! Does the TLS handshake if there is one, then speaks HTTP/1.1 with the router until either side
//! closes. It must not know how connections are accepted or counted, nor what a route does.

use std::convert::Infallible;
use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use axum::http::{HeaderValue, header};
use axum::response::Response;
use hyper::Request;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tower::Service;

use crate::slow_lane::{self, Owner, SlowLane};

use super::admission::{Admission, holder};
use super::head_timer::{Activity, HeadTimer};
use super::spare_sleep::{LentSleep, SpareSleep};
use super::stream::PatientStream;
use super::unread_body::{Unread, WatchedBody};
use super::{AmbiguousLength, ConnectionCounts, ConnectionLimits, Peer, Unanswered, stopped};

/// The head of a request fits in here or is refused with 431; a response is buffered up to as much
/// before more of its body is read. hyper's own maximum is 400 KB per connection, and 8 KB its
/// minimum. Two of the longest tokens we issue and a proxy's headers need a quarter of this.
const BUFFER_BYTES_MAX: usize = 16 * 1_024;

/// What every connection of an endpoint shares.
#[derive(Debug)]
pub struct Host {
    pub router: axum::Router,
    pub limits: ConnectionLimits,
    pub counts: Arc<ConnectionCounts>,
    pub unanswered: Unanswered,
    pub slow_lane: Arc<SlowLane>,
}

/// One admitted connection, before its first byte.
pub(super) struct Arrival {
    pub(super) host: Arc<Host>,
    pub(super) peer: Peer,
    pub(super) admission: Admission,
    pub(super) stop: watch::Receiver<bool>,
}

impl Arrival {
    /// Does the TLS handshake, then serves requests. The wait for a head begins after the
    /// handshake, so a caller that is silent from the start meets only the timeout here.
    pub(super) async fn converse_over_tls(mut self, stream: TcpStream, config: Arc<ServerConfig>) {
        let handshake_max = Duration::from_millis(self.host.limits.header_read_ms_max);
        // In a box of its own: it is needed once, and the connection may live for days.
        let handshake = Box::pin(TlsAcceptor::from(config).accept(stream));
        let shaken = tokio::select! {
            shaken = tokio::time::timeout(handshake_max, handshake) => shaken,
            () = stopped(&mut self.stop) => return,
        };
        match shaken {
            Ok(Ok(stream)) => self.converse(stream).await,
            Ok(Err(error)) => tracing::debug!(peer = ?self.peer, %error, "no tls handshake"),
            Err(_elapsed) => {
                self.host.counts.timed_out();
                tracing::debug!(peer = ?self.peer, "the tls handshake took too long");
            }
        }
    }

    /// Answers requests until the peer leaves, a limit is passed, or the server stops and the
    /// request in flight is answered.
    pub(super) async fn converse<S>(self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let slow_lane = Arc::clone(&self.host.slow_lane);
        let owner = Owner::Address(self.peer.address().map(holder));
        slow_lane::run(slow_lane, owner, Box::pin(self.answer_requests(stream))).await;
    }

    async fn answer_requests<S>(self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Self { host, peer, admission, mut stop } = self;
        let activity = Arc::new(Activity::default());
        let write_stall_max = Duration::from_millis(host.limits.write_stall_ms_max);
        let stream = PatientStream::new(stream, Arc::clone(&activity), write_stall_max, admission);
        let service = {
            let (host, activity) = (Arc::clone(&host), Arc::clone(&activity));
            let spare = Arc::new(SpareSleep::default());
            service_fn(move |mut request| {
                activity.begin_request(!Incoming::is_end_stream(request.body()));
                if activity.is_ambiguous() {
                    request.extensions_mut().insert(AmbiguousLength);
                }
                answer(Arc::clone(&host), peer, Arc::clone(&spare), request)
            })
        };
        let connection = http1(&host.limits, &activity)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        let mut connection = pin!(connection);
        let ended = match unless_stopped(&mut stop, connection.as_mut()).await {
            Some(ended) => ended,
            None => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            let timed_out = error.is_timeout() || was_stalled(&error);
            // A kept connection that was idle for too long did nothing wrong.
            if timed_out && !activity.is_resting() {
                host.counts.timed_out();
            }
            tracing::debug!(?peer, %error, "connection ended");
        }
    }
}

/// hyper-util's builder, which also speaks h2, reads the first bytes to tell the two apart and
/// has no timeout for them. hyper's own has one, but it is inert without a timer.
fn http1(limits: &ConnectionLimits, activity: &Arc<Activity>) -> http1::Builder {
    let head_read_max = Duration::from_millis(limits.header_read_ms_max);
    let mut builder = http1::Builder::new();
    builder
        .timer(HeadTimer {
            activity: Arc::clone(activity),
            head_read_max,
            keep_alive_max: Duration::from_millis(limits.keep_alive_ms_max),
            spare: Arc::default(),
        })
        .header_read_timeout(head_read_max)
        .keep_alive(true)
        .max_buf_size(BUFFER_BYTES_MAX);
    builder
}

/// The result of `work`, or `None` if the server should stop before that.
///
/// The task of a connection is polled several times for every request, and the server stops once.
/// So the signal is waited for once, which registers our waker, and asked again only when it has
/// changed, which is one atomic read.
async fn unless_stopped<W: Future>(
    stop: &mut watch::Receiver<bool>,
    mut work: Pin<&mut W>,
) -> Option<W::Output> {
    let changes = stop.clone();
    // Unconstrained: otherwise a task that has used up its budget would be told to wait without its
    // waker being registered.
    let mut stopped = pin!(tokio::task::unconstrained(stopped(stop)));
    let mut registered: Option<Waker> = None;
    poll_fn(|context| {
        let is_registered =
            registered.as_ref().is_some_and(|waker| waker.will_wake(context.waker()));
        if !is_registered || !matches!(changes.has_changed(), Ok(false)) {
            if stopped.as_mut().poll(context).is_ready() {
                return Poll::Ready(None);
            }
            registered = Some(context.waker().clone());
        }
        work.as_mut().poll(context).map(Some)
    })
    .await
}

async fn answer(
    host: Arc<Host>,
    peer: Peer,
    spare: Arc<SpareSleep>,
    mut request: Request<Incoming>,
) -> Result<Response, Infallible> {
    request.extensions_mut().insert(peer);
    let unanswered = (host.unanswered)(request.uri().path());
    let request_max = Duration::from_millis(host.limits.request_ms_max);
    let unread = Unread::of(request.body());
    let watched = unread.clone();
    let answering = host.router.clone().call(request.map(|body| WatchedBody { body, watched }));
    match within(&spare, request_max, answering).await {
        // hyper ends a connection on which a body was not read to its end.
        Some(answered) if unread.is_left() => answered.map(closing),
        Some(answered) => answered,
        None => {
            host.counts.timed_out();
            tracing::warn!(?peer, ?request_max, "a handler did not answer in time");
            Ok(closing(unanswered()))
        }
    }
}

/// The result of `work`, or `None` if it took longer than `time_max`. The timer is set only for
/// work that has to wait for something.
async fn within<W: Future>(
    spare: &Arc<SpareSleep>,
    time_max: Duration,
    work: W,
) -> Option<W::Output> {
    let mut work = pin!(work);
    let mut limit: Option<LentSleep> = None;
    poll_fn(|context| {
        // The timer is polled first: work may use up the task's budget, and then a timer cannot be
        // polled.
        let is_over = limit.as_mut().is_some_and(|limit| Pin::new(limit).poll(context).is_ready());
        match work.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if is_over => Poll::Ready(None),
            Poll::Pending if limit.is_some() => Poll::Pending,
            Poll::Pending => {
                let limit = limit.insert(spare.sleep(time_max));
                Pin::new(limit).poll(context).map(|()| None)
            }
        }
    })
    .await
}

/// Work that the handler passed on may still happen, but this connection will not report it.
fn closing(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

fn was_stalled(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    cause.is_some_and(|cause| cause.kind() == io::ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::task::coop::{consume_budget, has_budget_remaining};

    use super::*;

    /// Longer than anything here takes.
    const LONG: Duration = Duration::from_secs(10);

    #[tokio::test]
    async fn a_stop_is_heard_even_if_waiting_for_it_began_at_the_end_of_a_turn() {
        let (stop, mut stopped) = watch::channel(false);
        let waiting = tokio::spawn(async move {
            while has_budget_remaining() {
                consume_budget().await;
            }
            unless_stopped(&mut stopped, pin!(pending::<()>())).await
        });
        // Often enough for the task to start, to be requeued, and to wait.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        stop.send_replace(true);
        let heard = tokio::time::timeout(LONG, waiting).await.expect("it was heard");
        assert_eq!(heard.expect("no panic"), None);
    }

    #[tokio::test]
    async fn what_ends_before_the_stop_is_not_lost() {
        let (_stop, mut stopped) = watch::channel(false);
        let work = pin!(async {
            tokio::task::yield_now().await;
            "done"
        });
        assert_eq!(unless_stopped(&mut stopped, work).await, Some("done"));
    }

    #[tokio::test]
    async fn work_that_never_rests_is_given_up_in_time() {
        let spare = Arc::new(SpareSleep::default());
        let restless = async {
            loop {
                consume_budget().await;
            }
        };
        let outcome = within(&spare, Duration::from_millis(20), restless);
        let outcome: Option<()> = tokio::time::timeout(LONG, outcome).await.expect("it ended");
        assert_eq!(outcome, None);
    }
}
