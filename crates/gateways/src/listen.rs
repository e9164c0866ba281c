//! Accepting connections and closing them again.
//!
//! Our own accept loop, because `axum::serve` waits forever for slow heads. It admits or sheds
//! connections, starts one task for each, and on stop lets requests in flight finish. It must not
//! know any route, and no handler can end it.

mod admission;
mod connection;
mod head_timer;
mod length_watch;
mod spare_sleep;
mod stream;
mod unread_body;

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::response::Response;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio_rustls::rustls::ServerConfig;

use self::admission::Gate;
use self::connection::Arrival;

pub use self::connection::Host;

/// How long the loop pauses when the system has no file descriptor or memory for a connection. A
/// retry at once would only take processor time that open connections need to finish.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The maxima of one endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// From the accepted connection to the end of its first head, and from the first byte of a
    /// later head to its end; the TLS handshake has as much again. A head is one packet or two:
    /// 5 s covers three lost packets in a row and no deliberate slowness.
    pub header_read_ms_max: u64,
    /// For handlers to pass to `read_body`. 10 s asks 100 KB/s of a 1 MB body.
    pub body_read_ms_max: u64,
    /// From the end of the head to the first byte of the answer, reading the body included; not the
    /// answer's own body, so streams may run for days. This is the timeout for a handler without
    /// one of its own, hence well above any wait a route offers.
    pub request_ms_max: u64,
    /// How long a connection may rest between two requests. Pollers return within a minute; a
    /// longer limit would mostly keep abandoned connections, and a much shorter one forces a
    /// handshake for every request.
    pub keep_alive_ms_max: u64,
    /// How long a peer may go without reading a single byte of the answer. A phone in a tunnel is
    /// back in 30 s, or reconnects and resumes at its cursor.
    pub write_stall_ms_max: u64,
    /// Connections of this endpoint. At about 32 KB per stream, 10,000 are 320 MB; the limit on
    /// open files must be above it.
    pub connections_max: usize,
    /// Connections of one IPv4 address or one IPv6 /64. One caller cannot take half of all
    /// connections, yet a proxy or a load test on one machine gets thousands.
    pub connections_per_address_max: usize,
    /// From stop to return. Supervisors kill after 30 s or more (Kubernetes 30, systemd 90); 20
    /// leaves them time for the rest of the shutdown.
    pub drain_ms_max: u64,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            header_read_ms_max: 5_000,
            body_read_ms_max: 10_000,
            request_ms_max: 30_000,
            keep_alive_ms_max: 60_000,
            write_stall_ms_max: 30_000,
            connections_max: 10_000,
            connections_per_address_max: 4_096,
            drain_ms_max: 20_000,
        }
    }
}

/// Where connections come from. The caller binds it, so that a port in use is the caller's error.
#[derive(Debug)]
pub enum Endpoint {
    Tcp(TcpListener),
    Tls(TcpListener, Arc<ServerConfig>),
    Unix(UnixListener),
}

/// Who is at the other end of the connection; in the extensions of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// The address of the socket, which may be a proxy's.
    Remote(IpAddr),
    /// Someone on this machine whom the permissions of the Unix socket let in.
    Local,
}

impl Peer {
    pub fn address(self) -> Option<IpAddr> {
        match self {
            Self::Remote(address) => Some(address),
            Self::Local => None,
        }
    }

    pub fn is_local(self) -> bool {
        match self {
            Self::Remote(_) => false,
            Self::Local => true,
        }
    }
}

/// In the extensions of a request whose head has both `Content-Length` and `Transfer-Encoding`. A
/// proxy may have gone by the other one, so the request must be refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AmbiguousLength;

/// What happened to connections, for the metrics. Several endpoints may share one.
#[derive(Debug, Default)]
pub struct ConnectionCounts {
    open: AtomicU64,
    accepted_total: AtomicU64,
    shed_total: AtomicU64,
    timed_out_total: AtomicU64,
}

impl ConnectionCounts {
    /// Admitted and not yet closed.
    pub fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// Admitted since the start.
    pub fn accepted_total(&self) -> u64 {
        self.accepted_total.load(Ordering::Relaxed)
    }

    /// Closed at once because the endpoint, or their address, was at its maximum.
    pub fn shed_total(&self) -> u64 {
        self.shed_total.load(Ordering::Relaxed)
    }

    /// Handshakes, heads, handlers and readers that took too long. A kept connection that was idle
    /// for too long is not counted.
    pub fn timed_out_total(&self) -> u64 {
        self.timed_out_total.load(Ordering::Relaxed)
    }

    fn opened(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
        self.accepted_total.fetch_add(1, Ordering::Relaxed);
    }

