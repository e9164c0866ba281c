//! Whether a provider accepts a history. The rules are those that the providers document or answer
//! with `400`; each finding names the message and the rule.
//!
//! One rule is advice: Anthropic's own service joins consecutive messages of one speaker, but other
//! services with the same form refuse them.

mod anthropic;
mod batch;
mod langchain;
mod openai;
mod responses;

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::turn::{RawCall, Turn};
use super::{CALLS_MAX, Form, MESSAGES_MAX, name, text};

/// Further findings are not looked for; a client that fixes the first hundred checks again.
pub const PROBLEMS_MAX: usize = 100;

/// Long enough to recognise a call by its id.
const CALL_ID_CHARS_MAX: usize = 64;

/// One breach of one rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "HistoryProblem")]
pub struct Problem {
    /// Which message, from 0.
    pub index: usize,
    pub rule: Rule,
    pub weight: Weight,
    /// What was expected, in a few words.
    pub detail: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}: {}", self.index, self.rule.code(), self.detail)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "HistoryProblemWeight")]
pub enum Weight {
    /// The provider refuses it.
    Refused,
    /// The provider accepts it, but not every service with the same form does.
    Advice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "HistoryRule")]
pub enum Rule {
    /// A message has the fields of its form.
    Shape,
    /// A history is short enough to be checked.
    Length,
    /// A message is not empty.
    Empty,
    /// The provider accepts the id of a call.
    CallId,
    /// An id names one call.
    CallIdTwice,
    /// The provider accepts the name of a tool.
    ToolName,
    /// Arguments have the type that the provider accepts.
    Arguments,
    /// A list of calls is neither empty nor too long.
    CallCount,
    /// Each call has its result right after it.
    Unanswered,
    /// Each call has one result.
    AnsweredTwice,
    /// A result belongs to a call right before it.
    Orphan,
    /// The first message is the user's.
    FirstSpeaker,
    /// Speakers take turns.
    Turns,
    /// Results come before everything else in their message.
    ResultsFirst,
    /// Calls come after everything else in their message.
    CallsLast,
    /// Only an assistant calls, and only a user brings results.
    WrongSpeaker,
    /// The last text of an assistant does not end with a space.
    TrailingSpace,
}

impl Rule {
    pub const ALL: [Rule; 17] = [
        Rule::Shape,
        Rule::Length,
        Rule::Empty,
        Rule::CallId,
        Rule::CallIdTwice,
        Rule::ToolName,
        Rule::Arguments,
        Rule::CallCount,
        Rule::Unanswered,
        Rule::AnsweredTwice,
        Rule::Orphan,
        Rule::FirstSpeaker,
        Rule::Turns,
        Rule::ResultsFirst,
        Rule::CallsLast,
        Rule::WrongSpeaker,
        Rule::TrailingSpace,
    ];

