//! A witness over HTTP: one object at a URL that holds the newest checkpoint of a ledger. `GET`
//! reads it and `PUT` replaces it, under the condition that no other server has replaced it since,
//! so any server that stores files can be a witness, and so can an object store.

use std::collections::VecDeque;
use std::sync::Mutex;

use bytes::Bytes;
use engine::ledger::seal::NotKept;
use hyper::header::{CONTENT_TYPE, ETAG, HeaderValue, IF_MATCH, IF_NONE_MATCH};
use hyper::{Method, StatusCode};

use crate::checkpoint_file::{NEWEST_FILE, part_name, size_of};
use crate::witness_call::{Failure, SettingError, Settings, WitnessCall, in_time};

/// The latest notes that this server read or sent. A slow network may deliver one long after it
/// was sent; at a note each second this is a minute.
const KNOWN_NOTES_MAX: usize = 64;

#[derive(Debug)]
pub struct HttpWitness {
    call: WitnessCall,
    known: Mutex<KnownNotes>,
}

#[derive(Debug, Default)]
struct KnownNotes {
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

/// How the witness answers a note.
#[derive(Debug)]
enum Put {
    Done,
    /// Another version is there.
    ConditionFailed,
    /// Another write may be under way.
    Conflict(Failure),
}

impl HttpWitness {
    /// Each ledger has a part of the folder at the URL, named after its key.
    pub fn new(settings: &Settings, key_name: &str) -> Result<Self, SettingError> {
        let path = format!("{}/{NEWEST_FILE}", part_name(key_name));
        Ok(Self { call: WitnessCall::new(settings, &path)?, known: Mutex::default() })
    }

    /// The note that is there. From then on this server may replace it.
    pub async fn ask(&self) -> Result<Option<String>, Failure> {
        let note = self.find().await?.note;
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
        let refused = match self.put(note, &found).await? {
            Put::Done => {
                self.note_kept(note);
                return Ok(());
            }
            Put::ConditionFailed => Failure("refuses a condition that holds".to_owned()),
            Put::Conflict(failure) => failure,
        };
        self.check_known(self.find().await?.note.as_ref())?;
        Err(refused.into())
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
        in_time(async {
            let request = self.call.request(Method::GET);
            let mut answer = self.call.send(request, Bytes::new()).await?;
            match answer.response.status() {
                StatusCode::OK => {}
                StatusCode::NOT_FOUND => {
                    self.call.check_missing(&mut answer).await?;
                    return Ok(Found { note: None, tag: None });
                }
                _ => return Err(self.call.refusal(&mut answer).await),
            }
            let tag = answer.response.headers().get(ETAG).cloned();
            // A weak tag fits no condition.
            let tag = tag.filter(|tag| !tag.as_bytes().starts_with(b"W/"));
            Ok(Found { note: Some(WitnessCall::text(&mut answer).await?), tag })
        })
        .await
    }

    async fn put(&self, note: &str, found: &Found) -> Result<Put, Failure> {
        let request = self.call.request(Method::PUT);
        let request = request.header(CONTENT_TYPE, "text/plain; charset=utf-8");
        let request = match found {
            Found { tag: Some(tag), .. } => request.header(IF_MATCH, tag),
            Found { note: None, tag: None } => request.header(IF_NONE_MATCH, "*"),
            // The server has no versions, and the comparison above must do.
            Found { note: Some(_), tag: None } => request,
        };
        let body = Bytes::from(note.to_owned());
        in_time(async {
            let mut answer = self.call.send(request, body).await?;
            match answer.response.status() {
                status if status.is_success() => Ok(Put::Done),
                StatusCode::PRECONDITION_FAILED => Ok(Put::ConditionFailed),
                StatusCode::CONFLICT => Ok(Put::Conflict(self.call.refusal(&mut answer).await)),
                _ => Err(self.call.refusal(&mut answer).await),
            }
        })
        .await
    }
}
