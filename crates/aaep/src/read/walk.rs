//! Reads values by their tables, in one pass over the text. Flaws are recorded and reading
//! continues, so that one pass finds all of them; only text that is not JSON ends it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::form::{Form, Moment};
use super::messages::ANSWER_CHARS_MAX;
use super::plain::deceiving;
use super::report::{Path, Report};
use super::table::{Field, Kind, Shape, Slot};
use crate::{CONTEXT, NESTING_MAX, STRING_BYTES_ADVISED};
use base::hidden::all_hidden;
use base::json::INTEGER_MAX;

/// A value that was read, as far as it is needed. A flawed value is `Absent`.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Got<'de> {
    Absent,
    Text(Cow<'de, str>),
    Moment(Moment),
    Integer(u64),
    Number(f64),
    Truth(bool),
    Texts(Vec<Cow<'de, str>>),
    Json(&'de str),
}

/// What is known of a document while it is read.
#[derive(Debug)]
pub(super) struct Walk<'de> {
    pub report: Report,
    slots: [Got<'de>; Slot::COUNT],
    /// What `@context` lists besides the core context.
    pub contexts: Vec<Cow<'de, str>>,
    /// The keys of `extensions`.
    pub prefixes: Vec<Cow<'de, str>>,
    is_too_deep: bool,
}

impl<'de> Walk<'de> {
    pub(super) fn new(report: Report) -> Walk<'de> {
        Walk {
            report,
            slots: [const { Got::Absent }; Slot::COUNT],
            contexts: Vec::new(),
            prefixes: Vec::new(),
            is_too_deep: false,
        }
    }

    pub(super) fn keep(&mut self, field: &Field, got: Got<'de>) {
        if let Some(slot) = field.slot {
            self.slots[slot as usize] = got;
        }
    }

    pub(super) fn got(&self, slot: Slot) -> &Got<'de> {
        &self.slots[slot as usize]
    }

    pub(super) fn take(&mut self, slot: Slot) -> Got<'de> {
        std::mem::replace(&mut self.slots[slot as usize], Got::Absent)
    }

    pub(super) fn text(&self, slot: Slot) -> Option<&str> {
        match self.got(slot) {
            Got::Text(text) => Some(text),
            Got::Absent
            | Got::Moment(_)
            | Got::Integer(_)
            | Got::Number(_)
            | Got::Truth(_)
            | Got::Texts(_)
            | Got::Json(_) => None,
        }
    }

    pub(super) fn same_key_twice(&mut self, path: &Path<'_>) {
        self.report.spec("tasuki.unique_keys", path, format_args!("each key once"));
    }

    /// Finds duplicate keys among those that no table names.
    pub(super) fn unnamed_twice(&mut self, keys: &mut [Cow<'de, str>], path: &Path<'_>) {
        keys.sort_unstable();
        if let Some(twice) = keys.windows(2).find(|two| two[0] == two[1]) {
            self.same_key_twice(&Path::Key(path, &twice[0]));
        }
    }

    pub(super) fn check_characters(&mut self, text: &str, form: Form, path: &Path<'_>) {
        if let Some(character) = deceiving(text, form == Form::Piece) {
            self.report.spec(
                "tasuki.plain_text",
                path,
                format_args!("text without the character U+{:04X}", u32::from(character)),
            );
        }
        // Isolates are checked above: announcements set names apart with them.
        let is_isolate = |it: &char| matches!(it, '\u{2066}'..='\u{2069}');
        if self.report.wants_warnings()
            && let Some(character) = all_hidden(text).find(|it| !is_isolate(it))
        {
            let code = u32::from(character);
            let expected = format_args!("text without the character U+{code:04X}, which is hidden");
            self.report.warn("tasuki.visible_text", path, expected);
        }
        if text.len() > STRING_BYTES_ADVISED {
            self.report.warn(
                "3.7",
                path,
                format_args!("at most {STRING_BYTES_ADVISED} bytes in one text"),
            );
        }
    }
}

/// The index of the field of this name; tries the one after the last one first.
pub(super) fn find(fields: &[Field], key: &str, next: &mut usize) -> Option<usize> {
    let is_next = fields.get(*next).is_some_and(|field| field.name == key);
    let found = if is_next { *next } else { fields.iter().position(|field| field.name == key)? };
    *next = found + 1;
    Some(found)
}

/// Reports missing required fields.
pub(super) fn demand(walk: &mut Walk<'_>, shape: &Shape, seen: u64, path: &Path<'_>) {
    for (at, field) in shape.fields.iter().enumerate() {
        if field.required && seen & (1 << at) == 0 {
            let place = Path::Key(path, field.name);
            walk.report.schema("required", &place, format_args!("this field"));
        }
    }
}

/// Reads one value of a kind.
pub(super) struct Reading<'w, 'de, 'p> {
    pub walk: &'w mut Walk<'de>,
    pub kind: &'static Kind,
    pub path: &'p Path<'p>,
    /// How many objects and lists are around the value, including the document itself.
    pub depth: usize,
}

