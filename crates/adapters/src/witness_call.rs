//! One request to a witness over HTTP, of either form.
//!
//! The URL is set by the operator, so it may lead anywhere. Redirects are not followed: they would
//! send the token to another server. An answer is short, in time, and something that the caller
//! verifies; everything else is a failure.
//!
//! A request carries nothing, a bearer token, or the signature of an S3 key. The token is read at
//! the start. The key is read for each request: it may expire, and a program replaces it then.

use std::fs;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::ledger::seal::NotKept;
use engine::ports::clock::{Clock, SystemClock};
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{
    AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH,
};
use hyper::http::request::Builder;
use hyper::{Method, Request, StatusCode};
use protocol::checkpoint::{CheckpointError, NOTE_BYTES_MAX};
use protocol::time::Time;
use tokio::time::timeout;
use tokio_rustls::rustls::ClientConfig;

use crate::artifacts::locations::Location;
use crate::artifacts::network::{self, HttpAnswer, Reach, SystemNetwork, Unreached};
use crate::s3_refusal;
use crate::s3_signature::{self, S3Key, S3Request};

/// One request, from resolving the name to the end of the answer: a start waits for it, and the
/// last request of a stop.
pub const CALL_MS_MAX: u64 = 5_000;

#[derive(Debug, Clone)]
pub struct Settings {
    /// What the paths of the witness begin with.
    pub url: String,
    pub credentials: Credentials,
}

/// By what the witness knows this server.
#[derive(Debug, Clone)]
pub enum Credentials {
    None,
    /// A file with a bearer token.
    Token(PathBuf),
    /// What is at the URL is a bucket, or a folder in one.
    S3(S3Account),
}

/// What signs requests to an object store.
#[derive(Debug, Clone)]
pub struct S3Account {
    pub region: String,
    /// A file with the access key id, the secret and, if there is one, the session token.
    pub key_file: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    #[error("expected an http or https URL without a user name, a query or a fragment")]
    Url,
    #[error("cannot read {}", .path.display())]
    TokenFile { path: PathBuf, source: io::Error },
    #[error("expected a token of visible ASCII in {}", .path.display())]
    Token { path: PathBuf },
    #[error("ledger.witness_s3_key_file: cannot read {}", .path.display())]
    S3KeyFile { path: PathBuf, source: io::Error },
    #[error(
        "ledger.witness_s3_key_file: expected an access key id, a secret and perhaps a session \
         token in {}, each on a line of its own and without a name before it", .path.display()
    )]
    S3Key { path: PathBuf },
    #[error("ledger.witness_key")]
    Key(#[from] CheckpointError),
}

/// Why there is no answer. The text is ours; from the witness it has only a number.
#[derive(Debug, thiserror::Error)]
#[error("the witness {0}")]
pub struct Failure(pub String);

/// Where a witness is called, and how.
#[derive(Debug)]
pub struct WitnessCall {
    location: Location,
    access: Access,
    tls: Arc<ClientConfig>,
}

#[derive(Debug)]
enum Access {
    Open,
    Bearer(HeaderValue),
    S3(S3Account),
}

/// What is signed of a request that is sent with it, besides the headers of the signature itself.
/// AWS asks for the first two. The conditions are signed so that no one on the way removes them.
const SIGNED_HEADERS: [HeaderName; 4] = [CONTENT_TYPE, HOST, IF_MATCH, IF_NONE_MATCH];

impl WitnessCall {
    pub fn new(settings: &Settings, path: &str) -> Result<Self, SettingError> {
        if settings.url.contains(['?', '#']) {
            return Err(SettingError::Url);
        }
        let url = format!("{}/{path}", settings.url.trim_end_matches('/'));
        let mut location = Location::parse(&url).ok_or(SettingError::Url)?;
        let access = match &settings.credentials {
            Credentials::None => Access::Open,
            Credentials::Token(file) => Access::Bearer(bearer(file)?),
            Credentials::S3(account) => {
                let encoded = s3_signature::encoded_path(&location.target);
                location.target = encoded.ok_or(SettingError::Url)?;
                account.key()?;
                Access::S3(account.clone())
            }
        };
        Ok(Self { location, access, tls: network::public_tls() })
    }

    pub fn request(&self, method: Method) -> Builder {
        network::request(method, &self.location)
    }

