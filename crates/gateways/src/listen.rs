//! Accepting connections and closing them again.
//!
//! Our own accept loop, because `axum::serve` waits forever for slow heads. It admits, sheds,
//! starts one task per connection, and on stop lets what is in flight finish. It must not know
//! any route, and nothing a handler does can end it.

mod admission;
mod connection;
mod head_timer;
mod spare_sleep;
mod stream;

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio_rustls::rustls::ServerConfig;

use self::admission::Gate;
use self::connection::{Arrival, Host};

/// How long the loop rests when the system has no file descriptor or memory for a connection.
/// Trying again at once would only burn the processor the others need to finish.
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
    /// From the end of the head to the first byte of the answer, reading the body included; not
    /// the answer's own body, so streams may run for days. The last resort for a handler without
    /// a limit of its own, hence well above any wait a route offers.
    pub request_ms_max: u64,
    /// How long a connection may rest between two requests. Longer than the minute at which
    /// pollers come back would mostly keep the forgotten; much shorter makes callers shake hands
    /// for every request.
    pub keep_alive_ms_max: u64,
    /// How long a peer may refuse to take a single byte of the answer. A phone in a tunnel is
    /// back in 30 s or reconnects and resumes from its cursor.
    pub write_stall_ms_max: u64,
    /// Connections of this endpoint. At about 32 KB per stream, 10,000 are 320 MB; the limit on
    /// open files must be above it.
    pub connections_max: usize,
    /// Connections of one IPv4 address or one IPv6 /64. One caller cannot take half of all places,
    /// yet a proxy or a load test on one machine gets thousands.
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

/// Where connections come from. Bound by the caller, so that a taken port is its error.
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

    /// Closed unheard because the endpoint, or their address, held its maximum.
    pub fn shed_total(&self) -> u64 {
        self.shed_total.load(Ordering::Relaxed)
    }

    /// Handshakes, heads, handlers and readers that took too long. A kept connection that rested
    /// too long is not among them.
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

/// Serves the router until `stop` is true or its sender is gone.
///
/// Then it accepts no more, closes the connections that rest, and waits for the others to answer
/// the request they are on. What is not done after `drain_ms_max` is cut off. A stream without an
/// end is cut off too, unless its handler ends it on the same signal. Upgraded connections are
/// counted but not waited for.
pub async fn serve(
    endpoint: Endpoint,
    router: Router,
    limits: ConnectionLimits,
    counts: Arc<ConnectionCounts>,
    mut stop: watch::Receiver<bool>,
) {
    let gate = Gate::new(&limits, Arc::clone(&counts));
    let host = Arc::new(Host { router, limits, counts });
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
                // Once per shortage: it is tried ten times a second and lasts minutes.
                if !is_pausing {
                    tracing::error!(%error, "accepting a connection, will keep trying");
                }
                is_pausing = true;
                let _ = tokio::time::timeout(ACCEPT_PAUSE, stopped(&mut stop)).await;
            }
        }
    }
    drop(endpoint);
    drain(connections, Duration::from_millis(limits.drain_ms_max)).await;
}

enum Stream {
    Tcp(TcpStream),
    Tls(TcpStream, Arc<ServerConfig>),
    Unix(UnixStream),
}

impl Endpoint {
    async fn accept(&self) -> io::Result<(Stream, Peer)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                Ok((Stream::Tcp(stream), Peer::Remote(address.ip().to_canonical())))
            }
            Self::Tls(listener, config) => {
                let (stream, address) = listener.accept().await?;
                let stream = Stream::Tls(stream, Arc::clone(config));
                Ok((stream, Peer::Remote(address.ip().to_canonical())))
            }
            Self::Unix(listener) => {
                let (stream, _unnamed) = listener.accept().await?;
                Ok((Stream::Unix(stream), Peer::Local))
            }
        }
    }
}

