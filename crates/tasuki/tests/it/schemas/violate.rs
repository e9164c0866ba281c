//! One keyword violated at one place, everything else unchanged.

use protocol::form::{BYTES_MAX, SPAN_MAX, SPAN_MIN};
use protocol::time::Span;
use serde_json::{Value, json};

use super::flat::names;
use super::generate::{Made, fits, is_match};

/// A value that violates its form once.
#[derive(Debug, Clone)]
pub struct Violation {
    pub keyword: &'static str,
    /// The place, as an answer names it.
    pub field: String,
    pub value: Value,
}

/// The longest list and text that are tried.
const ITEMS_MAX: u64 = 1_000;
const BYTES_TRIED_MAX: u64 = 60_000;

/// All possible violations of a value.
pub fn violations(made: &Made) -> Vec<Violation> {
    let mut found = Vec::new();
    walk(made, "", &mut |place, broken| {
        let (keyword, inside, value) = broken;
        let path = format!("{place}{inside}");
        let field = path.strip_prefix('.').unwrap_or(&path).to_owned();
        let field = if field.is_empty() { "body".to_owned() } else { field };
        found.push(Violation { keyword, field, value: replaced(&made.value, place, value) });
    });
    found
}

type Broken = (&'static str, String, Value);

fn walk(made: &Made, place: &str, found: &mut impl FnMut(&str, Broken)) {
    for broken in broken(made) {
        found(place, broken);
    }
    for (step, part) in &made.parts {
        walk(part, &format!("{place}{step}"), found);
    }
}

/// The value with a replacement at a place such as `.task.success_criteria[1]`.
fn replaced(value: &Value, place: &str, new: Value) -> Value {
    let mut whole = value.clone();
    let pointer: String = place.replace('[', ".").replace(']', "").replace('.', "/");
    *whole.pointer_mut(&pointer).expect("places lead into the value") = new;
    whole
}

fn broken(made: &Made) -> Vec<Broken> {
    let mut all: Vec<_> = of_type(made).into_iter().collect();
    let (form, value) = (&made.form, &made.value);
    all.extend(of_choice(made));
    match value {
        Value::String(text) => all.extend(of_text(made, text)),
        Value::Number(_) => all.extend(of_number(form)),
        Value::Array(items) => all.extend(of_list(form, items)),
        Value::Object(_) => all.extend(of_object(made)),
        Value::Null | Value::Bool(_) => {}
    }
    all
}

fn here(keyword: &'static str, value: impl Into<Value>) -> Broken {
    (keyword, String::new(), value.into())
}

/// A value of a type that none of the forms has.
fn of_type(made: &Made) -> Option<Broken> {
    let types: Vec<String> = made.forms.iter().flat_map(|form| names(&form["type"])).collect();
    let is_any = made.forms.iter().any(|form| {
        form.get("type").is_none() && form.get("const").is_none() && form.get("enum").is_none()
    });
    if is_any {
        return None;
    }
    let consts = made.forms.iter().flat_map(|form| form.get("const"));
    let is_text =
        consts.chain(made.forms.iter().flat_map(|form| form["enum"].as_array()).flatten());
    let takes_text = is_text.into_iter().any(Value::is_string);
    let has =
        |name: &str| types.iter().any(|known| known == name) || (name == "string" && takes_text);
    let kinds = [
        ("object", json!({ "a": 1 })),
        ("array", json!(["a"])),
        ("string", json!("a")),
        ("boolean", json!(true)),
        ("number", json!(1.5)),
    ];
    let other = kinds.into_iter().find(|(name, _)| !has(name));
    other.map(|(_, value)| here("type", value))
}

fn of_choice(made: &Made) -> Option<Broken> {
    let is_choice = |form: &Value| form.get("const").is_some() || form.get("enum").is_some();
    let plain: Vec<_> = made.forms.iter().filter(|form| form["type"] != "null").collect();
    let all = plain.iter().all(|form| is_choice(form));
    (all && made.value.is_string()).then(|| here("enum", "no-such-choice"))
}

fn of_text(made: &Made, text: &str) -> Vec<Broken> {
    let form = &made.form;
    let mut all = Vec::new();
    let others: Vec<_> = made.forms.iter().filter(|other| *other != form).collect();
    // A value that another form allows is not a violation.
    let is_new = |text: &str| others.iter().all(|other| other["const"] != text);
    if form.get("const").is_some() || form.get("enum").is_some() {
        return all;
    }
    if let Some(pattern) = form["pattern"].as_str() {
        let tries = ["", " ", "A b", "\n", "x\ty", "-", "é/\\", "~!", "T-1 "];
        let unlike = |text: &&&str| !is_match(pattern, text) && is_new(text);
        let without = |text: &&&str| {
            let mut rest = form.clone();
            rest.as_object_mut().expect("an object").remove("pattern");
            fits(&rest, text)
        };
        let tries = tries.iter().filter(unlike).filter(without);
        all.extend(tries.take(2).map(|text| here("pattern", *text)));
    }
    let max = |name: &str| form[name].as_u64().filter(|max| *max <= BYTES_TRIED_MAX);
    let has_pattern = |text: &str| form["pattern"].as_str().is_none_or(|it| is_match(it, text));
    if let Some(max) = max("maxLength") {
        let long = format!("{text}{}", "x".repeat(usize::try_from(max).expect("a length")));
        if has_pattern(&long) && long.chars().count() as u64 > max {
            all.push(here("maxLength", long));
        }
    }
    if let Some(max) = max(BYTES_MAX) {
        let long = "é".repeat(usize::try_from(max / 2 + 1).expect("a length"));
        if has_pattern(&long)
            && long.chars().count() as u64 <= form["maxLength"].as_u64().unwrap_or(0)
        {
            all.push(here(BYTES_MAX, long));
        }
    }
    if form["minLength"].as_u64().is_some_and(|min| min > 0) && has_pattern("") {
        all.push(here("minLength", ""));
    }
    if form["format"] == "date-time" {
        all.push(here("format", "2026-13-01T00:00:00Z"));
    }
    let span = |name: &str| form[name].as_str().and_then(|text| text.parse::<Span>().ok());
    if let Some(min) = span(SPAN_MIN) {
        all.push(here(SPAN_MIN, format!("{}ms", min.as_millis() - 1)));
    }
    if let Some(max) = span(SPAN_MAX) {
        all.push(here(SPAN_MAX, format!("{}ms", max.as_millis() + 1)));
    }
    all
}

fn of_number(form: &Value) -> Vec<Broken> {
    let end = |name: &str| form[name].as_f64().filter(|end| end.abs() < 1e15);
    let is_whole = names(&form["type"]).contains(&"integer".to_owned());
    let number = |number: f64| match is_whole {
        true => Value::from(number as i64),
        false => Value::from(number),
    };
    let ends = [
        ("minimum", end("minimum").map(|end| end - 1.0)),
        ("maximum", end("maximum").map(|end| end + 1.0)),
        ("exclusiveMinimum", end("exclusiveMinimum")),
        ("exclusiveMaximum", end("exclusiveMaximum")),
    ];
    ends.into_iter().filter_map(|(name, end)| Some(here(name, number(end?)))).collect()
}

fn of_list(form: &Value, items: &[Value]) -> Vec<Broken> {
    let mut all = Vec::new();
    let n_items = items.len() as u64;
    if let Some(min) = form["minItems"].as_u64().filter(|min| *min > 0 && n_items >= *min) {
        let n_left = usize::try_from(min - 1).expect("a length");
        all.push(here("minItems", items[..n_left].to_vec()));
    }
    let is_unique = form["uniqueItems"] == true;
    if let (Some(max), Some(first)) = (form["maxItems"].as_u64(), items.first())
        && max < ITEMS_MAX
        && !is_unique
    {
        let n_more = usize::try_from(max - n_items + 1).expect("a length");
        let more = std::iter::repeat_n(first.clone(), n_more);
        all.push(here("maxItems", items.iter().cloned().chain(more).collect::<Vec<_>>()));
    }
    if let Some(first) = items.first()
        && is_unique
        && n_items < form["maxItems"].as_u64().unwrap_or(ITEMS_MAX)
    {
        let twice = items.iter().chain([first]).cloned().collect::<Vec<_>>();
        all.push(here("uniqueItems", twice));
    }
    all
}

fn of_object(made: &Made) -> Vec<Broken> {
    let (form, value) = (&made.form, &made.value);
    let mut all = Vec::new();
    let changed = |change: &mut dyn FnMut(&mut serde_json::Map<String, Value>)| {
        let mut value = value.clone();
        change(value.as_object_mut().expect("an object"));
        value
    };
    // Of several objects without a tag, another one may not need the field.
    let is_alone = made.forms.iter().filter(|form| form["type"] == "object").count() == 1
        || form["properties"]["action"].is_object();
    // Without its id, a draft to be proposed is a new proposal that lacks everything.
    let is_draft = |name: &String| name == "handoff_id" && value["action"] == "initiate";
    let required = names(&form["required"]).into_iter().filter(|name| !is_draft(name));
    for name in required.filter(|_| is_alone) {
        let without = changed(&mut |fields| {
            fields.remove(&name);
        });
        all.push(("required", format!(".{name}"), without));
    }
    if form["additionalProperties"] == false {
        let more = changed(&mut |fields| {
            fields.insert("no_such_field".to_owned(), 1.into());
        });
        all.push(("additionalProperties", ".no_such_field".to_owned(), more));
    }
    if let Some(max) = form["maxProperties"].as_u64().filter(|max| (1..200).contains(max)) {
        let more = changed(&mut |fields| {
            let value = fields.values().next().cloned().unwrap_or_else(|| "x".into());
            for number in 0..=max {
                fields.insert(format!("more{number}"), value.clone());
            }
        });
        if !value.as_object().expect("an object").is_empty() {
            all.push(here("maxProperties", more));
        }
    }
    if form["additionalProperties"] == true
        && let Some(max) = form[BYTES_MAX].as_u64()
    {
        let text = "x".repeat(usize::try_from(max).expect("a length"));
        let more = changed(&mut |fields| {
            fields.insert("filler".to_owned(), text.clone().into());
        });
        all.push(here("x-maxBytes of an object", more));
    }
    all
}
