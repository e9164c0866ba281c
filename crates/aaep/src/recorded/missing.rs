//! What an event that is missing, or could not be read, may have been.

use std::collections::HashSet;

use super::reading::Reading;
use crate::event::{Event, Payload, Risk};
use crate::flaw::Flaw;
use crate::machine::rules::{self, Rule};

/// The most missing events that explain one flaw.
const DEPTH_MAX: usize = 4;

/// Rules that a later event breaks if one before it is missing.
const BROKEN: &[(&Rule, &str)] = &[
    (&rules::STARTS, "type"),
    (&rules::FIRST_STATE, "from_state"),
    (&rules::CHAINED_STATE, "from_state"),
    (&rules::CONSENT, "irreversible"),
    (&rules::RETURN_BEFORE_STATE, "from_state"),
    (&rules::CALLS_CLOSED, "type"),
    (&rules::POSITION, "position"),
    (&rules::PAIRED, "tool"),
    (&rules::PAIRED, "tool_call_id"),
    (&rules::SETTLED, "type"),
    (&rules::REFUSED, "tool_call_id"),
    (&rules::REFUSED, "extensions.tasuki.action_hash"),
    (&rules::OUTPUT_COMPLETE, "type"),
];

/// A reading with a missing event.
enum Supposed {
    /// Before the event that is judged.
    Before(Reading),
    /// The event that is judged counts as well.
    With(Reading),
}

impl Reading {
    /// The readings in which missing events make this one right, and those in which it is wrong
    /// nevertheless.
    pub(super) fn with_missing(
        &self,
        event: &Event<'_>,
        flaw: &Flaw,
        used: &HashSet<u128>,
    ) -> (Vec<Self>, Vec<(Self, Flaw)>) {
        let (mut explained, mut wrong) = (Vec::new(), Vec::new());
        let mut open = self.suppose_missing(event, flaw);
        for _ in 0..DEPTH_MAX {
            let mut next = Vec::new();
            for supposed in open {
                match supposed {
                    Supposed::With(reading) => explained.push(reading),
                    Supposed::Before(mut reading) => match reading.add(event, used) {
                        Ok(_) => explained.push(reading),
                        Err(flaw) => {
                            next.extend(reading.suppose_missing(event, &flaw));
                            wrong.push((reading, flaw));
                        }
                    },
                }
            }
            open = next;
        }
        (explained, wrong)
    }

    /// The readings with one of the missing events, as the flaw of this one requires.
    fn suppose_missing(&self, event: &Event<'_>, flaw: &Flaw) -> Vec<Supposed> {
        let is = |rule: &Rule| flaw.rule == rule.number;
        // What comes after an end may also go on with an output that was complete.
        let is_output = self.has_ended && flaw.field == "output_id";
        let is_missing =
            is_output || BROKEN.iter().any(|(rule, field)| is(rule) && *field == flaw.field);
        if !is_missing
            || self.n_missing == 0
            || self.is_late(event)
            || matches!(event.payload, Payload::SessionStarted { .. })
        {
            return Vec::new();
        }
        let less = || {
            let mut other = self.clone();
            other.miss_one_less();
            other
        };
        let ends = self.session.loose_ends();
        let returned = || {
            let calls = ends.calls.iter().map(|(tool, id)| {
                let mut other = less();
                other.session.suppose_returned(tool, *id);
                Supposed::Before(other)
            });
            calls.collect()
        };
        if is(&rules::STARTS) {
            let mut other = less();
            other.suppose_started(event);
            return vec![Supposed::Before(other)];
        }
        if flaw.field == "type" && is(&rules::CALLS_CLOSED) {
            return returned();
        }
        if is(&rules::OUTPUT_COMPLETE) && flaw.field == "type" {
            let outputs = ends.outputs.iter().map(|(id, _)| {
                let mut other = less();
                other.session.suppose_complete(*id);
                Supposed::Before(other)
            });
            return outputs.collect();
        }
        match &event.payload {
            Payload::StateChanged { .. } if is(&rules::RETURN_BEFORE_STATE) => returned(),
            Payload::StateChanged { from, .. } => {
                let mut other = less();
                other.session.suppose_state(from);
                vec![Supposed::Before(other)]
            }
            Payload::ToolCompleted { tool, tool_call_id, .. } => {
                // It may have been the call that was accepted.
                let invoked = [true, false].map(|irreversible| {
                    let (tool, tool_call_id) = (tool.clone(), tool_call_id.clone());
                    let payload =
                        Payload::ToolInvoked { tool, tool_call_id, risk: Risk::Low, irreversible };
                    let mut call = Event { payload, ..event.clone() };
                    call.envelope.sequence_number = None;
                    let mut other = less();
                    other.session.suppose(&call);
                    if irreversible {
                        other.session.suppose_done();
                    }
                    Supposed::Before(other)
                });
                invoked.into()
            }
            Payload::ToolInvoked { .. } => {
                let mut other = less();
                other.session.suppose_asked();
                other.suppose(event);
                vec![Supposed::With(other)]
            }
            Payload::OutputStreaming(_)
            | Payload::SessionCompleted
            | Payload::SessionErrored
            | Payload::SessionCancelled => {
                let mut other = less();
                other.suppose(event);
                vec![Supposed::With(other)]
            }
            Payload::SessionStarted { .. }
            | Payload::ProgressUpdated { .. }
            | Payload::AwaitingConfirmation(_)
            | Payload::AwaitingClarification(_)
            | Payload::HandoffRequested(_)
            | Payload::Extension { .. } => Vec::new(),
        }
    }

    /// An unreadable event was the start.
    fn suppose_started(&mut self, event: &Event<'_>) {
        self.session.suppose_started(event);
        if event.envelope.sequence_number.is_some() {
            self.session.suppose_number(Some(1));
        }
        self.n_unnumbered = self.n_unnumbered.saturating_sub(1);
    }
}
