//! The calls that a model made in one turn: handoffs, and everything else.
//!
//! A turn with ambiguous calls (no id, the same id twice) is refused as a whole, since no history
//! could continue from it. A handoff with invalid arguments is a call like any other: it gets an
//! answer, so that the model can try again.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::definitions::HandoffTools;
use super::turn::{Arguments, RawCall, Speaker, Turn, Wrapping, speaker_place, wrapping};
use super::{CALLS_MAX, CONTEXT_BYTES_MAX, Form, Malformed, REASON_BYTES_MAX, name, text};
use crate::conversation::customer_text::CUSTOMER_TEXT_BYTES_MAX;
use crate::ids::NAME_BYTES_MAX;
use crate::json::{self, Bounds, is_forbidden};

/// The longest name of a tool that any provider takes.
const CALLED_BYTES_MAX: usize = 128;

/// One call of a turn, in the order in which the model made them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub call_id: String,
    pub name: String,
    pub kind: CallKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallKind {
    /// The conversation should go to another agent.
    Handoff(Request),
    /// A handoff whose arguments do not fit the tool.
    Unreadable {
        /// The agent that it names nevertheless; empty if it names none.
        target: String,
        malformed: Malformed,
    },
    /// A tool that is not ours.
    Other,
}

/// The handoff that a model asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// As the model wrote it: an id if it names an agent that it may hand over to, otherwise any
    /// short text.
    pub target: String,
    pub reason: Option<String>,
    pub context: Option<String>,
    pub customer_text: Option<String>,
}

/// The calls of an assistant's message. A name that begins with `transfer_to_` or
/// `transfer_back_to_` is always a handoff, offered or not.
pub fn calls(form: Form, turn: &Value, tools: &HandoffTools) -> Result<Vec<Call>, Malformed> {
    let message = turn;
    let turn = Turn::read(form, message)?;
    if turn.speaker != Speaker::Assistant {
        let place = match form {
            Form::OpenAi | Form::Anthropic => "role",
            Form::LangChain => speaker_place(message),
        };
        return Err(Malformed::new(place, "a message of the assistant"));
    }
    let mut known = BTreeSet::new();
    let mut calls = Vec::new();
    for (index, call) in turn.calls().enumerate() {
        let place = placed(form, message, &call.place);
        let invalid = |field: &str, expected: String| {
            Err(Malformed::new(format!("{place}.{field}"), expected))
        };
        if index == CALLS_MAX {
            let list = place.split('[').next().unwrap_or_default();
            return Err(Malformed::new(list, format!("at most {CALLS_MAX} calls")));
        }
        if !form.is_call_id(call.id) {
            return invalid("id", form.call_id_expected());
        }
        if !known.insert(call.id) {
            return invalid("id", "an id that no other call of the turn has".to_owned());
        }
        if !is_name(call.name) {
            return invalid(
                call.name_place,
                format!("1 to {CALLED_BYTES_MAX} bytes without spaces"),
            );
        }
        calls.push(Call {
            call_id: call.id.to_owned(),
            name: call.name.to_owned(),
            kind: kind(call, tools),
        });
    }
    Ok(calls)
}

/// Where a call is in the message as it was written.
fn placed(form: Form, message: &Value, place: &str) -> String {
    match (form, wrapping(message)) {
        (Form::LangChain, Wrapping::Data) => format!("data.{place}"),
        (Form::LangChain, Wrapping::Constructor) => format!("kwargs.{place}"),
        (Form::LangChain, Wrapping::Flat) | (Form::OpenAi | Form::Anthropic, _) => place.to_owned(),
    }
}

/// Whether a call of this name asks for a handoff.
pub(super) fn is_handoff(name: &str) -> bool {
    name.starts_with(name::FORTH) || name.starts_with(name::BACK)
}

/// The target in a tool's name, as far as the name alone tells.
pub(super) fn baked_in(name: &str) -> String {
    if let Some(id) = name::read(name) {
        return id.to_string();
    }
    let ending = name.strip_prefix(name::FORTH).or_else(|| name.strip_prefix(name::BACK));
    text::line(ending.unwrap_or_default(), NAME_BYTES_MAX)
}

