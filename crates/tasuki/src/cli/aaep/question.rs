//! A question to whoever listens: how it is put, and what counts as an answer.

use protocol::aaep::event::Decision;
use protocol::aaep::handshake::Response;
use protocol::time::{Span, Time};
use serde_json::{Number, Value};

use super::words::{kind, who};
use crate::output::clean;

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

    fn is_confirmation(&self) -> bool {
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

    fn reversibility(&self) -> &'static str {
        let is_marked = self.event["irreversible"] == true;
        match self.event["reversibility"].as_str() {
            Some("irreversible") => "no",
            _ if is_marked => "no",
            Some("reversible") => "yes",
            Some("reversible_with_effort") => "yes, with effort",
            Some(_) | None => "not said",
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
            return allowed.map(|it| it.as_str()).collect::<Vec<_>>().join(" or ");
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
            let decision = Decision::parse(&typed.to_ascii_lowercase());
            let decision = decision.filter(|decision| self.allows(*decision)).ok_or_else(no)?;
            return Ok(Answer::Decision(decision));
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
}
