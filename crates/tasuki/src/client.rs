//! How the command line reaches a server: over its control socket, over the network, or, when none
//! runs, by being one for the length of a command. The requests are the same in all three.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Request, Response, Uri};
use gateways::listen::Peer;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tower::ServiceExt;

/// A way to a server, and who we are there.
#[derive(Debug, Clone)]
pub struct Client {
    transport: Transport,
    pub identity: Identity,
}

#[derive(Clone)]
enum Transport {
    InProcess(Router),
    Socket(PathBuf),
    Network { address: String, tls: Option<(Arc<ClientConfig>, ServerName<'static>)> },
}

impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Transport::InProcess(_) => "in process",
            Transport::Socket(_) => "control socket",
            Transport::Network { .. } => "network",
        })
    }
}

/// What goes into the headers.
#[derive(Debug, Clone, Default)]
pub struct Identity {
    pub token: Option<String>,
    pub act_as: Option<String>,
    pub teamspace: Option<String>,
}

/// One request.
#[derive(Debug, Clone)]
pub struct Call {
    pub method: &'static str,
    pub path: String,
    pub body: Option<Value>,
    pub key: Option<String>,
}

/// One answer, whole.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

/// The server said no.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{detail}")]
pub struct Refused {
    pub code: String,
    pub detail: String,
}

/// There is nobody to ask.
#[derive(Debug, Clone, thiserror::Error)]
#[error("cannot reach the server at {0}")]
pub struct Unreachable(pub String);

impl Call {
    pub fn get(path: impl Into<String>) -> Self {
        Self { method: "GET", path: path.into(), body: None, key: None }
    }

    pub fn post(path: impl Into<String>, body: Value) -> Self {
        Self { method: "POST", path: path.into(), body: Some(body), key: None }
    }

    pub fn put(path: impl Into<String>, body: Value) -> Self {
        Self { method: "PUT", path: path.into(), body: Some(body), key: None }
    }
}

impl Answer {
    pub fn success(self) -> Result<Value> {
        if self.status < 300 {
            return Ok(self.body);
        }
        let text = |name: &str| self.body[name].as_str().unwrap_or_default().to_owned();
        let (code, detail) = (text("code"), text("detail"));
        if code.is_empty() {
            bail!("the server answered with status {}", self.status);
        }
        Err(Refused { code, detail }.into())
    }
}

impl Client {
    pub fn in_process(router: Router) -> Self {
        Self { transport: Transport::InProcess(router), identity: Identity::default() }
    }

    pub fn socket(path: PathBuf) -> Self {
        Self { transport: Transport::Socket(path), identity: Identity::default() }
    }

    /// A server at an `http://` or `https://` address. HTTPS needs the certificate to trust.
    pub fn network(url: &str, ca_cert: Option<&std::path::Path>) -> Result<Self> {
        let uri: Uri = url.parse().with_context(|| format!("{url}: expected a URL"))?;
        let authority = uri.authority().with_context(|| format!("{url}: expected a host"))?;
        let is_https = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            Some(_) | None => bail!("{url}: expected http:// or https://"),
        };
        let port = authority.port_u16().unwrap_or(if is_https { 443 } else { 80 });
        let host = authority.host().trim_matches(['[', ']']);
        let tls = if is_https {
            let ca_cert = ca_cert.context("https needs --ca-cert, the certificate to trust")?;
            let name = ServerName::try_from(host.to_owned())
                .with_context(|| format!("{url}: expected a host name"))?;
            Some((tls_config(ca_cert)?, name))
        } else {
            None
        };
        let address = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let transport = Transport::Network { address, tls };
        Ok(Self { transport, identity: Identity::default() })
    }

    pub fn with_identity(mut self, identity: Identity) -> Self {
        self.identity = identity;
        self
    }

    pub async fn call(&self, call: Call) -> Result<Answer> {
        let response = self.send(&call, &[]).await?;
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.context("the answer broke off")?.to_bytes();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Ok(Answer { status, body })
    }

    /// An answer that goes on, such as a live stream.
    pub async fn open(&self, call: &Call, headers: &[(&str, String)]) -> Result<Response<Body>> {
        self.send(call, headers).await
    }

    async fn send(&self, call: &Call, headers: &[(&str, String)]) -> Result<Response<Body>> {
        let request = self.request(call, headers)?;
        match &self.transport {
            Transport::InProcess(router) => {
                let mut request = request.map(Body::new);
                request.extensions_mut().insert(Peer::Local);
                Ok(router.clone().oneshot(request).await.expect("the router answers everything"))
            }
            Transport::Socket(path) => {
                let stream = UnixStream::connect(path)
                    .await
                    .map_err(|_| Unreachable(path.display().to_string()))?;
                exchange(stream, request).await
            }
            Transport::Network { address, tls } => {
                let stream = TcpStream::connect(address)
                    .await
                    .map_err(|_| Unreachable(address.clone()))?;
                match tls {
                    None => exchange(stream, request).await,
                    Some((config, name)) => {
                        let connector = TlsConnector::from(Arc::clone(config));
                        let stream = connector
                            .connect(name.clone(), stream)
                            .await
                            .with_context(|| format!("no secure connection to {address}"))?;
                        exchange(stream, request).await
                    }
                }
            }
        }
    }

    fn request(&self, call: &Call, headers: &[(&str, String)]) -> Result<Request<Full<Bytes>>> {
        let mut request = Request::builder()
            .method(call.method)
            .uri(&call.path)
            .header("host", "tasuki")
            .header("tasuki-session", "cli");
        let identity = [
            ("authorization", self.identity.token.as_ref().map(|token| format!("Bearer {token}"))),
            ("tasuki-act-as", self.identity.act_as.clone()),
            ("tasuki-teamspace", self.identity.teamspace.clone()),
            ("idempotency-key", call.key.clone()),
        ];
        for (name, value) in identity {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let body = match &call.body {
            Some(body) => {
                request = request.header("content-type", "application/json");
                Bytes::from(body.to_string())
            }
            None => Bytes::new(),
        };
        request.body(Full::new(body)).context("the request cannot be written down")
    }
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Response<Body>> {
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .context("the server does not speak HTTP")?;
    // Ends by itself when the answer was read or dropped.
    tokio::spawn(connection);
    let response = sender.send_request(request).await.context("the server did not answer")?;
    Ok(response.map(Body::new))
}

fn tls_config(ca_cert: &std::path::Path) -> Result<Arc<ClientConfig>> {
    use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
    use tokio_rustls::rustls::pki_types::CertificateDer;
    use tokio_rustls::rustls::pki_types::pem::PemObject;
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(ca_cert)
        .with_context(|| format!("cannot read {}", ca_cert.display()))?;
    for certificate in certificates {
        roots
            .add(certificate.with_context(|| format!("cannot read {}", ca_cert.display()))?)
            .with_context(|| format!("{}: expected a CA certificate", ca_cert.display()))?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .context("TLS 1.2 or 1.3 must be available")?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
