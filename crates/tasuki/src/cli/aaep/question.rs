//! A question to a listener: how it is asked, and what counts as an answer.

use aaep::event::Decision;
use aaep::handshake::Response;
use protocol::time::{Span, Time};
use serde_json::{Number, Value};

use super::speech::{Speech, Text};
use super::words::{kind, translated, who_exactly};
use crate::output::clean;

/// How much of the agent's own context of a question is shown. Listeners decide before they hear
/// more than this.
const CONTEXT_LINES_MAX: usize = 8;
const CONTEXT_CHARS_MAX: usize = 200;

/// As long as a question may wait.
const SECONDS_MAX: u64 = 86_400;

#[derive(Debug, Clone)]
pub struct Question {
    /// The number by which people refer to it.
    pub number: usize,
    pub event: Value,
    /// Its deadline, by the listener's clock.
    pub due: Time,
    speech: Speech,
}

/// A typed answer.
#[derive(Debug, Clone, PartialEq)]
pub enum TypedAnswer {
    Decision(Decision),
    Response(Response),
}

/// Whether an action can be undone, as far as the question says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Undo {
    No,
    WithEffort,
    Yes,
    NotSaid,
}

impl Question {
    /// `None` if the event is not a question.
    pub fn of(event: &Value, number: usize, now: Time, speech: Speech) -> Option<Self> {
        if !matches!(kind(event), "awaiting.confirmation" | "awaiting.clarification") {
            return None;
        }
        // The server says how many seconds are left; a recording does not.
        let seconds = event["timeout_seconds"].as_u64().unwrap_or_default().min(SECONDS_MAX);
        let left = event["extensions"]["tasuki"]["seconds_left"].as_u64();
        let seconds_left = left.map_or(seconds, |left| left.min(seconds));
        let millis = i64::try_from(seconds_left * 1_000).unwrap_or_default();
        let due = now.plus(Span::from_millis(millis));
        Some(Self { number, event: event.clone(), due, speech })
    }

    /// Its result, if that is already known when it is heard.
    pub fn settled(&self) -> Option<Text> {
        match self.event["extensions"]["tasuki"]["settled"].as_str()? {
            "answered" => Some(Text::AskedAnswered),
            "timed_out" => Some(Text::AskedTimedOut),
            "withdrawn" => Some(Text::AskedWithdrawn),
            _ => Some(Text::AskedSettled),
        }
    }

    /// A text of it, in the listener's language if its producer gives one.
    fn text(&self, name: &str) -> String {
        let own = || clean(self.event[name].as_str().unwrap_or_default());
        translated(&self.event, name, self.speech).unwrap_or_else(own)
    }

    /// From now on it is asked in this language, as far as its producer gives translations.
    pub fn speak(&mut self, speech: Speech) {
        self.speech = speech;
    }

    pub fn is_confirmation(&self) -> bool {
        kind(&self.event) == "awaiting.confirmation"
    }

    /// The lines of the question, for a listener that can answer.
    pub fn asked(&self, now: Time) -> Vec<String> {
        let mut lines = self.told(now);
        let answers = self.expected();
        lines.push(format!("  {}", self.speech.say(Text::ToAnswer, &[("answers", &answers)])));
        lines
    }

    /// The lines for a listener that cannot answer. Everything that bears on the decision is told
    /// once.
    pub fn told(&self, now: Time) -> Vec<String> {
        let speech = self.speech;
        let (name, number) = (who_exactly(&self.event, speech), self.number.to_string());
        let filled = [("name", &*name), ("number", &*number)];
        let first = match self.settled() {
            Some(settled) => speech.say(settled, &filled),
            None => {
                format!("{} {}", speech.word(Text::Urgent), speech.say(Text::Asks, &filled))
            }
        };
        let mut details = Vec::new();
        if self.is_in_another_language() && self.event["summary_normal"].is_string() {
            let summary = self.text("summary_normal");
            details.push(speech.say(Text::InShort, &[("text", &summary)]));
        }
        let labels = [
            ("action", Text::Action),
            ("consequence", Text::Consequence),
            ("question", Text::Question),
            ("context", Text::Context),
        ];
        for (name, label) in labels {
            if self.event[name].is_string() {
                details.push(speech.say(label, &[("text", &self.text(name))]));
            }
        }
        details.extend(self.event["risk_level"].as_str().and_then(risk).map(|it| speech.word(it)));
        if self.is_confirmation() {
            details.push(speech.word(self.undo().text()));
        }
        details.extend(self.more());
        for (number, choice) in (1..).zip(self.choices()) {
            details.push(format!("{number}: {}", clean(choice.label)));
        }
        if self.settled().is_none() {
            details.push(self.time_left(now));
        }
        let details = details.into_iter().map(|line| format!("  {line}"));
        std::iter::once(first).chain(details).collect()
    }

