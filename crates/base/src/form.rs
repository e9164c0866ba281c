//! The form of input, as JSON Schema. A type declares the fields. The functions here add what a
//! type cannot express, from the constants that the rules use: lengths, ranges, patterns. [`Form`]
//! validates a value against the result, so the published schema is the one that is checked.
//!
//! JSON Schema counts characters and has no spans of time. For these we use keywords of our own,
//! which other readers ignore: see [`BYTES_MAX`], [`SPAN_MIN`] and [`SPAN_MAX`].

pub mod check;
pub mod keywords;
mod node;
mod span_pattern;
mod words;

pub use check::{Form, Misfit};
pub use keywords::{BYTES_MAX, EXPECTED, SPAN_MAX, SPAN_MIN};

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{Schema, json_schema};
use serde::Serialize;
use serde_json::{Value, json};

use crate::json::INTEGER_MAX;
use crate::time::Span;

/// Characters that show nothing, or no more than a space, inside a class of a pattern. Those beyond
/// U+FFFF cannot be written there in a way that all readers of patterns know.
macro_rules! shows_nothing {
    () => {
        concat!(
            r"\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u202A-\u202E",
            r"\u2060-\u206F\u2800\u2D7F\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFFB"
        )
    };
}

/// For other patterns of text that is not blank.
pub const SHOWS_NOTHING: &str = shows_nothing!();

/// At least one character that can be seen.
pub const NOT_BLANK: &str = concat!(r"[^\s", shows_nothing!(), "]");

/// Not blank, and without line breaks, tabs and other controls.
pub const LINE: &str = concat!(
    r"^[^\x00-\x1F\x7F-\x9F]*[^\s\x00-\x1F\x7F-\x9F",
    shows_nothing!(),
    r"][^\x00-\x1F\x7F-\x9F]*$"
);

/// The same, but blank or empty text is allowed.
const ONE_LINE_OR_NONE: &str = r"^[^\x00-\x1F\x7F-\x9F]*$";

/// What people write in a chat: not blank, with any characters but U+0000.
const SPEECH: &str = concat!(r"^[^\x00]*[^\s\x00", shows_nothing!(), r"][^\x00]*$");

/// The settings from which all our schemas are generated.
pub fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with_transform(RecursiveTransform(bound_integers))
}

/// Every reader of JSON holds integers of this size exactly; `json::parse` refuses larger ones.
fn bound_integers(schema: &mut Schema) {
    let Some(fields) = schema.as_object_mut() else { return };
    let is_integer = match fields.get("type") {
        Some(Value::String(name)) => name == "integer",
        Some(Value::Array(names)) => names.iter().any(|name| name == "integer"),
        Some(_) | None => false,
    };
    if !is_integer {
        return;
    }
    let (min, max) = match fields.get("format").and_then(Value::as_str) {
        Some("int32") => (i64::from(i32::MIN), i64::from(i32::MAX)),
        Some("uint32") => (0, i64::from(u32::MAX)),
        Some(_) | None => (-INTEGER_MAX.cast_signed(), INTEGER_MAX.cast_signed()),
    };
    fields.entry("minimum").or_insert_with(|| min.into());
    fields.entry("maximum").or_insert_with(|| max.into());
}

/// At most `max` bytes.
pub fn bytes(max: usize) -> impl FnMut(&mut Schema) {
    move |schema| limit(schema, max, &format!("text of at most {max} bytes"))
}

/// From `min` to `max` bytes.
pub fn bytes_from(min: usize, max: usize) -> impl FnMut(&mut Schema) {
    move |schema| {
        limit(schema, max, &format!("text of {min} to {max} bytes"));
        schema.insert("minLength".to_owned(), min.into());
    }
}

/// An object of at most `max` bytes as canonical JSON; `null` if that is allowed.
pub fn object_bytes(max: usize) -> impl FnMut(&mut Schema) {
    move |schema| {
        schema.insert(BYTES_MAX.to_owned(), max.into());
    }
}

