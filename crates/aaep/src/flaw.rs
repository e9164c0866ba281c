//! What is wrong with a document or with its place in a session.

use std::fmt;

use serde::Serialize;

/// Which kind of rule is broken. A document that breaks a rule of its schema is `schema_invalid`;
/// one that breaks a rule of the specification's words, alone or in its order, is a
/// `protocol_violation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// The JSON Schemas, with all that they let pass.
    Schema,
    /// What one document must be besides.
    Spec,
    /// What a session must be, event after event.
    Session,
}

/// One rule that is broken, where, and what was expected instead.
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

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {} (rule {})", self.field, self.expected, self.rule)
    }
}
