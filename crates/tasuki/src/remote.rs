//! One HTTP request over a connection of its own, plain or TLS. Independent of the request and its
//! caller.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use axum::body::{Body, Bytes};
use axum::http::{Request, Response, Uri};
use http_body_util::Full;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::socket::Duplex;

/// No server can be reached.
#[derive(Debug, Clone, thiserror::Error)]
#[error("cannot reach the server at {0}")]
pub struct Unreachable(pub String);

/// A server at an `http://` or `https://` address.
#[derive(Clone)]
pub struct Remote {
    address: String,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Where a URL leads.
pub struct Target {
    host: String,
    port: u16,
    is_https: bool,
    /// Whether the URL has more than a host and a port.
    pub has_more: bool,
}

impl Target {
    pub fn read(url: &str) -> Result<Self> {
        let uri: Uri = url.parse().with_context(|| format!("{url}: expected a URL"))?;
        let authority = uri.authority().with_context(|| format!("{url}: expected a host"))?;
        let is_https = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            Some(_) | None => bail!("{url}: expected http:// or https://"),
        };
        let after_host = authority.as_str().rsplit_once(authority.host()).map_or("", |it| it.1);
        let port = match after_host.strip_prefix(':') {
            Some(port) => port.parse().ok().filter(|port: &u16| *port > 0),
            None => Some(if is_https { 443 } else { 80 }),
        };
        let port = port.with_context(|| format!("{url}: expected a port from 1 to 65535"))?;
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        let path = uri.path_and_query().map_or("/", |it| it.as_str());
        let has_more = path != "/" || url.contains('#') || authority.as_str().contains('@');
        Ok(Self { host, port, is_https, has_more })
    }
}

impl Remote {
    /// HTTPS needs the certificates to trust; `ca_cert_source` says where to name them.
    pub fn new(url: &str, ca_cert: Option<&Path>, ca_cert_source: &str) -> Result<Self> {
        let Target { host, port, is_https, has_more: _ } = Target::read(url)?;
        let tls = if is_https {
            let ca_cert = ca_cert.with_context(|| {
                format!("https needs {ca_cert_source}, the certificate to trust")
            })?;
            let name = ServerName::try_from(host.clone())
                .with_context(|| format!("{url}: expected a host name"))?;
            Some((tls_config(ca_cert)?, name))
        } else {
            None
        };
        let host = if host.contains(':') { format!("[{host}]") } else { host };
        Ok(Self { address: format!("{host}:{port}"), tls })
    }

    /// `host:port`.
    pub fn address(&self) -> &str {
        &self.address
    }

    pub async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Body>> {
        exchange(self.connect().await?, request).await
    }

    pub async fn connect(&self) -> Result<Pin<Box<dyn Duplex>>> {
        let stream = TcpStream::connect(&self.address)
            .await
            .map_err(|_| Unreachable(self.address.clone()))?;
        match &self.tls {
            None => Ok(Box::pin(stream)),
            Some((config, name)) => {
                let connector = TlsConnector::from(Arc::clone(config));
                let stream = connector
                    .connect(name.clone(), stream)
                    .await
                    .with_context(|| Unreachable(self.address.clone()))?;
                Ok(Box::pin(stream))
            }
        }
    }
}

/// One request over an existing connection.
pub async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Response<Body>> {
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .context("the server does not speak HTTP")?;
    // Ends by itself when the answer was read or dropped.
    tokio::spawn(connection);
    let response = sender.send_request(request).await.map_err(|error| {
        let how = if error.is_parse() { " in HTTP" } else { "" };
        anyhow::Error::new(error).context(format!("the server did not answer{how}"))
    })?;
    Ok(response.map(Body::new))
}

fn tls_config(ca_cert: &Path) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(ca_cert)
        .with_context(|| format!("cannot read {}", ca_cert.display()))?;
    for certificate in certificates {
        roots
            .add(certificate.with_context(|| format!("cannot read {}", ca_cert.display()))?)
            .with_context(|| format!("{}: expected a CA certificate", ca_cert.display()))?;
    }
    if roots.is_empty() {
        bail!("{}: expected a certificate (PEM)", ca_cert.display());
    }
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .context("TLS 1.2 or 1.3 must be available")?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}
