//! A server on a free port with routes that misbehave in every way, and a client that sends exactly
//! the given bytes.

use super::super::*;
use super::{BODY_BYTES_MAX, LONG, LONG_MS};
use crate::body::{BodyError, read_body};
use crate::slow_lane::SlowLane;
use crate::tls;
use crate::tls::tests::MadeFiles;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::{any, get, post};
use axum::{Extension, Router};
use bytes::Bytes;
use hyper_util::rt::TokioIo;
use std::net::SocketAddr;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// The defaults, with every timeout but the changed one out of the way.
pub fn limits(change: impl FnOnce(&mut ConnectionLimits)) -> ConnectionLimits {
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

pub struct Server {
    pub address: SocketAddr,
    pub counts: Arc<ConnectionCounts>,
    /// One permit lets one `/hold` answer, or one `/ticks` go on.
    pub hold: Arc<Semaphore>,
    pub held: watch::Receiver<bool>,
    pub stop: watch::Sender<bool>,
    pub task: JoinHandle<()>,
}

impl Server {
    pub async fn start(limits: ConnectionLimits) -> Self {
        let (listener, address) = listener().await;
        Self::start_at(Endpoint::Tcp(listener), address, limits)
    }

    pub async fn start_tls(made: &MadeFiles, limits: ConnectionLimits) -> Self {
        let (listener, address) = listener().await;
        let config = tls::server_config(&made.files).expect("a usable pair");
        Self::start_at(Endpoint::Tls(listener, config), address, limits)
    }

    pub fn start_at(endpoint: Endpoint, address: SocketAddr, limits: ConnectionLimits) -> Self {
        let counts = Arc::new(ConnectionCounts::default());
        let hold = Arc::new(Semaphore::new(0));
        let (stop, stopped) = watch::channel(false);
        let (hold_began, held) = watch::channel(false);
        let router = routes(limits.body_read_ms_max, Arc::clone(&hold), hold_began);
        let (unanswered, slow_lane) = (crate::http::unanswered, SlowLane::new(None));
        let host = Host { router, limits, counts: Arc::clone(&counts), unanswered, slow_lane };
        let task = tokio::spawn(serve(endpoint, host, stopped));
        Self { address, counts, hold, held, stop, task }
    }

    pub async fn connect(&self) -> Client<TcpStream> {
        Client(TcpStream::connect(self.address).await.expect("a connection"))
    }

    pub async fn connect_tls(
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

    pub async fn is_held(&self) {
        let mut held = self.held.clone();
        let held = held.wait_for(|held| *held);
        let _ = tokio::time::timeout(LONG, held).await.expect("the handler was reached");
    }

    /// Only the metrics read the counts, so there is no signal to wait for.
    pub async fn reached(&self, is_there: impl Fn(&ConnectionCounts) -> bool) {
        let mut looks = tokio::time::interval(Duration::from_millis(2));
        let reaching = async {
            while !is_there(&self.counts) {
                looks.tick().await;
            }
        };
        let reached = tokio::time::timeout(LONG, reaching).await;
        reached.unwrap_or_else(|_| panic!("still {:?}", self.counts));
    }

    pub async fn ended(self) {
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

pub async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    (listener, address)
}

pub fn unused_address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

pub fn routes(read_ms_max: u64, hold: Arc<Semaphore>, hold_began: watch::Sender<bool>) -> Router {
    let echo = async move |ambiguous: Option<Extension<AmbiguousLength>>, body: Body| {
        if ambiguous.is_some() {
            return (StatusCode::BAD_REQUEST, Bytes::new());
        }
        match read_body(body, BODY_BYTES_MAX, read_ms_max, |_| true).await {
            Ok(bytes) => (StatusCode::OK, bytes),
            Err(BodyError::TooLarge { .. }) => (StatusCode::PAYLOAD_TOO_LARGE, Bytes::new()),
            Err(BodyError::TooSlow { .. }) => (StatusCode::REQUEST_TIMEOUT, Bytes::new()),
            Err(BodyError::Broken(_) | BodyError::Ended) => (StatusCode::BAD_REQUEST, Bytes::new()),
        }
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
        .route("/hold", get(held.clone()))
        .route("/v1/acp/handoff", post(held))
        .route("/ticks", get(ticks))
        .route("/flood", get(flood))
        .route("/panic", get(failing))
        .route("/upgrade", any(upgrade))
}

pub async fn upgrade(mut request: Request) -> Response {
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

pub trait Socket: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> Socket for S {}

pub struct Client<S>(pub S);

impl<S: Socket> Client<S> {
    pub async fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.expect("an open connection");
        self.0.flush().await.expect("an open connection");
    }

    /// Asks on a connection that is kept, and gives the body of the answer.
    pub async fn ask(&mut self, path: &str) -> String {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")).await;
        let head = self.until("\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        let length = head.split_once("content-length: ").expect("a length").1;
        let length = length.lines().next().and_then(|digits| digits.parse().ok());
        let mut body = vec![0; length.expect("a length")];
        self.0.read_exact(&mut body).await.expect("a body");
        String::from_utf8(body).expect("text")
    }

    pub async fn until(&mut self, end: &str) -> String {
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
    pub async fn until_closed(&mut self) -> String {
        let mut said = Vec::new();
        let closed = tokio::time::timeout(LONG, self.0.read_to_end(&mut said)).await;
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(closed.is_ok(), "still open after {said:?}");
        said
    }

    pub async fn stays_open_for(&mut self, time: Duration) {
        let heard = tokio::time::timeout(time, self.0.read_u8()).await;
        assert!(heard.is_err(), "expected silence, got {heard:?}");
    }
}
