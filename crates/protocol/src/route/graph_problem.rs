//! A problem of a graph, and the checks that several of its parts share.

use std::fmt;

use regex::RegexBuilder;
use schemars::JsonSchema;
use serde::Serialize;

use super::limits::{LABEL_BYTES_MAX, REGEX_BYTES_MAX, REGEX_PROGRAM_BYTES_MAX};
use crate::hidden::is_blank;

/// Long enough to recognise an id in an error.
pub(super) const SHOWN_CHARS_MAX: usize = 64;

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GraphProblem {
    pub code: ProblemCode,
    /// The place, as in `nodes[2].rules[0].goto`.
    pub field: String,
    /// The id of the node, if the problem is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule_index: Option<usize>,
    /// What is expected there.
    pub expected: String,
}

/// Stable names of the problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProblemCode {
    SchemaInvalid,
    UnknownNode,
    UnreachableNode,
    DuplicateId,
    ReservedId,
    CycleWithoutGuard,
    TooDeep,
    NoDefault,
    BadRegex,
    EmptyRule,
    Misplaced,
    TooLarge,
}

impl ProblemCode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SchemaInvalid => "schema_invalid",
            Self::UnknownNode => "unknown_node",
            Self::UnreachableNode => "unreachable_node",
            Self::DuplicateId => "duplicate_id",
            Self::ReservedId => "reserved_id",
            Self::CycleWithoutGuard => "cycle_without_guard",
            Self::TooDeep => "too_deep",
            Self::NoDefault => "no_default",
            Self::BadRegex => "bad_regex",
            Self::EmptyRule => "empty_rule",
            Self::Misplaced => "misplaced",
            Self::TooLarge => "too_large",
        }
    }
}

impl fmt::Display for GraphProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = if self.field.is_empty() { "graph" } else { &self.field };
        write!(f, "{}  {field}", self.code.as_str())?;
        if let Some(node) = &self.node {
            write!(f, " ({node})")?;
        }
        write!(f, ": expected {}", self.expected)
    }
}

/// A place in a document.
#[derive(Debug, Clone)]
pub(super) struct Site<'i> {
    path: String,
    node: Option<&'i str>,
    rule_index: Option<usize>,
}

impl<'i> Site<'i> {
    pub(super) fn graph(path: &str) -> Self {
        Self { path: path.to_owned(), node: None, rule_index: None }
    }

    pub(super) fn node(index: usize, id: &'i str) -> Self {
        Self { path: format!("nodes[{index}]"), node: Some(id), rule_index: None }
    }

    pub(super) fn rule(&self, index: usize) -> Self {
        Self { rule_index: Some(index), ..self.field(&format!("rules[{index}]")) }
    }

    pub(super) fn item(&self, index: usize) -> Self {
        Self { path: format!("{}[{index}]", self.path), ..self.clone() }
    }

    pub(super) fn field(&self, name: &str) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        Self { path: format!("{}{dot}{name}", self.path), ..self.clone() }
    }

    pub(super) fn problem(&self, code: ProblemCode, expected: impl Into<String>) -> GraphProblem {
        let node = self.node.filter(|id| !id.is_empty());
        GraphProblem {
            code,
            field: self.path.clone(),
            node: node.map(|id| id.chars().take(SHOWN_CHARS_MAX).collect()),
            rule_index: self.rule_index,
            expected: expected.into(),
        }
    }
}

pub(super) fn label_problem(label: &str) -> Option<String> {
    let is_sound = !is_blank(label) && label.len() <= LABEL_BYTES_MAX;
    (!is_sound).then(|| format!("1 to {LABEL_BYTES_MAX} bytes of text"))
}

/// The problem of a regex that does not compile within its limit.
pub(super) fn regex_problem(regex: &str, site: &Site<'_>) -> Option<GraphProblem> {
    if regex.is_empty() || regex.len() > REGEX_BYTES_MAX {
        let expected = format!("a regex of 1 to {REGEX_BYTES_MAX} bytes");
        return Some(site.problem(ProblemCode::BadRegex, expected));
    }
    let compiled = RegexBuilder::new(regex).size_limit(REGEX_PROGRAM_BYTES_MAX).build();
    let error = compiled.err()?;
    let expected = if matches!(error, regex::Error::CompiledTooBig(_)) {
        "a regex that repeats less; it is too large once compiled".to_owned()
    } else {
        // The library's error draws a picture; its last line has the cause.
        let text = error.to_string();
        let cause = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
        format!("a regex that compiles: {cause}")
    };
    Some(site.problem(ProblemCode::BadRegex, expected))
}