/// The arguments as an object; a call without arguments may have an empty text.
pub(super) fn arguments(given: Arguments<'_>) -> Result<Map<String, Value>, Malformed> {
    let expected = |what: String| Malformed::new("arguments", what);
    match given {
        Arguments::Object(fields) => Ok(fields.clone()),
        Arguments::Text(text) if text.trim().is_empty() => Ok(Map::new()),
        Arguments::Text(text) => match json::parse(text.as_bytes(), &Bounds::default()) {
            Ok(Value::Object(fields)) => Ok(fields),
            Ok(
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::String(_)
                | Value::Array(_),
            ) => Err(expected("an object".to_owned())),
            Err(error) => Err(Malformed::new("arguments", without_expected(&error))),
        },
    }
}

fn without_expected(error: &json::JsonError) -> String {
    let kind = error.kind.to_string();
    let what = kind.strip_prefix("expected ").unwrap_or(&kind);
    if error.path.is_empty() { what.to_owned() } else { format!("{what} in {}", error.path) }
}

fn kind(call: &RawCall<'_>, tools: &HandoffTools) -> CallKind {
    if !is_handoff(call.name) {
        return CallKind::Other;
    }
    match request(call, tools) {
        Ok(request) => CallKind::Handoff(request),
        Err(malformed) => CallKind::Unreadable { target: named(call, tools), malformed },
    }
}

/// The agent that a call names, whatever its other arguments are.
fn named(call: &RawCall<'_>, tools: &HandoffTools) -> String {
    if call.name != name::ANY_AGENT {
        let offered = tools.named(call.name);
        return offered.map_or_else(|| baked_in(call.name), |target| target.id.to_string());
    }
    let fields = arguments(call.arguments).unwrap_or_default();
    let target = fields.get("targetAgent").and_then(Value::as_str).unwrap_or_default();
    text::line(target, NAME_BYTES_MAX)
}

fn request(call: &RawCall<'_>, tools: &HandoffTools) -> Result<Request, Malformed> {
    let mut fields = arguments(call.arguments)?;
    let mut take = |name: &str, bytes_max: usize| match fields.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => checked(name, text, bytes_max),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            Err(Malformed::new(name, "a text"))
        }
    };
    let reason = take("reason", REASON_BYTES_MAX)?;
    let context = take("context", CONTEXT_BYTES_MAX)?;
    let customer_text = take("customer_text", CUSTOMER_TEXT_BYTES_MAX)?;
    let target = if call.name == name::ANY_AGENT {
        let target = take("targetAgent", NAME_BYTES_MAX)?;
        if reason.is_none() {
            return Err(Malformed::new("reason", "why the conversation is transferred"));
        }
        target.ok_or_else(|| Malformed::new("targetAgent", "the id of an agent"))?
    } else {
        named(call, tools)
    };
    if let Some(unknown) = fields.keys().next() {
        let known = if call.name == name::ANY_AGENT {
            "no arguments but targetAgent, reason, context and customer_text"
        } else {
            "no arguments but reason, context and customer_text"
        };
        return Err(Malformed::new(text::line(unknown, NAME_BYTES_MAX), known));
    }
    Ok(Request { target, reason, context, customer_text })
}

/// The text, or an error; a blank text counts as missing.
fn checked(name: &str, text: String, bytes_max: usize) -> Result<Option<String>, Malformed> {
    if text.len() > bytes_max {
        return Err(Malformed::new(name, format!("at most {bytes_max} bytes")));
    }
    if let Some(character) = text.chars().find(|c| is_forbidden(*c)) {
        let what = format!("text without the character U+{:04X}", u32::from(character));
        return Err(Malformed::new(name, what));
    }
    Ok(if text.trim().is_empty() { None } else { Some(text) })
}

fn is_name(name: &str) -> bool {
    let is_plain = !name.chars().any(|c| c.is_whitespace() || is_forbidden(c));
    is_plain && !name.is_empty() && name.len() <= CALLED_BYTES_MAX
}

#[cfg(test)]
mod tests;
