//! A schema compiled for many values: every keyword is read once, every reference is followed once.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Value};

use super::keywords::{BYTES_MAX, EXPECTED, SPAN_MAX, SPAN_MIN};
use crate::time::Span;

/// The index of a node.
pub type At = usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Null,
    Boolean,
    Integer,
    Number,
    Text,
    List,
    Object,
}

/// Whether an object may have fields that it does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Others {
    #[default]
    Any,
    None,
    Each(At),
}

/// A lower and an upper bound, both included; `None` for no bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ends<T> {
    pub min: Option<T>,
    pub max: Option<T>,
}

impl<T> Default for Ends<T> {
    fn default() -> Self {
        Self { min: None, max: None }
    }
}

#[derive(Debug, Default)]
pub struct Node {
    /// All of these must hold as well.
    pub all_of: Vec<At>,
    /// One of each group must hold.
    pub groups: Vec<Vec<At>>,
    pub kinds: Vec<Kind>,
    pub choices: Vec<Value>,
    pub fields: BTreeMap<String, At>,
    pub required: Vec<String>,
    pub others: Others,
    pub names: Option<At>,
    pub n_fields_max: Option<u64>,
    pub items: Option<At>,
    pub n_items: Ends<u64>,
    pub is_unique: bool,
    pub n_characters: Ends<u64>,
    pub n_bytes_max: Option<u64>,
    pub pattern: Option<Regex>,
    pub is_time: bool,
    pub span: Ends<Span>,
    pub number: Ends<f64>,
    pub above: Option<f64>,
    pub below: Option<f64>,
    pub expected: Option<String>,
}

/// Reads a schema with its definitions. All keywords in our schemas must be known here; an unknown
/// one would be published and not checked.
pub struct Reader<'s> {
    root: &'s Value,
    pub nodes: Vec<Node>,
    known: BTreeMap<String, At>,
}

impl<'s> Reader<'s> {
    pub fn new(root: &'s Value) -> Self {
        Self { root, nodes: Vec::new(), known: BTreeMap::new() }
    }

    pub fn read(&mut self, schema: &Value) -> At {
        let at = self.nodes.len();
        self.nodes.push(Node::default());
        let mut node = Node::default();
        if let Some(keywords) = schema.as_object() {
            for (keyword, value) in keywords {
                self.keyword(&mut node, keywords, keyword, value);
            }
        } else {
            assert_eq!(schema, &Value::Bool(true), "a schema is an object or `true`");
        }
        self.nodes[at] = node;
        at
    }

    fn keyword(&mut self, node: &mut Node, all: &Map<String, Value>, keyword: &str, value: &Value) {
        match keyword {
            "$ref" => node.all_of.push(self.referred(text(value))),
            "allOf" => node.all_of.extend(self.each(value)),
            "anyOf" | "oneOf" => node.groups.push(self.each(value)),
            "type" => node.kinds = kinds(value),
            "enum" => node.choices = list(value).to_vec(),
            "const" => node.choices = vec![value.clone()],
            "properties" => {
                let fields = value.as_object().expect("properties are an object");
                node.fields =
                    fields.iter().map(|(name, schema)| (name.clone(), self.read(schema))).collect();
            }
            "required" => {
                node.required = list(value).iter().map(|name| text(name).to_owned()).collect();
            }
            "additionalProperties" => {
                node.others = match value.as_bool() {
                    Some(false) => Others::None,
                    Some(true) => Others::Any,
                    None => Others::Each(self.read(value)),
                };
            }
            "propertyNames" => node.names = Some(self.read(value)),
            "maxProperties" => node.n_fields_max = value.as_u64(),
            "items" => node.items = Some(self.read(value)),
            "minItems" => node.n_items.min = value.as_u64(),
            "maxItems" => node.n_items.max = value.as_u64(),
            "uniqueItems" => node.is_unique = value == true,
            "minLength" => node.n_characters.min = value.as_u64(),
            "maxLength" => node.n_characters.max = value.as_u64(),
            "pattern" => {
                node.pattern = Some(Regex::new(text(value)).expect("our patterns are regexes"));
            }
            "minimum" => node.number.min = value.as_f64(),
            "maximum" => node.number.max = value.as_f64(),
            "exclusiveMinimum" => node.above = value.as_f64(),
            "exclusiveMaximum" => node.below = value.as_f64(),
            "format" => node.is_time = value == "date-time",
            BYTES_MAX => node.n_bytes_max = value.as_u64(),
            SPAN_MIN => node.span.min = text(value).parse().ok(),
            SPAN_MAX => node.span.max = text(value).parse().ok(),
            EXPECTED => node.expected = Some(text(value).to_owned()),
            "title" | "description" | "default" | "examples" | "$schema" | "$id" | "$defs" => {}
            other => panic!("a schema has the keyword `{other}`, which nothing checks: {all:?}"),
        }
    }

    fn each(&mut self, schemas: &Value) -> Vec<At> {
        list(schemas).iter().map(|schema| self.read(schema)).collect()
    }

    /// The definition of this name. A recursive one is already known when it is met again.
    fn referred(&mut self, reference: &str) -> At {
        if let Some(at) = self.known.get(reference) {
            return *at;
        }
        let pointer = reference.strip_prefix('#').expect("references stay inside");
        let schema = self.root.pointer(pointer).expect("a reference leads somewhere").clone();
        let at = self.nodes.len();
        self.known.insert(reference.to_owned(), at);
        let read = self.read(&schema);
        assert_eq!(read, at, "a definition is read where it was announced");
        at
    }
}

fn kinds(value: &Value) -> Vec<Kind> {
    let kind = |name: &Value| match text(name) {
        "null" => Kind::Null,
        "boolean" => Kind::Boolean,
        "integer" => Kind::Integer,
        "number" => Kind::Number,
        "string" => Kind::Text,
        "array" => Kind::List,
        "object" => Kind::Object,
        other => panic!("there is no type `{other}`"),
    };
    match value.as_array() {
        Some(names) => names.iter().map(kind).collect(),
        None => vec![kind(value)],
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("this keyword is a text")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("this keyword is a list")
}
