//! Whether a question says what is asked, and leaves time to think.

use super::{Heard, Remarks, advice};
use crate::event::{Confirmation, Decision, Payload, Reversibility, Risk};

/// With fewer words an action is hardly clear.
const ACTION_WORDS_MIN: usize = 3;

/// From the table of recommended timeouts.
const TIMEOUT_GRAVE_SECONDS_MIN: u32 = 180;
const TIMEOUT_MEDIUM_SECONDS_MIN: u32 = 60;
const TIMEOUT_LIGHT_SECONDS_MIN: u32 = 30;
const TIMEOUT_CLARIFICATION_SECONDS_MIN: u32 = 60;

const QUESTIONS_MAX: usize = 3;
const QUESTIONS_WINDOW_MICROS: i64 = 60_000_000;

/// Phrases that do not name an action.
const VAGUE: [&str; 9] = [
    "are you sure",
    "confirm this",
    "do you want to continue",
    "do you want to proceed",
    "is this ok",
    "is that ok",
    "perform the action",
    "please confirm",
    "proceed with the action",
];

pub(super) fn look(remarks: &mut Remarks<'_>) {
    let mut asked: Option<(usize, &Confirmation<'_>)> = None;
    let mut moments = Vec::new();
    for (index, heard) in remarks.events() {
        match &heard.event.payload {
            Payload::AwaitingConfirmation(confirmation) => {
                confirmed(remarks, index, heard, confirmation);
                asked = Some((index, confirmation));
            }
            Payload::AwaitingClarification(clarification) => {
                if clarification.timeout_seconds < TIMEOUT_CLARIFICATION_SECONDS_MIN {
                    remarks.add(&advice::TIMEOUT_SHORT, index, "clarification");
                }
            }
            Payload::ToolInvoked { irreversible: true, .. } => {
                if let Some((asked, confirmation)) = asked.take()
                    && !is_irreversible(confirmation)
                {
                    remarks.add(&advice::IRREVERSIBLE_UNSAID, asked, "");
                }
                continue;
            }
            Payload::SessionStarted { .. }
            | Payload::SessionCompleted
            | Payload::SessionErrored
            | Payload::SessionCancelled
            | Payload::StateChanged { .. }
            | Payload::ProgressUpdated { .. }
            | Payload::ToolInvoked { .. }
            | Payload::ToolCompleted { .. }
            | Payload::OutputStreaming(_)
            | Payload::HandoffRequested(_)
            | Payload::Extension { .. } => continue,
        }
        let at = heard.event.envelope.timestamp_micros;
        moments.retain(|earlier| at - earlier < QUESTIONS_WINDOW_MICROS);
        moments.push(at);
        if moments.len() > QUESTIONS_MAX {
            remarks.add(&advice::QUESTIONS_TOO_MANY, index, "");
        }
    }
}

fn confirmed(
    remarks: &mut Remarks<'_>,
    index: usize,
    heard: &Heard<'_>,
    confirmation: &Confirmation<'_>,
) {
    let consequence = heard.texts.consequence.as_deref().unwrap_or_default();
    if is_vague(&confirmation.action) {
        remarks.add(&advice::ACTION_VAGUE, index, "");
    }
    if is_vague(consequence) || consequence == confirmation.action {
        remarks.add(&advice::CONSEQUENCE_VAGUE, index, "");
    }
    if confirmation.timeout_seconds < timeout_seconds_min(confirmation) {
        remarks.add(&advice::TIMEOUT_SHORT, index, "confirmation");
    }
    let is_high = confirmation.risk == Some(Risk::High);
    if is_high && confirmation.default_decision == Decision::Accept {
        remarks.add(&advice::DEFAULT_UNSAFE, index, "");
    }
    if is_irreversible(confirmation) && heard.event.envelope.link.action_hash.is_none() {
        remarks.add(&advice::LINK_MISSING, index, "");
    }
}

fn is_irreversible(confirmation: &Confirmation<'_>) -> bool {
    confirmation.irreversible || confirmation.reversibility == Some(Reversibility::Irreversible)
}

fn timeout_seconds_min(confirmation: &Confirmation<'_>) -> u32 {
    match (confirmation.risk, is_irreversible(confirmation)) {
        (Some(Risk::High), _) | (None, true) => TIMEOUT_GRAVE_SECONDS_MIN,
        (Some(Risk::Medium), _) | (Some(Risk::Low), true) => TIMEOUT_MEDIUM_SECONDS_MIN,
        (Some(Risk::Low) | None, false) => TIMEOUT_LIGHT_SECONDS_MIN,
    }
}

/// Few words, or words that would fit any action. Languages without spaces have long "words".
fn is_vague(text: &str) -> bool {
    let n_words = text.split_whitespace().count();
    let is_short = n_words < ACTION_WORDS_MIN && text.is_ascii();
    let plain = text.trim().trim_end_matches(['.', '?', '!']).to_lowercase();
    is_short || plain.is_empty() || VAGUE.iter().any(|vague| plain == *vague)
}
