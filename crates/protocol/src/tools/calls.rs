//! The calls that a model made in one turn: handoffs, and everything else.
//!
//! A turn with ambiguous calls (no id, the same id twice) is refused as a whole, since no history
//! could continue from it. A handoff with invalid arguments is a call like any other: it gets an
//! answer, so that the model can try again.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::definitions::HandoffTools;
use super::turn::{Arguments, Part, RawCall, Speaker, Turn, Wrapping, speaker_place, wrapping};
use super::{CALLS_MAX, CONTEXT_BYTES_MAX, Form, Malformed, REASON_BYTES_MAX, name, text};
use crate::conversation::customer_text::CUSTOMER_TEXT_BYTES_MAX;
use crate::hidden::is_blank;
use crate::ids::{AgentId, NAME_BYTES_MAX};
use crate::json::{self, Bounds, is_forbidden};
use crate::route::graph::HUMAN;

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
    /// short text. `human` for a person.
    pub target: String,
    pub goal: Goal,
    pub reason: Option<String>,
    pub context: Option<String>,
    pub customer_text: Option<String>,
}

/// Whom a model asks for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Goal {
    /// The agent that it names.
    Agent,
    /// A person of this queue, or of the default one.
    Person { queue: Option<AgentId> },
}

/// The calls of an assistant's message. A name that begins with `transfer_to_` or
/// `transfer_back_to_` is always a handoff, offered or not.
pub fn calls(form: Form, turn: &Value, tools: &HandoffTools) -> Result<Vec<Call>, Malformed> {
    let message = turn;
    let turn = Turn::read(form, message)?;
    if turn.speaker != Speaker::Assistant {
        let place = match form {
            Form::OpenAi | Form::Anthropic => "role",
            Form::Responses => "output",
            Form::LangChain => speaker_place(message),
        };
        return Err(Malformed::new(place, "a message of the assistant"));
    }
    let mut known = BTreeSet::new();
    let mut calls = Vec::new();
    for (index, call) in turn.calls().enumerate() {
        let place = placed(form, message, &call.place);
        let invalid =
            |field: &str, expected: String| Err(Malformed::new(field, expected).within(&place));
        if index == CALLS_MAX {
            let list = place.split('[').next().unwrap_or_default();
            return Err(Malformed::new(list, format!("at most {CALLS_MAX} calls")));
        }
        if !form.is_call_id(call.id) {
            return invalid(call.id_place, form.call_id_expected());
        }
        if !known.insert(call.id) {
            return invalid(call.id_place, "an id that no other call of the turn has".to_owned());
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

/// What a turn says besides its calls: the texts that its reader is meant to see.
pub fn words(form: Form, turn: &Value) -> Result<String, Malformed> {
    let turn = Turn::read(form, turn)?;
    let texts = turn.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.trim()).filter(|text| !is_blank(text)),
        Part::Call(_) | Part::Result(_) | Part::Other => None,
    });
    Ok(texts.collect::<Vec<_>>().join("\n\n"))
}

/// Where a call is in the message as it was written.
fn placed(form: Form, message: &Value, place: &str) -> String {
    match (form, wrapping(message)) {
        (Form::LangChain, Wrapping::Data) => format!("data.{place}"),
        (Form::LangChain, Wrapping::Constructor) => format!("kwargs.{place}"),
        (Form::LangChain, Wrapping::Flat)
        | (Form::OpenAi | Form::Responses | Form::Anthropic, _) => place.to_owned(),
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
    if asks_for_person(call, tools) {
        return HUMAN.to_owned();
    }
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
    let is_person = asks_for_person(call, tools);
    let queue = if is_person { take("queue", NAME_BYTES_MAX)? } else { None };
    let target = if is_person {
        if call.name == name::ANY_AGENT {
            take("targetAgent", NAME_BYTES_MAX)?;
        }
        HUMAN.to_owned()
    } else if call.name == name::ANY_AGENT {
        let target = take("targetAgent", NAME_BYTES_MAX)?;
        if reason.is_none() {
            return Err(Malformed::new("reason", "why the conversation is transferred"));
        }
        target.ok_or_else(|| Malformed::new("targetAgent", "the id of an agent"))?
    } else {
        named(call, tools)
    };
    if let Some(unknown) = fields.keys().next() {
        let known = if is_person {
            "no arguments but queue, reason, context and customer_text"
        } else if call.name == name::ANY_AGENT {
            "no arguments but targetAgent, reason, context and customer_text"
        } else {
            "no arguments but reason, context and customer_text"
        };
        return Err(Malformed::new(text::line(unknown, NAME_BYTES_MAX), known));
    }
    let is_id = |queue: String| {
        queue.parse().map_err(|_| Malformed::new("queue", "the id of a queue, or none"))
    };
    let goal = match is_person {
        true => Goal::Person { queue: queue.map(is_id).transpose()? },
        false => Goal::Agent,
    };
    Ok(Request { target, goal, reason, context, customer_text })
}

/// An agent that is called `human` has a tool with another name. A model that has one tool for all
/// agents may name a person there.
fn asks_for_person(call: &RawCall<'_>, tools: &HandoffTools) -> bool {
    let is_named = || {
        let fields = arguments(call.arguments).unwrap_or_default();
        let is_human = fields.get("targetAgent").is_some_and(|target| *target == HUMAN);
        is_human && tools.target(HUMAN).is_none()
    };
    let is_asked = call.name == name::PERSON || (call.name == name::ANY_AGENT && is_named());
    tools.asks_for_person() && is_asked
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
    Ok(if is_blank(&text) { None } else { Some(text) })
}

fn is_name(name: &str) -> bool {
    let is_plain = !name.chars().any(|c| c.is_whitespace() || is_forbidden(c));
    is_plain && !name.is_empty() && name.len() <= CALLED_BYTES_MAX
}

#[cfg(test)]
mod tests;
