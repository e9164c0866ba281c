//! Flaws that an earlier, reported event explains: they are not reported again.

use super::{Before, Recovery};
use crate::event::{Chunk, Event, Payload, Text};
use crate::flaw::Flaw;
use crate::machine::{Phase, Session};
use crate::recorded::One;

/// Whether a flaw was reported already.
pub(super) enum Known {
    No,
    /// The event is corrected.
    Patched,
    /// The event is left as it is.
    Excused,
}

/// The output that a chunk belongs to, if an earlier chunk was misnamed.
fn known_output(
    session: &Session,
    recovery: &Recovery,
    chunk: &Chunk<'_>,
) -> Option<Option<String>> {
    let open = session.loose_ends().outputs;
    let continues = |output: Option<&str>| open.contains(&(output, chunk.position));
    let said = chunk.output_id.as_deref().map(str::to_owned);
    let meant = recovery.misnamed_outputs.get(&said).cloned();
    let unnamed = recovery.is_output_unnamed.then_some(None);
    meant.or(unnamed).filter(|meant| *meant != said && continues(meant.as_deref()))
}

impl Recovery {
    /// Whether a return belongs to a call that was reported.
    fn known_call(&mut self, tool: &str, tool_call_id: &mut Option<Text<'_>>) -> Known {
        let call = (tool.to_owned(), tool_call_id.as_deref().map(str::to_owned));
        if let Some(at) = self.calls.iter().position(|it| *it == call) {
            self.calls.remove(at);
            return Known::Excused;
        }
        let is_it = |(misnamed, id): &(String, Option<String>)| {
            *misnamed == tool && id.as_deref() != tool_call_id.as_deref()
        };
        if let Some(at) = self.misnamed_calls.iter().position(is_it) {
            *tool_call_id = self.misnamed_calls.remove(at).1.map(Into::into);
            return Known::Patched;
        }
        Known::No
    }
}

impl One {
    /// A flaw that was reported with an earlier event is not reported again.
    pub(super) fn known(&mut self, event: &mut Event<'_>, flaw: &Flaw) -> Known {
        if flaw.field == "type" {
            return self.known_place(event);
        }
        if flaw.field == "sequence_number" && self.session.phase() == Phase::Active {
            let number = &mut event.envelope.sequence_number;
            if number.is_none() && self.recovery.is_unnumbered {
                *number = self.session.next_number();
                return Known::Patched;
            }
            let is_known = self.knows_number(*number);
            return if is_known { Known::Patched } else { Known::No };
        }
        let (session, recovery) = (&mut self.session, &mut self.recovery);
        let envelope = &mut event.envelope;
        match (flaw.field.as_str(), &mut event.payload) {
            ("timestamp", _) => {
                let before = recovery.before.take().map(|it| it.session.timestamp_micros());
                if let Some(before) = before.filter(|it| *it <= envelope.timestamp_micros) {
                    session.suppose_time(before);
                    return Known::Patched;
                }
            }
            ("producer.agent_id", _) if session.agent_id().is_empty() => {
                session.suppose_agent(&envelope.agent_id);
                return Known::Patched;
            }
            ("producer.agent_id", _) if recovery.agent.as_deref() == Some(&*envelope.agent_id) => {
                envelope.agent_id = session.agent_id().to_owned().into();
                return Known::Patched;
            }
            ("from_state", Payload::StateChanged { from, .. })
                if recovery.state.take().as_deref() == Some(&**from)
                    && session.state() != *from =>
            {
                *from = session.state().to_owned().into();
                return Known::Patched;
            }
            ("position", Payload::OutputStreaming(chunk)) => {
                let output = chunk.output_id.as_deref().map(str::to_owned);
                if recovery.lengths.remove(&output) == Some(chunk.position) {
                    return Known::Excused;
                }
                if let Some(meant) = known_output(session, recovery, chunk) {
                    chunk.output_id = meant.map(Into::into);
                    return Known::Patched;
                }
            }
            ("output_id", Payload::OutputStreaming(chunk)) => {
                let output = chunk.output_id.as_deref().map(str::to_owned);
                if recovery.outputs.contains(&output) {
                    return Known::Excused;
                }
            }
            ("tool" | "tool_call_id", Payload::ToolCompleted { tool, tool_call_id, .. }) => {
                return recovery.known_call(tool, tool_call_id);
            }
            _ => {}
        }
        Known::No
    }

    /// Whether an earlier wrong event explains the number of this one.
    fn knows_number(&mut self, got: Option<u64>) -> bool {
        if self.undo(got) {
            return true;
        }
        let (session, recovery) = (&mut self.session, &mut self.recovery);
        match recovery.number.take() {
            Some((other, n_not_lost)) if recovery.continues(other, got) => {
                recovery.n_lost = recovery.n_lost.saturating_sub(n_not_lost);
            }
            Some(_) | None => {
                let gap = session.next_number().zip(got);
                if !gap.is_some_and(|(next, got)| recovery.explains_gap(next, got)) {
                    return false;
                }
            }
        }
        session.suppose_number(got);
        true
    }

    /// If this number is the one that the last, wrong event should have had, that one belongs
    /// elsewhere: the session continues from before it. The effect of one that only came too late
    /// stays.
    fn undo(&mut self, got: Option<u64>) -> bool {
        let (session, recovery) = (&mut self.session, &mut self.recovery);
        let is_next = |it: &mut Before| got.is_some() && it.session.next_number() == got;
        let Some(before) = recovery.before.take_if(is_next) else { return false };
        if let Some((_, n_not_lost)) = recovery.number.take() {
            recovery.n_lost = recovery.n_lost.saturating_sub(n_not_lost);
        }
        if before.number < got && session.phase() == Phase::Active {
            session.suppose_number(got);
            return true;
        }
        let is_end = session.phase() == Phase::Over;
        if let Some(early) = before.number.filter(|number| Some(*number) > got) {
            recovery.early.insert(early);
            // Its effect is missing where it belongs.
            recovery.n_lost = recovery.n_lost.saturating_add(u64::from(!is_end));
        }
        recovery.is_reopened |= is_end;
        *session = *before.session;
        true
    }

    /// Whether an earlier wrong event explains that this one is out of place.
    fn known_place(&mut self, event: &Event<'_>) -> Known {
        let is_start = matches!(event.payload, Payload::SessionStarted { .. });
        let phase = self.session.phase();
        if is_start && self.recovery.n_without_start == 1 {
            self.restart();
            return Known::Patched;
        }
        if is_start && self.recovery.n_without_start > 1 && phase == Phase::Active {
            self.recovery.n_without_start = 0;
            return Known::Excused;
        }
        if phase == Phase::Over && self.undo(event.envelope.sequence_number) {
            return Known::Patched;
        }
        // An end in place of the start was reported: the session goes on without its start.
        if phase == Phase::Over
            && self.recovery.n_without_start == 2
            && !event.payload.is_terminal()
            && let Some(before) = self.recovery.before_end.take()
        {
            self.session = *before;
            self.session.suppose_number(event.envelope.sequence_number);
            return Known::Patched;
        }
        Known::No
    }

    /// One event came before the start, and was reported: the session begins here.
    fn restart(&mut self) {
        let early = self.recovery.before.take().and_then(|it| it.number);
        let is_end = self.session.phase() == Phase::Over;
        self.recovery = Recovery {
            // Its effect is missing where it belongs.
            n_lost: u64::from(!is_end),
            early: early.into_iter().collect(),
            is_reopened: is_end,
            ..Recovery::default()
        };
        self.session = Session::default();
        self.otherwise = Vec::new();
    }
}
