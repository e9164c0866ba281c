//! What Anthropic's Messages requires of a history.

use std::collections::BTreeSet;

use super::{Findings, Rule, check_calls};
use crate::tools::Form;
use crate::tools::turn::{Arguments, Part, Speaker, Turn};

pub(super) fn check(turns: &[Turn<'_>], findings: &mut Findings) {
    let mut known = BTreeSet::new();
    for (index, turn) in turns.iter().enumerate() {
        check_calls(Form::Anthropic, index, turn, findings);
        check_parts(index, turn, findings);
        for call in turn.calls() {
            if !known.insert(call.id) {
                findings.of_call(index, Rule::CallIdTwice, call.id);
            }
            match call.arguments {
                Arguments::Object(_) => {}
                Arguments::Text(_) => findings.see(index, Rule::Arguments),
            }
        }
        let before = index.checked_sub(1).map(|before| &turns[before]);
        check_results(index, before, turn, findings);
        check_speaker(index, before, turn, findings);
    }
    let Some(last) = turns.last() else { return };
    for call in last.calls() {
        findings.of_call(turns.len() - 1, Rule::Unanswered, call.id);
    }
    if last.speaker == Speaker::Assistant
        && let Some(Part::Text(text)) = last.parts.last()
        && text.ends_with(char::is_whitespace)
    {
        findings.see(turns.len() - 1, Rule::TrailingSpace);
    }
}

fn check_speaker(
    index: usize,
    before: Option<&Turn<'_>>,
    turn: &Turn<'_>,
    findings: &mut Findings,
) {
    match before {
        None if turn.speaker != Speaker::User => findings.see(index, Rule::FirstSpeaker),
        Some(before) if before.speaker == turn.speaker => findings.see(index, Rule::Turns),
        None | Some(_) => {}
    }
}

/// The results of a message are those of the calls right before it, each once.
fn check_results(
    index: usize,
    before: Option<&Turn<'_>>,
    turn: &Turn<'_>,
    findings: &mut Findings,
) {
    let called: BTreeSet<&str> =
        before.into_iter().flat_map(Turn::calls).map(|call| call.id).collect();
    let mut answered = BTreeSet::new();
    for result in turn.results() {
        if !called.contains(result.call_id) {
            findings.of_call(index, Rule::Orphan, result.call_id);
        } else if !answered.insert(result.call_id) {
            findings.of_call(index, Rule::AnsweredTwice, result.call_id);
        }
    }
    for call_id in called.difference(&answered) {
        findings.of_call(index - 1, Rule::Unanswered, call_id);
    }
}

fn check_parts(index: usize, turn: &Turn<'_>, findings: &mut Findings) {
    if turn.parts.is_empty() {
        findings.see(index, Rule::Empty);
    }
    let (mut has_called, mut has_said) = (false, false);
    for part in &turn.parts {
        match part {
            Part::Text(text) => {
                if text.trim().is_empty() {
                    findings.see(index, Rule::Empty);
                }
                if has_called {
                    findings.see(index, Rule::CallsLast);
                }
                has_said = true;
            }
            Part::Call(_) => {
                if turn.speaker != Speaker::Assistant {
                    findings.see(index, Rule::WrongSpeaker);
                }
                has_called = true;
            }
            Part::Result(_) => {
                if turn.speaker != Speaker::User {
                    findings.see(index, Rule::WrongSpeaker);
                }
                if has_said {
                    findings.see(index, Rule::ResultsFirst);
                }
            }
            Part::Other => has_said = true,
        }
    }
}
