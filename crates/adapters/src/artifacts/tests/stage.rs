//! A staged network with names and addresses of our choosing. All of them lead to one small server
//! that misbehaves in every way.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use super::super::network::{self, Network};
use super::super::urls::Urls;
use super::super::{Artifacts, Settings};

/// The names of the network, each with the addresses that the resolver returns.
const NAMES: [(&str, &str); 8] = [
    ("public.test", "93.184.215.14"),
    ("other.test", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"),
    ("loopback.test", "127.0.0.1"),
    ("private.test", "10.1.2.3"),
    ("metadata.test", "169.254.169.254"),
    ("mapped.test", "::ffff:192.168.0.1"),
    ("mixed.test", "93.184.215.14 10.0.0.1"),
    ("nowhere.test", ""),
];

/// What the stage saw.
#[derive(Debug, Default)]
pub struct Sights {
    pub resolved: Vec<String>,
    pub dialed: Vec<SocketAddr>,
    pub heads: Vec<String>,
}

pub struct Stage {
    pub artifacts: Artifacts,
    /// Where the server really is.
    pub address: SocketAddr,
    pub sights: Arc<Mutex<Sights>>,
    /// How many requests were heard.
    pub asked: watch::Receiver<usize>,
    /// How many clients hung up before they had everything.
    pub hung_up: watch::Receiver<usize>,
}

/// Which certificates the client believes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    Public,
    Ours,
}

impl Stage {
    pub async fn start(settings: Settings) -> Self {
        Self::start_trusting(settings, Trust::Ours).await
    }

    /// Port 443 speaks TLS, as `public.test`; every other one does not.
    pub async fn start_trusting(settings: Settings, trust: Trust) -> Self {
        let made = rcgen::generate_simple_self_signed(["public.test".to_owned()]).unwrap();
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let certificate = made.cert.der().clone();
        let sights = Arc::new(Mutex::new(Sights::default()));
        let ((ask, asked), (hang_up, hung_up)) = (watch::channel(0), watch::channel(0));
        let server = Server { sights: Arc::clone(&sights), ask, hang_up };
        let plain = server.listen(None).await;
        let tls = server.listen(Some(acceptor(certificate.clone(), key))).await;
        let names = NAMES.iter().map(|(name, addresses)| {
            let addresses = addresses.split_whitespace().map(|text| text.parse().unwrap());
            (*name, addresses.collect())
        });
        let network =
            StagedNetwork { names: names.collect(), plain, tls, sights: Arc::clone(&sights) };
        let trusted = match trust {
            Trust::Public => network::public_tls(),
            Trust::Ours => {
                let mut roots = RootCertStore::empty();
                roots.add(certificate).unwrap();
                network::tls_trusting(roots)
            }
        };
        let urls = Urls::through(Box::new(network), trusted);
        let artifacts = Artifacts { urls, ..Artifacts::new(settings).unwrap() };
        Self { artifacts, address: plain, sights, asked, hung_up }
    }
}

fn acceptor(certificate: CertificateDer<'static>, key: PrivatePkcs8KeyDer<'static>) -> TlsAcceptor {
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.into())
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

#[derive(Debug)]
struct StagedNetwork {
    names: HashMap<&'static str, Vec<IpAddr>>,
    plain: SocketAddr,
    tls: SocketAddr,
    sights: Arc<Mutex<Sights>>,
}

impl Network for StagedNetwork {
    fn resolve<'a>(
        &'a self,
        name: &'a str,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>> {
        self.sights.lock().unwrap().resolved.push(name.to_owned());
        if name == "never.test" {
            return Box::pin(std::future::pending());
        }
        let addresses = self.names.get(name).cloned();
        Box::pin(async move { addresses.ok_or(io::ErrorKind::NotFound.into()) })
    }

    fn connect(
        &self,
        address: SocketAddr,
    ) -> Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send + '_>> {
        self.sights.lock().unwrap().dialed.push(address);
        match address.port() {
            1 => Box::pin(async { Err(io::ErrorKind::ConnectionRefused.into()) }),
            443 => Box::pin(TcpStream::connect(self.tls)),
            _ => Box::pin(TcpStream::connect(self.plain)),
        }
    }
}

