//! Whether there is a text for each verbosity, in a known language, and fit to be heard.

use super::{Heard, Remarks, advice};
use crate::event::{Payload, Urgency};
use crate::secrets;

/// About what is said in one breath.
const NORMAL_CHARS_MAX: usize = 300;

/// Signs of technical text, which listeners do not want read out.
const TECHNICAL: [&str; 10] =
    ["{\"", "\":", "**", "`", "<b", "</", "http://", "https://", "evt_", "call_"];

pub(super) fn look(remarks: &mut Remarks<'_>) {
    for (index, heard) in remarks.events() {
        let payload = &heard.event.payload;
        if heard.event.envelope.primary_language.is_none() {
            remarks.add(&advice::LANGUAGE_MISSING, index, "");
        }
        let texts = &heard.texts;
        let told = [&texts.args_summary, &texts.request_text];
        let said = [&texts.summary_terse, &texts.summary_normal, &texts.summary_detailed];
        if told.into_iter().chain(said).flatten().any(|text| secrets::has_secret(text)) {
            remarks.add(&advice::SECRET_SHOWN, index, payload.name());
        }
        urgency(remarks, index, heard);
        if matches!(payload, Payload::SessionErrored) && heard.texts.remediation_hint.is_none() {
            remarks.add(&advice::ERROR_WITHOUT_HELP, index, "");
        }
        match payload {
            Payload::OutputStreaming(_) | Payload::Extension { .. } => {}
            Payload::SessionStarted { .. }
            | Payload::SessionCompleted
            | Payload::SessionErrored
            | Payload::SessionCancelled
            | Payload::StateChanged { .. }
            | Payload::ProgressUpdated { .. }
            | Payload::ToolInvoked { .. }
            | Payload::ToolCompleted { .. }
            | Payload::AwaitingConfirmation(_)
            | Payload::AwaitingClarification(_)
            | Payload::HandoffRequested(_) => summaries(remarks, index, heard),
        }
    }
}

fn summaries(remarks: &mut Remarks<'_>, index: usize, heard: &Heard<'_>) {
    let group = heard.event.payload.name();
    let (terse, detailed) = (&heard.texts.summary_terse, &heard.texts.summary_detailed);
    let Some(normal) = &heard.texts.summary_normal else {
        return remarks.add(&advice::SUMMARY_MISSING, index, group);
    };
    let length = normal.chars().count();
    match terse {
        None => remarks.add(&advice::TERSE_MISSING, index, group),
        Some(terse) if terse.chars().count() >= length && terse != normal => {
            remarks.add(&advice::TERSE_LONG, index, group);
        }
        Some(_) => {}
    }
    if detailed.as_ref().is_some_and(|detailed| detailed.chars().count() <= length) {
        remarks.add(&advice::DETAILED_SHORT, index, group);
    }
    if length > NORMAL_CHARS_MAX {
        remarks.add(&advice::SUMMARY_LONG, index, group);
    }
    let mut said = terse.iter().chain([normal]).chain(detailed);
    if said.any(|text| TECHNICAL.iter().any(|mark| text.contains(mark))) {
        remarks.add(&advice::SUMMARY_TECHNICAL, index, group);
    }
}

fn urgency(remarks: &mut Remarks<'_>, index: usize, heard: &Heard<'_>) {
    let is_background = heard.event.envelope.urgency == Some(Urgency::Background);
    match &heard.event.payload {
        Payload::SessionErrored
        | Payload::AwaitingConfirmation(_)
        | Payload::AwaitingClarification(_)
        | Payload::HandoffRequested(_)
        | Payload::Extension { .. } => {}
        payload if heard.event.is_critical() => {
            remarks.add(&advice::CRITICAL_OVERUSED, index, payload.name());
        }
        Payload::ProgressUpdated { .. } if !is_background => {
            remarks.add(&advice::PROGRESS_LOUD, index, "");
        }
        Payload::SessionStarted { .. }
        | Payload::SessionCompleted
        | Payload::SessionCancelled
        | Payload::StateChanged { .. }
        | Payload::ProgressUpdated { .. }
        | Payload::ToolInvoked { .. }
        | Payload::ToolCompleted { .. }
        | Payload::OutputStreaming(_) => {}
    }
}
