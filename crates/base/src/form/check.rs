//! Checks whether a value has a form, and if not, reports the place and what is expected there.

use std::fmt;

use schemars::JsonSchema;
use serde_json::{Map, Value};

use super::node::{At, Kind, Node, Others, Reader};
use crate::time::{Span, Time};

/// Misfits that are told of one document. A sender mends these first.
pub const MISFITS_MAX: usize = 100;

/// A schema, ready to check values.
#[derive(Debug)]
pub struct Form {
    pub(super) nodes: Vec<Node>,
    root: At,
}

/// A place where a value does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// As in `task.success_criteria[2]`; empty for the value as a whole.
    pub path: String,
    /// As in `text of at most 300 bytes`.
    pub expected: String,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}", self.path, self.expected)
    }
}

impl Form {
    /// The form of a type, from its published schema.
    pub fn of<T: JsonSchema>() -> Self {
        let schema = super::settings().into_generator().into_root_schema_for::<T>();
        Self::new(schema.as_value())
    }

    /// # Panics
    ///
    /// If the schema has a keyword that is not checked here.
    pub fn new(schema: &Value) -> Self {
        let mut reader = Reader::new(schema);
        let root = reader.read(schema);
        Self { nodes: reader.nodes, root }
    }

    /// The form of a schema inside a larger document that refers to other parts of it.
    ///
    /// # Panics
    ///
    /// As [`Form::new`].
    pub fn part(document: &Value, schema: &Value) -> Self {
        let mut reader = Reader::new(document);
        let root = reader.read(schema);
        Self { nodes: reader.nodes, root }
    }

    pub fn check(&self, value: &Value) -> Result<(), Misfit> {
        self.fits(self.root, value)
    }

    /// The places where a value does not fit, at most about [`MISFITS_MAX`].
    pub fn misfits(&self, value: &Value) -> Vec<Misfit> {
        self.all_misfits(self.root, value)
    }

    fn all_misfits(&self, at: At, value: &Value) -> Vec<Misfit> {
        let Err(first) = self.fits(at, value) else { return Vec::new() };
        let mut all = Vec::new();
        self.misfits_inside(at, value, &mut all);
        if all.iter().all(|misfit: &Misfit| misfit.path != first.path) {
            all.push(first);
        }
        all
    }

    /// Those in the fields of an object, and in the items of a list.
    fn misfits_inside(&self, at: At, value: &Value, all: &mut Vec<Misfit>) {
        let node = &self.nodes[at];
        let mut add = |step: &str, inner: At, value: &Value| {
            if all.len() >= MISFITS_MAX {
                return;
            }
            let inside = self.all_misfits(inner, value).into_iter();
            all.extend(inside.map(|misfit| misfit.inside(step)));
        };
        match (value, node.items) {
            (Value::Array(items), Some(inner)) => {
                let items = items.iter().enumerate();
                items.for_each(|(index, item)| add(&format!("[{index}]"), inner, item));
            }
            (Value::Object(fields), _) => {
                for (name, value) in fields {
                    match (node.fields.get(name), node.others) {
                        (Some(inner), _) => add(&shown(name), *inner, value),
                        (None, Others::Each(inner)) => add(&shown(name), inner, value),
                        (None, Others::Any | Others::None) => {}
                    }
                }
                let room = MISFITS_MAX.saturating_sub(all.len());
                all.extend(self.unknown_fields(at, fields).into_iter().take(room));
                all.extend(self.missing_fields(at, fields));
            }
            (_, _) => {}
        }
        let is_of_kind = |branch: &&At| self.may_be(**branch, value);
        let branches = node.groups.iter().filter_map(|group| {
            let of_kind: Vec<_> = group.iter().filter(is_of_kind).collect();
            if let [only] = of_kind[..] { Some(only) } else { None }
        });
        for inner in node.all_of.iter().chain(branches) {
            self.misfits_inside(*inner, value, all);
        }
    }