    pub(crate) async fn send(&self, request: Builder, body: Bytes) -> Result<HttpAnswer, Failure> {
        let failure = |what: &str| Failure(what.to_owned());
        let reached = network::reach(&SystemNetwork, &self.tls, &self.location, Reach::Private);
        let stream = reached.await.map_err(|unreached| match unreached {
            Unreached::Unresolved => failure("has a name that cannot be resolved"),
            Unreached::NotPublic => failure("is at an address that is not allowed"),
            Unreached::Unanswered => failure("cannot be reached"),
        })?;
        let mut request = request
            .body(Full::new(body.clone()))
            .map_err(|_| failure("has a URL that cannot be sent"))?;
        match &self.access {
            Access::Open => {}
            Access::Bearer(token) => {
                request.headers_mut().insert(AUTHORIZATION, token.clone());
            }
            Access::S3(account) => {
                let key = account.key();
                let key = key.map_err(|error| Failure(format!("cannot be asked: {error}")))?;
                account.sign(&mut request, &body, &key, SystemClock.now());
            }
        }
        let sent = network::send(stream, request).await;
        sent.map_err(|_| failure("does not answer as HTTP asks"))
    }

    /// Why the witness refuses, from an answer whose body is not read yet. Only an object store
    /// says more than a number.
    pub(crate) async fn refusal(&self, answer: &mut HttpAnswer) -> Failure {
        let status = answer.response.status();
        let error = match self.access {
            Access::Open | Access::Bearer(_) => String::new(),
            Access::S3(_) => Self::text(answer).await.unwrap_or_default(),
        };
        refused(status, s3_refusal::code(&error))
    }

    /// Fails if an answer of 404 does not mean that the object is missing. A bucket that is gone,
    /// or a proxy that does not know the store, must not pass for a new witness.
    pub(crate) async fn check_missing(&self, answer: &mut HttpAnswer) -> Result<(), Failure> {
        let error = match self.access {
            Access::Open | Access::Bearer(_) => return Ok(()),
            Access::S3(_) => Self::text(answer).await?,
        };
        match s3_refusal::code(&error) {
            Some(s3_refusal::NO_SUCH_KEY) => Ok(()),
            code => Err(refused(answer.response.status(), code)),
        }
    }

    /// The body of an answer, no longer than a note.
    pub(crate) async fn text(answer: &mut HttpAnswer) -> Result<String, Failure> {
        let body = Limited::new(answer.response.body_mut(), NOTE_BYTES_MAX).collect().await;
        let cut_off = |_| Failure("sends an answer that is cut off or too long".to_owned());
        Ok(String::from_utf8_lossy(&body.map_err(cut_off)?.to_bytes()).into_owned())
    }
}

impl From<Failure> for NotKept {
    fn from(failure: Failure) -> Self {
        NotKept::Failed(io::Error::other(failure))
    }
}

pub async fn in_time<T>(asking: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let asked = timeout(Duration::from_millis(CALL_MS_MAX), asking).await;
    asked.unwrap_or_else(|_| Err(Failure("does not answer in time".to_owned())))
}

pub fn answers(status: StatusCode) -> Failure {
    Failure(format!("answers {}", status.as_u16()))
}

fn refused(status: StatusCode, code: Option<&str>) -> Failure {
    match code.and_then(s3_refusal::meaning) {
        Some((code, meaning)) => Failure(format!("answers {} {code}: {meaning}", status.as_u16())),
        None => answers(status),
    }
}

fn bearer(file: &Path) -> Result<HeaderValue, SettingError> {
    let path = file.to_owned();
    match fs::read_to_string(file) {
        Ok(text) => network::bearer(&text).ok_or(SettingError::Token { path }),
        Err(source) => Err(SettingError::TokenFile { path, source }),
    }
}

impl S3Account {
    fn key(&self) -> Result<S3Key, SettingError> {
        let path = self.key_file.clone();
        match fs::read_to_string(&path) {
            Ok(text) => S3Key::parse(&text).ok_or(SettingError::S3Key { path }),
            Err(source) => Err(SettingError::S3KeyFile { path, source }),
        }
    }

    fn sign(&self, request: &mut Request<Full<Bytes>>, body: &[u8], key: &S3Key, now: Time) {
        let value = |name: &HeaderName| request.headers().get(name)?.to_str().ok();
        let signed = SIGNED_HEADERS.iter().filter_map(|name| Some((name.as_str(), value(name)?)));
        let signed = S3Request {
            method: request.method().as_str(),
            path: request.uri().path(),
            query: "",
            headers: signed.collect(),
            body,
        };
        for (name, value) in s3_signature::sign(&signed, key, &self.region, now) {
            let value = HeaderValue::from_str(&value);
            let mut value = value.expect("a key and a region are visible ASCII");
            value.set_sensitive(true);
            request.headers_mut().insert(name, value);
        }
    }
}
