//! What is wrong with a document or with its place in a session.

use std::fmt;

use serde::Serialize;

/// The kind of a broken rule. A document that breaks a rule of its schema is `schema_invalid`. One
/// that breaks a rule of the specification's text, on its own or by its place in the session, is a
/// `protocol_violation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// The JSON Schemas, exactly as published.
    Schema,
    /// Further rules for a single document.
    Spec,
    /// Rules for the order of events in a session.
    Session,
}

/// A broken rule, its place, and what was expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Flaw {
    pub tier: Tier,
    /// The number of the rule in the specification (`4.5.2`), or the keyword of the schema
    /// (`required`, `maxLength`). Stable.
    pub rule: &'static str,
    /// The place in the document, as a path: `progress.percent`, `choices[2].value`.
    pub field: String,
    pub expected: String,
}

impl Tier {
    /// The stable code of an error of this tier.
    pub fn code(self) -> &'static str {
        match self {
            Tier::Schema => "schema_invalid",
            Tier::Spec | Tier::Session => "protocol_violation",
        }
    }
}

impl Flaw {
    /// Whether it is a flaw of this field, or of a part of it.
    pub fn is_in(&self, field: &str) -> bool {
        let rest = self.field.strip_prefix(field);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {} (rule {})", self.field, self.expected, self.rule)
    }
}
