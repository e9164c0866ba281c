//! A schema with its references resolved and its parts merged, so that one object has all
//! constraints of a place.

use serde_json::{Map, Value, json};

/// Merges a referenced schema with the keywords beside the reference.
pub fn flat(document: &Value, schema: &Value) -> Value {
    let Some(fields) = schema.as_object() else { return json!({}) };
    let mut rest = fields.clone();
    let mut joined = json!({});
    if let Some(Value::String(reference)) = rest.remove("$ref") {
        let found = document.pointer(&reference[1..]).expect("references lead somewhere");
        joined = flat(document, found);
    }
    for part in rest.remove("allOf").as_ref().and_then(Value::as_array).into_iter().flatten() {
        joined = join(document, joined, flat(document, part));
    }
    join(document, joined, Value::Object(rest))
}

fn join(document: &Value, first: Value, second: Value) -> Value {
    let (Value::Object(mut joined), Value::Object(second)) = (first, second) else {
        unreachable!("schemas are objects")
    };
    for (keyword, value) in second {
        let before = joined.remove(&keyword);
        let value = match (keyword.as_str(), before) {
            ("properties", Some(Value::Object(before))) => join_fields(before, value).into(),
            ("required", Some(Value::Array(before))) => {
                let mut names = before;
                names.extend(value.as_array().cloned().unwrap_or_default());
                names.sort_by_key(Value::to_string);
                names.dedup();
                names.into()
            }
            ("items", Some(before)) => join(document, flat(document, &before), value),
            // All patterns hold. That of any text is part of each other one.
            ("pattern", Some(before)) if value == *any_text(document) => before,
            ("type", Some(before)) => {
                let before = names(&before);
                let both = names(&value).into_iter().filter(|name| before.contains(name));
                both.collect::<Vec<_>>().into()
            }
            (_, _) => value,
        };
        joined.insert(keyword, value);
    }
    Value::Object(joined)
}

/// The pattern that every text of a request has.
fn any_text(document: &Value) -> &Value {
    &document["components"]["schemas"]["Json"]["anyOf"][0]["pattern"]
}

fn join_fields(mut fields: Map<String, Value>, more: Value) -> Map<String, Value> {
    for (name, schema) in more.as_object().cloned().unwrap_or_default() {
        let schema = match fields.remove(&name) {
            Some(before) => json!({ "allOf": [before, schema] }),
            None => schema,
        };
        fields.insert(name, schema);
    }
    fields
}

/// The types that a schema names.
pub fn names(types: &Value) -> Vec<String> {
    let listed = types.as_array().into_iter().flatten();
    listed.chain([types]).filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The alternatives of a place, each merged with what holds for all.
pub fn branches(document: &Value, schema: &Value) -> Vec<Value> {
    let whole = flat(document, schema);
    let Value::Object(mut rest) = whole else { unreachable!("schemas are objects") };
    let group = rest.remove("anyOf").or_else(|| rest.remove("oneOf"));
    let Some(Value::Array(group)) = group else { return vec![Value::Object(rest)] };
    let of_group = group.iter().flat_map(|branch| branches(document, branch));
    let joined = of_group.map(|branch| join(document, branch, Value::Object(rest.clone())));
    // The common part may exclude all types of an alternative.
    joined.filter(|branch| branch["type"] != json!([])).collect()
}
