//! Random values that a schema allows, each with the schema that it was made from.

use std::collections::BTreeMap;

use proptest::strategy::{Strategy, ValueTree};
use proptest::string::string_regex;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use protocol::form::{BYTES_MAX, SPAN_MAX, SPAN_MIN};
use protocol::json::is_forbidden;
use protocol::time::{Span, Time};
use serde_json::{Map, Value, json};

use super::flat::{branches, names};

/// A value, and where it came from.
#[derive(Debug, Clone)]
pub struct Made {
    pub value: Value,
    /// The form of the value.
    pub form: Value,
    /// All alternative forms.
    pub forms: Vec<Value>,
    /// Its parts, by their place in it: `.title` or `[2]`.
    pub parts: Vec<(String, Made)>,
}

pub struct Generator<'d> {
    document: &'d Value,
    state: u64,
    runner: TestRunner,
    /// Times are some days after this one.
    now: Time,
    /// Known values, by the name of a field.
    pub known: BTreeMap<String, Vec<String>>,
}

const DAY_MS: u64 = 86_400_000;

impl<'d> Generator<'d> {
    pub fn new(document: &'d Value, seed: u64, now: Time) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let runner = TestRunner::new_with_rng(Config::default(), rng);
        Self { document, state: seed, runner, now, known: BTreeMap::new() }
    }

    /// The next number below `n`, as SplitMix64 draws it.
    pub fn below(&mut self, n: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n.max(1)
    }