impl Stream {
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

/// Whether accepting failed because this one peer left again, and not for want of resources.
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

/// Resolves once the server should stop. A sender that is gone can no longer say so, and whoever
/// held it is gone as well.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

#[cfg(test)]
mod tests {
    //! Over real sockets on the loopback, with short limits. Clients are written by hand, byte by
    //! byte: what is tested is what a well-behaved client library would never do.

    use std::net::SocketAddr;

    use axum::Extension;
    use axum::body::Body;
    use axum::extract::Request;
    use axum::http::{HeaderValue, StatusCode, header};
    use axum::response::Response;
    use axum::routing::{any, get, post};
    use bytes::Bytes;
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
    use tokio::net::TcpSocket;
    use tokio::sync::Semaphore;
    use tokio::task::JoinHandle;
    use tokio_rustls::TlsConnector;
    use tokio_rustls::client::TlsStream;
    use tokio_rustls::rustls::pki_types::ServerName;
    use tokio_rustls::rustls::{ClientConfig, RootCertStore};

    use super::*;
    use crate::body::{BodyError, read_body};
    use crate::tls;
    use crate::tls::tests::MadeFiles;

    /// Longer than anything here takes, even on a busy machine; a test that waits this long failed.
    const LONG: Duration = Duration::from_millis(LONG_MS);

    const LONG_MS: u64 = 10_000;

    const BODY_BYTES_MAX: usize = 1_000;

    #[tokio::test]
    async fn a_silent_connection_is_closed() {
        let server = Server::start(limits(|limits| limits.header_read_ms_max = 200)).await;
        let mut client = server.connect().await;
        client.stays_open_for(Duration::from_millis(100)).await;
        assert_eq!(client.until_closed().await, "");
        server.reached(|counts| counts.timed_out_total() == 1 && counts.open() == 0).await;
    }

    #[tokio::test]
    async fn half_a_head_is_closed_even_if_it_keeps_growing() {
        let server = Server::start(limits(|limits| limits.header_read_ms_max = 200)).await;
        let mut client = server.connect().await;
        client.send("GET /hello HTTP/1.1\r\nHost: x\r\nX-Slow: ").await;
        let growing = async {
            let pause = Duration::from_millis(20);
            // Writing fails once the server has closed, which is what reading waits for.
            while tokio::time::timeout(pause, client.0.read_u8()).await.is_err() {
                let _ = client.0.write_all(b"a").await;
            }
        };
        tokio::time::timeout(LONG / 2, growing).await.expect("it was closed");
        server.reached(|counts| counts.timed_out_total() == 1 && counts.open() == 0).await;
    }

    #[tokio::test]
    async fn a_slow_body_is_refused_and_closed() {
        let server = Server::start(limits(|limits| limits.body_read_ms_max = 200)).await;
        let mut client = server.connect().await;
        client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc").await;
        let said = client.until_closed().await;
        assert!(said.starts_with("HTTP/1.1 408 "), "{said}");
    }

