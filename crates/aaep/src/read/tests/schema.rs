//! The JSON Schemas that we publish, generated from the tables, so that they agree with the reader.
//! The files are in `schemas/`; a test compares them.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::CONTEXT;
use crate::read::core::{CORE_TYPES, Core, ENVELOPE};
use crate::read::form::{Form, ID_CHARS_MAX};
use crate::read::messages::{ANSWER_CHARS_MAX, MANIFEST, MESSAGE_TYPES};
use crate::read::table::{Kind, Others, Shape};
use crate::schemas::SCHEMAS;

#[test]
fn the_files_are_what_the_tables_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/schemas");
    let made = all();
    for (name, schema) in &made {
        let text = serde_json::to_string_pretty(schema).unwrap() + "\n";
        let file = folder.join(format!("{name}.json"));
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            std::fs::write(&file, &text).unwrap();
            continue;
        }
        let published = SCHEMAS.iter().find(|(one, _)| one == name).map(|(_, text)| *text);
        assert!(
            published == Some(&text),
            "{name}.json differs: run UPDATE_SCHEMAS=1 cargo test -p tasuki-protocol"
        );
    }
    assert_eq!(made.len(), SCHEMAS.len());
}

/// Every schema, by the name of its file.
fn all() -> Vec<(String, Value)> {
    let mut schemas = vec![("envelope".to_owned(), titled("What all events have", envelope()))];
    for core in &CORE_TYPES {
        let mut schema = envelope();
        extend(&mut schema, &core.shape);
        schema["properties"]["type"] = json!({"const": core.name});
        if core.critical.is_some() {
            schema["properties"]["urgency"] = json!({"const": "critical"});
        }
        if core.core == Core::AwaitingConfirmation {
            schema["if"] = json!({
                "properties": {"irreversible": {"const": true},
                    "risk_level": {"enum": ["medium", "high"]}},
                "required": ["irreversible", "risk_level"],
            });
            schema["then"] = json!({"properties": {"default_decision": {"const": "reject"}}});
        }
        let name = core.name.trim_start_matches("aaep:");
        schemas.push((name.to_owned(), titled(&format!("The event {}", core.name), schema)));
    }
    for message in MESSAGE_TYPES.iter().chain([&MANIFEST]) {
        let mut schema = kind(&message.kind);
        schema["properties"]["type"] = json!({"const": message.name});
        let name = message.name.trim_start_matches("aaep:");
        schemas.push((name.to_owned(), titled(&format!("The message {}", message.name), schema)));
    }
    schemas
}

fn titled(title: &str, schema: Value) -> Value {
    let mut whole = Map::new();
    whole.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    whole.insert("title".to_owned(), json!(title));
    whole.extend(schema.as_object().cloned().unwrap_or_default());
    Value::Object(whole)
}

fn envelope() -> Value {
    object(&ENVELOPE)
}

fn extend(schema: &mut Value, shape: &Shape) {
    for field in shape.fields {
        schema["properties"][field.name] = kind(&field.kind);
        if field.required {
            schema["required"].as_array_mut().unwrap().push(json!(field.name));
        }
    }
}

fn object(shape: &Shape) -> Value {
    let mut schema = json!({"type": "object", "required": [], "properties": {}});
    extend(&mut schema, shape);
    match shape.others {
        Others::Pass => {}
        Others::Refused => schema["additionalProperties"] = json!(false),
        Others::Objects => schema["additionalProperties"] = json!({"type": "object"}),
    }
    if shape.min_fields > 0 {
        schema["minProperties"] = json!(shape.min_fields);
    }
    schema
}

fn kind(kind: &Kind) -> Value {
    match kind {
        Kind::Text { form, min, max } => text(*form, *min, *max),
        Kind::Word(words) => json!({"type": "string", "enum": words}),
        Kind::Integer { min, max: u64::MAX } => json!({"type": "integer", "minimum": min}),
        Kind::Integer { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
        Kind::Level(levels) => json!({"type": "integer", "enum": levels}),
        Kind::Number { min, max } => json!({"type": "number", "minimum": min, "maximum": max}),
        Kind::Truth => json!({"type": "boolean"}),
        Kind::List { items, min, max, unique } => {
            let mut schema = json!({"type": "array", "items": self::kind(items)});
            if *min > 0 {
                schema["minItems"] = json!(min);
            }
            if *max < usize::MAX {
                schema["maxItems"] = json!(max);
            }
            if *unique {
                schema["uniqueItems"] = json!(true);
            }
            schema
        }
        Kind::Object(shape) | Kind::Choice(shape) => object(shape),
        Kind::Open | Kind::OpenText => json!({"type": "object"}),
        Kind::Context => json!({"oneOf": [
            {"const": CONTEXT},
            {"type": "array", "minItems": 1, "prefixItems": [{"const": CONTEXT}],
                "items": {"type": "string", "format": "uri"}},
        ]}),
        Kind::Extensions => json!({"type": "object", "additionalProperties": {"type": "object"}}),
        Kind::Answer => json!({"oneOf": [
            {"type": "string", "minLength": 1, "maxLength": ANSWER_CHARS_MAX},
            {"type": "boolean"},
            {"type": "number"},
        ]}),
        Kind::Any => json!(true),
    }
}

fn text(form: Form, min: usize, max: usize) -> Value {
    let mut schema = json!({"type": "string"});
    if min > 0 {
        schema["minLength"] = json!(min);
    }
    if max < usize::MAX {
        schema["maxLength"] = json!(max);
    }
    if form == Form::Uri {
        schema["format"] = json!("uri");
    } else if form == Form::Moment {
        schema["format"] = json!("date-time");
    } else if let Some(pattern) = pattern(form) {
        schema["pattern"] = json!(pattern);
    }
    schema
}

/// A form as a regular expression.
fn pattern(form: Form) -> Option<String> {
    Some(match form {
        Form::Any | Form::Piece | Form::Uri | Form::Moment => return None,
        Form::Id(prefix) => format!("^{prefix}[A-Za-z0-9]{{1,{ID_CHARS_MAX}}}$"),
        Form::Version => r"^[0-9]+\.[0-9]+\.[0-9]+(-[A-Za-z0-9.-]+)?$".to_owned(),
        Form::Language => "^[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8})*$".to_owned(),
        Form::Script => "^[A-Z][a-z]{3}$".to_owned(),
        Form::Tool => "^[A-Za-z_][A-Za-z0-9_.-]{0,255}$".to_owned(),
        Form::ErrorCode => "^[A-Z][A-Z0-9_]{1,63}$".to_owned(),
        Form::ReasonCode => "^[a-z][a-z0-9_]{1,63}$".to_owned(),
        Form::MediaType => "^[a-zA-Z][a-zA-Z0-9.+_-]*/[a-zA-Z][a-zA-Z0-9.+_-]*$".to_owned(),
        Form::Signed => r"^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$".to_owned(),
        Form::Hash => "^[0-9a-f]{64}$".to_owned(),
    })
}
