//! A witness over HTTP: one object at a URL that holds the newest checkpoint of a ledger. `GET`
//! reads it and `PUT` replaces it, under the condition that no other server has replaced it since,
//! so any server that stores files can be a witness, and so can an object store behind a bearer
//! token.
//!
//! The URL is set by the operator, so it may lead anywhere. Redirects are not followed: they would
//! send the token to another server. An answer is short, in time, and a note that the caller
//! verifies; everything else is a failure.

use std::collections::VecDeque;
use std::fs;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use engine::ledger::seal::NotKept;
use http_body_util::{BodyExt, Empty, Full, Limited};
use hyper::body::Body;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, ETAG, HeaderValue, IF_MATCH, IF_NONE_MATCH};
use hyper::http::request::Builder;
use hyper::{Method, StatusCode};
use protocol::checkpoint::NOTE_BYTES_MAX;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::rustls::ClientConfig;

use crate::artifacts::locations::Location;
use crate::artifacts::network::{self, HttpAnswer, Reach, SystemNetwork, Unreached};
use crate::checkpoint_file::{NEWEST_FILE, part_name, size_of};

/// One request, from resolving the name to the end of the answer: a start waits for it, and the
/// last request of a stop.
pub const CALL_MS_MAX: u64 = 5_000;

/// The latest notes that this server read or sent. A slow network may deliver one long after it
/// was sent; at a note each second this is a minute.
const KNOWN_NOTES_MAX: usize = 64;

#[derive(Debug, Clone)]
pub struct Settings {
    /// The folder of the witness. Each ledger has a part of it, named after its key.
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
}

/// Why there is no answer. The text is ours; from the witness it has only a number.
#[derive(Debug, thiserror::Error)]
#[error("the witness {0}")]
pub struct Failure(String);

#[derive(Debug)]
pub struct HttpWitness {
    location: Location,
    authorization: Option<HeaderValue>,
    tls: Arc<ClientConfig>,
    known: Mutex<Known>,
    due: watch::Sender<Option<String>>,
}

#[derive(Debug, Default)]
struct Known {
    notes: VecDeque<String>,
    /// The size of the newest one that was there.
    kept_size: u64,
    /// An operator has declared that the note there may be replaced, whatever it is.
    accepts_next: bool,
}

/// What is there.
#[derive(Debug)]
struct Found {
    note: Option<String>,
    /// Names this version of it, if the server does.
    tag: Option<HeaderValue>,
}

impl HttpWitness {
    pub fn new(settings: &Settings, key_name: &str) -> Result<Self, SettingError> {
        if settings.url.contains(['?', '#']) {
            return Err(SettingError::Url);
        }
        let folder = settings.url.trim_end_matches('/');
        let url = format!("{folder}/{}/{NEWEST_FILE}", part_name(key_name));
        Ok(Self {
            location: Location::parse(&url).ok_or(SettingError::Url)?,
            authorization: authorization(&settings.token_file)?,
            tls: network::public_tls(),
            known: Mutex::default(),
            due: watch::channel(None).0,
        })
    }

