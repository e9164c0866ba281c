//! An item of OpenAI's Responses API. The turn of a model is a whole response: an object with the
//! items in `output`.

use serde_json::{Map, Value};

use super::{
    Arguments, Part, RawCall, RawResult, Speaker, Turn, list, object, plain_text, shown_text,
    string,
};
use crate::tools::Malformed;

const ROLES: &str = "system, developer, user or assistant";

/// The types of items that no other form has.
const ITEMS: [&str; 7] = [
    "message",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "reasoning",
    "item_reference",
];

/// Whether a message is an item of this form, and of no other.
pub(super) fn is_telling(message: &Value) -> bool {
    let kind = message.get("type").and_then(Value::as_str);
    kind.is_some_and(|kind| ITEMS.contains(&kind)) || is_response(message)
}

pub(super) fn read(message: &Value) -> Result<Turn<'_>, Malformed> {
    let fields = object(message)?;
    if is_response(message) { whole_turn(fields) } else { item(fields, "") }
}

/// Whether it is a whole response. Results of calls have an `output`, too, and a type.
pub(in crate::tools) fn is_response(message: &Value) -> bool {
    message.get("output").is_some_and(is_list) && message.get("type").is_none()
}

/// All that a model said and called in one response.
fn whole_turn(fields: &Map<String, Value>) -> Result<Turn<'_>, Malformed> {
    let mut parts = Vec::new();
    for (index, value) in list(fields, "output")?.iter().enumerate() {
        let place = format!("output[{index}]");
        let read = object(value).and_then(|fields| item(fields, &place));
        let turn = read.map_err(|error| error.within(&place))?;
        if turn.speaker != Speaker::Assistant {
            return Err(Malformed::new(place, "an item that a model writes"));
        }
        parts.extend(turn.parts);
    }
    Ok(Turn { speaker: Speaker::Assistant, name: None, parts, is_back: false })
}

fn item<'a>(fields: &'a Map<String, Value>, place: &str) -> Result<Turn<'a>, Malformed> {
    let of = |speaker, parts| Turn { speaker, name: None, parts, is_back: false };
    let kind = match fields.get("type") {
        Some(_) => string(fields, "type")?,
        None => "message",
    };
    match kind {
        "message" => message(fields),
        "function_call" => {
            let arguments = match fields.get("arguments") {
                Some(Value::String(text)) => Arguments::Text(text),
                Some(Value::Object(fields)) => Arguments::Object(fields),
                None | Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) => {
                    return Err(Malformed::new("arguments", "JSON as a text, or an object"));
                }
            };
            Ok(of(Speaker::Assistant, vec![Part::Call(call(fields, arguments, place)?)]))
        }
        "custom_tool_call" => {
            let input = Arguments::Text(string(fields, "input")?);
            Ok(of(Speaker::Assistant, vec![Part::Call(call(fields, input, place)?)]))
        }
        "function_call_output" | "custom_tool_call_output" => {
            let call_id = string(fields, "call_id")?;
            let output = fields.get("output").filter(|it| it.is_string() || is_list(it));
            if output.is_none() {
                return Err(Malformed::new("output", "a text, or a list of parts with a type"));
            }
            let text = plain_text(output);
            Ok(of(Speaker::Tool, vec![Part::Result(RawResult { call_id, text, is_error: false })]))
        }
        "human" | "ai" | "system" | "tool" => {
            Err(Malformed::new("type", "an item of this form, such as `message`"))
        }
        // Reasoning, and tools that the provider itself runs.
        _ => Ok(of(Speaker::Assistant, vec![Part::Other])),
    }
}

fn message(fields: &Map<String, Value>) -> Result<Turn<'_>, Malformed> {
    let speaker = match string(fields, "role")? {
        "system" | "developer" => Speaker::System,
        "user" => Speaker::User,
        "assistant" => Speaker::Assistant,
        _ => return Err(Malformed::new("role", ROLES)),
    };
    if fields.contains_key("tool_calls") {
        let expected = "to be left out; calls are items of type `function_call` here";
        return Err(Malformed::new("tool_calls", expected));
    }
    let content = fields.get("content").unwrap_or(&Value::Null);
    let parts = match content {
        Value::String(text) => vec![Part::Text(text)],
        Value::Array(parts) if parts.iter().all(has_type) => {
            parts.iter().map(|part| shown_text(part).map_or(Part::Other, Part::Text)).collect()
        }
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err(Malformed::new("content", "a text, or a list of parts with a type"));
        }
    };
    Ok(Turn { speaker, name: None, parts, is_back: false })
}

fn call<'a>(
    fields: &'a Map<String, Value>,
    arguments: Arguments<'a>,
    place: &str,
) -> Result<RawCall<'a>, Malformed> {
    Ok(RawCall {
        id: string(fields, "call_id")?,
        name: string(fields, "name")?,
        arguments,
        place: place.to_owned(),
        id_place: "call_id",
        name_place: "name",
    })
}

fn is_list(value: &Value) -> bool {
    value.is_array()
}

fn has_type(part: &Value) -> bool {
    let kind = part.get("type").and_then(Value::as_str);
    kind.is_some_and(|kind| !matches!(kind, "tool_use" | "tool_result"))
}