    fn time_left(&self, now: Time) -> String {
        let millis = self.due.since(now.min(self.due)).as_millis();
        let seconds = (millis as u64).div_ceil(1_000).to_string();
        let left = self.speech.say(Text::TimeLeft, &[("seconds", &seconds)]);
        let then = match self.event["default_decision"].as_str() {
            Some("accept") if self.is_confirmation() => Text::ThenAccept,
            Some(_) if self.is_confirmation() => Text::ThenReject,
            Some(_) | None => return left,
        };
        format!("{left} {}", self.speech.word(then))
    }

    /// Whether its texts are in a language that the listener did not ask for.
    fn is_in_another_language(&self) -> bool {
        let ours = &self.event["extensions"]["tasuki"];
        let is_translated = ours["translations"][self.speech.language()].is_object();
        ours["texts_in"].is_string() && !is_translated
    }

    /// The agent's context of the question, and its language.
    fn more(&self) -> Vec<String> {
        let cut = |text: &str| match text.char_indices().nth(CONTEXT_CHARS_MAX) {
            Some((end, _)) => format!("{}…", clean(&text[..end])),
            None => clean(text),
        };
        let mut lines = Vec::new();
        let context = self.event["extra_context"].as_object();
        let n_more = context.map_or(0, |all| all.len().saturating_sub(CONTEXT_LINES_MAX));
        for (name, value) in context.into_iter().flatten().take(CONTEXT_LINES_MAX) {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let filled = [("name", &*cut(name)), ("text", &*cut(&text))];
            lines.push(self.speech.say(Text::Also, &filled));
        }
        if n_more > 0 {
            lines.push(self.speech.say(Text::AlsoMore, &[("count", &n_more.to_string())]));
        }
        if self.is_in_another_language() {
            let language = self.event["extensions"]["tasuki"]["texts_in"].as_str();
            let language = cut(language.unwrap_or_default());
            // `und` is the tag of an unknown language.
            if language != "und" {
                lines.push(self.speech.say(Text::TextsIn, &[("language", &language)]));
            }
        }
        lines
    }

    /// Whether a yes must name the question: a word that could be meant for another question does
    /// not approve an irreversible action.
    pub fn must_be_named(&self) -> bool {
        self.is_confirmation() && matches!(self.undo(), Undo::No | Undo::NotSaid)
    }

    /// Whether these words are from the question's text. Short words are not enough: every text has
    /// them.
    pub fn has_words(&self, words: &str) -> bool {
        let name = if self.is_confirmation() { "action" } else { "question" };
        let own = clean(self.event[name].as_str().unwrap_or_default());
        has_words(&own, words) || has_words(&self.text(name), words)
    }

    fn undo(&self) -> Undo {
        let marked = self.event["irreversible"].as_bool();
        match (self.event["reversibility"].as_str(), marked) {
            (Some("irreversible"), _) | (_, Some(true)) => Undo::No,
            (Some("reversible_with_effort"), _) => Undo::WithEffort,
            (Some("reversible"), _) | (_, Some(false)) => Undo::Yes,
            (Some(_) | None, None) => Undo::NotSaid,
        }
    }

