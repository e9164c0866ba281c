//! How the command line reaches a server: over its control socket, over the network, or, when none
//! runs, by acting as one for the duration of a command. The requests are the same in all three.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Request, Response};
use gateways::listen::Peer;
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tokio::net::UnixStream;
use tower::ServiceExt;

use crate::remote::{self, Remote, Target};

pub use crate::remote::Unreachable;

/// More than any answer of a server that is not a stream.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A connection to a server, and the caller's identity there.
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) transport: Transport,
    pub identity: Identity,
}

#[derive(Clone)]
pub(crate) enum Transport {
    InProcess(Router),
    Socket(PathBuf),
    Network(Remote),
}

impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Transport::InProcess(_) => "in process",
            Transport::Socket(_) => "control socket",
            Transport::Network(_) => "network",
        })
    }
}

/// The identity for the headers.
#[derive(Debug, Clone, Default)]
pub struct Identity {
    pub token: Option<String>,
    pub act_as: Option<String>,
    pub teamspace: Option<String>,
}

impl Identity {
    /// The session id for requests without a token. A token identifies itself.
    pub fn session(&self) -> Option<String> {
        self.token.is_none().then(|| "cli".to_owned())
    }
}

/// One request.
#[derive(Debug, Clone)]
pub struct Call {
    pub method: &'static str,
    pub path: String,
    pub body: Option<Value>,
    pub key: Option<String>,
}

/// One complete answer.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    /// `null` if it is empty or not JSON.
    pub body: Value,
    pub is_json: bool,
}

/// The server refused.
#[derive(Debug, Clone, Default, thiserror::Error)]
#[error("{detail}")]
pub struct Refused {
    pub code: String,
    pub detail: String,
    /// The field or header at fault.
    pub field: Option<String>,
    /// The bearer of the token, if the rest of the request contradicts it.
    pub bearer: Option<String>,
    /// Whether the gate checked the handoff and rejected it for a finding.
    pub is_rejected_by_gate: bool,
}

impl Refused {
    /// A refusal that a command itself derives from the server's answers.
    pub fn found(code: &str, field: &str, detail: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            detail: detail.into(),
            field: Some(field.to_owned()),
            ..Self::default()
        }
    }

    /// From problem details.
    pub fn new(problem: &Value) -> Self {
        let text = |name: &str| problem[name].as_str().map(str::to_owned);
        Self {
            code: text("code").unwrap_or_default(),
            detail: text("detail").unwrap_or_default(),
            field: text("field"),
            bearer: text("bearer"),
            is_rejected_by_gate: problem["verification_failed"].is_array()
                && problem["handoff_status"] == "rejected",
        }
    }
}

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
            // Such as the page of a proxy at which one must log in.
            ensure!(self.is_json, "the answer is not JSON: no Tasuki server has sent it");
            return Ok(self.body);
        }
        let refused = Refused::new(&self.body);
        if refused.code.is_empty() {
            bail!("the server answered with status {}", self.status);
        }
        Err(refused.into())
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
        if Target::read(url).context("--server")?.has_more {
            bail!("--server: {url}: expected no more than a host and a port");
        }
        let transport = Transport::Network(Remote::new(url, ca_cert, "--ca-cert")?);
        Ok(Self { transport, identity: Identity::default() })
    }

    pub fn with_identity(mut self, identity: Identity) -> Self {
        self.identity = identity;
        self
    }

    pub async fn call(&self, call: Call) -> Result<Answer> {
        read(self.send(&call, &[], None).await?).await
    }

    /// A call whose body is no JSON.
    pub async fn call_with_bytes(&self, call: &Call, bytes: Bytes) -> Result<Answer> {
        read(self.send(call, &[], Some(bytes)).await?).await
    }

    /// An answer that continues, such as a live stream.
    pub async fn open(&self, call: &Call, headers: &[(&str, String)]) -> Result<Response<Body>> {
        self.send(call, headers, None).await
    }

    async fn send(
        &self,
        call: &Call,
        headers: &[(&str, String)],
        bytes: Option<Bytes>,
    ) -> Result<Response<Body>> {
        let request = self.request(call, headers, bytes)?;
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
                remote::exchange(stream, request).await
            }
            Transport::Network(remote) => remote.send(request).await,
        }
    }

    fn request(
        &self,
        call: &Call,
        headers: &[(&str, String)],
        bytes: Option<Bytes>,
    ) -> Result<Request<Full<Bytes>>> {
        let host = match &self.transport {
            Transport::Network(remote) => remote.address(),
            Transport::InProcess(_) | Transport::Socket(_) => "tasuki",
        };
        let mut request =
            Request::builder().method(call.method).uri(&call.path).header("host", host);
        let identity = [
            ("authorization", self.identity.token.as_ref().map(|token| format!("Bearer {token}"))),
            ("tasuki-act-as", self.identity.act_as.clone()),
            ("tasuki-teamspace", self.identity.teamspace.clone()),
            ("tasuki-session", self.identity.session()),
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
        let body = match (bytes, &call.body) {
            (Some(bytes), _) => {
                request = request.header("content-type", "application/octet-stream");
                bytes
            }
            (None, Some(body)) => {
                request = request.header("content-type", "application/json");
                Bytes::from(body.to_string())
            }
            (None, None) => Bytes::new(),
        };
        request.body(Full::new(body)).context("the request cannot be written down")
    }
}

/// The whole answer.
async fn read(response: Response<Body>) -> Result<Answer> {
    let status = response.status().as_u16();
    let mut body = response.into_body();
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.context("the answer broke off")?;
        bytes.extend(frame.data_ref().into_iter().flatten());
        if bytes.len() > ANSWER_BYTES_MAX {
            bail!("the answer is longer than {ANSWER_BYTES_MAX} bytes");
        }
    }
    let body = serde_json::from_slice(&bytes);
    let is_json = body.is_ok() || bytes.is_empty();
    Ok(Answer { status, body: body.unwrap_or(Value::Null), is_json })
}

/// Percent-encodes what a person typed, for one step of a path or one value of a query.
pub fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            other => encoded.push_str(&format!("%{other:02X}")),
        }
    }
    encoded
}
