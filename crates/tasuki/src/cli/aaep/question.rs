//! A question to whoever listens: how it is put, and what counts as an answer.

use protocol::aaep::event::Decision;
use protocol::aaep::handshake::Response;
use protocol::time::{Span, Time};
use serde_json::{Number, Value};

use super::words::{kind, who};
use crate::output::clean;

/// What is shown of an agent's own context of a question. Nobody listens to more than this before
/// they decide.
const CONTEXT_LINES_MAX: usize = 8;
const CONTEXT_CHARS_MAX: usize = 200;

/// As long as a question may wait.
const SECONDS_MAX: u64 = 86_400;

#[derive(Debug, Clone)]
pub struct Question {
    /// What people call it by.
    pub number: usize,
    pub event: Value,
    /// When its time is over, by the clock of whoever listens.
    pub due: Time,
    /// Whole seconds that were left when it was heard.
    seconds_left: u64,
}

/// What somebody typed, as an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Decision(Decision),
    Response(Response),
}

impl Question {
    /// An event that asks.
    pub fn of(event: &Value, number: usize, now: Time) -> Option<Self> {
        if !matches!(kind(event), "awaiting.confirmation" | "awaiting.clarification") {
            return None;
        }
        // The server says how much of its time is left; a recording does not.
        let seconds = event["timeout_seconds"].as_u64().unwrap_or_default().min(SECONDS_MAX);
        let left = event["extensions"]["tasuki"]["seconds_left"].as_u64();
        let seconds_left = left.map_or(seconds, |left| left.min(seconds));
        let millis = i64::try_from(seconds_left * 1_000).unwrap_or_default();
        let due = now.plus(Span::from_millis(millis));
        Some(Self { number, event: event.clone(), due, seconds_left })
    }

