//! Whether there is too much or too little to hear.

use super::{Remarks, advice};
use crate::event::{Chunk, Payload};
use crate::{AGENT_ID, STATES};

const SECOND_MICROS: i64 = 1_000_000;

/// More than this within a second is noise. Chunks are merged and do not count.
const EVENTS_PER_SECOND_MAX: usize = 10;

const PROGRESS_PERCENT_MIN: f64 = 5.0;

const LONG_WORK_MICROS: i64 = 10 * SECOND_MICROS;

const GAP_MICROS_MAX: i64 = 15 * SECOND_MICROS;

pub(super) fn look(remarks: &mut Remarks<'_>) {
    rate(remarks);
    progress(remarks);
    silence(remarks);
    chunks(remarks);
}

fn rate(remarks: &mut Remarks<'_>) {
    let mut recent = Vec::new();
    for (index, heard) in remarks.events() {
        if matches!(heard.event.payload, Payload::OutputStreaming(_)) {
            continue;
        }
        let at = heard.event.envelope.timestamp_micros;
        recent.retain(|earlier| at - earlier < SECOND_MICROS);
        recent.push(at);
        if recent.len() > EVENTS_PER_SECOND_MAX {
            remarks.add(&advice::EVENTS_TOO_MANY, index, "");
        }
    }
}

/// Whether progress grows, in steps that are worth hearing. The step to 100 % may be smaller. After
/// a change of state or a call, progress may start again, for a new task.
fn progress(remarks: &mut Remarks<'_>) {
    let mut last: Option<f64> = None;
    for (index, heard) in remarks.events() {
        match heard.event.payload {
            Payload::ProgressUpdated { percent: Some(percent) } => {
                match last {
                    Some(last) if percent < last => {
                        remarks.add(&advice::PROGRESS_BACKWARDS, index, "");
                    }
                    Some(last) if percent - last < PROGRESS_PERCENT_MIN && percent < 100.0 => {
                        remarks.add(&advice::PROGRESS_TOO_OFTEN, index, "");
                    }
                    Some(_) | None => {}
                }
                last = Some(percent);
            }
            Payload::StateChanged { .. } | Payload::ToolInvoked { .. } => last = None,
            Payload::SessionStarted { .. }
            | Payload::SessionCompleted
            | Payload::SessionErrored
            | Payload::SessionCancelled
            | Payload::ProgressUpdated { percent: None }
            | Payload::ToolCompleted { .. }
            | Payload::OutputStreaming(_)
            | Payload::AwaitingConfirmation(_)
            | Payload::AwaitingClarification(_)
            | Payload::HandoffRequested(_)
            | Payload::Extension { .. } => {}
        }
    }
}

/// Whether a gap between two events is too long, while a tool runs or while the agent works. A gap
/// in which the session waits for a person, as in every state of a transfer, may have any length.
fn silence(remarks: &mut Remarks<'_>) {
    let mut n_calls = 0_usize;
    let mut is_waiting = false;
    let mut last: Option<(usize, i64)> = None;
    for (index, heard) in remarks.events() {
        let at = heard.event.envelope.timestamp_micros;
        if let Some((before, earlier)) = last
            && !is_waiting
        {
            let gap = at - earlier;
            if n_calls > 0 && gap > LONG_WORK_MICROS {
                remarks.add(&advice::PROGRESS_MISSING, before, "");
            } else if n_calls == 0 && gap > GAP_MICROS_MAX {
                remarks.add(&advice::SILENT_GAP, before, "");
            }
        }
        last = Some((index, at));
        is_waiting = match &heard.event.payload {
            Payload::AwaitingConfirmation(_)
            | Payload::AwaitingClarification(_)
            | Payload::HandoffRequested(_) => true,
            Payload::StateChanged { to, .. } => {
                let is_ours = heard.event.envelope.agent_id == AGENT_ID;
                to == "awaiting_input"
                    || to == "handing_off"
                    || (is_ours && STATES.contains(&to.as_ref()))
            }
            Payload::ProgressUpdated { .. } | Payload::Extension { .. } => is_waiting,
            Payload::ToolInvoked { .. } => {
                n_calls += 1;
                false
            }
            Payload::ToolCompleted { .. } => {
                n_calls = n_calls.saturating_sub(1);
                false
            }
            Payload::SessionStarted { .. }
            | Payload::SessionCompleted
            | Payload::SessionErrored
            | Payload::SessionCancelled
            | Payload::OutputStreaming(_) => false,
        };
    }
}

fn chunks(remarks: &mut Remarks<'_>) {
    for (index, heard) in remarks.events() {
        let Payload::OutputStreaming(chunk) = &heard.event.payload else { continue };
        if chunk.coalesce_hint.is_none() && !ends_well(chunk) {
            let group = chunk.output_id.as_deref().unwrap_or_default();
            remarks.add(&advice::HINT_MISSING, index, group);
        }
    }
}

/// Whether the chunk can be read aloud as it is.
fn ends_well(chunk: &Chunk<'_>) -> bool {
    let is_end = |last: char| ['.', '!', '?', '。', '！', '？', '\n', ':'].contains(&last);
    chunk.complete || chunk.text.trim_end_matches(' ').ends_with(is_end)
}
