//! A message of LangChain, in any of the serializations of its libraries: flat, with its fields
//! under `data` (`messages_to_dict`), or under `kwargs` (`dumpd`, and `JSON.stringify` in
//! JavaScript).

use serde_json::{Map, Value, json};

use super::{
    Arguments, Part, RawCall, RawResult, Speaker, Turn, list, object, openai, optional, plain_text,
    shown_text, string,
};
use crate::tools::Malformed;

/// How a message is serialized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tools) enum Wrapping {
    Flat,
    Data,
    Constructor,
}

/// The mark that LangGraph puts on the messages with which work comes back.
const IS_BACK: &str = "__is_handoff_back";

const KINDS: &str = "a message that is human, ai, system or tool";

pub(in crate::tools) fn wrapping(message: &Value) -> Wrapping {
    let is = |name: &str| message.get(name).is_some_and(Value::is_object);
    if message.get("lc").is_some() && is("kwargs") {
        Wrapping::Constructor
    } else if is("data") {
        Wrapping::Data
    } else {
        Wrapping::Flat
    }
}

/// Writes a flat message in another serialization.
pub(in crate::tools) fn wrapped(mut flat: Value, wrapping: Wrapping) -> Value {
    match wrapping {
        Wrapping::Flat => flat,
        Wrapping::Data => json!({ "type": flat["type"].clone(), "data": flat }),
        Wrapping::Constructor => {
            let class = match flat["type"].as_str() {
                Some("tool") => "ToolMessage",
                Some("ai") => "AIMessage",
                Some(_) | None => "HumanMessage",
            };
            let id = json!(["langchain", "schema", "messages", class]);
            json!({ "lc": 1, "type": "constructor", "id": id, "kwargs": flat.take() })
        }
    }
}

/// The field that names the speaker.
pub(in crate::tools) fn speaker_place(message: &Value) -> &'static str {
    match wrapping(message) {
        Wrapping::Flat if message.get("type").is_none() && message.get("role").is_some() => "role",
        Wrapping::Flat | Wrapping::Data => "type",
        Wrapping::Constructor => "id",
    }
}

pub(super) fn read(message: &Value) -> Result<Turn<'_>, Malformed> {
    let outer = object(message)?;
    let wrapping = wrapping(message);
    let (kind, fields) = match wrapping {
        Wrapping::Flat => {
            let kind = outer.get("type").or_else(|| outer.get("role"));
            (kind.and_then(Value::as_str), outer)
        }
        Wrapping::Data => (outer.get("type").and_then(Value::as_str), object(&message["data"])?),
        Wrapping::Constructor => {
            let class = outer.get("id").and_then(Value::as_array).and_then(|id| id.last());
            (class.and_then(Value::as_str), object(&message["kwargs"])?)
        }
    };
    let speaker = match kind {
        Some("human" | "user" | "HumanMessage" | "HumanMessageChunk") => Speaker::User,
        Some("ai" | "assistant" | "AIMessage" | "AIMessageChunk") => Speaker::Assistant,
        Some("system" | "developer" | "SystemMessage") => Speaker::System,
        Some("tool" | "ToolMessage" | "ToolMessageChunk") => Speaker::Tool,
        Some(_) | None => return Err(Malformed::new(speaker_place(message), KINDS)),
    };
    read_fields(speaker, fields).map_err(|error| match wrapping {
        Wrapping::Flat => error,
        Wrapping::Data => error.within("data"),
        Wrapping::Constructor => error.within("kwargs"),
    })
}

fn read_fields(speaker: Speaker, fields: &Map<String, Value>) -> Result<Turn<'_>, Malformed> {
    let mut parts = Vec::new();
    match speaker {
        Speaker::Tool => parts.push(Part::Result(read_result(fields)?)),
        Speaker::Assistant => {
            parts.extend(contents(fields)?);
            parts.extend(calls(fields)?.into_iter().map(Part::Call));
        }
        Speaker::System | Speaker::User => parts.extend(contents(fields)?),
    }
    let marks = fields.get("response_metadata");
    let is_back = marks.and_then(|marks| marks.get(IS_BACK)?.as_bool()).unwrap_or(false);
    Ok(Turn { speaker, name: optional(fields, "name")?, parts, is_back })
}

/// The texts. Blocks that repeat a call are not calls: `tool_calls` has all of them.
fn contents(fields: &Map<String, Value>) -> Result<Vec<Part<'_>>, Malformed> {
    let content = fields.get("content").unwrap_or(&Value::Null);
    if let Some(text) = content.as_str() {
        return Ok(vec![Part::Text(text)]);
    }
    // OpenAI's messages have `null` beside their calls, and LangChain takes them as they are.
    if content.is_null() && fields.contains_key("tool_calls") {
        return Ok(Vec::new());
    }
    let expected = || Malformed::new("content", "a text, or a list of texts and blocks");
    let blocks = content.as_array().ok_or_else(expected)?;
    let is_block = |block: &Value| block.is_string() || block.is_object();
    if !blocks.iter().all(is_block) {
        return Err(expected());
    }
    let text = |block| {
        let text = Value::as_str(block);
        text.or_else(|| shown_text(block))
    };
    Ok(blocks.iter().map(|block| text(block).map_or(Part::Other, Part::Text)).collect())
}

/// Calls with unreadable arguments are calls too: providers are sent all of them, and require an
/// answer to each.
fn calls(fields: &Map<String, Value>) -> Result<Vec<RawCall<'_>>, Malformed> {
    let mut calls = Vec::new();
    for name in ["tool_calls", "invalid_tool_calls"] {
        for (index, call) in list(fields, name)?.iter().enumerate() {
            let place = format!("{name}[{index}]");
            calls.push(read_call(call, &place).map_err(|e| e.within(&place))?);
        }
    }
    Ok(calls)
}

fn read_call<'a>(call: &'a Value, place: &str) -> Result<RawCall<'a>, Malformed> {
    let fields = object(call)?;
    if fields.contains_key("function") {
        return openai::read_call(call, place);
    }
    let arguments = match fields.get("args") {
        Some(Value::Object(fields)) => Arguments::Object(fields),
        Some(Value::String(text)) => Arguments::Text(text),
        None | Some(Value::Null) => Arguments::Text(""),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_)) => {
            return Err(Malformed::new("args", "an object"));
        }
    };
    Ok(RawCall {
        id: string(fields, "id")?,
        name: string(fields, "name")?,
        arguments,
        place: place.to_owned(),
        id_place: "id",
        name_place: "name",
    })
}

fn read_result(fields: &Map<String, Value>) -> Result<RawResult<'_>, Malformed> {
    let is_error = match optional(fields, "status")? {
        Some("error") => true,
        Some("success") | None => false,
        Some(_) => return Err(Malformed::new("status", "success or error")),
    };
    let content = fields.get("content").filter(|content| content.is_string() || content.is_array());
    if content.is_none() {
        return Err(Malformed::new("content", "a text, or a list of texts and blocks"));
    }
    let call_id = string(fields, "tool_call_id")?;
    Ok(RawResult { call_id, text: plain_text(content), is_error })
}
