//! What an event that is missing, or could not be read, may have been.

use std::collections::HashSet;

use super::reading::Reading;
use crate::event::{Envelope, Event, Payload, Risk, Text};
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
        let is_start = matches!(event.payload, Payload::SessionStarted { .. });
        if !is_missing || is_start || self.n_missing == 0 || self.is_late(event) {
            return Vec::new();
        }
        if is(&rules::STARTS) {
            return vec![self.with_one(|it| it.suppose_started(event))];
        }
        let is_end = flaw.field == "type";
        if is_end && is(&rules::CALLS_CLOSED) {
            return self.with_a_return();
        }
        if is_end && is(&rules::OUTPUT_COMPLETE) {
            let outputs = self.session.loose_ends().outputs.into_iter();
            let complete = |id| self.with_one(|it| it.session.suppose_complete(id));
            return outputs.map(|(id, _)| complete(id)).collect();
        }
        match &event.payload {
            Payload::StateChanged { .. } if is(&rules::RETURN_BEFORE_STATE) => self.with_a_return(),
            Payload::StateChanged { from, .. } => {
                vec![self.with_one(|it| it.session.suppose_state(from))]
            }
            Payload::ToolCompleted { tool, tool_call_id, .. } => {
                self.with_a_call(event, tool, tool_call_id.as_ref())
            }
            Payload::ToolInvoked { .. }
            | Payload::OutputStreaming(_)
            | Payload::SessionCompleted
            | Payload::SessionErrored
            | Payload::SessionCancelled => {
                let mut with = self.clone();
                with.miss_one_less();
                if matches!(event.payload, Payload::ToolInvoked { .. }) {
                    with.session.suppose_asked();
                }
                with.suppose(event);
                vec![Supposed::With(with)]
            }
            Payload::SessionStarted { .. }
            | Payload::ProgressUpdated { .. }
            | Payload::AwaitingConfirmation(_)
            | Payload::AwaitingClarification(_)
            | Payload::HandoffRequested(_)
            | Payload::Extension { .. } => Vec::new(),
        }
    }

    /// The same with one of the missing events, which had this effect.
    fn with_one(&self, effect: impl FnOnce(&mut Self)) -> Supposed {
        let mut with = self.clone();
        with.miss_one_less();
        effect(&mut with);
        Supposed::Before(with)
    }

    fn with_a_return(&self) -> Vec<Supposed> {
        let calls = self.session.loose_ends().calls.into_iter();
        let returned = |(tool, id)| self.with_one(|it| it.session.suppose_returned(tool, id));
        calls.map(returned).collect()
    }

    /// The call of this return, which may have been the accepted one.
    fn with_a_call(
        &self,
        event: &Event<'_>,
        tool: &Text<'_>,
        tool_call_id: Option<&Text<'_>>,
    ) -> Vec<Supposed> {
        let invoked = [true, false].map(|irreversible| {
            let (tool, tool_call_id) = (tool.clone(), tool_call_id.cloned());
            let payload =
                Payload::ToolInvoked { tool, tool_call_id, risk: Risk::Low, irreversible };
            let envelope = Envelope { sequence_number: None, ..event.envelope.clone() };
            self.with_one(|it| {
                it.session.suppose(&Event { envelope, payload });
                if irreversible {
                    it.session.suppose_done();
                }
            })
        });
        invoked.into()
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
