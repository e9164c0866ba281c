//! A stored file: its bytes lie in a folder beside the database, and its record is here. It is
//! named by the SHA-256 of its bytes within its teamspace. The name grants nothing: who may read a
//! file follows from what refers to it.
//!
//! A file that nothing refers to is removed after a while, and one whose last reference was erased
//! at once. The record comes first, and the bytes are deleted after it.

mod image;
pub mod references;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::caller::Principal;
use crate::facts::Context;
use crate::ledger::{BadHistory, Subject};
use crate::needs::Needs;
use crate::rejection::Rejection;
use crate::stored::{Deadline, Effect};
use crate::time::{Span, Time};

pub use image::Image;

/// How long a file is kept that nothing refers to: a person may write the message the next day.
pub const UNUSED_KEPT: Span = Span::from_hours(24);

/// Uploaders that may still use the file they stored. The oldest gives way, and must upload it
/// again: this many callers store the same bytes only if the bytes are public.
pub const UPLOADERS_MAX: usize = 64;

/// The newest things that refer to a file, by which it can be read under its own name. It can
/// always be read where it is attached.
pub const RECENT_MAX: usize = 64;

/// The name of the deadline of a file that nothing refers to.
const UNUSED: &str = "unused";

/// The name of the effect that deletes the bytes.
const REMOVE: &str = "remove";

/// The state of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    pub size_bytes: u64,
    /// The format, if the first bytes are those of an image that browsers show safely.
    pub image: Option<Image>,
    pub stored_at: Time,
    /// Against whose quota it counts: who stored it first.
    pub stored_by: String,
    /// Callers that stored it and have not used it yet, the oldest first.
    pub uploaders: Vec<Uploader>,
    /// Entries that refer to it and are not erased.
    pub n_references: u64,
    /// The newest referring streams, the oldest first.
    pub recent: Vec<Referring>,
    pub kept: Kept,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uploader {
    pub principal: String,
    pub until: Time,
}

/// A stream with entries that refer to the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Referring {
    pub subject: String,
    pub n: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kept {
    /// The bytes are there.
    Yes,
    /// Nothing refers to it any more. The server deletes the bytes.
    Removed,
    /// The bytes are deleted.
    Deleted,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// The bytes are durable in the folder.
    Store { size_bytes: u64, image: Option<Image> },
    /// Entries of these streams name it, in the same commit.
    Refer { by: Vec<Referrer> },
    /// An entry of this stream that named it is erased, in the same commit.
    Release { by: Subject },
    /// The time of an unused file has come.
    Elapse { due: Time },
    /// The bytes were deleted.
    NoteDeleted,
}

