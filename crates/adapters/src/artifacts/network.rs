//! One request over a connection of its own, to an address that was checked. The name is resolved
//! once, so the connection goes to the address that was checked, even if the name resolves to
//! another one later.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::{fmt, io};

use bytes::Bytes;
use http_body_util::{Empty, Full};
use hyper::body::{Body, Incoming};
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, HeaderValue, USER_AGENT,
};
use hyper::http::request::Builder;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::addresses::is_public;
use super::locations::{Host, Location, Scheme};

/// How much may be read ahead, and the largest head of an answer: far above what servers send, and
/// little memory for a hostile server to take.
const BUFFER_BYTES_MAX: usize = 64 * 1024;

/// Addresses are tried one after the other until one answers. More than these would hardly behave
/// differently.
const ADDRESSES_TRIED_MAX: usize = 4;

/// Above what content networks add to an answer.
const HEADERS_MAX: usize = 100;

const USER_AGENT_TEXT: &str = concat!("tasuki/", env!("CARGO_PKG_VERSION"));

type Pending<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// Outgoing connections. An implementation resolves a name to all of its addresses, and connects to
/// exactly the address it is given; whether that is allowed was decided before.
pub trait Network: fmt::Debug + Send + Sync + 'static {
    fn resolve<'a>(&'a self, name: &'a str) -> Pending<'a, Vec<IpAddr>>;

    fn connect(&self, address: SocketAddr) -> Pending<'_, TcpStream>;
}

/// The network of this machine.
#[derive(Debug)]
pub struct SystemNetwork;

impl Network for SystemNetwork {
    fn resolve<'a>(&'a self, name: &'a str) -> Pending<'a, Vec<IpAddr>> {
        Box::pin(async move {
            // The resolver does not use the port, and it is not part of the result.
            let addresses = tokio::net::lookup_host((name, 0)).await?;
            Ok(addresses.map(|address| address.ip()).collect())
        })
    }

    fn connect(&self, address: SocketAddr) -> Pending<'_, TcpStream> {
        Box::pin(TcpStream::connect(address))
    }
}

/// The certificates that browsers trust, compiled in: the same on every machine.
pub fn public_tls() -> Arc<ClientConfig> {
    let roots = webpki_roots::TLS_SERVER_ROOTS.iter().cloned();
    tls_trusting(RootCertStore { roots: roots.collect() })
}

pub fn tls_trusting(roots: RootCertStore) -> Arc<ClientConfig> {
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider speaks TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}

/// Something to speak HTTP over.
pub trait HttpStream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> HttpStream for T {}

/// Why there is no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreached {
    Unresolved,
    NotPublic,
    Unanswered,
}

/// Where a location may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Public,
    /// In public, or on this machine.
    PublicOrLoopback,
    /// On this machine alone.
    Loopback,
    /// Anywhere, private networks included.
    Private,
}

impl Reach {
    pub fn allows(self, address: IpAddr) -> bool {
        let is_loopback = address.to_canonical().is_loopback();
        match self {
            Reach::Public => is_public(address),
            Reach::PublicOrLoopback => is_loopback || is_public(address),
            Reach::Loopback => is_loopback,
            Reach::Private => true,
        }
    }
}

/// A connection to a location, if its address is allowed.
pub async fn reach(
    network: &dyn Network,
    tls: &Arc<ClientConfig>,
    location: &Location,
    reach: Reach,
) -> Result<Box<dyn HttpStream>, Unreached> {
    let addresses = match &location.host {
        Host::Address(address) => vec![*address],
        Host::Name(name) => network.resolve(name).await.map_err(|_| Unreached::Unresolved)?,
    };
    if !addresses.iter().all(|address| reach.allows(*address)) {
        return Err(Unreached::NotPublic);
    }
    let tried = &addresses[..addresses.len().min(ADDRESSES_TRIED_MAX)];
    connect(network, tls, location, tried).await.map_err(|_| Unreached::Unanswered)
}

/// A connection to one of the addresses of a location, with TLS if its scheme asks for it.
async fn connect(
    network: &dyn Network,
    tls: &Arc<ClientConfig>,
    location: &Location,
    addresses: &[IpAddr],
) -> io::Result<Box<dyn HttpStream>> {
    let mut connected = Err(io::ErrorKind::NotFound.into());
    for address in addresses {
        connected = network.connect(SocketAddr::new(*address, location.port)).await;
        if connected.is_ok() {
            break;
        }
    }
    let stream = connected?;
    match location.scheme {
        Scheme::Http => Ok(Box::new(stream)),
        Scheme::Https => {
            let name = match &location.host {
                Host::Address(address) => ServerName::from(*address),
                Host::Name(name) => ServerName::try_from(name.clone()).map_err(io::Error::other)?,
            };
            let connector = TlsConnector::from(Arc::clone(tls));
            Ok(Box::new(connector.connect(name, stream).await?))
        }
    }
}

/// An answer whose body is not read yet, and the task that reads it, which ends when this is
/// dropped.
pub struct HttpAnswer {
    pub response: Response<Incoming>,
    _connection: JoinSet<()>,
}

/// Asks for a location, once, and waits for the head of the answer. Nothing is sent that would
/// tell one request from another: no cookies, no credentials.
pub async fn ask(stream: Box<dyn HttpStream>, location: &Location) -> io::Result<HttpAnswer> {
    let request = request(Method::GET, location).body(Empty::<Bytes>::new());
    send(stream, request.map_err(io::Error::other)?).await
}

/// Sends JSON to a location, once, and waits for the head of the answer.
pub async fn post(
    stream: Box<dyn HttpStream>,
    location: &Location,
    authorization: Option<&HeaderValue>,
    body: Bytes,
) -> io::Result<HttpAnswer> {
    let mut request = request(Method::POST, location)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json");
    if let Some(authorization) = authorization {
        request = request.header(AUTHORIZATION, authorization);
    }
    send(stream, request.body(Full::new(body)).map_err(io::Error::other)?).await
}

/// The header for the token in a file, if it is one.
pub fn bearer(text: &str) -> Option<HeaderValue> {
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return None;
    }
    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// A request without its body.
pub fn request(method: Method, location: &Location) -> Builder {
    Request::builder()
        .method(method)
        .uri(&location.target)
        .header(HOST, location.authority())
        .header(USER_AGENT, USER_AGENT_TEXT)
        .header(ACCEPT_ENCODING, "identity")
        .header(CONNECTION, "close")
}

/// Sends a request, and waits for the head of the answer.
pub async fn send<B>(stream: Box<dyn HttpStream>, request: Request<B>) -> io::Result<HttpAnswer>
where
    B: Body<Data = Bytes, Error: std::error::Error + Send + Sync> + Send + Unpin + 'static,
{
    let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
        .max_buf_size(BUFFER_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(io::Error::other)?;
    let mut driving = JoinSet::new();
    driving.spawn(async {
        // An error here shows where the answer or its body is awaited.
        let _ = connection.await;
    });
    let response = sender.send_request(request).await.map_err(io::Error::other)?;
    Ok(HttpAnswer { response, _connection: driving })
}