    pub fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        let index = self.below(of.len() as u64);
        &of[usize::try_from(index).expect("an index")]
    }

    pub fn value(&mut self, schema: &Value) -> Made {
        self.made(schema, "", 0)
    }

    fn made(&mut self, schema: &Value, field: &str, depth: usize) -> Made {
        let forms = branches(self.document, schema);
        let is_null = |form: &&Value| form["type"] == "null";
        let plain: Vec<_> = forms.iter().filter(|form| !is_null(form)).cloned().collect();
        let form = match plain.as_slice() {
            [] => forms[0].clone(),
            plain if plain.len() < forms.len() && self.below(6) == 0 => {
                let _ = plain;
                json!({ "type": "null" })
            }
            plain => self.one(plain).clone(),
        };
        let (value, parts) = self.of_form(&form, field, depth);
        Made { value, form, forms, parts }
    }

    /// The name of a field in an object with free field names.
    fn name(&mut self, form: &Value) -> String {
        match form["enum"].as_array() {
            Some(names) => self.one(names).as_str().expect("a name").to_owned(),
            None => self.text(form, ""),
        }
    }

    fn of_form(&mut self, form: &Value, field: &str, depth: usize) -> (Value, Vec<(String, Made)>) {
        if let Some(only) = form.get("const") {
            return (only.clone(), Vec::new());
        }
        if let Some(choices) = form["enum"].as_array() {
            return (self.one(choices).clone(), Vec::new());
        }
        let mut types = names(&form["type"]);
        if types.len() > 1 && self.below(6) > 0 {
            types.retain(|name| name != "null");
        }
        let kind = if types.is_empty() { "any" } else { self.one(&types).as_str() }.to_owned();
        let plain = |value: Value| (value, Vec::new());
        match kind.as_str() {
            "null" => plain(Value::Null),
            "boolean" => plain((self.below(2) == 0).into()),
            "integer" => plain(self.integer(form, field)),
            "number" => plain(self.number(form)),
            "string" => plain(self.text(form, field).into()),
            "array" => self.list(form, field, depth),
            "object" => self.object(form, depth),
            _ => plain(json!({ "any": [1, "x"] })),
        }
    }

    fn integer(&mut self, form: &Value, field: &str) -> Value {
        let min = form["minimum"].as_i64().unwrap_or(0);
        let max = form["maximum"].as_i64().unwrap_or(min + 9);
        match self.below(4) {
            _ if field == "epoch" => 1.into(),
            0 => min.into(),
            1 => max.into(),
            _ => {
                let span = (max - min).clamp(0, 40);
                let low = if min < -40 { 0 } else { min };
                (low + self.below(span.unsigned_abs() + 1).cast_signed()).min(max).into()
            }
        }
    }

    fn number(&mut self, form: &Value) -> Value {
        let min = form["minimum"].as_f64();
        let max = form["maximum"].as_f64();
        let (low, high) = (min.unwrap_or(0.0), max.unwrap_or(1.0));
        match (self.below(4), min, max) {
            (0, Some(min), _) => min.into(),
            (1, _, Some(max)) => max.into(),
            (_, _, _) => {
                let part = (self.below(998) + 1) as f64 / 1_000.0;
                (low + (high - low) * part).into()
            }
        }
    }

    fn text(&mut self, form: &Value, field: &str) -> String {
        if form["format"] == "date-time" {
            let ahead = DAY_MS + self.below(27 * DAY_MS);
            return self.now.plus(Span::from_millis(ahead.cast_signed())).to_string();
        }
        if form.get(SPAN_MIN).is_some() || form.get(SPAN_MAX).is_some() {
            return self.span(form);
        }
        let known = self.known.get(field).cloned().unwrap_or_default();
        let known: Vec<_> = known.into_iter().filter(|text| fits(form, text)).collect();
        if !known.is_empty() && (field == "handoff_id" || self.below(8) > 0) {
            return self.one(&known).clone();
        }
        for _ in 0..32 {
            let text = self.any_text(form);
            if fits(form, &text) {
                return text;
            }
        }
        panic!("no text for {form}")
    }

    fn any_text(&mut self, form: &Value) -> String {
        let max = form[BYTES_MAX].as_u64().filter(|max| *max <= 20_000);
        let pattern = form["pattern"].as_str();
        match (max, pattern) {
            // The maximum length.
            (Some(max), _) if self.below(10) == 0 => {
                "x".repeat(usize::try_from(max).expect("a length"))
            }
            (_, Some(pattern)) => {
                let inner = pattern.strip_prefix('^').unwrap_or(pattern);
                let inner = inner.strip_suffix('$').unwrap_or(inner);
                let strategy = string_regex(inner).expect("our patterns can be drawn from");
                let drawn = strategy.new_tree(&mut self.runner).expect("a text").current();
                drawn.chars().map(|it| if is_forbidden(it) { 'x' } else { it }).collect()
            }
            (_, None) => {
                let texts = ["x", "Mend the roof.", "こんにちは", "two\nlines", "a 🛟", "  pad "];
                (*self.one(&texts)).to_owned()
            }
        }
    }

    fn span(&mut self, form: &Value) -> String {
        let end = |name: &str, or: i64| {
            let span = form[name].as_str().and_then(|text| text.parse::<Span>().ok());
            span.map_or(or, Span::as_millis)
        };
        let (min, max) = (end(SPAN_MIN, 0), end(SPAN_MAX, 3_600_000));
        let millis = match self.below(4) {
            0 => min,
            1 => max,
            _ => min + self.below((max - min).unsigned_abs() + 1).cast_signed(),
        };
        format!("{millis}ms")
    }

    fn list(&mut self, form: &Value, field: &str, depth: usize) -> (Value, Vec<(String, Made)>) {
        let min = form["minItems"].as_u64().unwrap_or(0);
        let max = form["maxItems"].as_u64().unwrap_or(4);
        let n_items = match self.below(16) {
            0 if max <= 16 && depth < 3 => max,
            _ => (min + self.below(3)).min(max),
        };
        let mut parts: Vec<(String, Made)> = Vec::new();
        for _ in 0..n_items {
            let made = self.made(&form["items"], field, depth + 1);
            let is_new = parts.iter().all(|(_, part)| part.value != made.value);
            if is_new || form["uniqueItems"] != true {
                parts.push((format!("[{}]", parts.len()), made));
            }
        }
        (parts.iter().map(|(_, made)| made.value.clone()).collect(), parts)
    }

    fn object(&mut self, form: &Value, depth: usize) -> (Value, Vec<(String, Made)>) {
        let required = names(&form["required"]);
        let mut fields = Map::new();
        let mut parts = Vec::new();
        for (name, schema) in form["properties"].as_object().into_iter().flatten() {
            // The token identifies the caller; a body that does so too is tested elsewhere.
            let is_wanted = name != "from_agent" || required.contains(name);
            let is_there = required.contains(name) || (is_wanted && self.below(5) < 2);
            if is_there {
                let made = self.made(schema, name, depth + 1);
                fields.insert(name.clone(), made.value.clone());
                parts.push((format!(".{name}"), made));
            }
        }
        let others = &form["additionalProperties"];
        if form["maxProperties"] != 0 && others != false && depth > 0 {
            for _ in 0..self.below(3) {
                let name = match form.get("propertyNames") {
                    Some(rule) => self.name(&super::flat::flat(self.document, rule)),
                    None => format!("n{}", self.below(100)),
                };
                let made = match others.is_object() {
                    true => self.made(others, "", depth + 1),
                    false => self.made(&json!({ "type": "string" }), "", depth + 1),
                };
                // The parts of an object with free field names are not broken one by one.
                fields.insert(name, made.value);
            }
        }
        (Value::Object(fields), parts)
    }
}

/// Whether a text has the length and the pattern that a form asks for.
pub fn fits(form: &Value, text: &str) -> bool {
    let n_characters = text.chars().count() as u64;
    let max = |name: &str| form[name].as_u64().unwrap_or(u64::MAX);
    let has_pattern = form["pattern"].as_str().is_none_or(|pattern| is_match(pattern, text));
    n_characters <= max("maxLength")
        && n_characters >= form["minLength"].as_u64().unwrap_or(0)
        && text.len() as u64 <= max(BYTES_MAX)
        && has_pattern
}

/// As the server sees it, through a form of nothing but the pattern.
pub fn is_match(pattern: &str, text: &str) -> bool {
    protocol::form::Form::new(&json!({ "pattern": pattern })).check(&text.into()).is_ok()
}