    fn fits(&self, at: At, value: &Value) -> Result<(), Misfit> {
        let node = &self.nodes[at];
        // Before the type that it refers to, which may have more choices.
        if !node.choices.is_empty() && !node.choices.contains(value) {
            return self.misfit(at);
        }
        for also in &node.all_of {
            self.fits(*also, value).map_err(|misfit| self.in_words_of(at, misfit))?;
        }
        if !node.kinds.is_empty() && !node.kinds.iter().any(|kind| kind.has(value)) {
            return self.misfit(at);
        }
        for group in &node.groups {
            self.fits_one(at, group, value)?;
        }
        match value {
            Value::Null | Value::Bool(_) => Ok(()),
            Value::Number(number) => {
                let number = number.as_f64().unwrap_or(f64::NAN);
                if node.has_number(number) { Ok(()) } else { self.misfit(at) }
            }
            // Only the time parser knows which days and years exist.
            Value::String(text) if node.is_time => match text.parse::<Time>() {
                Ok(_) if node.has_text(text) => Ok(()),
                Ok(_) => self.misfit(at),
                Err(error) => misfit(super::words::plain(&error)),
            },
            Value::String(text) if !node.has_text(text) => self.misfit(at),
            Value::String(_) => Ok(()),
            Value::Array(items) => self.fits_items(at, items),
            Value::Object(fields) => self.fits_fields(at, fields),
        }
    }

    /// The `expected` text of a place is preferred to that of the type it refers to.
    fn in_words_of(&self, at: At, misfit: Misfit) -> Misfit {
        match &self.nodes[at].expected {
            Some(expected) if misfit.path.is_empty() => {
                Misfit { expected: expected.clone(), ..misfit }
            }
            Some(_) | None => misfit,
        }
    }

    fn fits_items(&self, at: At, items: &[Value]) -> Result<(), Misfit> {
        let node = &self.nodes[at];
        let n_items = items.len() as u64;
        let is_twice = |(index, item): (usize, &Value)| items[..index].contains(item);
        if node.n_items.min.is_some_and(|min| n_items < min)
            || node.n_items.max.is_some_and(|max| n_items > max)
        {
            return misfit(self.count_of(at));
        }
        if node.is_unique && items.iter().enumerate().any(is_twice) {
            return misfit("each item once".to_owned());
        }
        let Some(inner) = node.items else { return Ok(()) };
        for (index, item) in items.iter().enumerate() {
            self.fits(inner, item).map_err(|misfit| misfit.inside(&format!("[{index}]")))?;
        }
        Ok(())
    }

    fn fits_fields(&self, at: At, fields: &Map<String, Value>) -> Result<(), Misfit> {
        let node = &self.nodes[at];
        for (name, value) in fields {
            if let Some(rule) = node.names
                && let Err(found) = self.fits(rule, &Value::String(name.clone()))
            {
                let expected = format!("a name of {}", found.expected);
                return Err(Misfit { expected, ..found }.inside(&shown(name)));
            }
            let inner = match (node.fields.get(name), node.others) {
                (Some(inner), _) => *inner,
                (None, Others::Each(inner)) => inner,
                (None, Others::Any) => continue,
                (None, Others::None) => return Err(self.unknown_field(at, name)),
            };
            self.fits(inner, value).map_err(|misfit| misfit.inside(&shown(name)))?;
        }
        if let Some(missing) = self.missing_fields(at, fields).next() {
            return Err(missing);
        }
        match node.n_fields_max {
            Some(max) if fields.len() as u64 > max => misfit(format!("at most {max} fields")),
            Some(_) | None => Ok(()),
        }
    }

    fn unknown_field(&self, at: At, name: &str) -> Misfit {
        Misfit { path: shown(name), expected: self.known_fields(at) }
    }

    fn unknown_fields(&self, at: At, fields: &Map<String, Value>) -> Vec<Misfit> {
        let node = &self.nodes[at];
        let is_closed = matches!(node.others, Others::None);
        let unknown = fields.keys().filter(|name| is_closed && !node.fields.contains_key(*name));
        unknown.map(|name| self.unknown_field(at, name)).collect()
    }

