//! Which events are told, in which order: pure, with the time as an argument. The name of an agent
//! is told when another agent spoke before. A state is told if it lasted a moment. Many sessions
//! that are under way at the beginning are one line.

#[cfg(test)]
mod tests;

use aaep::event::Verbosity;
use protocol::narrator::settled::QUESTION_SETTLED;
use protocol::time::{Span, Time};
use serde_json::Value;

use super::question::Question;
use super::speech::{Speech, Text};
use super::words::{kind, said, who};

/// A state that is shorter than this is not told.
const MOMENT: Span = Span::from_millis(500);

/// States that are waiting to be told. Beyond this the oldest is dropped.
const HELD_MAX: usize = 64;

/// Indents a line of the agent that spoke last. The details of a question are indented by half of
/// it, which no agent's text can imitate.
const INDENT: &str = "    ";

#[derive(Debug)]
pub struct Announcer {
    pub speech: Speech,
    pub verbosity: Verbosity,
    /// The last speaker: the session and the name.
    last: Option<(String, String)>,
    held: Vec<HeldText>,
    /// The states of sessions that were under way before.
    standing: Vec<HeldText>,
}

/// A state that is told in a moment, unless the session moves on before.
#[derive(Debug)]
struct HeldText {
    from: Time,
    session: String,
    name: String,
    text: String,
}

impl Announcer {
    pub fn new(speech: Speech, verbosity: Verbosity) -> Self {
        Self { speech, verbosity, last: None, held: Vec::new(), standing: Vec::new() }
    }

    /// The lines for an event that is no question.
    pub fn hear(&mut self, event: &Value, now: Time) -> Vec<String> {
        let session = event["session_id"].as_str().unwrap_or_default();
        self.held.retain(|held| held.session != session);
        // The end of a question is told where it was asked.
        if kind(event) == QUESTION_SETTLED {
            return Vec::new();
        }
        let Some(text) = said(event, self.verbosity, self.speech) else { return Vec::new() };
        let name = who(event, self.speech);
        if kind(event) == "state.changed" {
            self.hold(event, HeldText { from: now, session: session.to_owned(), name, text });
            return Vec::new();
        }
        let mut lines = self.stand();
        lines.push(match event["urgency"] == "critical" {
            true => self.urgent(session, &name, &text),
            false => self.line(session, &name, &text),
        });
        lines
    }

    /// The lines of a question. They say how to answer it if the listener can.
    pub fn ask(&mut self, question: &Question, can_answer: bool, now: Time) -> Vec<String> {
        let session = question.event["session_id"].as_str().unwrap_or_default();
        self.held.retain(|held| held.session != session);
        // The question itself tells what its session is doing.
        self.standing.retain(|held| held.session != session);
        self.last = Some((session.to_owned(), who(&question.event, self.speech)));
        let mut lines = self.stand();
        lines.extend(match can_answer && question.settled().is_none() {
            true => question.asked(now),
            false => question.told(now),
        });
        lines
    }

    /// The states that have lasted a moment by now.
    pub fn look(&mut self, now: Time) -> Vec<String> {
        let has_lasted = |held: &HeldText| now.since(held.from) >= MOMENT;
        let mut lines = Vec::new();
        if self.standing.last().is_some_and(has_lasted) {
            lines.extend(self.stand());
        }
        let (told, held) = std::mem::take(&mut self.held).into_iter().partition(has_lasted);
        self.held = held;
        let told: Vec<HeldText> = told;
        lines.extend(told.iter().map(|it| self.line(&it.session, &it.name, &it.text)));
        lines
    }

    /// Waiting for an answer is not told: the question tells it.
    fn hold(&mut self, event: &Value, held: HeldText) {
        let is_standing = !event["extensions"]["tasuki"]["stands"].is_null();
        if is_standing {
            // The server has no words for a state that only the agent knows.
            let is_unknown = event["summary_normal"].is_null();
            let text = if is_unknown { String::new() } else { held.text };
            self.standing.push(HeldText { text, ..held });
        } else if event["to_state"] != "awaiting_input" {
            if self.held.len() >= HELD_MAX {
                self.held.remove(0);
            }
            self.held.push(held);
        }
    }

    /// One line for all sessions that were under way.
    fn stand(&mut self) -> Vec<String> {
        match &std::mem::take(&mut self.standing)[..] {
            [] => Vec::new(),
            [only] if only.text.is_empty() => Vec::new(),
            [only] => vec![self.line(&only.session, &only.name, &only.text)],
            all => {
                self.last = None;
                let count = all.len().to_string();
                vec![self.speech.say(Text::Sessions, &[("count", &count)])]
            }
        }
    }

    fn urgent(&mut self, session: &str, name: &str, text: &str) -> String {
        self.last = Some((session.to_owned(), name.to_owned()));
        format!("{} {name}: {text}", self.speech.word(Text::Urgent))
    }

    fn line(&mut self, session: &str, name: &str, text: &str) -> String {
        let speaker = Some((session.to_owned(), name.to_owned()));
        match std::mem::replace(&mut self.last, speaker) == self.last {
            true => format!("{INDENT}{text}"),
            false => format!("{name}: {text}"),
        }
    }
}