    #[tokio::test]
    async fn a_refused_body_does_not_cost_its_sender_the_answer() {
        let server = Server::start(ConnectionLimits::default()).await;
        let mut client = server.connect().await;
        let n_bytes = 4 << 20;
        client.send(&format!("POST /echo HTTP/1.1\r\nContent-Length: {n_bytes}\r\n\r\n")).await;
        client.0.write_all(&vec![b'a'; n_bytes]).await.expect("the server listens to the end");
        let said = client.until_closed().await;
        assert!(said.starts_with("HTTP/1.1 413 "), "{said}");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_refused_body_without_an_end_is_not_listened_to_forever() {
        let server = Server::start(ConnectionLimits::default()).await;
        let mut client = server.connect().await;
        client.send("POST /echo HTTP/1.1\r\nContent-Length: 999999999999\r\n\r\n").await;
        let piece = vec![b'a'; 1 << 20];
        let sending = async { while client.0.write_all(&piece).await.is_ok() {} };
        tokio::time::timeout(LONG, sending).await.expect("the server closed");
        server.reached(|counts| counts.open() == 0).await;
    }

    #[tokio::test]
    async fn a_handler_that_does_not_answer_is_given_up() {
        let server = Server::start(limits(|limits| limits.request_ms_max = 100)).await;
        let mut client = server.connect().await;
        client.send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n").await;
        let said = client.until_closed().await;
        let (head, body) = said.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 503 "), "{said}");
        for line in ["connection: close", "content-type: application/problem+json"] {
            assert!(head.lines().any(|said| said == line), "{line}: {said}");
        }
        assert!(body.contains(r#""code":"unknown_outcome""#), "{said}");
        assert_eq!(server.counts.timed_out_total(), 1);
    }

    #[tokio::test]
    async fn a_reader_that_takes_nothing_is_closed() {
        let server = Server::start(limits(|limits| limits.write_stall_ms_max = 200)).await;
        let mut client = server.connect().await;
        client.send("GET /flood HTTP/1.1\r\nHost: x\r\n\r\n").await;
        server.reached(|counts| counts.accepted_total() == 1 && counts.open() == 0).await;
        assert_eq!(server.counts.timed_out_total(), 1);
    }

    #[tokio::test]
    async fn a_stream_may_outlive_every_limit_as_long_as_it_is_read() {
        let server = Server::start(ConnectionLimits {
            header_read_ms_max: 200,
            request_ms_max: 200,
            keep_alive_ms_max: 200,
            write_stall_ms_max: 200,
            ..ConnectionLimits::default()
        })
        .await;
        let mut client = server.connect().await;
        client.send("GET /ticks HTTP/1.1\r\nHost: x\r\n\r\n").await;
        for _ in 0..3 {
            client.until("tick\r\n").await;
            client.stays_open_for(Duration::from_millis(300)).await;
            server.hold.add_permits(1);
        }
    }

    #[tokio::test]
    async fn a_kept_connection_is_used_again_and_may_rest_longer_than_a_head_may_take() {
        let server = Server::start(limits(|limits| limits.header_read_ms_max = 100)).await;
        let mut client = server.connect().await;
        for _ in 0..3 {
            assert_eq!(client.ask("/hello").await, "hello");
            client.stays_open_for(Duration::from_millis(250)).await;
        }
        assert_eq!(server.counts.accepted_total(), 1);
        // And yet the head of the fourth request, once begun, has no longer than that of the first.
        client.send("GET /hel").await;
        assert_eq!(client.until_closed().await, "");
        server.reached(|counts| counts.timed_out_total() == 1 && counts.open() == 0).await;
    }

    #[tokio::test]
    async fn a_kept_connection_does_not_rest_forever() {
        let server = Server::start(limits(|limits| limits.keep_alive_ms_max = 100)).await;
        let mut client = server.connect().await;
        assert_eq!(client.ask("/hello").await, "hello");
        assert_eq!(client.until_closed().await, "");
        server.reached(|counts| counts.open() == 0).await;
        assert_eq!(server.counts.timed_out_total(), 0, "resting is no offence");
    }

    #[tokio::test]
    async fn requests_sent_together_are_answered_in_order() {
        let server = Server::start(ConnectionLimits::default()).await;
        let mut client = server.connect().await;
        let post = "POST /echo HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc";
        let get = "GET /hello HTTP/1.1\r\nConnection: close\r\n\r\n";
        client.send(&format!("{post}{get}")).await;
        let said = client.until_closed().await;
        let (first, second) = said.split_once("abc").expect("the first answer");
        assert!(first.starts_with("HTTP/1.1 200 ") && second.ends_with("hello"), "{said}");
    }

    #[tokio::test]
    async fn a_head_that_is_too_large_is_refused() {
        let server = Server::start(ConnectionLimits::default()).await;
        let mut client = server.connect().await;
        client
            .send(&format!("GET /hello HTTP/1.1\r\nX-Long: {}\r\n\r\n", "a".repeat(20_000)))
            .await;
        client.until("HTTP/1.1 431 ").await;
    }

    #[tokio::test]
    async fn over_the_maximum_a_connection_is_shed_and_a_freed_place_is_used() {
        let server = Server::start(limits(|limits| limits.connections_max = 2)).await;
        let mut first = server.connect().await;
        let mut second = server.connect().await;
        assert_eq!(first.ask("/hello").await, "hello");
        assert_eq!(second.ask("/hello").await, "hello");
        let mut third = server.connect().await;
        assert_eq!(third.until_closed().await, "");
        assert_eq!(server.counts.shed_total(), 1);
        assert_eq!(first.ask("/hello").await, "hello");

        drop(second);
        server.reached(|counts| counts.open() == 1).await;
        let mut fourth = server.connect().await;
        assert_eq!(fourth.ask("/hello").await, "hello");
    }

    #[tokio::test]
    async fn one_address_at_its_maximum_does_not_shut_out_another() {
        let server = Server::start(limits(|limits| limits.connections_per_address_max = 1)).await;
        let mut first = server.connect().await;
        assert_eq!(first.ask("/hello").await, "hello");
        let mut second = server.connect().await;
        assert_eq!(second.until_closed().await, "");

        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind("127.0.0.2:0".parse().expect("an address")).expect("a second loopback address");
        let mut other = Client(socket.connect(server.address).await.expect("a connection"));
        assert_eq!(other.ask("/peer").await, "127.0.0.2 local=false");
        assert_eq!(server.counts.shed_total(), 1);
    }

    #[tokio::test]
    async fn stopping_finishes_what_is_in_flight_and_closes_what_rests() {
        let server = Server::start(ConnectionLimits::default()).await;
        let mut resting = server.connect().await;
        assert_eq!(resting.ask("/hello").await, "hello");
        let mut posted = server.connect().await;
        posted.send("POST /echo HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc").await;
        posted.until("abc").await;
        let mut silent = server.connect().await;
        let mut busy = server.connect().await;
        busy.send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n").await;
        server.is_held().await;
        server.reached(|counts| counts.open() == 4).await;

        server.stop.send_replace(true);
        assert_eq!(resting.until_closed().await, "");
        assert_eq!(posted.until_closed().await, "");
        assert_eq!(silent.until_closed().await, "");
        TcpStream::connect(server.address).await.expect_err("nobody listens any more");
        assert!(!server.task.is_finished(), "one request is in flight");

        server.hold.add_permits(1);
        let said = busy.until_closed().await;
        assert!(said.starts_with("HTTP/1.1 200 ") && said.ends_with("held"), "{said}");
        server.ended().await;
    }

    #[tokio::test]
    async fn what_does_not_finish_is_cut_off_when_draining_took_too_long() {
        let server = Server::start(limits(|limits| limits.drain_ms_max = 100)).await;
        let mut busy = server.connect().await;
        busy.send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n").await;
        server.is_held().await;
        server.stop.send_replace(true);
        assert_eq!(busy.until_closed().await, "");
        server.ended().await;
    }

    #[tokio::test]
    async fn a_server_whose_owner_is_gone_stops() {
        let Server { stop, task, .. } = Server::start(ConnectionLimits::default()).await;
        drop(stop);
        tokio::time::timeout(LONG, task).await.expect("it stopped").expect("no panic");
    }

    #[tokio::test]
    async fn a_panic_ends_its_own_connection_only() {
        let server = Server::start(ConnectionLimits::default()).await;
        let mut bystander = server.connect().await;
        assert_eq!(bystander.ask("/hello").await, "hello");
        let mut client = server.connect().await;
        client.send("GET /panic HTTP/1.1\r\nHost: x\r\n\r\n").await;
        assert_eq!(client.until_closed().await, "");
        assert_eq!(bystander.ask("/hello").await, "hello");
        server.reached(|counts| counts.open() == 1).await;
    }

    #[tokio::test]
    async fn an_upgraded_connection_keeps_its_place() {
        let server = Server::start(limits(|limits| limits.connections_max = 1)).await;
        let mut client = server.connect().await;
        client.send("GET /upgrade HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n").await;
        client.until("\r\n\r\n").await;
        client.send("ping").await;
        client.until("ping").await;
        let mut second = server.connect().await;
        assert_eq!(second.until_closed().await, "");
        drop(client);
        server.reached(|counts| counts.open() == 0).await;
    }

    #[tokio::test]
    async fn tls_carries_requests_and_agrees_on_http_1() {
        let made = MadeFiles::new("listen");
        let server = Server::start_tls(&made, ConnectionLimits::default()).await;
        let (mut client, alpn) = server.connect_tls(&made).await;
        assert_eq!(alpn.as_deref(), Some(&b"http/1.1"[..]));
        assert_eq!(client.ask("/peer").await, "127.0.0.1 local=false");
        assert_eq!(client.ask("/hello").await, "hello");
        server.stop.send_replace(true);
        assert_eq!(client.until_closed().await, "");
        server.ended().await;
    }

    #[tokio::test]
    async fn a_tls_handshake_that_does_not_come_is_closed() {
        let made = MadeFiles::new("listen-silent");
        let server =
            Server::start_tls(&made, limits(|limits| limits.header_read_ms_max = 200)).await;
        let mut silent = server.connect().await;
        assert_eq!(silent.until_closed().await, "");
        server.reached(|counts| counts.timed_out_total() == 1 && counts.open() == 0).await;

        let (mut shaken, _) = server.connect_tls(&made).await;
        assert_eq!(shaken.until_closed().await, "");
        server.reached(|counts| counts.timed_out_total() == 2 && counts.open() == 0).await;
    }

    #[tokio::test]
    async fn a_peer_on_the_unix_socket_is_local() {
        let path = std::env::temp_dir().join(format!("tasuki-listen-{}.sock", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let endpoint = Endpoint::Unix(UnixListener::bind(&path).expect("a socket"));
        let server = Server::start_at(endpoint, unused_address(), ConnectionLimits::default());
        let mut client = Client(UnixStream::connect(&path).await.expect("a connection"));
        assert_eq!(client.ask("/peer").await, "none local=true");
        server.stop.send_replace(true);
        assert_eq!(client.until_closed().await, "");
        server.ended().await;
        let _ = std::fs::remove_file(&path);
    }

    #[test]
    fn only_a_shortage_makes_the_loop_pause() {
        let (emfile, enfile, enobufs, enomem) = (24, 23, 105, 12);
        for shortage in [emfile, enfile, enobufs, enomem] {
            let error = io::Error::from_raw_os_error(shortage);
            assert!(!concerns_one_connection(&error), "{error}");
        }
        let (econnaborted, econnreset, eintr, ehostunreach) = (103, 104, 4, 113);
        for passing in [econnaborted, econnreset, eintr, ehostunreach] {
            let error = io::Error::from_raw_os_error(passing);
            assert!(concerns_one_connection(&error), "{error}");
        }
    }

    /// The defaults, with every timeout but the changed one out of the way.
    fn limits(change: impl FnOnce(&mut ConnectionLimits)) -> ConnectionLimits {
        let mut limits = ConnectionLimits {
            header_read_ms_max: LONG_MS,
            body_read_ms_max: LONG_MS,
            request_ms_max: LONG_MS,
            keep_alive_ms_max: LONG_MS,
            write_stall_ms_max: LONG_MS,
            ..ConnectionLimits::default()
        };
        change(&mut limits);
        limits
    }

    struct Server {
        address: SocketAddr,
        counts: Arc<ConnectionCounts>,
        /// One permit lets one `/hold` answer, or one `/ticks` go on.
        hold: Arc<Semaphore>,
        held: watch::Receiver<bool>,
        stop: watch::Sender<bool>,
        task: JoinHandle<()>,
    }

    impl Server {
        async fn start(limits: ConnectionLimits) -> Self {
            let (listener, address) = listener().await;
            Self::start_at(Endpoint::Tcp(listener), address, limits)
        }

        async fn start_tls(made: &MadeFiles, limits: ConnectionLimits) -> Self {
            let (listener, address) = listener().await;
            let config = tls::server_config(&made.files).expect("a usable pair");
            Self::start_at(Endpoint::Tls(listener, config), address, limits)
        }

        fn start_at(endpoint: Endpoint, address: SocketAddr, limits: ConnectionLimits) -> Self {
            let counts = Arc::new(ConnectionCounts::default());
            let hold = Arc::new(Semaphore::new(0));
            let (stop, stopped) = watch::channel(false);
            let (hold_began, held) = watch::channel(false);
            let router = routes(limits.body_read_ms_max, Arc::clone(&hold), hold_began);
            let task = tokio::spawn(serve(endpoint, router, limits, Arc::clone(&counts), stopped));
            Self { address, counts, hold, held, stop, task }
        }

        async fn connect(&self) -> Client<TcpStream> {
            Client(TcpStream::connect(self.address).await.expect("a connection"))
        }

        async fn connect_tls(
            &self,
            made: &MadeFiles,
        ) -> (Client<TlsStream<TcpStream>>, Option<Vec<u8>>) {
            let mut roots = RootCertStore::empty();
            roots.add(made.certificate.clone()).expect("our own certificate");
            let provider = tokio_rustls::rustls::crypto::aws_lc_rs::default_provider();
            let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
                .with_safe_default_protocol_versions()
                .expect("the usual versions")
                .with_root_certificates(roots)
                .with_no_client_auth();
            config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
            let name = ServerName::try_from("localhost").expect("a name");
            let stream = TcpStream::connect(self.address).await.expect("a connection");
            let stream = TlsConnector::from(Arc::new(config)).connect(name, stream);
            let stream = stream.await.expect("a handshake");
            let alpn = stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
            (Client(stream), alpn)
        }

        async fn is_held(&self) {
            let mut held = self.held.clone();
            let held = held.wait_for(|held| *held);
            let _ = tokio::time::timeout(LONG, held).await.expect("the handler was reached");
        }

        /// The counts are read by nobody but the metrics, so there is no signal to wait for.
        async fn reached(&self, is_there: impl Fn(&ConnectionCounts) -> bool) {
            let mut looks = tokio::time::interval(Duration::from_millis(2));
            let reaching = async {
                while !is_there(&self.counts) {
                    looks.tick().await;
                }
            };
            let reached = tokio::time::timeout(LONG, reaching).await;
            reached.unwrap_or_else(|_| panic!("still {:?}", self.counts));
        }

        async fn ended(self) {
            tokio::time::timeout(LONG, self.task)
                .await
                .unwrap_or_else(|_| panic!("still {:?}", self.counts))
                .expect("no panic");
            // Connections that were cut off are gone a moment after the loop.
            while self.counts.open() > 0 {
                tokio::task::yield_now().await;
            }
        }
    }

    async fn listener() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        (listener, address)
    }

    fn unused_address() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 0))
    }

    fn routes(read_ms_max: u64, hold: Arc<Semaphore>, hold_began: watch::Sender<bool>) -> Router {
        let echo = async move |body: Body| match read_body(body, BODY_BYTES_MAX, read_ms_max).await
        {
            Ok(bytes) => (StatusCode::OK, bytes),
            Err(BodyError::TooLarge { .. }) => (StatusCode::PAYLOAD_TOO_LARGE, Bytes::new()),
            Err(BodyError::TooSlow { .. }) => (StatusCode::REQUEST_TIMEOUT, Bytes::new()),
            Err(BodyError::Broken(_)) => (StatusCode::BAD_REQUEST, Bytes::new()),
        };
        let peer = async |Extension(peer): Extension<Peer>| {
            let address = peer.address().map_or("none".to_owned(), |address| address.to_string());
            format!("{address} local={}", peer.is_local())
        };
        let ticking = Arc::clone(&hold);
        let ticks = async move || {
            let ticks = tokio_stream::StreamExt::then(tokio_stream::iter(0..), move |n| {
                let ticking = Arc::clone(&ticking);
                async move {
                    if n > 0 {
                        ticking.acquire().await.expect("never closed").forget();
                    }
                    Ok::<_, io::Error>("tick")
                }
            });
            Body::from_stream(ticks)
        };
        let held = async move || {
            hold_began.send_replace(true);
            hold.acquire().await.expect("never closed").forget();
            "held"
        };
        let flood = async || {
            let piece = Bytes::from(vec![b'a'; 4_096]);
            Body::from_stream(tokio_stream::iter(std::iter::repeat_with(move || {
                Ok::<_, io::Error>(piece.clone())
            })))
        };
        let failing = async || -> &'static str { panic!("a handler that panics") };
        Router::new()
            .route("/hello", get("hello"))
            .route("/peer", get(peer))
            .route("/echo", post(echo))
            .route("/hold", get(held))
            .route("/ticks", get(ticks))
            .route("/flood", get(flood))
            .route("/panic", get(failing))
            .route("/upgrade", any(upgrade))
    }

    async fn upgrade(mut request: Request) -> Response {
        let upgrading = hyper::upgrade::on(&mut request);
        tokio::spawn(async move {
            let stream = TokioIo::new(upgrading.await.expect("an upgrade"));
            let (mut from, mut to) = tokio::io::split(stream);
            let _ = tokio::io::copy(&mut from, &mut to).await;
        });
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("echo"));
        response
    }