    /// What became of it, if that is known already when it is heard.
    pub fn settled(&self) -> Option<&'static str> {
        match self.event["extensions"]["tasuki"]["settled"].as_str()? {
            "answered" => Some("somebody has answered"),
            "timed_out" => Some("nobody answered in time"),
            "withdrawn" => Some("it is no longer asked"),
            _ => Some("it is settled"),
        }
    }

    pub fn text(&self, name: &str) -> String {
        clean(self.event[name].as_str().unwrap_or_default())
    }

    pub fn is_confirmation(&self) -> bool {
        kind(&self.event) == "awaiting.confirmation"
    }

    /// The lines in which it is put to whoever can answer.
    pub fn asked(&self) -> Vec<String> {
        let mut lines = self.told();
        lines.push(format!("  To answer, type {}", self.expected()));
        lines
    }

    /// The same for whoever cannot.
    pub fn told(&self) -> Vec<String> {
        let (name, number) = (who(&self.event), self.number);
        let mut lines = vec![match self.settled() {
            Some(settled) => format!("{name} asked, and {settled}"),
            None => format!("URGENT {name} asks, question {number}"),
        }];
        let labels = [
            ("summary_normal", "In short"),
            ("action", "Action"),
            ("consequence", "Consequence"),
            ("question", "Question"),
            ("context", "Context"),
            ("risk_level", "Risk"),
        ];
        for (name, label) in labels {
            if self.event[name].is_string() {
                lines.push(format!("  {label}: {}", self.text(name)));
            }
        }
        if self.is_confirmation() {
            lines.push(format!("  Can be undone: {}", self.reversibility()));
        }
        lines.extend(self.more());
        for (at, (value, label)) in self.choices().iter().enumerate() {
            lines.push(format!("  {}: {} ({})", at + 1, clean(label), clean(value)));
        }
        if self.settled().is_some() {
            return lines;
        }
        let seconds = self.seconds_left;
        let default = match self.is_confirmation() {
            true => format!(", then {}", self.text("default_decision")),
            false => String::new(),
        };
        lines.push(format!("  Time: {seconds} seconds{default}"));
        lines
    }

    /// What else the agent says of it, and what the server says about the texts.
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
            lines.push(format!("  Also, {}: {}", cut(name), cut(&text)));
        }
        if n_more > 0 {
            lines.push(format!("  Also: {n_more} more, which --json shows"));
        }
        let ours = &self.event["extensions"]["tasuki"];
        let labels = [("action_hash", "Hash of the action"), ("texts_in", "Language of the texts")];
        for (name, label) in labels {
            if let Some(text) = ours[name].as_str() {
                lines.push(format!("  {label}: {}", cut(text)));
            }
        }
        lines
    }

    /// Whether a yes must name the question: what may not be undone is not agreed to by a word that
    /// could have been meant for something else.
    pub fn must_be_named(&self) -> bool {
        self.is_confirmation() && !self.reversibility().starts_with("yes")
    }

    /// Whether these are words of what is asked. Only short words, which every text has, are not
    /// enough.
    pub fn has_words(&self, words: &str) -> bool {
        let text = self.text(if self.is_confirmation() { "action" } else { "question" });
        let text = text.to_lowercase();
        let own: Vec<&str> = words_of(&text).collect();
        let words = words.to_lowercase();
        // Some languages write without spaces: there, a part of the text is words of it.
        let is_part = |word: &str| !word.is_ascii() && text.contains(word);
        let mut all = words_of(&words).peekable();
        let is_telling = |word: &str| word.chars().count() >= if word.is_ascii() { 4 } else { 2 };
        let has_telling = words_of(&words)
            .any(|word| is_telling(word) || word.bytes().any(|byte| byte.is_ascii_digit()));
        all.peek().is_some() && has_telling && all.all(|it| own.contains(&it) || is_part(it))
    }

    fn reversibility(&self) -> &'static str {
        let marked = self.event["irreversible"].as_bool();
        match (self.event["reversibility"].as_str(), marked) {
            (Some("irreversible"), _) | (_, Some(true)) => "no",
            (Some("reversible_with_effort"), _) => "yes, with effort",
            (Some("reversible"), _) | (_, Some(false)) => "yes",
            (Some(_) | None, None) => "not said",
        }
    }

    /// Values and labels.
    fn choices(&self) -> Vec<(&str, &str)> {
        let choices = self.event["choices"].as_array().map_or(&[][..], Vec::as_slice);

        choices.iter().filter_map(pair_of).collect()
    }

    fn accepts(&self, wanted: &str) -> bool {
        let kinds = self.event["accepted_response_kinds"].as_array();
        match kinds {
            Some(kinds) => kinds.iter().any(|kind| kind == wanted),
            None => wanted == "freetext",
        }
    }

    /// No is always one of the answers, whatever the question lists.
    fn allows(&self, decision: Decision) -> bool {
        let listed = self.event["allowed_replies"].as_array();
        match decision {
            Decision::Reject => true,
            Decision::Accept => {
                listed.is_none_or(|all| all.iter().any(|it| it == decision.as_str()))
            }
        }
    }

    fn expected(&self) -> String {
        if self.is_confirmation() {
            let allowed = Decision::ALL.iter().filter(|it| self.allows(**it));
            let word = |it: &Decision| match it {
                Decision::Accept if self.must_be_named() => format!("accept {}", self.number),
                Decision::Accept | Decision::Reject => it.as_str().to_owned(),
            };
            return allowed.map(word).collect::<Vec<_>>().join(" or ");
        }
        let mut ways = Vec::new();
        if !self.choices().is_empty() {
            ways.push("the number or the value of a choice");
        }
        if self.accepts("yes_no") {
            ways.push("yes or no");
        }
        if self.accepts("numeric") {
            ways.push("a number");
        }
        if self.accepts("freetext") {
            ways.push("a text");
        }
        ways.join(", or ")
    }

    /// What was typed as an answer, or what would be one.
    pub fn answer(&self, typed: &str) -> Result<Answer, String> {
        let typed = typed.trim();
        let no = || format!("question {}: expected {}", self.number, self.expected());
        if self.is_confirmation() {
            let decision = decision(typed).filter(|decision| self.allows(*decision));
            return Ok(Answer::Decision(decision.ok_or_else(no)?));
        }
        let choices = self.choices();
        let by_number = typed.parse::<usize>().ok().and_then(|at| choices.get(at.checked_sub(1)?));
        let by_value = choices.iter().find(|(value, _)| *value == typed);
        if let Some((value, _)) = by_value.or(by_number) {
            return Ok(Answer::Response(Response::Text((*value).to_owned())));
        }
        match typed.to_ascii_lowercase().as_str() {
            "yes" if self.accepts("yes_no") => return Ok(Answer::Response(Response::Truth(true))),
            "no" if self.accepts("yes_no") => return Ok(Answer::Response(Response::Truth(false))),
            _ => {}
        }
        if self.accepts("numeric") {
            let whole = typed.parse::<i64>().ok().map(Number::from);
            let number = whole.or_else(|| typed.parse().ok().and_then(Number::from_f64));
            if let Some(number) = number {
                return Ok(Answer::Response(Response::Number(number)));
            }
        }
        if self.accepts("freetext") && !typed.is_empty() {
            return Ok(Answer::Response(Response::Text(typed.to_owned())));
        }
        Err(no())
    }
}

/// The decision that a word stands for.
pub fn decision(word: &str) -> Option<Decision> {
    Decision::parse(&word.to_lowercase())
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric() && !is_mark(character))
        .filter(|word| !word.is_empty())
}

/// Accents that are characters of their own belong to their word.
fn is_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}')
}