    fn closed(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    fn shed(&self) {
        self.shed_total.fetch_add(1, Ordering::Relaxed);
    }

    fn timed_out(&self) {
        self.timed_out_total.fetch_add(1, Ordering::Relaxed);
    }
}

/// Makes the answer to a path whose handler did not answer in time.
pub type Unanswered = fn(&str) -> fn() -> Response;

/// Serves the router until `stop` is true or its sender is gone.
///
/// Then it accepts no more, closes idle connections, and waits for the others to answer their
/// current request. Requests that are not done after `drain_ms_max` are cut off. A stream without
/// an end is cut off too, unless its handler ends it on the same signal. Upgraded connections are
/// counted but not waited for.
pub async fn serve(endpoint: Endpoint, host: Host, mut stop: watch::Receiver<bool>) {
    let gate = Gate::new(&host.limits, Arc::clone(&host.counts));
    let drain_max = Duration::from_millis(host.limits.drain_ms_max);
    let host = Arc::new(host);
    let mut connections = JoinSet::new();
    let mut is_pausing = false;
    loop {
        let accepted = tokio::select! {
            biased;
            () = stopped(&mut stop) => break,
            Some(ended) = connections.join_next() => {
                report_panic(ended);
                continue;
            }
            accepted = endpoint.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                is_pausing = false;
                let Some(admission) = gate.admit(peer) else {
                    host.counts.shed();
                    continue;
                };
                let (host, stop) = (Arc::clone(&host), stop.clone());
                stream.start(&mut connections, Arrival { host, peer, admission, stop });
            }
            Err(error) if concerns_one_connection(&error) => {}
            Err(error) => {
                // Logged once per shortage: there are ten tries a second, and a shortage lasts
                // minutes.
                if !is_pausing {
                    tracing::error!(%error, "accepting a connection, will keep trying");
                }
                is_pausing = true;
                let _ = tokio::time::timeout(ACCEPT_PAUSE, stopped(&mut stop)).await;
            }
        }
    }
    drop(endpoint);
    drain(connections, drain_max).await;
}

enum AcceptedStream {
    Tcp(TcpStream),
    Tls(TcpStream, Arc<ServerConfig>),
    Unix(UnixStream),
}

impl Endpoint {
    async fn accept(&self) -> io::Result<(AcceptedStream, Peer)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                Ok((AcceptedStream::Tcp(stream), Peer::Remote(address.ip().to_canonical())))
            }
            Self::Tls(listener, config) => {
                let (stream, address) = listener.accept().await?;
                let stream = AcceptedStream::Tls(stream, Arc::clone(config));
                Ok((stream, Peer::Remote(address.ip().to_canonical())))
            }
            Self::Unix(listener) => {
                let (stream, _unnamed) = listener.accept().await?;
                Ok((AcceptedStream::Unix(stream), Peer::Local))
            }
        }
    }
}

impl AcceptedStream {
    fn start(self, connections: &mut JoinSet<()>, arrival: Arrival) {
        match self {
            Self::Tcp(stream) => {
                send_at_once(&stream);
                connections.spawn(arrival.converse(stream));
            }
            Self::Tls(stream, config) => {
                send_at_once(&stream);
                connections.spawn(arrival.converse_over_tls(stream, config));
            }
            Self::Unix(stream) => {
                connections.spawn(arrival.converse(stream));
            }
        }
    }
}

/// Answers and events are small and complete; waiting for more to fill a packet only delays them.
fn send_at_once(stream: &TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "setting TCP_NODELAY");
    }
}

/// Whether accepting failed because this one peer left, and not for lack of resources.
fn concerns_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionAborted, ConnectionRefused, ConnectionReset, HostUnreachable, Interrupted,
        NetworkDown, NetworkUnreachable, TimedOut,
    };
    matches!(
        error.kind(),
        ConnectionAborted
            | ConnectionRefused
            | ConnectionReset
            | HostUnreachable
            | Interrupted
            | NetworkDown
            | NetworkUnreachable
            | TimedOut
    )
}

async fn drain(mut connections: JoinSet<()>, drain_max: Duration) {
    let all_ended = async {
        while let Some(ended) = connections.join_next().await {
            report_panic(ended);
        }
    };
    if tokio::time::timeout(drain_max, all_ended).await.is_err() {
        let n_connections = connections.len();
        tracing::warn!(n_connections, ?drain_max, "cutting off connections that did not end");
    }
}

fn report_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a connection ended in a panic");
    }
}

/// Resolves once the server should stop. A dropped sender means stop as well: its owner has ended.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

#[cfg(test)]
mod tests;
