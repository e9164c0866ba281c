//! A line of the transcript.

use super::event::Event;
use crate::time::Time;

/// A line of the transcript; without an event if it was erased.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptLine {
    pub number: u64,
    pub at: Time,
    /// The actor, as the record names them.
    pub actor: String,
    pub event: Option<Event>,
}

impl TranscriptLine {
    /// Whether it is never delivered to an endpoint: a note or a whisper.
    pub fn is_between_people(&self) -> bool {
        self.event.as_ref().is_some_and(Event::is_between_people)
    }
}
