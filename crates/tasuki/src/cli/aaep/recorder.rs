//! Events as they were sent, one on each line of a file, in the order in which they were announced.
//! Critical events arrive early, and are put back in their place.

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use aaep::extension::{put_into_extension, take_from_extension};
use aaep::{EXTENSION, RECORDED_FROM_HERE};
use anyhow::{Context, Result};
use protocol::time::Time;
use serde_json::{Map, Value};

use super::words::{is_terminal, kind};

pub struct Recorder {
    out: Box<dyn Write + Send>,
    /// Events that arrived early and are not written yet.
    early: Vec<Early>,
    /// The sessions with an event in the file.
    begun: HashSet<String>,
    pub n_events: usize,
}

struct Early {
    text: String,
    event: Value,
}

impl Recorder {
    /// A new file; an existing one is not overwritten.
    pub fn create(path: &Path) -> Result<Self> {
        let out: Box<dyn Write + Send> = if path.as_os_str() == "-" {
            Box::new(io::stdout())
        } else {
            let file = OpenOptions::new().write(true).create_new(true).open(path);
            Box::new(file.with_context(|| format!("cannot create {}", path.display()))?)
        };
        Ok(Self { out, early: Vec::new(), begun: HashSet::new(), n_events: 0 })
    }

    pub fn event(&mut self, text: &str, event: &Value, is_in_order: bool) -> Result<()> {
        if is_stands(event) {
            // The server sends it to each new listener; no agent announced it.
            return Ok(());
        }
        self.n_events += 1;
        let plain = as_announced(event);
        let text = plain.as_deref().unwrap_or(text);
        if !is_in_order {
            self.early.push(Early { text: text.to_owned(), event: event.clone() });
            return Ok(());
        }
        let is_before = |early: &Early| is_announced_before(&early.event, event);
        let (before, after): (Vec<_>, _) = self.early.drain(..).partition(is_before);
        self.early = after;
        for early in before {
            self.write(&early.text, &early.event)?;
        }
        self.write(text, event)
    }

    /// A message of our own. The event that it is about is already written.
    pub fn message(&mut self, text: &str) -> Result<()> {
        self.settle()?;
        self.line(text)
    }

    /// Writes the events that arrived early: nothing more is to come before them.
    pub fn settle(&mut self) -> Result<()> {
        for early in std::mem::take(&mut self.early) {
            self.write(&early.text, &early.event)?;
        }
        Ok(())
    }

    /// Writes an event in its place. The first event of a session that was under way is marked.
    fn write(&mut self, text: &str, event: &Value) -> Result<()> {
        let session = event["session_id"].as_str().unwrap_or_default();
        let is_first = !self.begun.contains(session);
        if is_terminal(event) {
            self.begun.remove(session);
        } else if is_first {
            self.begun.insert(session.to_owned());
        }
        if !is_first || kind(event) == "session.started" {
            return self.line(text);
        }
        let mut document: Map<String, Value> = serde_json::from_str(text)?;
        put_into_extension(&mut document, RECORDED_FROM_HERE, true.into());
        self.line(&Value::Object(document).to_string())
    }

    fn line(&mut self, text: &str) -> Result<()> {
        let written = writeln!(self.out, "{text}").and_then(|()| self.out.flush());
        written.context("cannot write the recording")
    }
}

/// Whether one event was announced before another one: by the numbers of their session, where both
/// have one, else by their times. At equal times the event that arrived early is the later one: it
/// is a question, or the end of something.
fn is_announced_before(early: &Value, other: &Value) -> bool {
    let number = |event: &Value| event["sequence_number"].as_u64();
    let is_same_session = early["session_id"] == other["session_id"];
    if let (true, Some(early), Some(other)) = (is_same_session, number(early), number(other)) {
        return early < other;
    }
    let at = |event: &Value| event["timestamp"].as_str().and_then(|at| at.parse::<Time>().ok());
    at(early) < at(other)
}

/// Whether it is the state that a new listener is sent. Other events with the mark are recorded.
fn is_stands(event: &Value) -> bool {
    event["extensions"][EXTENSION]["stands"] == true
        && kind(event) == "state.changed"
        && event["from_state"] == event["to_state"]
}

/// A question without the fields that the server adds for one listener at one moment; `None` if it
/// has none.
fn as_announced(event: &Value) -> Option<String> {
    let is_copy = event["extensions"][EXTENSION].is_object() && event["reply_token"].is_string();
    let mut document = is_copy.then(|| event.as_object().cloned()).flatten()?;
    for name in ["due_at", "seconds_left", "settled"] {
        take_from_extension(&mut document, name);
    }
    Some(Value::Object(document).to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::json;

    use super::*;

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_came_early_is_put_back_in_its_place() {
        let shared = Shared::default();
        let out = Box::new(shared.clone());
        let mut recorder = Recorder { out, early: Vec::new(), begun: HashSet::new(), n_events: 0 };
        let mut tell = |text: &str, second: u32, number: Option<u32>, is_in_order: bool| {
            let name = if text == "first" { "session.started" } else { "progress.updated" };
            let event = json!({ "type": format!("aaep:agent.{name}"), "sequence_number": number,
                "timestamp": format!("2026-05-24T14:22:{second:02}Z") });
            recorder.event(text, &event, is_in_order).unwrap();
        };
        tell("critical", 3, None, false);
        tell("first", 1, None, true);
        tell("second", 3, None, true);
        tell("third", 4, None, true);
        tell("question", 5, Some(6), false);
        tell("fifth", 5, Some(5), true);
        tell("seventh", 5, Some(7), true);
        tell("end", 5, Some(8), false);
        recorder.message("reply").unwrap();
        let bytes = shared.0.lock().unwrap().clone();
        let expected = "first second critical third fifth question seventh end reply";
        let written = String::from_utf8(bytes).unwrap();
        assert_eq!(written.split_whitespace().collect::<Vec<_>>().join(" "), expected);
    }
}
