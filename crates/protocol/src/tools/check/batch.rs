//! The rule that Chat Completions and LangChain share: the results of a turn's calls follow it, a
//! message each, before anybody says anything else.

use std::collections::{BTreeMap, BTreeSet};

use super::{Findings, Rule};
use crate::tools::turn::{Speaker, Turn};

pub(super) fn check(turns: &[Turn<'_>], findings: &mut Findings) {
    let mut open = Batch::default();
    for (index, turn) in turns.iter().enumerate() {
        if turn.speaker == Speaker::Tool {
            for result in turn.results() {
                match open.answered.get_mut(result.call_id) {
                    None => findings.see(index, Rule::Orphan),
                    Some(true) => findings.see(index, Rule::AnsweredTwice),
                    Some(answered) => *answered = true,
                }
            }
            continue;
        }
        open.close(findings);
        open = Batch { index, answered: BTreeMap::new() };
        let mut known = BTreeSet::new();
        for call in turn.calls() {
            if !known.insert(call.id) {
                findings.see(index, Rule::CallIdTwice);
            }
            open.answered.insert(call.id, false);
        }
    }
    open.close(findings);
}

/// The calls of the last turn that was not a result, and which of them have theirs.
#[derive(Debug, Default)]
struct Batch<'a> {
    index: usize,
    answered: BTreeMap<&'a str, bool>,
}

impl Batch<'_> {
    fn close(&self, findings: &mut Findings) {
        for _ in self.answered.values().filter(|answered| !**answered) {
            findings.see(self.index, Rule::Unanswered);
        }
    }
}
