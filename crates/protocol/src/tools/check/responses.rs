//! What the Responses API requires of its items. A result may come anywhere after its call.

use std::collections::{BTreeMap, BTreeSet};

use super::{Findings, Rule, check_calls};
use crate::tools::Form;
use crate::tools::turn::{Arguments, Turn};

pub(super) fn check(turns: &[Turn<'_>], findings: &mut Findings) {
    let mut called: BTreeMap<&str, usize> = BTreeMap::new();
    let mut answered = BTreeSet::new();
    for (index, turn) in turns.iter().enumerate() {
        check_calls(Form::Responses, index, turn, findings);
        for call in turn.calls() {
            match call.arguments {
                Arguments::Text(_) => {}
                Arguments::Object(_) => findings.see(index, Rule::Arguments),
            }
            if called.insert(call.id, index).is_some() {
                findings.of_call(index, Rule::CallIdTwice, call.id);
            }
        }
        for result in turn.results() {
            if !called.contains_key(result.call_id) {
                findings.of_call(index, Rule::Orphan, result.call_id);
            } else if !answered.insert(result.call_id) {
                findings.of_call(index, Rule::AnsweredTwice, result.call_id);
            }
        }
        if turn.parts.is_empty() {
            findings.see(index, Rule::Empty);
        }
    }
    for (call_id, index) in called.iter().filter(|(call_id, _)| !answered.contains(*call_id)) {
        findings.of_call(*index, Rule::Unanswered, call_id);
    }
}
