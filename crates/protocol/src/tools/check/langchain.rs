//! What LangChain's models require of a history. It is sent on to some provider, so ids and names
//! must fit what most of them accept.

use super::{Findings, Rule, batch, check_calls};
use crate::tools::Form;
use crate::tools::turn::{Part, Speaker, Turn};

pub(super) fn check(turns: &[Turn<'_>], findings: &mut Findings) {
    for (index, turn) in turns.iter().enumerate() {
        check_calls(Form::LangChain, index, turn, findings);
        if turn.speaker == Speaker::User && turn.parts.iter().all(is_empty) {
            findings.see(index, Rule::Empty);
        }
    }
    batch::check(turns, findings);
}

fn is_empty(part: &Part<'_>) -> bool {
    matches!(part, Part::Text(""))
}
