//! A message of Anthropic's Messages.

use serde_json::{Map, Value, json};

use super::{Arguments, Part, RawCall, RawResult, Speaker, Turn, object, plain_text, string};
use crate::tools::Malformed;

pub(super) fn read(message: &Value) -> Result<Turn<'_>, Malformed> {
    let fields = object(message)?;
    let speaker = match string(fields, "role")? {
        "system" => Speaker::System,
        "user" => Speaker::User,
        "assistant" => Speaker::Assistant,
        _ => return Err(Malformed::new("role", "user or assistant")),
    };
    if fields.get("tool_calls").is_some_and(|calls| !calls.is_null() && *calls != json!([])) {
        let expected = "to be left out; calls are blocks of `content` here, with type `tool_use`";
        return Err(Malformed::new("tool_calls", expected));
    }
    let content = fields.get("content").unwrap_or(&Value::Null);
    let mut parts = Vec::new();
    if let Some(text) = content.as_str() {
        parts.push(Part::Text(text));
    } else {
        let expected = || Malformed::new("content", "a text, or a list of blocks");
        for (index, block) in content.as_array().ok_or_else(expected)?.iter().enumerate() {
            let place = format!("content[{index}]");
            parts.push(read_block(block, &place).map_err(|e| e.within(&place))?);
        }
    }
    Ok(Turn { speaker, name: None, parts, is_back: false })
}

fn read_block<'a>(block: &'a Value, place: &str) -> Result<Part<'a>, Malformed> {
    let fields = object(block)?;
    match string(fields, "type")? {
        "text" => Ok(Part::Text(string(fields, "text")?)),
        "tool_use" => Ok(Part::Call(RawCall {
            id: string(fields, "id")?,
            name: string(fields, "name")?,
            arguments: input(fields)?,
            place: place.to_owned(),
            id_place: "id",
            name_place: "name",
        })),
        "tool_result" => Ok(Part::Result(RawResult {
            call_id: string(fields, "tool_use_id")?,
            text: result_text(fields)?,
            is_error: match fields.get("is_error") {
                None | Some(Value::Null) => false,
                Some(value) => {
                    value.as_bool().ok_or_else(|| Malformed::new("is_error", "true or false"))?
                }
            },
        })),
        _ => Ok(Part::Other),
    }
}

fn input(fields: &Map<String, Value>) -> Result<Arguments<'_>, Malformed> {
    match fields.get("input") {
        Some(Value::Object(input)) => Ok(Arguments::Object(input)),
        // A client that assembles a stream may have left the arguments as text.
        Some(Value::String(text)) => Ok(Arguments::Text(text)),
        None | Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) => {
            Err(Malformed::new("input", "an object"))
        }
    }
}

fn result_text(fields: &Map<String, Value>) -> Result<String, Malformed> {
    match fields.get("content") {
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            Err(Malformed::new("content", "a text, or a list of blocks"))
        }
        content @ (None | Some(Value::String(_) | Value::Array(_))) => Ok(plain_text(content)),
    }
}
