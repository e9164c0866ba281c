//! What the store keeps besides the entries of a stream: deadlines, effects, holds and documents.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// A time at which the server must act.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Deadline {
    pub name: Cow<'static, str>,
    pub due: Time,
}

/// Something that must happen outside for as long as the state wants it. Its result returns as a
/// command.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Effect {
    /// Unique within the stream.
    pub name: Cow<'static, str>,
}

/// What an effect does. It is the first word of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectKind {
    /// Looks at artifacts on this machine.
    Look,
    /// Looks at artifacts of which one or more are elsewhere, and may take long to arrive.
    Fetch,
    /// Hands items of a work queue to a new owner.
    Transfer,
    /// Calls an agent that was sent something critical.
    Wake,
    /// Tells an endpoint about a turn or a decision.
    Deliver,
    /// Deletes the bytes of a file.
    Remove,
}

impl EffectKind {
    pub const ALL: [EffectKind; 6] = [
        EffectKind::Look,
        EffectKind::Fetch,
        EffectKind::Transfer,
        EffectKind::Wake,
        EffectKind::Deliver,
        EffectKind::Remove,
    ];

    pub fn word(self) -> &'static str {
        match self {
            EffectKind::Look => "look",
            EffectKind::Fetch => "fetch",
            EffectKind::Transfer => "transfer",
            EffectKind::Wake => "wake",
            EffectKind::Deliver => "deliver",
            EffectKind::Remove => "remove",
        }
    }
}

impl Effect {
    pub fn is_of(&self, kind: EffectKind) -> bool {
        self.name.split('/').next() == Some(kind.word())
    }
}

/// A unique key that a state occupies or leaves free, with a small value that remains either way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    pub key: String,
    pub occupied: bool,
    pub value: Option<String>,
}

/// What the store knows about a key. `holder` is the id of the stream that occupies it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HoldState {
    pub holder: Option<String>,
    pub value: Option<String>,
}

/// A compare-and-set of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldWrite {
    pub key: String,
    pub expected: HoldState,
    pub next: HoldState,
}

/// A text that events name by its hash and that is stored beside them, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub hash: String,
    pub text: String,
}
