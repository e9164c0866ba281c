//! What a form expects, in words that need no knowledge of schemas or of our types.

use serde_json::Value;

use super::check::Form;
use super::node::{At, Ends, Kind, Node};
use crate::time::Time;

/// No more names than this are shown.
const NAMES_SHOWN_MAX: usize = 32;

impl Form {
    /// What is expected at a place.
    pub(super) fn expected(&self, at: At) -> String {
        let node = &self.nodes[at];
        if let Some(expected) = &node.expected {
            return expected.clone();
        }
        let choices: Vec<_> = node.choices.iter().filter(|choice| !choice.is_null()).collect();
        if !choices.is_empty() {
            return one_of(choices);
        }
        if node.is_time
            && let Err(error) = "".parse::<Time>()
        {
            return plain(&error);
        }
        if let Some(also) = node.all_of.first() {
            return self.expected(*also);
        }
        if let Some(group) = node.groups.first() {
            return self.of_group(group);
        }
        let kinds = node.kinds.iter().filter(|kind| **kind != Kind::Null);
        let words: Vec<_> = kinds.map(|kind| node.kind_in_words(*kind)).collect();
        match (words.is_empty(), node.kinds.is_empty()) {
            (true, true) => "a value".to_owned(),
            (true, false) => "null".to_owned(),
            (false, _) => words.join(" or "),
        }
    }

    fn of_group(&self, group: &[At]) -> String {
        let is_null = |at: &&At| self.nodes[**at].kinds == [Kind::Null];
        let branches: Vec<At> = group.iter().filter(|at| !is_null(at)).copied().collect();
        let choices = branches.iter().flat_map(|at| &self.nodes[*at].choices);
        let is_choice = |at: &At| !self.nodes[*at].choices.is_empty();
        if branches.iter().all(is_choice) {
            return one_of(choices);
        }
        let mut words: Vec<String> = Vec::new();
        for branch in branches {
            let expected = match self.nodes[branch].required.as_slice() {
                [only] => format!("an object with `{only}`"),
                _ => self.expected(branch),
            };
            if !words.contains(&expected) {
                words.push(expected);
            }
        }
        words.join(" or ")
    }

    /// How many items a list must have.
    pub(super) fn count_of(&self, at: At) -> String {
        match self.nodes[at].n_items {
            Ends { min: Some(min), max: Some(max) } => format!("{min} to {max} items"),
            Ends { min: Some(1), max: None } => "at least one item".to_owned(),
            Ends { min: Some(min), max: None } => format!("at least {min} items"),
            Ends { min: None, max: Some(max) } => format!("at most {max} items"),
            Ends { min: None, max: None } => "a list".to_owned(),
        }
    }

    /// The text for an unknown field.
    pub(super) fn known_fields(&self, at: At) -> String {
        let names: Vec<_> = self.nodes[at].fields.keys().take(NAMES_SHOWN_MAX).cloned().collect();
        match names.as_slice() {
            [] => "to be left out; there are no fields here".to_owned(),
            names => format!("to be left out; the fields here are {}", names.join(", ")),
        }
    }
}

impl Node {
    fn kind_in_words(&self, kind: Kind) -> String {
        match kind {
            Kind::Null => "null".to_owned(),
            Kind::Boolean => "true or false".to_owned(),
            Kind::Integer => self.number_in_words("a whole number"),
            Kind::Number => self.number_in_words("a number"),
            Kind::Text => match &self.pattern {
                Some(pattern) => format!("text of the pattern {}", pattern.as_str()),
                None => "text".to_owned(),
            },
            Kind::List => "a list".to_owned(),
            Kind::Object => "an object".to_owned(),
        }
    }

    fn number_in_words(&self, kind: &str) -> String {
        let lower = self.number.min.map(|min| format!("from {min}"));
        let lower = lower.or(self.above.map(|above| format!("above {above}")));
        let upper = self.number.max.map(|max| format!("to {max}"));
        let upper = upper.or(self.below.map(|below| format!("below {below}")));
        let ends: Vec<_> = lower.into_iter().chain(upper).collect();
        if ends.is_empty() { kind.to_owned() } else { format!("{kind} {}", ends.join(" ")) }
    }
}

/// What a parser says it expected.
pub fn plain(error: &impl std::fmt::Display) -> String {
    let text = error.to_string();
    text.strip_prefix("expected ").unwrap_or(&text).to_owned()
}

/// One of several values, in their serialized form.
pub fn one_of<'v>(choices: impl IntoIterator<Item = &'v Value>) -> String {
    let name = |choice: &Value| choice.as_str().map_or_else(|| choice.to_string(), str::to_owned);
    let names: Vec<_> = choices.into_iter().map(name).collect();
    match names.as_slice() {
        [only] => format!("`{only}`"),
        names => format!("one of {}", names.join(", ")),
    }
}