    fn missing_fields(
        &self,
        at: At,
        fields: &Map<String, Value>,
    ) -> impl Iterator<Item = Misfit> + use<'_> {
        let node = &self.nodes[at];
        let missing: Vec<_> =
            node.required.iter().filter(|name| !fields.contains_key(name.as_str())).collect();
        missing.into_iter().map(|name| {
            let inner = node.fields.get(name);
            let expected = inner.map_or_else(|| "a value".to_owned(), |at| self.expected(*at));
            Misfit { path: name.clone(), expected: format!("{expected}, but it is missing") }
        })
    }

    /// Of several forms, the likeliest one reports what is wrong.
    fn fits_one(&self, at: At, group: &[At], value: &Value) -> Result<(), Misfit> {
        if group.iter().any(|branch| self.fits(*branch, value).is_ok()) {
            return Ok(());
        }
        let of_kind: Vec<At> =
            group.iter().copied().filter(|branch| self.may_be(*branch, value)).collect();
        let Some(fields) = value.as_object() else {
            return match of_kind.as_slice() {
                [only] => self.fits(*only, value).map_err(|misfit| self.in_words_of(at, misfit)),
                _ => self.misfit(at),
            };
        };
        let meant = of_kind.iter().copied().find(|branch| self.is_meant(*branch, fields));
        match (meant, of_kind.as_slice()) {
            (Some(meant), _) => self.fits(meant, value),
            (None, [only]) => self.fits(*only, value),
            (None, branches) => Err(self.no_branch(at, branches)),
        }
    }

    /// No branch is meant: the tag is missing or unknown, or the single field is.
    fn no_branch(&self, at: At, branches: &[At]) -> Misfit {
        let tags: Vec<_> = branches.iter().filter_map(|branch| self.tag(*branch)).collect();
        let choices: Vec<_> = tags.iter().flat_map(|(_, node)| &node.choices).cloned().collect();
        match tags.first() {
            Some((name, _)) => {
                Misfit { path: (*name).clone(), expected: super::words::one_of(&choices) }
            }
            None => Misfit { path: String::new(), expected: self.expected(at) },
        }
    }

    /// Whether the value has the right kind for this branch.
    fn may_be(&self, at: At, value: &Value) -> bool {
        let node = &self.nodes[at];
        node.kinds.iter().any(|kind| kind.has(value))
            || (node.kinds.is_empty() && node.all_of.iter().any(|also| self.may_be(*also, value)))
            || (!node.groups.is_empty()
                && node.groups.iter().flatten().any(|branch| self.may_be(*branch, value)))
    }

    /// Whether an object has the tag of this branch, or its single field.
    fn is_meant(&self, at: At, fields: &Map<String, Value>) -> bool {
        let node = &self.nodes[at];
        match self.tag(at) {
            Some((name, tag)) => fields.get(name).is_some_and(|given| tag.choices.contains(given)),
            None => {
                node.required.iter().any(|name| fields.get(name).is_some_and(|it| !it.is_null()))
            }
        }
    }

    /// The field that tells several forms of an object apart: the one with a single value.
    fn tag(&self, at: At) -> Option<(&String, &Node)> {
        let node = &self.nodes[at];
        let fields = node.fields.iter().map(|(name, at)| (name, &self.nodes[*at]));
        let mut tags =
            fields.filter(|(name, inner)| inner.choices.len() == 1 && node.required.contains(name));
        tags.next()
    }

    fn misfit(&self, at: At) -> Result<(), Misfit> {
        misfit(self.expected(at))
    }
}

impl Misfit {
    /// The same misfit, with the path seen from one level further out.
    fn inside(self, step: &str) -> Self {
        let path = match self.path.as_str() {
            "" => step.to_owned(),
            rest if rest.starts_with('[') => format!("{step}{rest}"),
            rest => format!("{step}.{rest}"),
        };
        Self { path, ..self }
    }
}

impl Kind {
    fn has(self, value: &Value) -> bool {
        match self {
            Kind::Null => value.is_null(),
            Kind::Boolean => value.is_boolean(),
            Kind::Integer => value.is_u64() || value.is_i64(),
            Kind::Number => value.is_number(),
            Kind::Text => value.is_string(),
            Kind::List => value.is_array(),
            Kind::Object => value.is_object(),
        }
    }
}

impl Node {
    fn has_number(&self, number: f64) -> bool {
        self.number.min.is_none_or(|min| number >= min)
            && self.number.max.is_none_or(|max| number <= max)
            && self.above.is_none_or(|above| number > above)
            && self.below.is_none_or(|below| number < below)
    }

    fn has_text(&self, text: &str) -> bool {
        let n_characters = || text.chars().count() as u64;
        let is_span = || match text.parse::<Span>() {
            Ok(span) => {
                self.span.min.is_none_or(|min| span >= min)
                    && self.span.max.is_none_or(|max| span <= max)
            }
            Err(_) => false,
        };
        let has_span = self.span.min.is_some() || self.span.max.is_some();
        self.n_bytes_max.is_none_or(|max| text.len() as u64 <= max)
            && self.n_characters.max.is_none_or(|max| n_characters() <= max)
            && self.n_characters.min.is_none_or(|min| n_characters() >= min)
            && self.pattern.as_ref().is_none_or(|pattern| pattern.is_match(text))
            && (!has_span || is_span())
    }
}

fn misfit(expected: String) -> Result<(), Misfit> {
    Err(Misfit { path: String::new(), expected })
}

/// Long enough to recognise a name, short enough for a log line.
const NAME_CHARS_MAX: usize = 64;

fn shown(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}