fn pair_of(choice: &Value) -> Option<(&str, &str)> {
    let value = choice["value"].as_str()?;
    Some((value, choice["label"].as_str().unwrap_or(value)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn question(kind: &str, more: &Value) -> Question {
        let mut event = json!({
            "type": format!("aaep:agent.awaiting.{kind}"), "event_id": "evt_1",
            "session_id": "sess_1", "timestamp": "2026-05-24T14:22:00Z", "timeout_seconds": 60,
            "producer": { "agent_id": "teller" },
        });
        for (name, value) in more.as_object().expect("an object") {
            event[name] = value.clone();
        }
        Question::of(&event, 1, Time::from_millis(0)).expect("it asks")
    }

    #[test]
    fn only_what_was_meant_is_an_answer() {
        let decision = |it| Some(Answer::Decision(it));
        let text = |it: &str| Some(Answer::Response(Response::Text(it.to_owned())));
        let confirm = question("confirmation", &json!({}));
        let only_reject = question("confirmation", &json!({"allowed_replies": ["reject"]}));
        let only_accept = question("confirmation", &json!({"allowed_replies": ["accept"]}));
        let choices = json!({"accepted_response_kinds": ["multiple_choice"], "choices":
            [{"value": "b", "label": "Blue"}, {"value": "1", "label": "One"}]});
        let choice = question("clarification", &choices);
        let free = question("clarification", &json!({}));
        let yes_no = question("clarification", &json!({"accepted_response_kinds": ["yes_no"]}));
        let number = question("clarification", &json!({"accepted_response_kinds": ["numeric"]}));
        let truth = Some(Answer::Response(Response::Truth(true)));
        let twelve = Some(Answer::Response(Response::Number(12.into())));
        let cases = [
            (&confirm, "accept", decision(Decision::Accept)),
            (&confirm, " Reject ", decision(Decision::Reject)),
            (&confirm, "", None),
            (&confirm, "yes", None),
            (&confirm, "accept it", None),
            (&only_reject, "accept", None),
            (&only_accept, "reject", decision(Decision::Reject)),
            (&only_accept, "accept", decision(Decision::Accept)),
            (&choice, "2", text("1")),
            (&choice, "1", text("1")),
            (&choice, "b", text("b")),
            (&choice, "3", None),
            (&choice, "", None),
            (&free, "as you like", text("as you like")),
            (&free, " ", None),
            (&yes_no, "Yes", truth),
            (&yes_no, "perhaps", None),
            (&number, "12", twelve),
            (&number, "a dozen", None),
        ];
        for (question, typed, expected) in cases {
            assert_eq!(question.answer(typed).ok(), expected, "{typed:?}");
        }
    }

    #[test]
    fn whoever_comes_late_hears_how_it_stands() {
        let asked =
            |ours: Value| question("confirmation", &json!({"extensions": {"tasuki": ours}}));
        let cases = [
            (json!({}), 60_000, "URGENT teller asks, question 1"),
            (json!({"seconds_left": 12}), 12_000, "URGENT teller asks, question 1"),
            (json!({"seconds_left": 600}), 60_000, "URGENT teller asks, question 1"),
            (json!({"settled": "answered"}), 60_000, "teller asked, and somebody has answered"),
            (json!({"settled": "timed_out"}), 60_000, "teller asked, and nobody answered in time"),
        ];
        for (ours, due, expected) in cases {
            let question = asked(ours);
            let lines = question.told();
            assert_eq!((question.due, lines[0].as_str()), (Time::from_millis(due), expected));
            let is_timed = lines.iter().any(|line| line.starts_with("  Time:"));
            assert_eq!(is_timed, question.settled().is_none(), "{lines:?}");
        }
    }

    #[test]
    fn all_that_bears_on_the_decision_is_told() {
        let cases = [
            (json!({"summary_normal": "Zahlt 500 Dollar"}), "  In short: Zahlt 500 Dollar"),
            (json!({"irreversible": true, "reversibility": "reversible"}), "  Can be undone: no"),
            (json!({"irreversible": false}), "  Can be undone: yes"),
            (json!({"reversibility": "reversible"}), "  Can be undone: yes"),
            (
                json!({"irreversible": false, "reversibility": "reversible_with_effort"}),
                "  Can be undone: yes, with effort",
            ),
            (json!({}), "  Can be undone: not said"),
            (json!({"extra_context": {"to": "Maria\u{1b}"}}), "  Also, to: Maria\u{fffd}"),
            (json!({"extra_context": {"amount": 500}}), "  Also, amount: 500"),
            (json!({"extensions": {"tasuki": {"action_hash": "aa"}}}), "  Hash of the action: aa"),
            (json!({"extensions": {"tasuki": {"texts_in": "en"}}}), "  Language of the texts: en"),
        ];
        for (more, expected) in cases {
            let lines = question("confirmation", &more).told();
            assert!(lines.iter().any(|line| line == expected), "{expected} in {lines:?}");
        }
        let many: serde_json::Map<_, _> =
            (0..10).map(|at| (at.to_string(), "x".repeat(1_000).into())).collect();
        let lines = question("confirmation", &json!({"extra_context": many})).told();
        assert!(lines.iter().all(|line| line.len() < 300) && lines.len() < 16, "{lines:?}");
        assert!(lines.contains(&"  Also: 2 more, which --json shows".to_owned()), "{lines:?}");
    }
}
