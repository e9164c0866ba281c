//! URLs outside private networks: each hop is checked like the first, and the body is hashed as it
//! comes, never kept.

use std::sync::Arc;
use std::time::Duration;

use bytes::Buf;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::header::{HeaderMap, LOCATION};
use hyper::{Response, StatusCode};
use protocol::handoff::artifact::Finding;
use protocol::handoff::package::ArtifactRef;
use sha2::{Digest, Sha256};
use tokio::time::timeout;
use tokio_rustls::rustls::ClientConfig;

use super::hashing::Hashing;
use super::locations::{Location, Scheme};
use super::network::{self, HttpAnswer, Network, Reach, SystemNetwork, Unreached};
use super::{Content, Settings, check_size, forbidden, missing, too_large, unavailable};

/// A download page, its mirror, the mirror's storage: honest chains are shorter than this.
const REDIRECTS_MAX: usize = 5;

/// For the name, the connection and TLS, which take a few round trips. A slower server counts as
/// down.
const CONNECT_MS_MAX: u64 = 10_000;

/// A server may have to fetch the artifact itself before it can answer.
const HEAD_MS_MAX: u64 = 30_000;

/// A body may come a byte at a time; it is collected into pieces of this size for the thread.
const PIECE_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub struct Urls {
    network: Box<dyn Network>,
    tls: Arc<ClientConfig>,
}

impl Urls {
    pub fn new() -> Self {
        Self::through(Box::new(SystemNetwork), network::public_tls())
    }

    pub fn through(network: Box<dyn Network>, tls: Arc<ClientConfig>) -> Self {
        Self { network, tls }
    }

    /// Follows a URL to its content, and gives its digest.
    pub async fn look(
        &self,
        hashing: &Hashing,
        reference: &ArtifactRef,
        settings: &Settings,
    ) -> Result<Content, Finding> {
        let parsed = Location::parse(&reference.path);
        let mut location = parsed.ok_or_else(|| {
            forbidden("expected a plain http or https URL, without a user name in it")
        })?;
        for _ in 0..=REDIRECTS_MAX {
            let answer = self.ask(&location, settings).await?;
            match next(&location, &answer.response)? {
                Some(redirected) => location = redirected,
                None => return hash(hashing, reference, settings.bytes_max, answer).await,
            }
        }
        Err(missing(format!("the server redirects more than {REDIRECTS_MAX} times")))
    }

    async fn ask(&self, location: &Location, settings: &Settings) -> Result<HttpAnswer, Finding> {
        let reach = if settings.allow_private_addresses { Reach::Private } else { Reach::Public };
        let connecting = network::reach(&*self.network, &self.tls, location, reach);
        let stream = timeout(Duration::from_millis(CONNECT_MS_MAX), connecting)
            .await
            .map_err(|_| unavailable("the server cannot be reached in time"))?
            .map_err(|unreached| match unreached {
                Unreached::Unresolved => unavailable("the name of the server cannot be resolved"),
                Unreached::NotPublic => forbidden("the URL leads to an address that is not public"),
                Unreached::Unanswered => unavailable("the server cannot be reached"),
            })?;
        timeout(Duration::from_millis(HEAD_MS_MAX), network::ask(stream, location))
            .await
            .map_err(|_| unavailable("the server does not answer in time"))?
            .map_err(|_| unavailable("the server does not answer as HTTP asks"))
    }
}

/// The target of a redirect, or nothing if the body is the artifact.
fn next(here: &Location, response: &Response<Incoming>) -> Result<Option<Location>, Finding> {
    match response.status() {
        StatusCode::OK => Ok(None),
        StatusCode::MOVED_PERMANENTLY
        | StatusCode::FOUND
        | StatusCode::SEE_OTHER
        | StatusCode::TEMPORARY_REDIRECT
        | StatusCode::PERMANENT_REDIRECT => redirect(here, response.headers()).map(Some),
        StatusCode::NOT_FOUND | StatusCode::GONE => Err(missing("the server does not have it")),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(missing("the server refuses")),
        // These ask for a retry: the content is not ready, or there were too many requests.
        StatusCode::ACCEPTED
        | StatusCode::REQUEST_TIMEOUT
        | StatusCode::TOO_EARLY
        | StatusCode::TOO_MANY_REQUESTS => Err(unavailable("the server asks to come back later")),
        status if status.is_server_error() => {
            Err(unavailable(format!("the server failed with {}", status.as_u16())))
        }
        status => Err(missing(format!("the server answered {}", status.as_u16()))),
    }
}

fn redirect(here: &Location, headers: &HeaderMap) -> Result<Location, Finding> {
    let location = headers.get(LOCATION).and_then(|value| value.to_str().ok());
    let there = location.ok_or_else(|| missing("the server redirects without saying where"))?;
    let there = here.follow(there).ok_or_else(|| {
        forbidden("the server redirects to something other than a plain http or https URL")
    })?;
    match (here.scheme, there.scheme) {
        // The package says https, and an attacker on the network could change what comes over http.
        (Scheme::Https, Scheme::Http) => Err(forbidden("the server redirects from https to http")),
        (Scheme::Https, Scheme::Https) | (Scheme::Http, Scheme::Http | Scheme::Https) => Ok(there),
    }
}

/// Reads a body to its end, with no more of it in memory than one piece.
async fn hash(
    hashing: &Hashing,
    reference: &ArtifactRef,
    bytes_max: u64,
    mut answer: HttpAnswer,
) -> Result<Content, Finding> {
    let body = answer.response.body_mut();
    if let Some(announced) = body.size_hint().exact() {
        check_bytes(announced, bytes_max)?;
        check_size(reference, announced)?;
    }
    let (mut hasher, mut size_bytes) = (Sha256::new(), 0);
    let mut piece = Vec::with_capacity(PIECE_BYTES);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| unavailable("the answer broke off"))?;
        let Ok(data) = frame.into_data() else { continue };
        size_bytes += data.remaining() as u64;
        check_bytes(size_bytes, bytes_max)?;
        piece.extend_from_slice(&data);
        if piece.len() >= PIECE_BYTES {
            (hasher, piece) = hash_piece(hashing, hasher, piece).await?;
        }
    }
    let (hasher, _) = hash_piece(hashing, hasher, piece).await?;
    Ok(Content { digest: hasher.finalize().into(), size_bytes })
}

fn check_bytes(size_bytes: u64, bytes_max: u64) -> Result<(), Finding> {
    if size_bytes > bytes_max { Err(too_large(bytes_max)) } else { Ok(()) }
}

async fn hash_piece(
    hashing: &Hashing,
    mut hasher: Sha256,
    mut piece: Vec<u8>,
) -> Result<(Sha256, Vec<u8>), Finding> {
    let work = move |_: &mut [u8]| {
        hasher.update(&piece);
        piece.clear();
        (hasher, piece)
    };
    hashing.run(work).await
}
