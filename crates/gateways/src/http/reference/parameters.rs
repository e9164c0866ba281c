//! The parameters of an operation: in its path, in a header and in its query.

use engine::read::query::LIST_ROWS_MAX;
use protocol::ids::{
    AgentId, ConversationId, FileId, GraphId, HandoffId, MessageId, SessionId, TeamspaceId,
    TokenId, TransferId, UploadId,
};
use protocol::json::INTEGER_MAX;
use protocol::sealed_cursor;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use crate::http::operations::parameters::{IDEMPOTENCY_KEY, description_of};
use crate::http::reference::name_of;
use crate::http::shared::input::KEY_BYTES_MAX;
use crate::http::shared::operation::{MakeSchema, Operation, schema};

/// The types of what a path names. The other names are texts.
const IN_PATHS: [(&str, MakeSchema); 11] = [
    ("agent", schema::<AgentId>),
    ("conversation", schema::<ConversationId>),
    ("file", schema::<FileId>),
    ("graph", schema::<GraphId>),
    ("handoff", schema::<HandoffId>),
    ("message", schema::<MessageId>),
    ("queue", schema::<AgentId>),
    ("session", schema::<SessionId>),
    ("token", schema::<TokenId>),
    ("transfer", schema::<TransferId>),
    ("upload", schema::<UploadId>),
];

/// Parts of a path that are numbers.
const NUMBERS_IN_PATHS: [&str; 2] = ["index", "number"];

pub fn parameters(operation: &Operation, generator: &mut SchemaGenerator) -> Vec<Value> {
    let mut parameters = Vec::new();
    for part in operation.path.split('/') {
        if let Some(name) = part.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            parameters.push(parameter("path", name, true, of_path(name, generator)));
        }
    }
    if operation.method != "get" && operation.is_keyed {
        let schema = json!({ "type": "string", "maxLength": KEY_BYTES_MAX, "pattern": "^[!-~]+$" });
        parameters.push(parameter("header", IDEMPOTENCY_KEY, false, schema));
    }
    if let Some(query) = operation.query {
        let schema = query(generator).to_value();
        let definition = name_of(&schema).and_then(|name| generator.definitions().get(name));
        let definition = definition.unwrap_or(&Value::Null);
        let required = definition["required"].as_array().into_iter().flatten();
        let required: Vec<_> = required.filter_map(Value::as_str).collect();
        for (name, schema) in definition["properties"].as_object().into_iter().flatten() {
            let is_required = required.contains(&name.as_str());
            let schema = of_query(operation.id, name, schema);
            parameters.push(parameter("query", name, is_required, schema));
        }
    }
    parameters
}

fn of_path(name: &str, generator: &mut SchemaGenerator) -> Value {
    if NUMBERS_IN_PATHS.contains(&name) {
        return json!({ "type": "integer", "minimum": 0, "maximum": INTEGER_MAX });
    }
    match IN_PATHS.iter().find(|(known, _)| *known == name) {
        Some((_, schema)) => schema(generator).to_value(),
        None => json!({ "type": "string", "minLength": 1 }),
    }
}

/// A query has text only, and a parameter that is not given is left out. So none is `null`, and a
/// number is published as one.
fn of_query(operation: &str, name: &str, schema: &Value) -> Value {
    let mut schema = schema.clone();
    for keyword in ["type", "enum", "anyOf"] {
        let Some(choices) = schema.get_mut(keyword).and_then(Value::as_array_mut) else { continue };
        choices.retain(|choice| {
            !choice.is_null() && choice != "null" && choice["type"] != json!("null")
        });
        if let ("type", [only]) = (keyword, choices.as_slice()) {
            schema["type"] = only.clone();
        }
    }
    if schema.get("default").is_some_and(Value::is_null)
        && let Some(fields) = schema.as_object_mut()
    {
        fields.remove("default");
    }
    match (operation, name) {
        (_, "limit") => be_number(&mut schema, 1, LIST_ROWS_MAX as u64),
        ("read_transcript", "after")
        | ("save_graph", "version")
        | ("append_to_upload", "offset") => {
            be_number(&mut schema, 0, INTEGER_MAX);
        }
        // This list goes by names, and its cursor is one.
        ("list_teamspaces", "cursor") => {
            schema = TeamspaceId::json_schema(&mut SchemaGenerator::default()).to_value();
        }
        ("follow_events" | "list_notices", "after") | ("acp_inbox", "read_until") => {
            schema["pattern"] = sealed_cursor::OR_BEGINNING.into();
        }
        (_, "cursor" | "after") => schema["pattern"] = sealed_cursor::PATTERN.into(),
        (_, _) => {}
    }
    schema
}

fn be_number(schema: &mut Value, min: u64, max: u64) {
    schema["type"] = "integer".into();
    (schema["minimum"], schema["maximum"]) = (min.into(), max.into());
}

fn parameter(place: &str, name: &str, is_required: bool, schema: Value) -> Value {
    let own = schema["description"].as_str();
    let description = own.or_else(|| description_of(name)).unwrap_or_default();
    json!({
        "name": name, "in": place, "required": is_required, "description": description,
        "schema": schema,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::http::openapi;

    fn all() -> Vec<(String, Value)> {
        let document = openapi();
        let paths = document["paths"].as_object().expect("paths");
        let operations = paths.values().filter_map(Value::as_object).flat_map(Map::values);
        let of_one = |it: &Value| {
            let id = it["operationId"].as_str().expect("an id").to_owned();
            let parameters = it["parameters"].as_array().cloned().unwrap_or_default();
            parameters.into_iter().map(move |parameter| (id.clone(), parameter))
        };
        operations.flat_map(of_one).collect()
    }

    #[test]
    fn no_query_parameter_is_null() {
        for (id, parameter) in all() {
            let text = parameter.to_string();
            assert!(!text.contains("null"), "{id}: {text}");
        }
    }

    /// What a client must know to make a parameter that the server does not refuse for its form.
    #[test]
    fn parameters_are_published_as_what_they_are() {
        let number = |min: u64, max: u64| (Some("integer"), Some(min), Some(max), None);
        let text = |pattern: &'static str| (Some("string"), None, None, Some(pattern));
        let mut n_found = 0;
        for (id, parameter) in all() {
            let expected = match (id.as_str(), parameter["name"].as_str().unwrap_or_default()) {
                (_, "limit") => number(1, 200),
                ("read_transcript", "after") | ("save_graph", "version") => number(0, INTEGER_MAX),
                ("append_to_upload", "offset") => number(0, INTEGER_MAX),
                ("download_attachment", "index" | "number") => number(0, INTEGER_MAX),
                ("list_teamspaces", "cursor") => text("^[a-z0-9][a-z0-9._-]*$"),
                ("follow_events" | "list_notices", "after") | ("acp_inbox", "read_until") => {
                    text(r"^(0|cur_[A-Za-z0-9_-]{32})$")
                }
                (_, "cursor" | "after") => text("^cur_[A-Za-z0-9_-]{32}$"),
                (_, _) => continue,
            };
            let schema = &parameter["schema"];
            let found = (
                schema["type"].as_str(),
                schema["minimum"].as_u64(),
                schema["maximum"].as_u64(),
                schema["pattern"].as_str(),
            );
            assert_eq!(found, expected, "{id}: {parameter}");
            n_found += 1;
        }
        assert!(n_found >= 20, "{n_found}");
    }
}
