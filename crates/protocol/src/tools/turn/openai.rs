//! A message of Chat Completions.

use serde_json::{Map, Value};

use super::{
    Arguments, Part, RawCall, RawResult, Speaker, Turn, list, object, optional, plain_text,
    shown_text, string,
};
use crate::tools::Malformed;

const ROLES: &str = "system, developer, user, assistant or tool";

pub(super) fn read(message: &Value) -> Result<Turn<'_>, Malformed> {
    let fields = object(message)?;
    let speaker = match string(fields, "role")? {
        "system" | "developer" => Speaker::System,
        "user" => Speaker::User,
        "assistant" => Speaker::Assistant,
        "tool" => Speaker::Tool,
        _ => return Err(Malformed::new("role", ROLES)),
    };
    let name = optional(fields, "name")?;
    let content = contents(fields)?;
    let parts = match speaker {
        Speaker::Tool => {
            let call_id = string(fields, "tool_call_id")?;
            let text = plain_text(fields.get("content"));
            vec![Part::Result(RawResult { call_id, text, is_error: false })]
        }
        Speaker::Assistant => {
            let mut parts = content;
            for (index, call) in list(fields, "tool_calls")?.iter().enumerate() {
                let place = format!("tool_calls[{index}]");
                parts.push(Part::Call(read_call(call, &place).map_err(|e| e.within(&place))?));
            }
            parts
        }
        Speaker::System | Speaker::User => content,
    };
    Ok(Turn { speaker, name, parts, is_back: false })
}

fn contents(fields: &Map<String, Value>) -> Result<Vec<Part<'_>>, Malformed> {
    let Some(content) = fields.get("content").filter(|content| !content.is_null()) else {
        return Ok(Vec::new());
    };
    if let Some(text) = content.as_str() {
        return Ok(vec![Part::Text(text)]);
    }
    let expected = || Malformed::new("content", "a text, or a list of parts with a type");
    let parts = content.as_array().ok_or_else(expected)?;
    let read = |part: &'_ Value| match part.get("type").and_then(Value::as_str) {
        Some("text") => part.get("text").and_then(Value::as_str).is_some(),
        Some(_) => true,
        None => false,
    };
    if !parts.iter().all(read) {
        return Err(expected());
    }
    let is_foreign = |part: &Value| {
        matches!(part.get("type").and_then(Value::as_str), Some("tool_use" | "tool_result"))
    };
    if let Some(index) = parts.iter().position(is_foreign) {
        let place = format!("content[{index}].type");
        return Err(Malformed::new(&place, "a part of this form; `tool_use` is of `anthropic`"));
    }
    Ok(parts.iter().map(|part| shown_text(part).map_or(Part::Other, Part::Text)).collect())
}

/// A call of a function, or of a custom tool, whose input is free text.
pub(super) fn read_call<'a>(call: &'a Value, place: &str) -> Result<RawCall<'a>, Malformed> {
    let fields = object(call)?;
    let place = place.to_owned();
    let id = string(fields, "id")?;
    if fields.get("type").and_then(Value::as_str) == Some("custom") {
        let custom = fields.get("custom").unwrap_or(&Value::Null);
        let custom = object(custom).map_err(|e| e.within("custom"))?;
        let name = string(custom, "name").map_err(|e| e.within("custom"))?;
        let input = string(custom, "input").map_err(|e| e.within("custom"))?;
        let (arguments, name_place) = (Arguments::Text(input), "custom.name");
        return Ok(RawCall { id, name, arguments, place, id_place: "id", name_place });
    }
    let function = fields.get("function").unwrap_or(&Value::Null);
    let function = object(function).map_err(|e| e.within("function"))?;
    let name = string(function, "name").map_err(|e| e.within("function"))?;
    let arguments = match function.get("arguments") {
        Some(Value::String(text)) => Arguments::Text(text),
        Some(Value::Object(fields)) => Arguments::Object(fields),
        None | Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) => {
            return Err(Malformed::new("function.arguments", "JSON as a text, or an object"));
        }
    };
    let (id_place, name_place) = ("id", "function.name");
    Ok(RawCall { id, name, arguments, place, id_place, name_place })
}
