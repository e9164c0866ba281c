//! One connection from its first byte to its last.
//!
//! Shakes hands if there is TLS, then speaks HTTP/1.1 with the router until either side has
//! enough. It must not know how connections are accepted or counted, nor what a route does.

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
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

use super::admission::Admission;
use super::head_timer::{Activity, HeadTimer};
use super::stream::PatientStream;
use super::{ConnectionCounts, ConnectionLimits, Peer, stopped};

/// The head of a request fits in here or is refused with 431; a response waits in as much before
/// its body is asked for more. hyper's own maximum is 400 KB per connection, and 8 KB its
/// minimum. Two of the longest tokens we issue and a proxy's headers need a quarter of this.
const BUFFER_BYTES_MAX: usize = 16 * 1_024;

/// What every connection of an endpoint shares.
pub(super) struct Host {
    pub(super) router: axum::Router,
    pub(super) limits: ConnectionLimits,
    pub(super) counts: Arc<ConnectionCounts>,
}

/// One admitted connection, before anything was said on it.
pub(super) struct Arrival {
    pub(super) host: Arc<Host>,
    pub(super) peer: Peer,
    pub(super) admission: Admission,
    pub(super) stop: watch::Receiver<bool>,
}

impl Arrival {
    /// Shakes hands, then converses. No head is waited for until the handshake is over, so a
    /// caller that is silent from the start has one timeout here and none after.
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
        let Self { host, peer, admission, mut stop } = self;
        let activity = Arc::new(Activity::default());
        let write_stall_max = Duration::from_millis(host.limits.write_stall_ms_max);
        let stream = PatientStream::new(stream, Arc::clone(&activity), write_stall_max, admission);
        let service = {
            let (host, activity) = (Arc::clone(&host), Arc::clone(&activity));
            service_fn(move |request| {
                activity.begin_request(!Incoming::is_end_stream(request.body()));
                answer(Arc::clone(&host), peer, request)
            })
        };
        let connection = http1(&host.limits, &activity)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = stopped(&mut stop) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            let timed_out = error.is_timeout() || was_stalled(&error);
            // A kept connection that rested too long did nothing wrong.
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
        })
        .header_read_timeout(head_read_max)
        .keep_alive(true)
        .max_buf_size(BUFFER_BYTES_MAX);
    builder
}

async fn answer(
    host: Arc<Host>,
    peer: Peer,
    mut request: Request<Incoming>,
) -> Result<Response, Infallible> {
    request.extensions_mut().insert(peer);
    let request_max = Duration::from_millis(host.limits.request_ms_max);
    let answering = host.router.clone().call(request);
    match tokio::time::timeout(request_max, answering).await {
        Ok(answered) => answered,
        Err(_elapsed) => {
            host.counts.timed_out();
            tracing::warn!(?peer, ?request_max, "a handler did not answer in time");
            Ok(did_not_answer())
        }
    }
}

/// The outcome is unknown to us as well: what the handler had handed on may still happen.
fn did_not_answer() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

fn was_stalled(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    cause.is_some_and(|cause| cause.kind() == io::ErrorKind::TimedOut)
}
