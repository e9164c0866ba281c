//! A witness over HTTP: objects under paths, with versions as object stores have them, and ways to
//! misbehave. It can ask for the signatures of S3. It runs beside the test, which may block while
//! it waits for a process.

pub mod s3_gate;

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use protocol::checkpoint::{Note, Signer};
use protocol::cosignature::Cosigner;
use protocol::time::Time;
use tokio::runtime::Runtime;

use self::s3_gate::{BUCKET, Refusal, S3Gate, refuse};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Sound,
    /// It stores what it is sent, without versions and conditions.
    Plain,
    Status(u16),
    /// As an object store does it.
    Refuses(Refusal),
    /// Each write meets another one.
    Conflicts,
    Redirects,
    /// Its answers are longer than any note.
    Huge,
    Garbage,
    /// It never answers.
    Silent,
    /// It cosigns with another key than its own.
    WrongKey,
}

pub struct WitnessServer {
    pub url: String,
    shelf: Arc<Mutex<Shelf>>,
    runtime: Option<Runtime>,
    /// Has the file with the key.
    folder: tempfile::TempDir,
}

struct Shelf {
    manner: Manner,
    /// It is an object store.
    gate: Option<S3Gate>,
    notes: HashMap<String, Kept>,
    /// The bodies that it was sent to cosign.
    requests: Vec<String>,
}

#[derive(Debug, Clone)]
struct Kept {
    version: u64,
    /// None once it was removed.
    note: Option<String>,
}

impl WitnessServer {
    pub fn start() -> Self {
        Self::start_behind(None)
    }

    /// An object store.
    pub fn start_s3() -> Self {
        let gate = S3Gate::new();
        let key = gate.key();
        let server = Self::start_behind(Some(gate));
        server.give_key(&key);
        server
    }

    fn start_behind(gate: Option<S3Gate>) -> Self {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().expect("a runtime");
        let shelf =
            Shelf { manner: Manner::Sound, gate, notes: HashMap::new(), requests: Vec::new() };
        let shelf = Arc::new(Mutex::new(shelf));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        let url = format!("http://{}/{BUCKET}/", listener.local_addr().expect("an address"));
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shelf));
        runtime.spawn(async {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
            axum::serve(listener, router).await
        });
        let folder = tempfile::tempdir().expect("a folder");
        Self { url, shelf, runtime: Some(runtime), folder }
    }

    /// The file that has the key for the server.
    pub fn key_file(&self) -> PathBuf {
        self.folder.path().join("s3.key")
    }

    pub fn give_key(&self, text: &str) {
        fs::write(self.key_file(), text).expect("a file");
    }

    /// From now on the object store asks for something else. The result is a key that it takes.
    pub fn ask_for(&self, change: impl FnOnce(&mut S3Gate)) -> String {
        let mut shelf = self.shelf.lock().expect("nothing panics in here");
        let gate = shelf.gate.as_mut().expect("it is an object store");
        change(gate);
        gate.key()
    }

    pub fn behave(&self, manner: Manner) {
        self.shelf.lock().expect("nothing panics in here").manner = manner;
    }

    /// The only note that it keeps.
    pub fn note(&self) -> Option<String> {
        let shelf = self.shelf.lock().expect("nothing panics in here");
        shelf.notes.values().next().and_then(|kept| kept.note.clone())
    }

    /// What it was sent to cosign. It cosigns everything, and checks nothing.
    pub fn requests(&self) -> Vec<String> {
        self.shelf.lock().expect("nothing panics in here").requests.clone()
    }

    /// The verifier key of its cosignatures.
    pub fn key() -> String {
        cosigner(5).verifier_key()
    }

    /// Puts another text in its place, or none.
    pub fn replace(&self, note: Option<&str>) {
        let mut shelf = self.shelf.lock().expect("nothing panics in here");
        for kept in shelf.notes.values_mut() {
            *kept = Kept { version: kept.version + 1, note: note.map(str::to_owned) };
        }
    }
}

impl Drop for WitnessServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn cosigner(seed: u8) -> Cosigner {
    Signer::new("stub", &[seed; 32]).expect("a name").cosigner()
}

async fn answer(State(shelf): State<Arc<Mutex<Shelf>>>, request: Request) -> Response {
    let (manner, gate) = {
        let shelf = shelf.lock().expect("nothing panics in here");
        (shelf.manner, shelf.gate.clone())
    };
    match manner {
        Manner::Sound | Manner::Plain | Manner::Conflicts | Manner::WrongKey => {}
        Manner::Status(code) => {
            return StatusCode::from_u16(code).expect("a status").into_response();
        }
        Manner::Refuses(refusal) => return refuse(refusal),
        Manner::Redirects => {
            return (StatusCode::FOUND, [(header::LOCATION, "/elsewhere")]).into_response();
        }
        Manner::Huge => return Body::from(vec![b'x'; 1024 * 1024]).into_response(),
        Manner::Garbage => return "a page about something else\n".into_response(),
        Manner::Silent => std::future::pending().await,
    }
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let body = axum::body::to_bytes(body, 1024 * 1024).await.expect("a body");
    if let Some(Err(refusal)) = gate.as_ref().map(|gate| gate.check(&head, &body)) {
        return refuse(refusal);
    }
    let mut shelf = shelf.lock().expect("nothing panics in here");
    let kept = shelf.notes.get(&path).cloned();
    let version = kept.as_ref().map_or(0, |kept| kept.version);
    let kept = kept.and_then(|kept| kept.note);
    let has_tag = kept.is_some() && matches!(manner, Manner::Sound | Manner::Conflicts);
    let tag = has_tag.then(|| format!("\"{version}\""));
    match (head.method, kept) {
        (Method::GET, None) if gate.is_some() => refuse((404, "NoSuchKey")),
        (Method::GET, None) => StatusCode::NOT_FOUND.into_response(),
        (Method::GET, Some(note)) => match tag {
            Some(tag) => ([(header::ETAG, tag)], note).into_response(),
            None => note.into_response(),
        },
        (Method::PUT, _) if manner == Manner::Conflicts => {
            refuse((409, "ConditionalRequestConflict"))
        }
        (Method::PUT, kept) => {
            let is_there = kept.is_some();
            let given = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
            let is_other =
                given(header::IF_MATCH).is_some_and(|given| tag.as_deref() != Some(given));
            let is_old = given(header::IF_NONE_MATCH).is_some() && is_there;
            if is_other || is_old {
                return StatusCode::PRECONDITION_FAILED.into_response();
            }
            let note = Some(String::from_utf8(body.to_vec()).expect("a note is text"));
            shelf.notes.insert(path, Kept { version: version + 1, note });
            StatusCode::NO_CONTENT.into_response()
        }
        (Method::POST, _) => {
            let text = String::from_utf8(body.to_vec()).expect("a request is text");
            let note = text.split_once("\n\n").expect("a blank line").1.to_owned();
            let body = Note::parse(&note).expect("a note").body;
            let seed = if manner == Manner::WrongKey { 6 } else { 5 };
            shelf.requests.push(text);
            cosigner(seed).cosign(body, Time::from_millis(1_700_000_000_000)).into_response()
        }
        _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
    }
}
