//! The flaws found while a document is read: place, rule, expected value. It costs nothing as long
//! as there are none.

use std::fmt;

use crate::flaw::{Flaw, Tier};
use base::json::is_forbidden;

/// The most flaws that are reported of one document in one tier. That is enough for a sender, and
/// bounds the work for a hostile document.
const FLAWS_MAX: usize = 32;

/// Long enough to recognise a key, short enough for a line.
const KEY_CHARS_MAX: usize = 64;

/// The path of the document as a whole.
const DOCUMENT: &str = "document";

/// A place in a document that is being read: steps on the stack, innermost first.
#[derive(Debug, Clone, Copy)]
pub(super) enum Path<'p> {
    Root,
    Key(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Key(up, key) => {
                if !matches!(up, Path::Root) {
                    write!(f, "{up}.")?;
                }
                for (n_before, character) in key.chars().enumerate() {
                    if n_before == KEY_CHARS_MAX {
                        return f.write_str("…");
                    }
                    let shown = if is_forbidden(character) { '\u{FFFD}' } else { character };
                    write!(f, "{shown}")?;
                }
                Ok(())
            }
            Path::Index(up, index) => write!(f, "{up}[{index}]"),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Report {
    schema: Vec<Flaw>,
    spec: Vec<Flaw>,
    warnings: Option<Vec<Flaw>>,
    /// While our own extension is read, its flaws count as breaches of this rule.
    own_rule: Option<&'static str>,
}

impl Report {
    pub(super) fn with_warnings() -> Report {
        Report { warnings: Some(Vec::new()), ..Report::default() }
    }

    pub(super) fn wants_warnings(&self) -> bool {
        self.warnings.is_some()
    }

    pub(super) fn schema(
        &mut self,
        rule: &'static str,
        path: &Path<'_>,
        expected: fmt::Arguments<'_>,
    ) {
        match self.own_rule {
            Some(own) => self.spec(own, path, expected),
            None => push(&mut self.schema, Tier::Schema, rule, path, expected),
        }
    }

    pub(super) fn spec(
        &mut self,
        rule: &'static str,
        path: &Path<'_>,
        expected: fmt::Arguments<'_>,
    ) {
        push(&mut self.spec, Tier::Spec, rule, path, expected);
    }

    pub(super) fn warn(
        &mut self,
        rule: &'static str,
        path: &Path<'_>,
        expected: fmt::Arguments<'_>,
    ) {
        if let Some(warnings) = &mut self.warnings {
            push(warnings, Tier::Spec, rule, path, expected);
        }
    }

    /// Text that is no JSON has no other flaws.
    pub(super) fn not_json(&mut self, line: usize, column: usize) {
        self.schema.clear();
        self.spec.clear();
        self.own_rule = None;
        let expected = format_args!("valid JSON, stopped at line {line} column {column}");
        self.schema("json", &Path::Root, expected);
    }

    /// All flaws until the rule is reset count as a breach of it.
    pub(super) fn set_own_rule(&mut self, rule: Option<&'static str>) {
        self.own_rule = rule;
    }

    /// Whether a member of the document breaks its schema.
    pub(super) fn breaks_schema_at(&self, member: &str) -> bool {
        self.schema.iter().any(|flaw| flaw.is_in(member))
    }

    pub(super) fn is_clean(&self) -> bool {
        self.schema.is_empty() && self.spec.is_empty()
    }

    /// The flaws that make the document invalid, the schema's first, and the warnings.
    pub(super) fn into_flaws(self) -> (Vec<Flaw>, Vec<Flaw>) {
        let Report { mut schema, spec, warnings, own_rule: _ } = self;
        // A wrong field is one flaw.
        for flaw in spec {
            if !schema.iter().any(|it| it.field == flaw.field) {
                schema.push(flaw);
            }
        }
        (schema, warnings.unwrap_or_default())
    }
}

fn push(
    flaws: &mut Vec<Flaw>,
    tier: Tier,
    rule: &'static str,
    path: &Path<'_>,
    expected: fmt::Arguments<'_>,
) {
    if flaws.len() < FLAWS_MAX {
        let field = match path {
            Path::Root => DOCUMENT.to_owned(),
            Path::Key(..) | Path::Index(..) => path.to_string(),
        };
        flaws.push(Flaw { tier, rule, field, expected: expected.to_string() });
    }
}
