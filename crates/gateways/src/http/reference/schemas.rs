//! The schemas of the reference. Required fields of a request and guaranteed fields of an answer
//! differ: a type that is in both may have two schemas, and then two names.

use std::collections::BTreeSet;

use protocol::form;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::http::reference::plain_text::RequestReader;

/// Where definitions are in the document.
const PATH: &str = "#/components/schemas/";

/// After the name of a type whose answers differ from requests.
const SHOWN: &str = "Shown";

pub struct Schemas {
    pub requests: SchemaGenerator,
    pub answers: SchemaGenerator,
}

impl Schemas {
    pub fn new() -> Self {
        let settings = || {
            let mut settings = form::settings();
            settings.definitions_path = "/components/schemas".into();
            settings
        };
        Self {
            requests: settings().into_generator(),
            answers: SchemaSettings::for_serialize(settings()).into_generator(),
        }
    }

    /// All definitions. `answers` are the parts of the document that refer to those of answers.
    pub fn finish<'d>(
        &mut self,
        answers: impl Iterator<Item = &'d mut Value>,
    ) -> Map<String, Value> {
        let mut all = self.requests.take_definitions(true);
        let of_requests: Vec<_> = all.keys().cloned().collect();
        let shown = self.answers.take_definitions(true);
        let differing = differing(&all, &shown);
        for (name, mut definition) in shown {
            rename(&mut definition, &differing);
            match differing.contains(&name) {
                true => all.insert(format!("{name}{SHOWN}"), definition),
                false => all.insert(name, definition),
            };
        }
        answers.for_each(|part| rename(part, &differing));
        for name in of_requests {
            let reader = RequestReader::of(&name);
            all.get_mut(&name).into_iter().for_each(|schema| reader.add_refusals(schema));
        }
        all.extend(RequestReader::ALL.map(|it| (it.any().to_owned(), it.any_value())));
        all.values_mut().for_each(simplify);
        all
    }
}

/// The names whose schema differs in answers, or that refer to such a name.
fn differing(requests: &Map<String, Value>, answers: &Map<String, Value>) -> BTreeSet<String> {
    let shared = || answers.iter().filter(|(name, _)| requests.contains_key(*name));
    let mut differing: BTreeSet<String> = shared()
        .filter(|(name, definition)| requests[*name] != **definition)
        .map(|(name, _)| name.clone())
        .collect();
    loop {
        let n_before = differing.len();
        for (name, definition) in shared() {
            if differing.iter().any(|other| refers_to(definition, other)) {
                differing.insert(name.clone());
            }
        }
        if differing.len() == n_before {
            return differing;
        }
    }
}

fn refers_to(value: &Value, name: &str) -> bool {
    match value {
        Value::Object(fields) => {
            let own = fields.get("$ref").and_then(Value::as_str);
            own.and_then(|own| own.strip_prefix(PATH)) == Some(name)
                || fields.values().any(|inner| refers_to(inner, name))
        }
        Value::Array(items) => items.iter().any(|inner| refers_to(inner, name)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn rename(value: &mut Value, differing: &BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(target)) = fields.get_mut("$ref")
                && target.strip_prefix(PATH).is_some_and(|name| differing.contains(name))
            {
                target.push_str(SHOWN);
            }
            fields.values_mut().for_each(|inner| rename(inner, differing));
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| rename(inner, differing)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The same schema in words that every generator of clients knows: `{}` for what may be anything,
/// and one `enum` for a choice of names.
pub fn simplify(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            join_choices(fields);
            for (name, inner) in fields.iter_mut() {
                match (name.as_str(), &mut *inner) {
                    ("items", Value::Bool(true)) => *inner = json!({}),
                    ("properties", Value::Object(members)) => {
                        members.values_mut().filter(|it| **it == json!(true)).for_each(|it| {
                            *it = json!({});
                        });
                        members.values_mut().for_each(simplify);
                    }
                    ("example" | "default" | "enum" | "const", _) => {}
                    (_, inner) => simplify(inner),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn join_choices(fields: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = fields.get("oneOf") else { return };
    let name = |choice: &Value| choice.get("const").and_then(Value::as_str).map(str::to_owned);
    let Some(names) = choices.iter().map(name).collect::<Option<Vec<_>>>() else { return };
    let told = choices.iter().zip(&names).filter_map(|(choice, name)| {
        let about = choice.get("description")?.as_str()?;
        Some(format!("`{name}`: {about}"))
    });
    let own = fields.get("description").and_then(Value::as_str).map(str::to_owned);
    let told: Vec<_> = own.into_iter().chain(told).collect();
    if !told.is_empty() {
        fields.insert("description".to_owned(), told.join("\n\n").into());
    }
    fields.remove("oneOf");
    fields.insert("type".to_owned(), "string".into());
    fields.insert("enum".to_owned(), names.into());
}
