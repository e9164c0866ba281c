//! A line of the transcript.

use serde::Deserialize;

use super::event::{Event, Line, is_line};
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
    /// What it says; nothing if it was erased.
    pub fn content(&self) -> Option<Line<'_>> {
        self.event.as_ref().and_then(Event::line)
    }

    /// Whether it is never delivered to an endpoint: a note or a whisper.
    pub fn is_between_people(&self) -> bool {
        self.event.as_ref().is_some_and(Event::is_between_people)
    }
}

/// Whether an entry can be this line, as far as it says; an erased one does not say its number.
/// Only the number is read of the body, which may be large.
pub fn can_be_line(name: &str, body: Option<&str>, number: u64) -> bool {
    #[derive(Deserialize)]
    struct Numbered {
        number: Option<u64>,
    }
    let said = body.and_then(|text| serde_json::from_str::<Numbered>(text).ok()?.number);
    is_line(name) && said.is_none_or(|said| said == number)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::{aggregate, codec};

    #[test]
    fn a_line_has_the_number_that_its_entry_says() {
        for (name, body, expected) in [
            ("conversation.said", Some(r#"{"number":3,"parts":[]}"#), true),
            ("conversation.said", Some(r#"{"number":1,"parts":[]}"#), false),
            ("transfer.over", Some(r#"{"number":4}"#), false),
            ("conversation.said", None, true),
            ("conversation.opened", None, false),
            ("transfer.queued", Some(r#"{"number":3}"#), false),
        ] {
            assert_eq!(can_be_line(name, body, 3), expected, "{name} {body:?}");
        }
    }

    /// Every event of a conversation that was ever written.
    #[test]
    fn a_name_tells_whether_an_event_is_a_line() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/golden");
        let mut n_lines = 0;
        for file in std::fs::read_dir(folder).expect("the golden files") {
            let text = std::fs::read_to_string(file.expect("a file").path()).expect("text");
            let golden: Value = serde_json::from_str(&text).expect("JSON");
            let name = golden["name"].as_str().expect("a name");
            let event = codec::decode(name, 1, &golden["body"].to_string()).expect("it is read");
            let aggregate::Event::Conversation(event) = event else { continue };
            assert_eq!(is_line(name), event.line().is_some(), "{name}");
            n_lines += usize::from(is_line(name));
        }
        assert!(n_lines >= 7, "{n_lines}");
    }
}