    trait Socket: AsyncRead + AsyncWrite + Unpin {}

    impl<S: AsyncRead + AsyncWrite + Unpin> Socket for S {}

    struct Client<S>(S);

    impl<S: Socket> Client<S> {
        async fn send(&mut self, text: &str) {
            self.0.write_all(text.as_bytes()).await.expect("an open connection");
            self.0.flush().await.expect("an open connection");
        }

        /// Asks on a connection that is kept, and gives the body of the answer.
        async fn ask(&mut self, path: &str) -> String {
            self.send(&format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")).await;
            let head = self.until("\r\n\r\n").await;
            assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
            let length = head.split_once("content-length: ").expect("a length").1;
            let length = length.lines().next().and_then(|digits| digits.parse().ok());
            let mut body = vec![0; length.expect("a length")];
            self.0.read_exact(&mut body).await.expect("a body");
            String::from_utf8(body).expect("text")
        }

        async fn until(&mut self, end: &str) -> String {
            let mut said = String::new();
            let reading = async {
                while !said.ends_with(end) {
                    said.push(self.0.read_u8().await.expect("an open connection").into());
                }
            };
            let outcome = tokio::time::timeout(LONG, reading).await;
            assert!(outcome.is_ok(), "waiting for {end:?} after {said:?}");
            said
        }

        /// Everything said until the server closed, whether in order or by a reset.
        async fn until_closed(&mut self) -> String {
            let mut said = Vec::new();
            let closed = tokio::time::timeout(LONG, self.0.read_to_end(&mut said)).await;
            let said = String::from_utf8_lossy(&said).into_owned();
            assert!(closed.is_ok(), "still open after {said:?}");
            said
        }

        async fn stays_open_for(&mut self, time: Duration) {
            let heard = tokio::time::timeout(time, self.0.read_u8()).await;
            assert!(heard.is_err(), "expected silence, got {heard:?}");
        }
    }
}
