//! The rule that Chat Completions and LangChain share: the results of a turn's calls follow it, a
//! message each, before any other message.

use std::collections::{BTreeMap, BTreeSet};

use super::{Findings, Rule};
use crate::tools::turn::{Speaker, Turn};

pub(super) fn check(turns: &[Turn<'_>], findings: &mut Findings) {
    let mut open = Batch::default();
    for (index, turn) in turns.iter().enumerate() {
        if turn.speaker == Speaker::Tool {
            for result in turn.results() {
                match open.answered.get_mut(result.call_id) {
                    None => findings.of_call(index, Rule::Orphan, result.call_id),
                    Some(true) => findings.of_call(index, Rule::AnsweredTwice, result.call_id),
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
                findings.of_call(index, Rule::CallIdTwice, call.id);
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
        for (call_id, _) in self.answered.iter().filter(|(_, answered)| !**answered) {
            findings.of_call(self.index, Rule::Unanswered, call_id);
        }
    }
}
