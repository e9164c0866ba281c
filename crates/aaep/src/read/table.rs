//! The types that describe messages: a message is a list of fields, each with a kind. The reader
//! and the published schemas are made from the same tables.

use super::form::Form;

/// The longest of most texts, in characters.
pub(super) const LONG: usize = 16_384;
/// The longest short text: terse summaries, hints, reasons.
pub(super) const SHORT: usize = 4_096;
/// A day in milliseconds, the longest allowed duration.
const DAY_MS: u64 = 86_400_000;

/// An object: its fields, and which others are allowed.
#[derive(Debug)]
pub(super) struct Shape {
    pub fields: &'static [Field],
    pub others: Others,
    /// The fewest fields it may have.
    pub min_fields: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Others {
    Pass,
    Refused,
    /// Those of extensions: an object each.
    Objects,
}

#[derive(Debug)]
pub(super) struct Field {
    pub name: &'static str,
    pub kind: Kind,
    pub required: bool,
    /// Where the value is kept, if a rule or the event needs it.
    pub slot: Option<Slot>,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// From `min` to `max` characters, in a form.
    Text {
        form: Form,
        min: usize,
        max: usize,
    },
    /// One of these words.
    Word(&'static [&'static str]),
    Integer {
        min: u64,
        max: u64,
    },
    /// One of these numbers.
    Level(&'static [u64]),
    Number {
        min: f64,
        max: f64,
    },
    Truth,
    List {
        items: &'static Kind,
        min: usize,
        max: usize,
        unique: bool,
    },
    Object(&'static Shape),
    /// An object of texts; in a list, duplicates are found by all of them, and the first is kept.
    Choice(&'static Shape),
    /// An object of unknown content.
    Open,
    /// The same, kept as its JSON text.
    OpenText,
    /// `@context`: the core context, alone or first in a list.
    Context,
    /// `extensions`: an object in which each value is an object.
    Extensions,
    /// The answer to a question: a text, a boolean or a number.
    Answer,
    /// Any value.
    Any,
}

/// What is kept of a document while it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    Type,
    EventId,
    SessionId,
    Timestamp,
    AgentId,
    AgentName,
    SequenceNumber,
    Verbosity,
    Urgency,
    PrimaryLanguage,
    CorrelationId,
    Version,
    LinkConversation,
    LinkParent,
    LinkCall,
    LinkHash,
    Summary,
    RequestedBy,
    FromState,
    ToState,
    Percent,
    Step,
    TotalSteps,
    Tool,
    ToolCall,
    Risk,
    Irreversible,
    Status,
    ErrorMessage,
    Chunk,
    Position,
    Complete,
    CoalesceHint,
    OutputId,
    Language,
    Question,
    ReplyToken,
    TimeoutSeconds,
    DefaultDecision,
    Reversibility,
    AllowedReplies,
    Kinds,
    Choices,
    DefaultResponse,
    Reason,
    TargetKind,
    TargetUri,
    PackagedContext,
}

impl Slot {
    pub(super) const COUNT: usize = Slot::PackagedContext as usize + 1;
}

impl Field {
    pub(super) const fn new(name: &'static str, kind: Kind) -> Field {
        Field { name, kind, required: false, slot: None }
    }

    pub(super) const fn required(mut self) -> Field {
        self.required = true;
        self
    }

    pub(super) const fn kept(mut self, slot: Slot) -> Field {
        self.slot = Some(slot);
        self
    }
}

pub(super) const fn text(name: &'static str, min: usize, max: usize) -> Field {
    Field::new(name, Kind::Text { form: Form::Any, min, max })
}

pub(super) const fn formed(name: &'static str, form: Form) -> Field {
    Field::new(name, any_length(form))
}

pub(super) const fn any_length(form: Form) -> Kind {
    Kind::Text { form, min: 0, max: usize::MAX }
}

pub(super) const fn word(name: &'static str, words: &'static [&'static str]) -> Field {
    Field::new(name, Kind::Word(words))
}

pub(super) const fn integer(name: &'static str, min: u64, max: u64) -> Field {
    Field::new(name, Kind::Integer { min, max })
}

pub(super) const fn duration(name: &'static str) -> Field {
    integer(name, 0, DAY_MS)
}

pub(super) const fn truth(name: &'static str) -> Field {
    Field::new(name, Kind::Truth)
}