#[derive(Clone)]
struct Server {
    sights: Arc<Mutex<Sights>>,
    ask: watch::Sender<usize>,
    hang_up: watch::Sender<usize>,
}

impl Server {
    async fn listen(&self, tls: Option<TlsAcceptor>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (server, tls) = (server.clone(), tls.clone());
                tokio::spawn(async move {
                    let ended = match tls {
                        None => server.serve(stream).await,
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => server.serve(stream).await,
                            Err(error) => Err(error),
                        },
                    };
                    if ended.is_err() {
                        server.hang_up.send_modify(|n| *n += 1);
                    }
                });
            }
        });
        address
    }

    async fn serve(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await?);
        }
        let head = String::from_utf8(head).unwrap();
        let target = head.split(' ').nth(1).unwrap().to_owned();
        self.sights.lock().unwrap().heads.push(head);
        self.ask.send_modify(|n| *n += 1);
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        if let Some(status) = path.strip_prefix("/status/") {
            let answer = format!("HTTP/1.1 {status} x\r\ncontent-length: 3\r\n\r\nxxx");
            stream.write_all(answer.as_bytes()).await?;
            return stream.shutdown().await;
        }
        if let Some(left) = path.strip_prefix("/chain/") {
            let left: usize = left.parse().unwrap();
            let next = if left == 1 { "/hello".to_owned() } else { (left - 1).to_string() };
            return redirect(&mut stream, &next).await;
        }
        match path {
            "/to" => redirect(&mut stream, query).await,
            "/loop" => redirect(&mut stream, "/loop").await,
            "/silent" => never(&mut stream, b"").await,
            "/stuck" => never(&mut stream, b"HTTP/1.1 200 x\r\ncontent-length: 5\r\n\r\nhe").await,
            "/slow" => slow(&mut stream).await,
            "/endless" => {
                let head = b"HTTP/1.1 200 x\r\nconnection: close\r\n\r\n";
                endless(&mut stream, head, &[0; 65_536]).await
            }
            "/endless-head" => endless(&mut stream, b"HTTP/1.1 200 x\r\n", b"a: b\r\n").await,
            path => {
                stream.write_all(answer(path).as_bytes()).await?;
                stream.shutdown().await
            }
        }
    }
}

/// The complete answer of a server for each path.
fn answer(path: &str) -> &'static str {
    match path {
        "/hello" => "HTTP/1.1 200 x\r\ncontent-length: 5\r\n\r\nhello",
        "/until-close" => "HTTP/1.1 200 x\r\nconnection: close\r\n\r\nhello",
        "/chunked" => {
            "HTTP/1.1 200 x\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"
        }
        "/chunk-cut" => "HTTP/1.1 200 x\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "/short" => "HTTP/1.1 200 x\r\ncontent-length: 10\r\n\r\nhello",
        "/long" => "HTTP/1.1 200 x\r\ncontent-length: 5\r\n\r\nhello, and more",
        "/huge" => "HTTP/1.1 200 x\r\ncontent-length: 10737418240\r\n\r\n",
        "/two-lengths" => "HTTP/1.1 200 x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!",
        "/nowhere" => "HTTP/1.1 302 x\r\ncontent-length: 0\r\n\r\n",
        "/garbage" => "SSH-2.0-OpenSSH_9.9\r\n",
        _ => "",
    }
}

async fn redirect(stream: &mut (impl AsyncWrite + Unpin), to: &str) -> io::Result<()> {
    let answer = format!("HTTP/1.1 302 x\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n");
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}

async fn never(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), start: &[u8]) -> io::Result<()> {
    stream.write_all(start).await?;
    stream.read_u8().await.map(|_| ())
}

async fn slow(stream: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 x\r\ncontent-length: 1000000\r\n\r\n").await?;
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    loop {
        ticks.tick().await;
        stream.write_all(b"x").await?;
        stream.flush().await?;
    }
}

async fn endless(
    stream: &mut (impl AsyncWrite + Unpin),
    start: &[u8],
    again: &[u8],
) -> io::Result<()> {
    stream.write_all(start).await?;
    loop {
        stream.write_all(again).await?;
    }
}
