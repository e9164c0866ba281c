//! One message of a history, in any form: the speaker, and its parts.

mod anthropic;
mod langchain;
mod openai;
mod responses;

use serde_json::{Map, Value};

pub(super) use self::langchain::{Wrapping, speaker_place, wrapped, wrapping};
pub(super) use self::responses::is_response;
use super::{Form, Malformed};

/// A message, independent of its form.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    pub(super) speaker: Speaker,
    /// The agent that speaks, if the form names it.
    pub(super) name: Option<&'a str>,
    pub(super) parts: Vec<Part<'a>>,
    /// The message itself says that the work came back.
    pub(super) is_back: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    System,
    User,
    Assistant,
    /// A message that is nothing but a result.
    Tool,
}

#[derive(Debug)]
pub(super) enum Part<'a> {
    Text(&'a str),
    Call(RawCall<'a>),
    Result(RawResult<'a>),
    /// Images, thinking, and any other part.
    Other,
}

#[derive(Debug)]
pub(super) struct RawCall<'a> {
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    pub(super) arguments: Arguments<'a>,
    /// Its place in the message, as in `tool_calls[2]`.
    pub(super) place: String,
    /// The places of its id and of its name in the call, as in `id` and `function.name`.
    pub(super) id_place: &'static str,
    pub(super) name_place: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Arguments<'a> {
    Text(&'a str),
    Object(&'a Map<String, Value>),
}

#[derive(Debug)]
pub(super) struct RawResult<'a> {
    pub(super) call_id: &'a str,
    pub(super) text: String,
    pub(super) is_error: bool,
}

impl<'a> Turn<'a> {
    pub(super) fn read(form: Form, message: &'a Value) -> Result<Turn<'a>, Malformed> {
        match form {
            Form::OpenAi => openai::read(message),
            Form::Responses => responses::read(message),
            Form::Anthropic => anthropic::read(message),
            Form::LangChain => langchain::read(message),
        }
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = &RawCall<'a>> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            Part::Text(_) | Part::Result(_) | Part::Other => None,
        })
    }

    pub(super) fn results(&self) -> impl Iterator<Item = &RawResult<'a>> {
        self.parts.iter().filter_map(|part| match part {
            Part::Result(result) => Some(result),
            Part::Text(_) | Part::Call(_) | Part::Other => None,
        })
    }
}

/// The form of a history, judged by the first message that tells.
pub fn form_of(history: &[Value]) -> Form {
    let telling = history.iter().find_map(|message| {
        let is = |name: &str| message.get(name).is_some();
        if responses::is_telling(message) {
            return Some(Form::Responses);
        }
        if is("lc") || (is("type") && !is("role")) || is("data") {
            return Some(Form::LangChain);
        }
        if let Some(calls) = message.get("tool_calls").and_then(Value::as_array)
            && let Some(call) = calls.first()
        {
            let is_bare = call.get("args").is_some() && call.get("function").is_none();
            return Some(if is_bare { Form::LangChain } else { Form::OpenAi });
        }
        if is("tool_call_id") {
            return Some(Form::OpenAi);
        }
        let blocks = message.get("content").and_then(Value::as_array)?;
        let kinds = blocks.iter().filter_map(|block| block.get("type")?.as_str());
        let is_telling = |kind: &str| matches!(kind, "tool_use" | "tool_result" | "thinking");
        kinds.into_iter().any(is_telling).then_some(Form::Anthropic)
    });
    telling.unwrap_or(Form::OpenAi)
}

fn object(value: &Value) -> Result<&Map<String, Value>, Malformed> {
    value.as_object().ok_or_else(|| Malformed::new("", "an object"))
}

fn string<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<&'a str, Malformed> {
    let text = fields.get(name).and_then(Value::as_str);
    text.ok_or_else(|| Malformed::new(name, "a text"))
}

/// A field that may be missing or null.
fn optional<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, Malformed> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            value.as_str().map(Some).ok_or_else(|| Malformed::new(name, "a text, or none"))
        }
    }
}

/// A list that may be missing or null.
fn list<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<&'a [Value], Malformed> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(&[]),
        Some(value) => match value.as_array() {
            Some(items) => Ok(items),
            None => Err(Malformed::new(name, "a list")),
        },
    }
}

/// The text of a part that its reader is meant to see. Reasoning is not.
fn shown_text(part: &Value) -> Option<&str> {
    let kind = part.get("type").and_then(Value::as_str);
    let is_shown = matches!(kind, None | Some("text" | "input_text" | "output_text"));
    part.get("text").and_then(Value::as_str).filter(|_| is_shown)
}

/// The text of a content, whether it is one text or a list of blocks.
fn plain_text(content: Option<&Value>) -> String {
    let Some(content) = content else { return String::new() };
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let blocks = content.as_array().map_or(&[][..], Vec::as_slice);
    let texts = blocks.iter().filter_map(|block| match block.as_str() {
        Some(text) => Some(text),
        None => block.get("text")?.as_str(),
    });
    texts.collect::<Vec<_>>().join("\n")
}
