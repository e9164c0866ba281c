//! Parses one event in a single pass over its text, without a tree, borrowing where possible. Flaws
//! are reported by tier: first the rules of the schemas, exactly; then the rules of the
//! specification's text for one document, and our stricter ones.
//!
//! - [`table`], [`core`] and [`messages`] describe the documents; [`walk`] reads by them.
//! - [`form`] and [`plain`] check single texts, [`rules`] what tables cannot express.

mod build;
mod core;
mod form;
mod messages;
mod objects;
mod plain;
mod report;
mod rules;
mod table;
mod walk;

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use self::core::{CoreType, ENVELOPE, core_type};
use self::form::Form;
use self::messages::{MANIFEST, MessageType, message_type};
use self::report::{Path, Report};
use self::table::{Field, Kind};
use self::walk::{Got, MemberKey, Reading, Walk, demand, find};
use super::event::Event;
use super::flaw::Flaw;
use super::{EVENT_BYTES_ADVISED, EVENT_BYTES_MAX, FIELDS_MAX, secrets};

/// The result of reading a document.
#[derive(Debug)]
pub struct Examined<'a> {
    /// Present if there is no flaw.
    pub event: Option<Event<'a>>,
    pub flaws: Vec<Flaw>,
    /// What is allowed, but should be better.
    pub warnings: Vec<Flaw>,
}

/// Parses an event, or returns its flaws, at most 32 of each tier.
pub fn read(text: &str) -> Result<Event<'_>, Vec<Flaw>> {
    let Examined { event, flaws, warnings: _ } = examined(text, Report::default());
    event.ok_or(flaws)
}

/// The same with warnings.
pub fn examine(text: &str) -> Examined<'_> {
    let mut examined = examined(text, Report::with_warnings());
    if examined.event.is_some() {
        examined.warnings.extend(secrets::warnings(text));
    }
    examined
}

fn examined(text: &str, report: Report) -> Examined<'_> {
    let mut walk = Walk::new(report);
    if text.len() > EVENT_BYTES_MAX {
        let expected = format_args!("at most {EVENT_BYTES_MAX} bytes");
        walk.report.spec("3.7", &Path::Root, expected);
    } else if text.len() > EVENT_BYTES_ADVISED {
        let expected = format_args!("at most {EVENT_BYTES_ADVISED} bytes: some tools take no more");
        walk.report.warn("3.7", &Path::Root, expected);
    }
    let mut reading = EventReading { walk: &mut walk, text, core: None, knows_type: false };
    let read = read_object(text, &mut reading);
    let core = reading.core;
    if read.is_some() {
        rules::check(&mut walk, core);
        rules::check_translations(&mut walk, text);
    }
    let event = if walk.report.is_clean() { build::event(&mut walk, core) } else { None };
    let (flaws, warnings) = walk.report.into_flaws();
    Examined { event, flaws, warnings }
}

/// Checks a producer's manifest.
pub fn check_manifest(text: &str) -> Result<(), Vec<Flaw>> {
    match type_of(text) {
        Some(name) if name == MANIFEST.name => check_against(text, &MANIFEST),
        Some(_) | None => {
            check_json(text)?;
            let mut report = Report::default();
            let expected = format_args!("{}", MANIFEST.name);
            report.schema("const", &Path::Key(&Path::Root, "type"), expected);
            Err(report.into_flaws().0)
        }
    }
}

/// Checks a message of a handshake or a reply against its table.
pub(super) fn check_message(text: &str, name: &str) -> Result<(), Vec<Flaw>> {
    let known = message_type(name).expect("only messages that are known are checked");
    check_against(text, known)
}

