//! Whether a session is good for listeners: nothing here is a rule, all of it is advice. A pure
//! function of the events of one session, in order.

mod advice;
mod pace;
mod questions;
mod summaries;

#[cfg(test)]
mod lint_tests;

use serde::{Deserialize, Serialize};

pub use self::advice::{ALL, Advice};
use super::event::Event;

/// An event as a listener gets it.
#[derive(Debug, Clone)]
pub struct Heard<'a> {
    pub event: &'a Event<'a>,
    pub texts: Texts,
}

/// The texts of an event that no rule uses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Texts {
    pub summary_terse: Option<String>,
    pub summary_normal: Option<String>,
    pub summary_detailed: Option<String>,
    pub args_summary: Option<String>,
    pub request_text: Option<String>,
    pub consequence: Option<String>,
    pub remediation_hint: Option<String>,
}

/// One thing that could be better, reported once for all similar events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LintFinding {
    /// Stable.
    pub name: &'static str,
    /// The first event that it is about, and its index in the session.
    pub event_id: String,
    pub index: usize,
    pub n_events: usize,
    pub advice: &'static str,
}

impl Texts {
    /// The texts of an event's JSON; empty if there are none, or if it cannot be parsed.
    pub fn read(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }
}

/// All findings about a session, in the order of its events.
pub fn lint(session: &[Heard<'_>]) -> Vec<LintFinding> {
    let mut remarks = Remarks { session, findings: Vec::new() };
    summaries::look(&mut remarks);
    questions::look(&mut remarks);
    pace::look(&mut remarks);
    let mut findings: Vec<_> = remarks.findings.into_iter().map(|(_, finding)| finding).collect();
    findings.sort_by_key(|finding| finding.index);
    findings
}

/// The findings so far. Each has a group; a repeat of the same name and group is only counted.
struct Remarks<'a> {
    session: &'a [Heard<'a>],
    findings: Vec<(String, LintFinding)>,
}

impl<'a> Remarks<'a> {
    fn events(&self) -> impl Iterator<Item = (usize, &'a Heard<'a>)> + use<'a> {
        self.session.iter().enumerate()
    }

    fn add(&mut self, advice: &Advice, index: usize, group: &str) {
        let is_it = |(known, finding): &&mut (String, LintFinding)| {
            finding.name == advice.name && known == group
        };
        if let Some((_, finding)) = self.findings.iter_mut().find(is_it) {
            finding.n_events += 1;
            return;
        }
        let event_id = self.session[index].event.envelope.event_id.as_ref().to_owned();
        let Advice { name, words } = *advice;
        let finding = LintFinding { name, event_id, index, n_events: 1, advice: words };
        self.findings.push((group.to_owned(), finding));
    }
}