    fn choices(&self) -> Vec<Choice<'_>> {
        let choices = self.event["choices"].as_array().map_or(&[][..], Vec::as_slice);
        let translations = &self.event["extensions"]["tasuki"]["translations"];
        let labels = &translations[self.speech.language()]["choices"];
        let choice = |choice| {
            let (value, label) = pair_of(choice)?;
            Some(Choice { value, label: labels[value].as_str().unwrap_or(label) })
        };
        choices.iter().filter_map(choice).collect()
    }

    fn accepts(&self, wanted: &str) -> bool {
        let kinds = self.event["accepted_response_kinds"].as_array();
        match kinds {
            Some(kinds) => kinds.iter().any(|kind| kind == wanted),
            None => wanted == "freetext",
        }
    }

    /// Reject is always an answer, whatever the question lists.
    fn allows(&self, decision: Decision) -> bool {
        let listed = self.event["allowed_replies"].as_array();
        match decision {
            Decision::Reject => true,
            Decision::Accept => {
                listed.is_none_or(|all| all.iter().any(|it| it == decision.as_str()))
            }
        }
    }

    /// What can be typed, with the question's number: valid however many questions are open, now
    /// and later.
    fn expected(&self) -> String {
        let (speech, number) = (self.speech, self.number.to_string());
        let or = format!(" {} ", speech.word(Text::Or));
        if self.is_confirmation() {
            let allowed = Decision::ALL.iter().filter(|it| self.allows(**it));
            let words = allowed.map(|it| format!("{} {number}", speech.decision_word(*it)));
            return words.collect::<Vec<_>>().join(&or);
        }
        let way = |text: Text| speech.say(text, &[("number", &number)]);
        let mut ways = Vec::new();
        if !self.choices().is_empty() {
            ways.push(way(Text::WayChoice));
        }
        if self.accepts("yes_no") {
            ways.extend([Text::Yes, Text::No].map(|it| format!("#{number} {}", speech.word(it))));
        }
        if self.accepts("numeric") {
            ways.push(way(Text::WayNumber));
        }
        if self.accepts("freetext") {
            ways.push(way(Text::WayWords));
        }
        ways.join(&or)
    }

    /// The line of an open question, for a listener that must say which one is meant.
    pub fn waits(&self) -> String {
        let name = if self.is_confirmation() { "action" } else { "question" };
        let (number, text, answers) = (self.number.to_string(), self.text(name), self.expected());
        let filled = [("number", &*number), ("text", &*text), ("answers", &*answers)];
        self.speech.say(Text::Waits, &filled)
    }

    /// The typed answer, or a text that says what would be one.
    pub fn answer(&self, typed: &str) -> Result<TypedAnswer, String> {
        let typed = typed.trim();
        let (number, answers) = (self.number.to_string(), self.expected());
        let filled = [("number", &*number), ("answers", &*answers)];
        let no = || self.speech.say(Text::Expected, &filled);
        if self.is_confirmation() {
            let decision = self.speech.decision(typed).filter(|decision| self.allows(*decision));
            return Ok(TypedAnswer::Decision(decision.ok_or_else(no)?));
        }
        if let Some(value) = self.chosen(typed) {
            return Ok(TypedAnswer::Response(Response::Text(value.to_owned())));
        }
        if let Some(truth) = self.speech.truth(typed).filter(|_| self.accepts("yes_no")) {
            return Ok(TypedAnswer::Response(Response::Truth(truth)));
        }
        if self.accepts("numeric") {
            let whole = typed.parse::<i64>().ok().map(Number::from);
            let number = whole.or_else(|| typed.parse().ok().and_then(Number::from_f64));
            if let Some(number) = number {
                return Ok(TypedAnswer::Response(Response::Number(number)));
            }
        }
        if self.accepts("freetext") && !typed.is_empty() {
            return Ok(TypedAnswer::Response(Response::Text(typed.to_owned())));
        }
        Err(no())
    }

    /// The value of the choice that is typed: by its value, its number or its label. Case does not
    /// matter.
    fn chosen(&self, typed: &str) -> Option<&str> {
        let (choices, lower) = (self.choices(), typed.to_lowercase());
        let by_value = choices.iter().find(|choice| choice.value == typed);
        let by_number = typed.parse::<usize>().ok().and_then(|at| choices.get(at.checked_sub(1)?));
        let is_name = |name: &str| clean(name).to_lowercase() == lower;
        let by_name = || choices.iter().find(|it| is_name(it.label) || is_name(it.value));
        let choice = by_value.or(by_number).or_else(by_name)?;
        Some(choice.value)
    }

    /// An answer to it, as the listener reads it: a choice by its label.
    pub fn shown(&self, answer: &TypedAnswer) -> String {
        match answer {
            TypedAnswer::Decision(decision) => self.speech.decision_word(*decision),
            TypedAnswer::Response(Response::Text(text)) => {
                let choices = self.choices();
                let chosen = choices.iter().find(|choice| choice.value == text);
                clean(chosen.map_or(text.as_str(), |choice| choice.label))
            }
            TypedAnswer::Response(Response::Number(number)) => number.to_string(),
            TypedAnswer::Response(Response::Truth(true)) => self.speech.word(Text::Yes),
            TypedAnswer::Response(Response::Truth(false)) => self.speech.word(Text::No),
        }
    }
}

impl Undo {
    fn text(self) -> Text {
        match self {
            Undo::No => Text::UndoNo,
            Undo::WithEffort => Text::UndoEffort,
            Undo::Yes => Text::UndoYes,
            Undo::NotSaid => Text::UndoUnsaid,
        }
    }
}

fn risk(level: &str) -> Option<Text> {
    match level {
        "low" => Some(Text::RiskLow),
        "medium" => Some(Text::RiskMedium),
        "high" => Some(Text::RiskHigh),
        _ => None,
    }
}

fn has_words(text: &str, words: &str) -> bool {
    let (text, words) = (text.to_lowercase(), words.to_lowercase());
    let own: Vec<&str> = words_of(&text).collect();
    // Some languages write without spaces: there, a part of the text counts as words of it.
    let is_part = |word: &str| !word.is_ascii() && text.contains(word);
    let is_telling = |word: &str| {
        let n_chars = word.chars().count();
        n_chars >= if word.is_ascii() { 4 } else { 2 } || word.bytes().any(|it| it.is_ascii_digit())
    };
    words_of(&words).any(is_telling)
        && words_of(&words).all(|word| own.contains(&word) || is_part(word))
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric() && !is_mark(character))
        .filter(|word| !word.is_empty())
}

/// A combining accent belongs to its word.
fn is_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}')
}

/// One of the answers that a question offers.
struct Choice<'a> {
    value: &'a str,
    /// In the listener's language, if its producer gives translations.
    label: &'a str,
}

fn pair_of(choice: &Value) -> Option<(&str, &str)> {
    let value = choice["value"].as_str()?;
    Some((value, choice["label"].as_str().unwrap_or(value)))
}

#[cfg(test)]
mod tests;