fn check_against(text: &str, known: &'static MessageType) -> Result<(), Vec<Flaw>> {
    let mut walk = Walk::new(Report::default());
    if text.len() > EVENT_BYTES_MAX {
        let expected = format_args!("at most {EVENT_BYTES_MAX} bytes");
        walk.report.spec("3.7", &Path::Root, expected);
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let reading = Reading { walk: &mut walk, kind: &known.kind, path: &Path::Root, depth: 0 };
    let end = reading.deserialize(&mut deserializer).and_then(|_| deserializer.end());
    if let Err(error) = end {
        walk.report.not_json(error.line(), error.column());
    }
    match walk.report.into_flaws() {
        (flaws, _) if flaws.is_empty() => Ok(()),
        (flaws, _) => Err(flaws),
    }
}

/// Whether a text is a JSON object at all.
pub(super) fn check_json(text: &str) -> Result<(), Vec<Flaw>> {
    let mut walk = Walk::new(Report::default());
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) if text.trim_start().starts_with('{') => return Ok(()),
        Ok(_) => walk.report.schema("type", &Path::Root, format_args!("an object")),
        Err(error) => walk.report.not_json(error.line(), error.column()),
    }
    Err(walk.report.into_flaws().0)
}

/// The types of messages that are no events.
pub(super) fn message_names() -> Vec<&'static str> {
    messages::MESSAGE_TYPES.iter().map(|one| one.name).collect()
}

/// Whether a document claims to be a manifest.
pub(super) fn is_manifest(name: &str) -> bool {
    name == MANIFEST.name
}

/// Whether a message of this type is known.
pub(super) fn is_message(name: &str) -> bool {
    message_type(name).is_some()
}

/// The `type` of a document, wherever it is; `None` if it is missing, or no text.
pub(super) fn type_of(text: &str) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct OnlyType<'a> {
        #[serde(borrow, rename = "type")]
        name: Cow<'a, str>,
    }
    let only: OnlyType<'_> = serde_json::from_str(text).ok()?;
    Some(only.name)
}

/// Whether the `type` of a document does not fit its fields: the document has a field of another
/// type, or none of the fields that this type requires. Summaries do not count, as every type has
/// them.
pub(super) fn is_of_another_type(document: &Value) -> bool {
    let core = document["type"].as_str().and_then(core_type);
    let (Some(core), Some(members)) = (core, document.as_object()) else { return false };
    let is_own =
        |key: &str| core.shape.fields.iter().chain(ENVELOPE.fields).any(|field| field.name == key);
    let is_typical = |field: &Field| !field.name.starts_with("summary");
    let is_of_any = |key: &str| {
        let mut fields = core::CORE_TYPES.iter().flat_map(|it| it.shape.fields);
        fields.any(|field| field.name == key && is_typical(field))
    };
    let is_required = |field: &&Field| field.required && is_typical(field);
    let mut required = core.shape.fields.iter().filter(is_required).peekable();
    members.keys().any(|key| is_of_any(key) && !is_own(key))
        || (required.peek().is_some() && required.all(|field| !members.contains_key(field.name)))
}

/// `None` if the text is no JSON, or no object; the report then says so.
fn read_object<'de>(text: &'de str, reading: &mut EventReading<'_, 'de>) -> Option<()> {
    let is_object = text.trim_start().starts_with('{');
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = if is_object {
        reading.deserialize(&mut deserializer)
    } else {
        IgnoredAny::deserialize(&mut deserializer).map(|_| ())
    };
    match read.and_then(|()| deserializer.end()) {
        Ok(()) if is_object => Some(()),
        Ok(()) => {
            reading.walk.report.schema("type", &Path::Root, format_args!("an object"));
            None
        }
        Err(error) => {
            reading.walk.report.not_json(error.line(), error.column());
            None
        }
    }
}

/// Reads the members of an event: those of the envelope, and those of its type.
struct EventReading<'w, 'de> {
    walk: &'w mut Walk<'de>,
    text: &'de str,
    core: Option<&'static CoreType>,
    knows_type: bool,
}

impl<'de> DeserializeSeed<'de> for &mut EventReading<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

/// The table of a member.
enum Member {
    Envelope(usize),
    Payload(usize),
    Unnamed,
}