    /// The note that is there, on a thread of its own: a start asks before anything runs. From then
    /// on this server may replace it.
    pub fn ask(&self) -> Result<Option<String>, Failure> {
        let asking = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(|_| Failure("cannot be asked".to_owned()))?;
            let found = runtime.block_on(self.find());
            // A name lookup cannot be cancelled, only abandoned.
            runtime.shutdown_background();
            found
        };
        let asked = std::thread::scope(|scope| scope.spawn(asking).join());
        let note = asked.map_err(|_| Failure("cannot be asked".to_owned()))??.note;
        if let Some(note) = &note {
            self.remember(note);
            self.note_kept(note);
        }
        Ok(note)
    }

    /// How many entries it knew of when it last answered.
    pub fn kept_size(&self) -> u64 {
        self.known.lock().expect("nothing panics while holding the notes").kept_size
    }

    /// Makes a note the next one to send. It replaces one that was not sent yet.
    pub fn offer(&self, note: &str) {
        self.due.send_replace(Some(note.to_owned()));
    }

    /// The notes to send, the latest only. One that was offered before this call is new, too.
    pub fn due(&self) -> watch::Receiver<Option<String>> {
        let mut due = self.due.subscribe();
        due.mark_changed();
        due
    }

    /// An operator has declared that the note there may be replaced.
    pub fn accept(&self) {
        self.known.lock().expect("nothing panics while holding the notes").accepts_next = true;
    }

    /// Returns once the witness has the note.
    pub async fn keep(&self, note: &str) -> Result<(), NotKept> {
        let found = self.find().await?;
        self.check_known(found.note.as_ref())?;
        // If this fails, the note may be there all the same, now or later.
        self.remember(note);
        match self.put(note, &found).await? {
            status if status.is_success() => {
                self.note_kept(note);
                Ok(())
            }
            StatusCode::PRECONDITION_FAILED | StatusCode::CONFLICT => {
                self.check_known(self.find().await?.note.as_ref())?;
                Err(Failure("refuses a condition that holds".to_owned()).into())
            }
            status => Err(answers(status).into()),
        }
    }

    fn check_known(&self, found: Option<&String>) -> Result<(), NotKept> {
        let mut known = self.known.lock().expect("nothing panics while holding the notes");
        let accepts = std::mem::take(&mut known.accepts_next);
        match found {
            Some(found) if known.notes.contains(found) => Ok(()),
            Some(found) if accepts => {
                known.notes.push_back(found.clone());
                Ok(())
            }
            Some(found) => Err(NotKept::Replaced(found.clone())),
            None => Ok(()),
        }
    }

    fn remember(&self, note: &str) {
        let mut known = self.known.lock().expect("nothing panics while holding the notes");
        known.notes.push_back(note.to_owned());
        while known.notes.len() > KNOWN_NOTES_MAX {
            known.notes.pop_front();
        }
    }

    fn note_kept(&self, note: &str) {
        let mut known = self.known.lock().expect("nothing panics while holding the notes");
        known.kept_size = size_of(note).unwrap_or_default();
    }

    async fn find(&self) -> Result<Found, Failure> {
        let request = network::request(Method::GET, &self.location);
        in_time(async {
            let mut answer = self.send(request, Empty::<Bytes>::new()).await?;
            match answer.response.status() {
                StatusCode::OK => {}
                StatusCode::NOT_FOUND => return Ok(Found { note: None, tag: None }),
                status => return Err(answers(status)),
            }
            let tag = answer.response.headers().get(ETAG).cloned();
            // A weak tag fits no condition.
            let tag = tag.filter(|tag| !tag.as_bytes().starts_with(b"W/"));
            let body = Limited::new(answer.response.body_mut(), NOTE_BYTES_MAX).collect().await;
            let cut_off = |_| Failure("sends an answer that is cut off or too long".to_owned());
            let bytes = body.map_err(cut_off)?.to_bytes();
            let note = Some(String::from_utf8_lossy(&bytes).into_owned());
            Ok(Found { note, tag })
        })
        .await
    }

    async fn put(&self, note: &str, found: &Found) -> Result<StatusCode, Failure> {
        let request = network::request(Method::PUT, &self.location)
            .header(CONTENT_TYPE, "text/plain; charset=utf-8");
        let request = match found {
            Found { tag: Some(tag), .. } => request.header(IF_MATCH, tag),
            Found { note: None, tag: None } => request.header(IF_NONE_MATCH, "*"),
            // The server has no versions, and the comparison above must do.
            Found { note: Some(_), tag: None } => request,
        };
        let body = Full::new(Bytes::from(note.to_owned()));
        in_time(async { Ok(self.send(request, body).await?.response.status()) }).await
    }

    async fn send<B>(&self, request: Builder, body: B) -> Result<HttpAnswer, Failure>
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
}

impl From<Failure> for NotKept {
    fn from(failure: Failure) -> Self {
        NotKept::Failed(io::Error::other(failure))
    }
}

async fn in_time<T>(asking: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let asked = timeout(Duration::from_millis(CALL_MS_MAX), asking).await;
    asked.unwrap_or_else(|_| Err(Failure("does not answer in time".to_owned())))
}

fn answers(status: StatusCode) -> Failure {
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