impl<'de> DeserializeSeed<'de> for Reading<'_, 'de, '_> {
    type Value = Got<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Got<'de>, D::Error> {
        if !matches!(self.kind, Kind::OpenText) {
            return deserializer.deserialize_any(self);
        }
        let raw: &'de RawValue = serde::Deserialize::deserialize(deserializer)?;
        let mut inner = serde_json::Deserializer::from_str(raw.get());
        let got = Reading { kind: &Kind::Open, ..self }
            .deserialize(&mut inner)
            .map_err(|error| D::Error::custom(error.to_string()))?;
        Ok(if got == Got::Truth(true) { Got::Json(raw.get()) } else { Got::Absent })
    }
}

impl<'de> Reading<'_, 'de, '_> {
    fn mistyped(&mut self) -> Got<'de> {
        let (rule, expected) = match self.kind {
            Kind::Text { form, .. } => ("type", form.words()),
            Kind::Word(_) => ("type", "a text"),
            Kind::Integer { .. } | Kind::Level(_) => ("type", "an integer"),
            Kind::Number { .. } => ("type", "a number"),
            Kind::Truth => ("type", "true or false"),
            Kind::List { .. } => ("type", "a list"),
            Kind::Object(_) | Kind::Choice(_) | Kind::Open | Kind::OpenText | Kind::Extensions => {
                ("type", "an object")
            }
            Kind::Context => ("oneOf", "the core context, or a list that begins with it"),
            Kind::Answer => ("oneOf", "a text, a truth value or a number"),
            Kind::Any => return Got::Absent,
        };
        self.walk.report.schema(rule, self.path, format_args!("{expected}"));
        Got::Absent
    }

    fn checked_text(mut self, text: Cow<'de, str>) -> Got<'de> {
        let path = self.path;
        match self.kind {
            Kind::Text { form, min, max } => {
                self.walk.check_characters(&text, *form, path);
                if !has_length(self.walk, &text, *min, *max, path) {
                    return Got::Absent;
                }
                if *form == Form::Moment
                    && let Some(moment) = Moment::parse(&text)
                {
                    return Got::Moment(moment);
                }
                if !form.fits(&text) {
                    let words = form.words();
                    self.walk.report.schema(form.keyword(), path, format_args!("{words}"));
                    return Got::Absent;
                }
                Got::Text(text)
            }
            Kind::Word(words) => {
                if !words.contains(&&*text) {
                    let words = words.join(", ");
                    self.walk.report.schema("enum", path, format_args!("one of {words}"));
                    return Got::Absent;
                }
                Got::Text(text)
            }
            Kind::Context => {
                if text != CONTEXT {
                    self.walk.report.schema("const", path, format_args!("{CONTEXT}"));
                }
                Got::Absent
            }
            Kind::Answer => {
                self.walk.check_characters(&text, Form::Any, path);
                has_length(self.walk, &text, 1, ANSWER_CHARS_MAX, path);
                Got::Text(text)
            }
            Kind::Any => {
                self.walk.check_characters(&text, Form::Any, path);
                Got::Absent
            }
            Kind::Integer { .. }
            | Kind::Level(_)
            | Kind::Number { .. }
            | Kind::Truth
            | Kind::List { .. }
            | Kind::Object(_)
            | Kind::Choice(_)
            | Kind::Open
            | Kind::OpenText
            | Kind::Extensions => self.mistyped(),
        }
    }

    /// An integer that is not negative.
    fn checked_integer(mut self, integer: u64) -> Got<'de> {
        let report = &mut self.walk.report;
        match self.kind {
            Kind::Integer { min, max } => {
                if integer < *min {
                    report.schema("minimum", self.path, format_args!("at least {min}"));
                    return Got::Absent;
                }
                if integer > *max {
                    report.schema("maximum", self.path, format_args!("at most {max}"));
                    return Got::Absent;
                }
                if integer > INTEGER_MAX {
                    let expected = format_args!("at most {INTEGER_MAX}, which all readers hold");
                    report.spec("tasuki.exact_number", self.path, expected);
                    return Got::Absent;
                }
                Got::Integer(integer)
            }
            Kind::Level(levels) if levels.contains(&integer) => Got::Integer(integer),
            Kind::Level(levels) => {
                report.schema("enum", self.path, format_args!("one of {levels:?}"));
                Got::Absent
            }
            Kind::Number { .. } | Kind::Answer => self.checked_number(integer as f64),
            Kind::Text { .. }
            | Kind::Word(_)
            | Kind::Truth
            | Kind::List { .. }
            | Kind::Object(_)
            | Kind::Choice(_)
            | Kind::Open
            | Kind::OpenText
            | Kind::Context
            | Kind::Extensions
            | Kind::Any => self.mistyped(),
        }
    }

    fn checked_number(mut self, number: f64) -> Got<'de> {
        match self.kind {
            Kind::Number { min, max } => {
                let report = &mut self.walk.report;
                if number < *min {
                    report.schema("minimum", self.path, format_args!("at least {min}"));
                    return Got::Absent;
                }
                if number > *max {
                    report.schema("maximum", self.path, format_args!("at most {max}"));
                    return Got::Absent;
                }
                Got::Number(number)
            }
            Kind::Answer => Got::Number(number),
            // The schemas count 5.0 as an integer.
            Kind::Integer { min, .. } if number.fract() == 0.0 && number < *min as f64 => {
                self.walk.report.schema("minimum", self.path, format_args!("at least {min}"));
                Got::Absent
            }
            // A number beyond 64 bits becomes the largest integer, which is too large as well.
            Kind::Integer { .. } | Kind::Level(_) if number.fract() == 0.0 && number >= 0.0 => {
                self.checked_integer(number as u64)
            }
            Kind::Level(levels) if number.fract() == 0.0 => {
                self.walk.report.schema("enum", self.path, format_args!("one of {levels:?}"));
                Got::Absent
            }
            Kind::Integer { .. }
            | Kind::Level(_)
            | Kind::Text { .. }
            | Kind::Word(_)
            | Kind::Truth
            | Kind::List { .. }
            | Kind::Object(_)
            | Kind::Choice(_)
            | Kind::Open
            | Kind::OpenText
            | Kind::Context
            | Kind::Extensions
            | Kind::Any => self.mistyped(),
        }
    }

    /// Whether the object or list that begins here is nested too deeply.
    fn is_too_deep(&mut self) -> bool {
        if self.depth <= NESTING_MAX {
            return false;
        }
        if !self.walk.is_too_deep {
            self.walk.is_too_deep = true;
            let expected = format_args!("at most {NESTING_MAX} levels of nesting");
            self.walk.report.spec("3.7", self.path, expected);
        }
        true
    }
}

