//! A conversation as the history of a model, in the form of its provider.
//!
//! The customer is the user, and every agent is the assistant. Each change of hands is a call of a
//! handoff tool with its result, also where no model called it: a customer cannot write a call, so
//! a model can rely on what the calls say. [`write`] puts the steps into a form.

mod steps;
mod write;

#[cfg(test)]
mod tests;

use serde_json::Value;

use super::history_form::HistoryForm;
use super::text;
use crate::conversation::Event;
use crate::conversation::part::Part;
use crate::conversation::transcript_line::TranscriptLine;
use crate::ids::ConversationId;
use steps::{Step, StepKind};

/// The most lines of a transcript in a history. More of them do not fit the attention of a model.
pub const HISTORY_LINES_MAX: usize = 200;

/// The most bytes of text in a history: about 64,000 tokens, which every current model reads.
pub const HISTORY_BYTES_MAX: usize = 256 * 1024;

/// The newest part of a conversation, as a history.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    pub messages: Vec<Value>,
    /// How many lines at the beginning of the transcript are not in it.
    pub n_left_out: u64,
    /// The number of the last line that it covers; 0 for none.
    pub through: u64,
}

/// The history that these lines make: the newest lines of a transcript, in their order. Whole lines
/// are left out at the beginning until the rest fits, and a first message says so. Notes between
/// people and erased lines are never in it.
pub fn history(
    form: HistoryForm,
    conversation: ConversationId,
    lines: &[TranscriptLine],
) -> History {
    let mut steps = steps::steps(conversation, lines);
    let n_kept = n_that_fit(&steps);
    let is_cut = n_kept < steps.len();
    steps.drain(..steps.len() - n_kept);
    if let [only] = steps.as_mut_slice() {
        shorten(only);
    }
    let first_line = lines.first().map_or(1, |line| line.number);
    let first_kept = steps.first().map_or(first_line, |step| step.number);
    let first = if is_cut { first_kept } else { first_line };
    let n_left_out = first.saturating_sub(1);
    History {
        messages: write::write(form, n_left_out, &steps),
        n_left_out,
        through: lines.last().map_or(0, |line| line.number),
    }
}

/// How much was said in some lines.
pub fn n_text_bytes(lines: &[TranscriptLine]) -> usize {
    let said = lines.iter().filter_map(|line| match &line.event {
        Some(Event::Said(said)) => Some(&said.parts),
        Some(_) | None => None,
    });
    let texts = said.flatten().map(|part| match part {
        Part::Text(text) => text.text.len(),
        Part::Attachment(_) | Part::File(_) => 0,
    });
    texts.sum()
}

/// How many of the newest steps fit; the newest one always stays.
fn n_that_fit(steps: &[Step]) -> usize {
    let mut room = HISTORY_BYTES_MAX;
    let fits = |step: &&Step| {
        let rest = room.checked_sub(step.n_bytes());
        room = rest.unwrap_or_default();
        rest.is_some()
    };
    steps.iter().rev().take_while(fits).count().max(usize::from(!steps.is_empty()))
}

/// One message may be larger than a whole history.
fn shorten(step: &mut Step) {
    match &mut step.kind {
        StepKind::Customer(said) | StepKind::Agent { said, .. } => {
            if said.len() > HISTORY_BYTES_MAX {
                *said = text::cut_bytes(said, HISTORY_BYTES_MAX);
            }
        }
        // Its texts have limits of their own.
        StepKind::Handoff(_) => {}
    }
}
