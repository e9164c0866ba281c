//! Handoffs as a model sees them: tools to call, calls to read, and a history that stays valid.
//!
//! A model asks for a handoff by calling a tool. [`definitions`] makes the tools, [`calls`] reads
//! the model's calls, [`answers`] decides which handoff of a turn counts and gives every call its
//! result, [`history`] adds them to a history, [`transcript`] makes one of a conversation,
//! [`detect`] finds the handoffs in one, and [`check`] says whether a provider would accept it.
//! [`ask`] asks a human. All of it is a function of JSON input. Who holds a conversation, and who
//! may take it, is decided elsewhere.

pub mod answers;
pub mod ask;
pub mod calls;
pub mod check;
pub mod definitions;
pub mod detect;
pub mod history;
pub mod history_form;
pub mod name;
#[cfg(test)]
mod property_tests;
mod text;
pub mod transcript;
mod turn;

use std::str::FromStr;

use serde::Serialize;

/// The most calls in one turn: what OpenAI takes in `tool_calls`, and more than a turn needs.
pub const CALLS_MAX: usize = 128;

/// A longer history has long outgrown every model's context window, and reading it costs time.
pub const MESSAGES_MAX: usize = 10_000;

/// Why another agent or a person should take over, in a sentence or two.
pub const REASON_BYTES_MAX: usize = 500;

/// What the next agent should know beyond the conversation itself; the size of a message.
pub const CONTEXT_BYTES_MAX: usize = 4_096;

/// The provider format of the messages of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Chat Completions: `tool_calls`, and a message of the role `tool` for each.
    OpenAi,
    /// OpenAI's Responses API: items of type `function_call`, and a `function_call_output` for
    /// each.
    Responses,
    /// Messages: `tool_use` blocks, and their `tool_result` blocks in the next user message.
    Anthropic,
    /// `AIMessage` and `ToolMessage`, flat, under `data`, or as written by `dumpd`.
    LangChain,
}

impl Form {
    pub const ALL: [Form; 4] = [Form::OpenAi, Form::Responses, Form::Anthropic, Form::LangChain];

    pub fn as_str(self) -> &'static str {
        match self {
            Form::OpenAi => "openai",
            Form::Responses => "responses",
            Form::Anthropic => "anthropic",
            Form::LangChain => "langchain",
        }
    }

    /// OpenAI refuses longer ids; the others document no limit.
    fn call_id_bytes_max(self) -> usize {
        match self {
            Form::OpenAi | Form::Responses => 64,
            Form::Anthropic | Form::LangChain => 256,
        }
    }

    fn is_call_id(self, id: &str) -> bool {
        let is_plain = match self {
            Form::Anthropic => id.bytes().all(name::is_of_tool_name),
            Form::OpenAi | Form::Responses | Form::LangChain => {
                !id.chars().any(|c| c.is_whitespace() || crate::json::is_forbidden(c))
            }
        };
        is_plain && !id.is_empty() && id.len() <= self.call_id_bytes_max()
    }

    fn call_id_expected(self) -> String {
        let bytes_max = self.call_id_bytes_max();
        match self {
            Form::Anthropic => format!("1 to {bytes_max} of a-z, A-Z, 0-9, '_' and '-'"),
            Form::OpenAi | Form::Responses | Form::LangChain => {
                format!("1 to {bytes_max} bytes without spaces")
            }
        }
    }
}

impl FromStr for Form {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Form, Malformed> {
        let known = Form::ALL.into_iter().find(|form| form.as_str() == text);
        known.ok_or_else(|| Malformed::new("form", "openai, responses, anthropic or langchain"))
    }
}

/// Why JSON input is malformed, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{field}: expected {expected}")]
pub struct Malformed {
    /// As in `tool_calls[2].id`.
    pub field: String,
    pub expected: String,
}

impl Malformed {
    fn new(field: impl Into<String>, expected: impl Into<String>) -> Malformed {
        Malformed { field: field.into(), expected: expected.into() }
    }

    /// The same error, with the path seen from one level further out.
    pub fn within(self, place: &str) -> Malformed {
        let is_joined = place.is_empty() || self.field.is_empty() || self.field.starts_with('[');
        let joint = if is_joined { "" } else { "." };
        Malformed { field: format!("{place}{joint}{}", self.field), expected: self.expected }
    }
}
