//! Our members of an event: `extensions` with our name.

use serde_json::{Map, Value, json};

use super::{CONTEXT, EXTENSION, EXTENSION_CONTEXT};

/// Members of our extension that only the server sets. Listeners rely on them.
const MARKS: [&str; 13] = [
    "by",
    "due_at",
    "merged",
    "n_events",
    "outcome",
    "requested_by",
    "requested_by_event",
    "requested_by_session",
    "seconds_left",
    "settled",
    "stands",
    "texts_in",
    "transfer_id",
];

/// Adds a member to our extension of an event.
pub fn put_into_extension(document: &mut Map<String, Value>, name: &str, value: Value) {
    let mut contexts = match document.remove("@context") {
        Some(Value::Array(all)) => all,
        Some(one) => vec![one],
        None => vec![CONTEXT.into()],
    };
    if !contexts.iter().any(|one| one == EXTENSION_CONTEXT) {
        contexts.push(EXTENSION_CONTEXT.into());
    }
    document.insert("@context".to_owned(), contexts.into());
    let extensions = document.entry("extensions").or_insert_with(|| json!({}));
    if !extensions[EXTENSION].is_object() {
        extensions[EXTENSION] = json!({});
    }
    extensions[EXTENSION][name] = value;
}

/// Removes a member from our extension. If nothing is left there, the extension is removed too.
pub fn take_from_extension(document: &mut Map<String, Value>, name: &str) {
    let Some(Value::Object(extensions)) = document.get_mut("extensions") else { return };
    let Some(Value::Object(ours)) = extensions.get_mut(EXTENSION) else { return };
    if ours.remove(name).is_none() || !ours.is_empty() {
        return;
    }
    extensions.remove(EXTENSION);
    if extensions.is_empty() {
        document.remove("extensions");
    }
    let Some(Value::Array(contexts)) = document.get_mut("@context") else { return };
    contexts.retain(|one| one != EXTENSION_CONTEXT);
    if let [one] = contexts.as_slice() {
        let one = one.clone();
        document.insert("@context".to_owned(), one);
    }
}

/// A producer's event without the server's members, if it has any. The record keeps them as they
/// were sent.
pub fn without_marks(text: &str) -> Option<String> {
    // Most events do not name our extension and need no parsing. An escaped name may be ours.
    if !text.contains(EXTENSION) && !text.contains('\\') {
        return None;
    }
    let mut document: Map<String, Value> = serde_json::from_str(text).ok()?;
    let ours = document.get("extensions")?.get(EXTENSION)?.as_object()?;
    let forged: Vec<_> = MARKS.iter().filter(|name| ours.contains_key(**name)).collect();
    if forged.is_empty() {
        return None;
    }
    for name in forged {
        take_from_extension(&mut document, name);
    }
    Some(Value::Object(document).to_string())
}
