//! What is wrong, and where.

use std::fmt;

use crate::ids::{HandoffId, TaskId};
use crate::ledger::{BadHistory, Entry, Stream};

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub place: EntryPlace,
    pub problem: Problem,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryPlace {
    /// An entry that exists.
    Entry { seq: u64, stream: Stream, position: u64 },
    /// Entries that are missing or unreadable, or one of which is wrong.
    Range { first: u64, last: u64 },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("missing")]
    Missing,
    #[error("out of order, entry {expected} belongs here")]
    OutOfOrder { expected: u64 },
    #[error("at the wrong position of its stream, {expected} comes next")]
    Position { expected: u64 },
    #[error("the hash does not follow from the content and the entry before")]
    Hash,
    #[error("the body is missing, and no entry says that it was erased")]
    BodyMissing,
    #[error("says that the body at position {position} was erased, but it was not")]
    NotErased { position: u64 },
    #[error("cannot be read: {0}")]
    Unreadable(String),
    #[error(transparent)]
    History(BadHistory),
    #[error("takes {task_id} while the handoff {by} holds it")]
    TaskHeld { task_id: TaskId, by: HandoffId },
    #[error("takes {task_id} with other owners than the handoff {after} left")]
    TaskOwners { task_id: TaskId, after: HandoffId },
    #[error("takes {task_id} with another kind or number of parts than the handoff {after} left")]
    TaskKind { task_id: TaskId, after: HandoffId },
    #[error("takes {task_id} without the human gate that the handoff {after} left")]
    TaskGate { task_id: TaskId, after: HandoffId },
    #[error("the snapshot of the stream stands at an earlier entry")]
    AfterSnapshot,
    #[error("changed, added or moved after the first {size} entries were sealed")]
    Root { size: u64 },
    #[error("missing, although the first {size} entries were sealed")]
    CutOff { size: u64 },
}

impl EntryPlace {
    pub fn of(seq: u64, entry: &Entry) -> EntryPlace {
        EntryPlace::Entry { seq, stream: entry.stream.clone(), position: entry.position }
    }
}

impl fmt::Display for EntryPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EntryPlace::Entry { seq, stream, position } => {
                let Stream { teamspace, subject } = stream;
                write!(f, "entry {seq} ({subject} in {teamspace}, position {position})")
            }
            EntryPlace::Range { first, last } if first == last => write!(f, "entry {first}"),
            EntryPlace::Range { first, last } => write!(f, "entries {first} to {last}"),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}