/// Text of at most `max` bytes, a number, or a boolean.
pub fn scalar(max: usize) -> impl FnMut(&mut Schema) {
    move |schema| {
        schema.insert("type".to_owned(), json!(["string", "number", "boolean"]));
        limit(schema, max, &format!("text of at most {max} bytes, a number, true or false"));
    }
}

/// Text that is not blank, of at most `max` bytes.
pub fn text(max: usize) -> impl FnMut(&mut Schema) {
    move |schema| {
        limit(schema, max, &format!("text that is not blank, of at most {max} bytes"));
        schema.insert("pattern".to_owned(), NOT_BLANK.into());
    }
}

/// What people write in a chat, of at most `max` bytes.
pub fn speech(max: usize) -> impl FnMut(&mut Schema) {
    patterned(SPEECH, max, format!("text that is not blank, of at most {max} bytes"))
}

/// One line that is not blank, of at most `max` bytes.
pub fn line(max: usize) -> impl FnMut(&mut Schema) {
    patterned(LINE, max, format!("one line of 1 to {max} bytes"))
}

/// One line of at most `max` bytes, or nothing.
pub fn line_or_none(max: usize) -> impl FnMut(&mut Schema) {
    patterned(ONE_LINE_OR_NONE, max, format!("one line of at most {max} bytes"))
}

/// Text that is not blank, of any length that a body may have.
pub fn not_blank(expected: &'static str) -> impl FnMut(&mut Schema) {
    pattern(NOT_BLANK, expected)
}

/// Any text but U+0000, of any length that a body may have.
pub fn free_text(schema: &mut Schema) {
    pattern(r"^[^\x00]*$", "text without U+0000")(schema);
}

/// Text that matches this pattern, of at most `max` bytes.
pub fn patterned(pattern: &'static str, max: usize, expected: String) -> impl FnMut(&mut Schema) {
    move |schema| {
        limit(schema, max, &expected);
        schema.insert("pattern".to_owned(), pattern.into());
    }
}

pub fn pattern(pattern: &'static str, expected: &'static str) -> impl FnMut(&mut Schema) {
    move |schema| {
        schema.insert("pattern".to_owned(), pattern.into());
        schema.insert(EXPECTED.to_owned(), expected.into());
    }
}

fn limit(schema: &mut Schema, max: usize, expected: &str) {
    schema.insert("maxLength".to_owned(), max.into());
    schema.insert(BYTES_MAX.to_owned(), max.into());
    schema.insert(EXPECTED.to_owned(), expected.into());
}

/// 64 lower-case hexadecimal digits.
pub fn sha256(schema: &mut Schema) {
    pattern("^[0-9a-f]{64}$", "64 lower-case hexadecimal digits")(schema);
}

/// A number from `min` to `max`.
pub fn range(min: impl Into<Value>, max: impl Into<Value>) -> impl FnMut(&mut Schema) {
    let (min, max) = (min.into(), max.into());
    move |schema| {
        schema.insert("minimum".to_owned(), min.clone());
        schema.insert("maximum".to_owned(), max.clone());
    }
}

/// A span from `min` to `max`.
pub fn span(min: Span, max: Span) -> impl FnMut(&mut Schema) {
    move |schema| {
        schema.insert(SPAN_MIN.to_owned(), json!(min));
        schema.insert(SPAN_MAX.to_owned(), json!(max));
        schema.insert("pattern".to_owned(), span_pattern::between(min, Some(max)).into());
        let expected = format!("a span from {} to {}", min.in_days(), max.in_days());
        schema.insert(EXPECTED.to_owned(), expected.into());
    }
}

/// A span of at least `min`.
pub fn at_least(min: Span) -> impl FnMut(&mut Schema) {
    move |schema| {
        schema.insert(SPAN_MIN.to_owned(), json!(min));
        schema.insert("pattern".to_owned(), span_pattern::between(min, None).into());
        schema.insert(EXPECTED.to_owned(), format!("a span of at least {min}").into());
    }
}

