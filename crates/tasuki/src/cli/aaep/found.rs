//! Findings in files, for people, for programs and for continuous integration.

use std::fmt::Write as _;

use aaep::flaw::{Flaw, Tier};
use serde::Serialize;

use crate::output;

/// One finding, as `--json` prints it.
#[derive(Debug, Clone, Serialize)]
pub struct FileFinding {
    pub file: String,
    pub line: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The place of the document in its file, from 0.
    pub index: usize,
    pub level: Level,
    pub tier: Tier,
    pub code: &'static str,
    pub rule: &'static str,
    pub field: String,
    pub expected: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Error,
    Warning,
}

/// The position of a document in a file, and the ids that it names.
#[derive(Debug, Clone, Default)]
pub struct FilePlace {
    pub line: usize,
    pub column: Option<usize>,
    pub index: usize,
    pub event_id: Option<String>,
    pub session_id: Option<String>,
}

/// The result for a file.
#[derive(Debug, Clone, Default)]
pub struct FileReport {
    pub file: String,
    pub n_documents: usize,
    pub n_sessions: usize,
    pub n_errors: usize,
    pub n_warnings: usize,
    /// The errors by their tier, shown or not.
    pub failed: Failed,
    /// The first of them; at most as many as are shown.
    pub findings: Vec<FileFinding>,
}

/// How many errors there are of each tier.
#[derive(Debug, Clone, Copy, Default)]
pub struct Failed {
    schema: usize,
    spec: usize,
    session: usize,
}

impl Failed {
    pub fn add(&mut self, tier: Tier) {
        match tier {
            Tier::Schema => self.schema += 1,
            Tier::Spec => self.spec += 1,
            Tier::Session => self.session += 1,
        }
    }

    fn of(self, tier: Tier) -> usize {
        match tier {
            Tier::Schema => self.schema,
            Tier::Spec => self.spec,
            Tier::Session => self.session,
        }
    }
}

impl FileFinding {
    pub fn new(file: &str, place: &FilePlace, level: Level, flaw: Flaw) -> Self {
        let FilePlace { line, column, index, event_id, session_id } = place.clone();
        let Flaw { tier, rule, field, expected } = flaw;
        let (file, code) = (file.to_owned(), tier.code());
        let column = column.filter(|_| rule == "json");
        Self {
            file,
            line,
            column,
            index,
            level,
            tier,
            code,
            rule,
            field,
            expected,
            event_id,
            session_id,
        }
    }

    pub fn text(&self) -> String {
        let Self { file, line, rule, field, expected, .. } = self;
        let level = match self.level {
            Level::Error => "",
            Level::Warning => "warning, ",
        };
        let column = self.column.map(|column| format!(":{column}")).unwrap_or_default();
        let text =
            format!("{file}:{line}{column}: {level}rule {rule}  {field}: expected {expected}");
        output::clean(&text)
    }
}

const TIERS: [Tier; 3] = [Tier::Schema, Tier::Spec, Tier::Session];

/// The reports in the form of JUnit: a suite for each file, with a case for each tier.
pub fn junit(reports: &[FileReport]) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let failed = |report: &FileReport| {
        let is_in = |tier: &&Tier| report.failed.of(**tier) > 0;
        TIERS.iter().filter(is_in).count()
    };
    let n_failed: usize = reports.iter().map(failed).sum();
    let n_cases = reports.len() * TIERS.len();
    // Writing to a text cannot fail.
    let _ = writeln!(
        xml,
        "<testsuites name=\"tasuki aaep validate\" tests=\"{n_cases}\" failures=\"{n_failed}\">"
    );
    for report in reports {
        let (file, n_failed) = (escaped(&report.file), failed(report));
        let n_cases = TIERS.len();
        let _ = writeln!(
            xml,
            "  <testsuite name=\"{file}\" tests=\"{n_cases}\" failures=\"{n_failed}\">"
        );
        for tier in TIERS {
            case(&mut xml, report, tier);
        }
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn errors(report: &FileReport, tier: Tier) -> impl Iterator<Item = &FileFinding> {
    let is_it = move |it: &&FileFinding| it.level == Level::Error && it.tier == tier;
    report.findings.iter().filter(is_it)
}

fn case(xml: &mut String, report: &FileReport, tier: Tier) {
    let name = match tier {
        Tier::Schema => "schema",
        Tier::Spec => "spec",
        Tier::Session => "session",
    };
    let file = escaped(&report.file);
    let _ = write!(xml, "    <testcase classname=\"{file}\" name=\"{name}\"");
    let n_failed = report.failed.of(tier);
    if n_failed == 0 {
        xml.push_str("/>\n");
        return;
    }
    let mut lines: Vec<String> = errors(report, tier).map(|it| escaped(&it.text())).collect();
    let n_unseen = n_failed.saturating_sub(lines.len());
    if n_unseen > 0 {
        lines.push(format!("{} not shown", counted(n_unseen, "error")));
    }
    let first = lines.first().expect("what failed is shown, or said not to be");
    let _ = writeln!(xml, ">\n      <failure type=\"{}\" message=\"{first}\">", tier.code());
    for line in &lines {
        let _ = writeln!(xml, "{line}");
    }
    xml.push_str("      </failure>\n    </testcase>\n");
}

/// Characters that XML cannot have are gone already: findings are clean text.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in output::clean(text).chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}

/// `1 file`, `2 files`.
pub fn counted(n: usize, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {what}{plural}")
}