impl<'de> EventReading<'_, 'de> {
    fn payload_fields(&self) -> &'static [Field] {
        self.core.map_or(&[], |core| core.shape.fields)
    }

    /// The type decides what the other members mean. It nearly always comes first; otherwise it is
    /// looked up.
    fn member(&mut self, seen: &mut Seen, key: &str) -> Member {
        let member = seen.member(self.payload_fields(), key);
        if matches!(member, Member::Unnamed) && !self.knows_type {
            self.knows_type = true;
            self.core = type_of(self.text).and_then(|name| core_type(&name));
            return seen.member(self.payload_fields(), key);
        }
        member
    }

    fn read_value<A: MapAccess<'de>>(
        &mut self,
        kind: &'static Kind,
        key: &str,
        members: &mut A,
    ) -> Result<Got<'de>, A::Error> {
        let path = Path::Key(&Path::Root, key);
        members.next_value_seed(Reading { walk: &mut *self.walk, kind, path: &path, depth: 1 })
    }

    fn seen_twice(&mut self, key: &str) {
        self.walk.same_key_twice(&Path::Key(&Path::Root, key));
    }

    fn unnamed(&mut self, key: &str) {
        let path = Path::Key(&Path::Root, key);
        self.walk.check_characters(key, Form::Any, &path);
        rules::unnamed_member(self.walk, self.core.is_some(), key, &path);
    }
}

/// The members seen so far, and where the next one is expected.
#[derive(Default)]
struct Seen {
    envelope: u64,
    payload: u64,
    next_envelope: usize,
    next_payload: usize,
    is_in_payload: bool,
}

impl Seen {
    fn member(&mut self, payload: &[Field], key: &str) -> Member {
        if self.is_in_payload
            && let Some(at) = find(payload, key, &mut self.next_payload)
        {
            return Member::Payload(at);
        }
        if let Some(at) = find(ENVELOPE.fields, key, &mut self.next_envelope) {
            self.is_in_payload = false;
            return Member::Envelope(at);
        }
        match find(payload, key, &mut self.next_payload) {
            Some(at) => {
                self.is_in_payload = true;
                Member::Payload(at)
            }
            None => Member::Unnamed,
        }
    }
}

impl<'de> Visitor<'de> for &mut EventReading<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut seen = Seen::default();
        let mut unnamed = Vec::new();
        while let Some(key) = members.next_key_seed(MemberKey)? {
            match self.member(&mut seen, &key) {
                Member::Envelope(at) => {
                    if seen.envelope & (1 << at) != 0 {
                        self.seen_twice(&key);
                    }
                    seen.envelope |= 1 << at;
                    let field = &ENVELOPE.fields[at];
                    let got = self.read_value(&field.kind, &key, &mut members)?;
                    if let (Got::Text(name), false) = (&got, self.knows_type)
                        && field.slot == Some(table::Slot::Type)
                    {
                        self.knows_type = true;
                        self.core = core_type(name);
                    }
                    self.walk.keep(field, got);
                }
                Member::Payload(at) => {
                    if seen.payload & (1 << at) != 0 {
                        self.seen_twice(&key);
                    }
                    seen.payload |= 1 << at;
                    let field = &self.payload_fields()[at];
                    let got = self.read_value(&field.kind, &key, &mut members)?;
                    self.walk.keep(field, got);
                }
                Member::Unnamed => {
                    self.unnamed(&key);
                    self.read_value(&Kind::Any, &key, &mut members)?;
                    unnamed.push(key);
                }
            }
        }
        let n_named = (seen.envelope.count_ones() + seen.payload.count_ones()) as usize;
        if n_named + unnamed.len() + self.walk.prefixes.len() > FIELDS_MAX {
            let expected = format_args!("at most {FIELDS_MAX} fields, extensions counted");
            self.walk.report.spec("3.7", &Path::Root, expected);
        }
        self.walk.unnamed_twice(&mut unnamed, &Path::Root);
        demand(self.walk, &ENVELOPE, seen.envelope, &Path::Root);
        if let Some(core) = self.core {
            demand(self.walk, &core.shape, seen.payload, &Path::Root);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
