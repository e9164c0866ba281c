//! What the readers of requests refuse in every document, in the published schemas: characters that
//! a person is not shown, and numbers that not every reader holds exactly. `protocol::json` and the
//! reader of AAEP check this for a body as a whole, so the schemas that are checked leave it out.

use protocol::form::{NOT_BLANK, SHOWS_NOTHING};
use protocol::json::INTEGER_MAX;
use serde_json::{Map, Value, json};

/// Which reader a request has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestReader {
    Json,
    /// It takes every number.
    Aaep,
}

/// The refused characters, for a class of a pattern: controls, and what turns the direction of
/// writing. The invisible tags U+E0000 to U+E007F are refused too, but the dialects of patterns
/// have no common escape for them.
const REFUSED: &str = r"\x00-\x08\x0B\x0C\x0E-\x1F\x7F-\x9F\u202A-\u202E\u2066-\u2069";

/// How the classes of our own patterns name the last controls, and the same with the directions.
const LAST_CONTROLS: &str = r"\x7F-\x9F";
const LAST_REFUSED: &str = r"\x7F-\x9F\u202A-\u202E\u2066-\u2069";

/// Keywords that allow every value.
const ANNOTATIONS: [&str; 4] = ["default", "description", "examples", "title"];

impl RequestReader {
    pub const ALL: [Self; 2] = [Self::Json, Self::Aaep];

    /// The reader of the request with this schema.
    pub fn of(name: &str) -> Self {
        if name.starts_with("Aaep") { Self::Aaep } else { Self::Json }
    }

    /// The name of the schema of any value.
    pub fn any(self) -> &'static str {
        match self {
            Self::Json => "Json",
            Self::Aaep => "AaepJson",
        }
    }

    /// The schema of any value.
    pub fn any_value(self) -> Value {
        let mut schema = json!({
            "description": "Any JSON, in which texts and names have no control characters.",
            "anyOf": [
                { "type": "string" },
                { "type": "number" },
                { "type": "boolean" },
                { "type": "null" },
                { "type": "array", "items": true },
                { "type": "object", "additionalProperties": true },
            ],
        });
        self.add_refusals(&mut schema);
        schema
    }

    /// Adds what is refused to a schema and to all schemas inside.
    pub fn add_refusals(self, schema: &mut Value) {
        if *schema == json!(true) {
            *schema = json!({});
        }
        let Some(fields) = schema.as_object_mut() else { return };
        if fields.keys().all(|keyword| ANNOTATIONS.contains(&keyword.as_str())) {
            let reference = format!("#/components/schemas/{}", self.any());
            fields.insert("$ref".to_owned(), reference.into());
            return;
        }
        if has_type(fields, "string") {
            add_pattern(fields);
        }
        if has_type(fields, "number") && self == Self::Json {
            add_end(fields, ["minimum", "exclusiveMinimum"], -exact());
            add_end(fields, ["maximum", "exclusiveMaximum"], exact());
        }
        if has_type(fields, "object") && fields.get("additionalProperties") != Some(&json!(false)) {
            // The caller chooses the names.
            fields.entry("additionalProperties").or_insert(json!(true));
            let names = fields.entry("propertyNames").or_insert_with(|| json!({}));
            names.as_object_mut().into_iter().for_each(add_pattern);
        }
        for keyword in ["items", "additionalProperties"] {
            fields.get_mut(keyword).into_iter().for_each(|inner| self.add_refusals(inner));
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let branches = fields.get_mut(keyword).and_then(Value::as_array_mut);
            branches.into_iter().flatten().for_each(|inner| self.add_refusals(inner));
        }
        let members = fields.get_mut("properties").and_then(Value::as_object_mut);
        members.into_iter().flat_map(Map::values_mut).for_each(|inner| self.add_refusals(inner));
    }
}

fn exact() -> i64 {
    INTEGER_MAX.cast_signed()
}

fn plain() -> String {
    format!("^[^{REFUSED}]*$")
}

fn add_end(fields: &mut Map<String, Value>, [included, excluded]: [&str; 2], end: i64) {
    if !fields.contains_key(included) && !fields.contains_key(excluded) {
        fields.insert(included.to_owned(), end.into());
    }
}

fn has_type(fields: &Map<String, Value>, name: &str) -> bool {
    match fields.get("type") {
        Some(Value::String(only)) => only == name,
        Some(Value::Array(names)) => names.iter().any(|one| one == name),
        Some(_) | None => false,
    }
}

fn add_pattern(fields: &mut Map<String, Value>) {
    if ["const", "enum", "format"].iter().any(|keyword| fields.contains_key(*keyword)) {
        return;
    }
    let pattern = match fields.get("pattern").and_then(Value::as_str) {
        None => plain(),
        Some(NOT_BLANK) => {
            format!(r"^[^{REFUSED}]*[^\s{REFUSED}{SHOWS_NOTHING}][^{REFUSED}]*$")
        }
        Some(own) => own.replace(LAST_CONTROLS, LAST_REFUSED),
    };
    fields.insert("pattern".to_owned(), pattern.into());
}

#[cfg(test)]
mod tests {
    use protocol::form::{Form, LINE};
    use protocol::json::is_forbidden;

    use super::*;

    #[test]
    fn patterns_and_reader_agree_about_each_character() {
        for own in [None, Some(NOT_BLANK), Some(LINE)] {
            let mut schema = json!({ "type": "string" });
            if let Some(own) = own {
                schema["pattern"] = own.into();
            }
            RequestReader::Json.add_refusals(&mut schema);
            let form = Form::new(&schema);
            let is_taken = |text: String| form.check(&text.into()).is_ok();
            for character in (0..=0x3000_u32).filter_map(char::from_u32) {
                let is_plain =
                    !is_forbidden(character) && (own != Some(LINE) || !character.is_control());
                assert_eq!(is_taken(format!("a{character}b")), is_plain, "{own:?} {character:?}");
            }
        }
    }

    #[test]
    fn schemas_of_requests_say_what_the_reader_refuses() {
        let any = json!({ "$ref": "#/components/schemas/Json" });
        let (name, text) =
            (json!({ "pattern": plain() }), json!({ "type": "string", "pattern": plain() }));
        for (schema, expected) in [
            (json!(true), any.clone()),
            (json!({ "type": "integer" }), json!({ "type": "integer" })),
            (json!({ "minItems": 1 }), json!({ "minItems": 1 })),
            (
                json!({ "type": ["number", "boolean"], "exclusiveMinimum": 0 }),
                json!({ "type": ["number", "boolean"], "exclusiveMinimum": 0,
                    "maximum": exact() }),
            ),
            (
                json!({ "type": ["string", "null"], "maxLength": 3 }),
                json!({ "type": ["string", "null"], "maxLength": 3, "pattern": plain() }),
            ),
            (
                json!({ "type": "string", "enum": ["a"] }),
                json!({ "type": "string", "enum": ["a"] }),
            ),
            (
                json!({ "type": "object", "additionalProperties": true }),
                json!({ "type": "object", "additionalProperties": any, "propertyNames": name }),
            ),
            (
                json!({ "type": "object", "additionalProperties": false, "properties": {
                    "list": { "type": "array", "items": { "type": "string" } } } }),
                json!({ "type": "object", "additionalProperties": false, "properties": {
                    "list": { "type": "array", "items": text } } }),
            ),
        ] {
            let mut changed = schema.clone();
            RequestReader::Json.add_refusals(&mut changed);
            assert_eq!(changed, expected, "{schema}");
        }
    }
}