/// A stream that names the file, and the field in which it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Referrer {
    pub subject: Subject,
    pub field: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Stored(Stored),
    Referenced(Referenced),
    Released(Released),
    Removed(Removed),
    Deleted(Deleted),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    pub by: String,
    pub size_bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<Image>,
    /// How long it is kept if nothing refers to it.
    pub until: Time,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Referenced {
    /// The streams whose entries name it, once for each entry.
    pub by: Vec<String>,
    /// Who named it.
    pub user: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Released {
    pub by: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removed {
    pub size_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deleted {}

impl Command {
    pub fn name(&self) -> &'static str {
        match self {
            Command::Store { .. } => "store_file",
            Command::Refer { .. } => "refer_to_file",
            Command::Release { .. } => "release_file",
            Command::Elapse { .. } => "elapse_file",
            Command::NoteDeleted => "note_deleted_file",
        }
    }

    /// A caller that did not store a file may use it if it may read something that refers to it.
    pub fn needs(&self, state: Option<&File>) -> Needs {
        let any_readable = match (self, state) {
            (Command::Refer { .. }, Some(file)) => file.referring(),
            (
                Command::Refer { .. }
                | Command::Store { .. }
                | Command::Release { .. }
                | Command::Elapse { .. }
                | Command::NoteDeleted,
                _,
            ) => Vec::new(),
        };
        Needs { any_readable, ..Needs::default() }
    }
}

impl Event {
    pub fn name(&self) -> &'static str {
        match self {
            Event::Stored(_) => "file.stored",
            Event::Referenced(_) => "file.referenced",
            Event::Released(_) => "file.released",
            Event::Removed(_) => "file.removed",
            Event::Deleted(_) => "file.deleted",
        }
    }
}

impl File {
    pub fn is_kept(&self) -> bool {
        self.kept == Kept::Yes
    }

    /// Whether this principal stored it and has not used it yet.
    pub fn is_upload_of(&self, principal: &str, now: Time) -> bool {
        self.uploaders.iter().any(|it| it.principal == principal && now < it.until)
    }

    /// The newest streams that refer to it, the newest first.
    pub fn referring(&self) -> Vec<Subject> {
        self.recent.iter().rev().filter_map(|it| it.subject.parse().ok()).collect()
    }

    /// Until when it is kept if nothing comes to refer to it; `None` if something refers to it.
    fn unused_until(&self) -> Option<Time> {
        if !self.is_kept() || self.n_references > 0 {
            return None;
        }
        let latest = self.uploaders.iter().map(|it| it.until).max();
        Some(latest.unwrap_or(self.stored_at))
    }

    pub fn deadlines(&self) -> Vec<Deadline> {
        let due = self.unused_until();
        due.map(|due| Deadline { name: UNUSED.into(), due }).into_iter().collect()
    }

    pub fn effects(&self) -> Vec<Effect> {
        match self.kept {
            Kept::Removed => vec![Effect { name: REMOVE.into() }],
            Kept::Yes | Kept::Deleted => Vec::new(),
        }
    }
}

pub fn decide(
    state: Option<&File>,
    command: &Command,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    let (now, user) = (context.now, context.caller.principal.to_string());
    let kept = state.filter(|file| file.is_kept());
    match command {
        Command::Store { size_bytes, image } => {
            let until = now.plus(UNUSED_KEPT);
            Ok(vec![Event::Stored(Stored {
                by: user,
                size_bytes: *size_bytes,
                image: *image,
                until,
            })])
        }
        Command::Refer { by } => {
            let is_server = context.caller.principal == Principal::System;
            let is_allowed = kept.is_some_and(|file| {
                is_server || context.facts.may_read_any || file.is_upload_of(&user, now)
            });
            if !is_allowed {
                let field = by.first().map_or_else(String::new, |it| it.field.clone());
                let expected = "a stored file that you uploaded or may read".to_owned();
                return Err(Rejection::SchemaInvalid { field, expected });
            }
            let by = by.iter().map(|it| it.subject.to_string()).collect();
            Ok(vec![Event::Referenced(Referenced { by, user })])
        }
        Command::Release { by } => {
            let Some(file) = kept.filter(|file| file.n_references > 0) else {
                return Ok(Vec::new());
            };
            let released = Event::Released(Released { by: by.to_string() });
            let is_last = file.n_references == 1;
            let is_wanted = file.uploaders.iter().any(|it| now < it.until);
            let removed = (is_last && !is_wanted).then(|| removed(file));
            Ok([Some(released), removed].into_iter().flatten().collect())
        }
        Command::Elapse { due } => {
            let is_due = |file: &&File| {
                let until = file.unused_until();
                until.is_some_and(|until| until <= *due && until <= now)
            };
            Ok(kept.filter(is_due).map(removed).into_iter().collect())
        }
        Command::NoteDeleted => {
            let is_removed = state.is_some_and(|file| file.kept == Kept::Removed);
            Ok(is_removed.then_some(Event::Deleted(Deleted {})).into_iter().collect())
        }
    }
}

fn removed(file: &File) -> Event {
    Event::Removed(Removed { size_bytes: file.size_bytes })
}

pub fn evolve(state: Option<File>, event: &Event, at: Time) -> Result<File, BadHistory> {
    let bad = BadHistory { event: event.name() };
    let mut file = match (state, event) {
        (None, Event::Stored(stored)) => return Ok(first_stored(stored, at)),
        (Some(file), Event::Stored(stored)) if !file.is_kept() => {
            return Ok(first_stored(stored, at));
        }
        (Some(file), _) => file,
        (None, _) => return Err(bad),
    };
    match event {
        Event::Stored(stored) => {
            file.uploaders.retain(|it| it.principal != stored.by && at < it.until);
            file.uploaders.push(Uploader { principal: stored.by.clone(), until: stored.until });
            if file.uploaders.len() > UPLOADERS_MAX {
                file.uploaders.remove(0);
            }
        }
        Event::Referenced(referenced) if file.is_kept() => {
            file.uploaders.retain(|it| it.principal != referenced.user && at < it.until);
            for subject in &referenced.by {
                refer(&mut file, subject);
            }
        }
        Event::Released(released) if file.is_kept() && file.n_references > 0 => {
            release(&mut file, &released.by);
        }
        Event::Removed(_) if file.is_kept() && file.n_references == 0 => {
            file.kept = Kept::Removed;
            file.uploaders.clear();
        }
        Event::Deleted(_) if file.kept == Kept::Removed => file.kept = Kept::Deleted,
        Event::Referenced(_) | Event::Released(_) | Event::Removed(_) | Event::Deleted(_) => {
            return Err(bad);
        }
    }
    Ok(file)
}

fn first_stored(stored: &Stored, at: Time) -> File {
    File {
        size_bytes: stored.size_bytes,
        image: stored.image,
        stored_at: at,
        stored_by: stored.by.clone(),
        uploaders: vec![Uploader { principal: stored.by.clone(), until: stored.until }],
        n_references: 0,
        recent: Vec::new(),
        kept: Kept::Yes,
    }
}

fn refer(file: &mut File, subject: &str) {
    file.n_references += 1;
    let known = file.recent.iter().position(|it| it.subject == subject);
    let mut newest = match known {
        Some(place) => file.recent.remove(place),
        None => Referring { subject: subject.to_owned(), n: 0 },
    };
    newest.n += 1;
    file.recent.push(newest);
    if file.recent.len() > RECENT_MAX {
        file.recent.remove(0);
    }
}

/// Of a stream that is no longer among the newest, only the number goes down.
fn release(file: &mut File, subject: &str) {
    file.n_references -= 1;
    if let Some(place) = file.recent.iter().position(|it| it.subject == subject) {
        let known = &mut file.recent[place];
        known.n -= 1;
        if known.n == 0 {
            file.recent.remove(place);
        }
    }
}
