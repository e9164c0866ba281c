//! One request to a witness over HTTP, of either form.
//!
//! The URL is set by the operator, so it may lead anywhere. Redirects are not followed: they would
//! send the token to another server. An answer is short, in time, and something that the caller
//! verifies; everything else is a failure.

use std::fs;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::ledger::seal::NotKept;
use http_body_util::{BodyExt, Limited};
use hyper::body::Body;
use hyper::header::{AUTHORIZATION, HeaderValue};
use hyper::http::request::Builder;
use hyper::{Method, StatusCode};
use protocol::checkpoint::{CheckpointError, NOTE_BYTES_MAX};
use tokio::time::timeout;
use tokio_rustls::rustls::ClientConfig;

use crate::artifacts::locations::Location;
use crate::artifacts::network::{self, HttpAnswer, Reach, SystemNetwork, Unreached};

/// One request, from resolving the name to the end of the answer: a start waits for it, and the
/// last request of a stop.
pub const CALL_MS_MAX: u64 = 5_000;

#[derive(Debug, Clone)]
pub struct Settings {
    /// What the paths of the witness begin with.
    pub url: String,
    /// A file with the bearer token; empty for none.
    pub token_file: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    #[error("expected an http or https URL without a user name, a query or a fragment")]
    Url,
    #[error("cannot read {}", .path.display())]
    TokenFile { path: PathBuf, source: io::Error },
    #[error("expected a token of visible ASCII in {}", .path.display())]
    Token { path: PathBuf },
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
    authorization: Option<HeaderValue>,
    tls: Arc<ClientConfig>,
}

impl WitnessCall {
    pub fn new(settings: &Settings, path: &str) -> Result<Self, SettingError> {
        if settings.url.contains(['?', '#']) {
            return Err(SettingError::Url);
        }
        let url = format!("{}/{path}", settings.url.trim_end_matches('/'));
        Ok(Self {
            location: Location::parse(&url).ok_or(SettingError::Url)?,
            authorization: authorization(&settings.token_file)?,
            tls: network::public_tls(),
        })
    }

    pub fn request(&self, method: Method) -> Builder {
        network::request(method, &self.location)
    }

    pub(crate) async fn send<B>(&self, request: Builder, body: B) -> Result<HttpAnswer, Failure>
    where
        B: Body<Data = Bytes, Error: std::error::Error + Send + Sync> + Send + Unpin + 'static,
    {
        let failure = |what: &str| Failure(what.to_owned());
        let reached = network::reach(&SystemNetwork, &self.tls, &self.location, Reach::Private);
        let stream = reached.await.map_err(|unreached| match unreached {
            Unreached::Unresolved => failure("has a name that cannot be resolved"),
            Unreached::NotPublic => failure("is at an address that is not allowed"),
            Unreached::Unanswered => failure("cannot be reached"),
        })?;
        let request = match &self.authorization {
            Some(authorization) => request.header(AUTHORIZATION, authorization),
            None => request,
        };
        let request = request.body(body).map_err(|_| failure("has a URL that cannot be sent"))?;
        let sent = network::send(stream, request).await;
        sent.map_err(|_| failure("does not answer as HTTP asks"))
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

fn authorization(file: &Path) -> Result<Option<HeaderValue>, SettingError> {
    if file.as_os_str().is_empty() {
        return Ok(None);
    }
    let path = file.to_owned();
    match fs::read_to_string(file) {
        Ok(text) => network::bearer(&text).map(Some).ok_or(SettingError::Token { path }),
        Err(source) => Err(SettingError::TokenFile { path, source }),
    }
}