fn has_length(walk: &mut Walk<'_>, text: &str, min: usize, max: usize, path: &Path<'_>) -> bool {
    if text.len() < min {
        // No table requires more than one character, so a check of bytes is enough.
        walk.report.schema("minLength", path, format_args!("at least {min} characters"));
        return false;
    }
    if text.len() > max && text.chars().count() > max {
        walk.report.schema("maxLength", path, format_args!("at most {max} characters"));
        return false;
    }
    true
}

impl<'de> Visitor<'de> for Reading<'_, 'de, '_> {
    type Value = Got<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Got<'de>, E> {
        Ok(self.checked_text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Got<'de>, E> {
        Ok(self.checked_text(Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E: Error>(self, integer: u64) -> Result<Got<'de>, E> {
        Ok(self.checked_integer(integer))
    }

    fn visit_i64<E: Error>(self, integer: i64) -> Result<Got<'de>, E> {
        Ok(self.checked_number(integer as f64))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Got<'de>, E> {
        Ok(self.checked_number(number))
    }

    fn visit_bool<E: Error>(mut self, value: bool) -> Result<Got<'de>, E> {
        let is_truth = matches!(self.kind, Kind::Truth | Kind::Answer);
        Ok(if is_truth { Got::Truth(value) } else { self.mistyped() })
    }

    fn visit_unit<E: Error>(mut self) -> Result<Got<'de>, E> {
        Ok(self.mistyped())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Got<'de>, A::Error> {
        if !self.is_too_deep() {
            match self.kind {
                Kind::List { .. } => return self.list(items),
                Kind::Context => return self.contexts(items),
                Kind::Any => return self.any_items(items),
                Kind::Text { .. }
                | Kind::Word(_)
                | Kind::Integer { .. }
                | Kind::Level(_)
                | Kind::Number { .. }
                | Kind::Truth
                | Kind::Object(_)
                | Kind::Choice(_)
                | Kind::Open
                | Kind::OpenText
                | Kind::Extensions
                | Kind::Answer => drop(self.mistyped()),
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Got::Absent)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Got<'de>, A::Error> {
        if !self.is_too_deep() {
            match self.kind {
                Kind::Object(shape) | Kind::Choice(shape) => return self.object(shape, entries),
                Kind::Open | Kind::OpenText | Kind::Any => return self.any_entries(entries),
                Kind::Extensions => return self.extensions(entries),
                Kind::Text { .. }
                | Kind::Word(_)
                | Kind::Integer { .. }
                | Kind::Level(_)
                | Kind::Number { .. }
                | Kind::Truth
                | Kind::List { .. }
                | Kind::Context
                | Kind::Answer => drop(self.mistyped()),
            }
        }
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Got::Absent)
    }
}

/// A key, borrowed unless it was escaped.
pub(super) struct MemberKey;

impl<'de> DeserializeSeed<'de> for MemberKey {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for MemberKey {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}