/// A list of `min` to `max` items.
pub fn items(min: usize, max: usize) -> impl FnMut(&mut Schema) {
    move |schema| {
        if min > 0 {
            schema.insert("minItems".to_owned(), min.into());
        }
        schema.insert("maxItems".to_owned(), max.into());
    }
}

/// Applies a rule to each item of a list.
pub fn each(mut rule: impl FnMut(&mut Schema)) -> impl FnMut(&mut Schema) {
    move |schema| within(schema, "items", &mut rule)
}

/// Applies a rule to each value of a map.
pub fn each_value(mut rule: impl FnMut(&mut Schema)) -> impl FnMut(&mut Schema) {
    move |schema| within(schema, "additionalProperties", &mut rule)
}

/// Limits the number of keys of a map, and applies a rule to them.
pub fn names(max: usize, mut rule: impl FnMut(&mut Schema)) -> impl FnMut(&mut Schema) {
    move |schema| {
        let mut name = json_schema!({ "type": "string" });
        rule(&mut name);
        schema.insert("maxProperties".to_owned(), max.into());
        schema.insert("propertyNames".to_owned(), name.into());
    }
}

fn within(schema: &mut Schema, part: &str, rule: &mut impl FnMut(&mut Schema)) {
    let value = schema.get(part).cloned().filter(Value::is_object);
    let mut inner = value.and_then(|it| Schema::try_from(it).ok()).unwrap_or_default();
    rule(&mut inner);
    schema.insert(part.to_owned(), inner.into());
}

/// Exactly this value.
pub fn exactly(choice: &'static str) -> impl FnMut(&mut Schema) {
    one_of([choice])
}

/// A boolean where only text can be written, as in a query.
pub fn true_or_false(schema: &mut Schema) {
    one_of(["true", "false"])(schema);
}

/// One of these values, in their serialized form. A field that may be `null` still may.
pub fn one_of<T: Serialize>(choices: impl IntoIterator<Item = T>) -> impl FnMut(&mut Schema) {
    let choices: Vec<Value> = choices.into_iter().map(|choice| json!(choice)).collect();
    move |schema| {
        let types = schema.get("type").and_then(Value::as_array);
        let may_be_null = types.is_some_and(|types| types.iter().any(|name| name == "null"));
        let null = may_be_null.then_some(Value::Null);
        schema.insert("enum".to_owned(), choices.iter().cloned().chain(null).collect());
    }
}

/// Requires the field at a path; `task.title` is a field of a field. The field is then not `null`,
/// and the rule applies to it.
pub fn needed(schema: &mut Schema, path: &str, rule: &mut dyn FnMut(&mut Schema)) {
    let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
    require(schema, name);
    let fields = schema.ensure_object().entry("properties").or_insert_with(|| json!({}));
    let field = fields.get(name).cloned().unwrap_or_else(|| json!({}));
    let mut field = Schema::try_from(field).unwrap_or_default();
    not_null(&mut field);
    match rest {
        Some(rest) => needed(&mut field, rest, rule),
        None => rule(&mut field),
    }
    fields[name] = field.into();
}

/// Requires a field to be present; it may still be `null` where that is allowed.
pub fn require(schema: &mut Schema, name: &str) {
    let required = schema.ensure_object().entry("required").or_insert_with(|| json!([]));
    if let Some(names) = required.as_array_mut()
        && !names.iter().any(|known| known == name)
    {
        names.push(name.into());
    }
}

/// Removes `null` from the types of a field.
fn not_null(schema: &mut Schema) {
    if let Some(Value::Array(names)) = schema.get("type").cloned() {
        let names: Vec<_> = names.into_iter().filter(|name| name != "null").collect();
        let types = if let [only] = names.as_slice() { only.clone() } else { names.into() };
        schema.insert("type".to_owned(), types);
    }
    schema.remove("default");
    let branches = schema.get("anyOf").and_then(Value::as_array);
    let reference = branches.into_iter().flatten().find_map(|branch| branch.get("$ref")).cloned();
    if let Some(reference) = reference {
        schema.remove("anyOf");
        schema.insert("$ref".to_owned(), reference);
    }
}