    pub fn code(self) -> &'static str {
        match self {
            Rule::Shape => "shape",
            Rule::Length => "length",
            Rule::Empty => "empty",
            Rule::CallId => "call_id",
            Rule::CallIdTwice => "call_id_twice",
            Rule::ToolName => "tool_name",
            Rule::Arguments => "arguments",
            Rule::CallCount => "call_count",
            Rule::Unanswered => "unanswered",
            Rule::AnsweredTwice => "answered_twice",
            Rule::Orphan => "orphan",
            Rule::FirstSpeaker => "first_speaker",
            Rule::Turns => "turns",
            Rule::ResultsFirst => "results_first",
            Rule::CallsLast => "calls_last",
            Rule::WrongSpeaker => "wrong_speaker",
            Rule::TrailingSpace => "trailing_space",
        }
    }

    pub fn weight(self) -> Weight {
        match self {
            Rule::Turns => Weight::Advice,
            Rule::Shape
            | Rule::Length
            | Rule::Empty
            | Rule::CallId
            | Rule::CallIdTwice
            | Rule::ToolName
            | Rule::Arguments
            | Rule::CallCount
            | Rule::Unanswered
            | Rule::AnsweredTwice
            | Rule::Orphan
            | Rule::FirstSpeaker
            | Rule::ResultsFirst
            | Rule::CallsLast
            | Rule::WrongSpeaker
            | Rule::TrailingSpace => Weight::Refused,
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Rule::Shape => "expected the fields of its form",
            Rule::Length => "expected a shorter history",
            Rule::Empty => "expected a text or a call",
            Rule::CallId => "expected an id that the provider takes",
            Rule::CallIdTwice => "expected an id of its own",
            Rule::ToolName => "expected a name that the provider takes",
            Rule::Arguments => "expected arguments of the provider's type",
            Rule::CallCount => "expected 1 to 128 calls, or no list of them",
            Rule::Unanswered => "expected a result for each call right after it",
            Rule::AnsweredTwice => "expected one result for each call",
            Rule::Orphan => "expected a call right before its result",
            Rule::FirstSpeaker => "expected the user to speak first",
            Rule::Turns => "expected speakers to take turns",
            Rule::ResultsFirst => "expected results before everything else",
            Rule::CallsLast => "expected no text after a call",
            Rule::WrongSpeaker => "expected calls by the assistant and results by the user",
            Rule::TrailingSpace => "expected no space at the end",
        }
    }
}

/// All problems of a history; empty if every provider of its form accepts it.
pub fn check(form: Form, history: &[Value]) -> Vec<Problem> {
    let mut findings = Findings::default();
    if history.len() > MESSAGES_MAX {
        findings.add(0, Rule::Length, format!("expected at most {MESSAGES_MAX} messages"));
        return findings.problems;
    }
    let turns = history.iter().enumerate().filter_map(|(index, message)| {
        let turn = Turn::read(form, message);
        turn.map_err(|error| findings.add(index, Rule::Shape, error.to_string())).ok()
    });
    let turns: Vec<Turn<'_>> = turns.collect();
    // The rules about order are meaningless if some messages cannot be read.
    if !findings.problems.is_empty() {
        return findings.problems;
    }
    match form {
        Form::OpenAi => openai::check(history, &turns, &mut findings),
        Form::Responses => responses::check(&turns, &mut findings),
        Form::Anthropic => anthropic::check(&turns, &mut findings),
        Form::LangChain => langchain::check(&turns, &mut findings),
    }
    findings.problems
}

#[derive(Debug, Default)]
struct Findings {
    problems: Vec<Problem>,
}

impl Findings {
    fn add(&mut self, index: usize, rule: Rule, detail: String) {
        if self.problems.len() < PROBLEMS_MAX {
            let weight = rule.weight();
            self.problems.push(Problem { index, rule, weight, detail });
        }
    }

    fn see(&mut self, index: usize, rule: Rule) {
        self.add(index, rule, rule.sentence().to_owned());
    }

    /// A finding about one call.
    fn of_call(&mut self, index: usize, rule: Rule, call_id: &str) {
        let call_id = text::line(call_id, CALL_ID_CHARS_MAX);
        self.add(index, rule, format!("{}: `{call_id}`", rule.sentence()));
    }
}

/// What all forms require of the calls of a message.
fn check_calls(form: Form, index: usize, turn: &Turn<'_>, findings: &mut Findings) {
    for call in turn.calls() {
        if !form.is_call_id(call.id) {
            findings.add(index, Rule::CallId, format!("expected {}", form.call_id_expected()));
        }
        if !is_tool_name(form, call) {
            findings.see(index, Rule::ToolName);
        }
    }
    if turn.calls().count() > CALLS_MAX {
        findings.see(index, Rule::CallCount);
    }
}

fn is_tool_name(form: Form, call: &RawCall<'_>) -> bool {
    let bytes_max = match form {
        Form::OpenAi | Form::Responses => name::TOOL_NAME_BYTES_MAX,
        Form::Anthropic | Form::LangChain => 128,
    };
    let is_plain = call.name.bytes().all(name::is_of_tool_name);
    is_plain && (1..=bytes_max).contains(&call.name.len())
}

#[cfg(test)]
mod tests;
