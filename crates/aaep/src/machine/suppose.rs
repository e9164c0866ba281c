//! Continues after a wrong event with the effect that it probably had, so that later events are
//! judged on their own. Only for checks of a recording; in live operation a wrong event is refused.

use super::consent::Act;
use super::output::Outputs;
use super::state::{AWAITING_INPUT, DECIDING, THINKING};
use super::tools::Calls;
use super::{Phase, Session};
use crate::event::{Event, Payload};
use base::time::Time;

impl Session {
    /// A session whose start is missing.
    pub fn suppose_started(&mut self, event: &Event<'_>) {
        self.phase = Phase::Active;
        self.session_id = event.envelope.session_id.as_ref().to_owned();
        self.agent_id = event.envelope.agent_id.as_ref().to_owned();
        self.next_number = event.envelope.sequence_number;
        self.timestamp_micros = event.envelope.timestamp_micros;
    }

    /// The agent of a session whose start does not name it.
    pub fn suppose_agent(&mut self, agent_id: &str) {
        self.agent_id = agent_id.to_owned();
    }

    /// The number that the next event has.
    pub fn suppose_number(&mut self, number: Option<u64>) {
        self.next_number = number;
    }

    pub fn suppose_time(&mut self, timestamp_micros: i64) {
        self.timestamp_micros = timestamp_micros;
    }

    /// The timestamp of the last event.
    pub fn timestamp_micros(&self) -> i64 {
        self.timestamp_micros
    }

    /// The state that was announced last.
    pub fn suppose_state(&mut self, state: &str) {
        self.consents.told();
        self.state.suppose(state);
    }

    /// A question was asked, and settled.
    pub fn suppose_asked(&mut self) {
        self.state.implied.awaiting_input = true;
        self.consents.told();
    }

    /// A call has returned.
    pub fn suppose_returned(&mut self, tool: &str, id: Option<&str>) {
        self.calls.suppose_returned(tool, id);
        self.state.implied.calling_tool = true;
    }

    /// Calls that should have returned by now.
    pub fn suppose_all_returned(&mut self) {
        self.calls = Calls::default();
    }

    /// An output has another id.
    pub fn suppose_renamed(&mut self, from: Option<&str>, to: Option<&str>) {
        self.outputs.suppose_renamed(from, to);
    }

    /// An output is complete.
    pub fn suppose_complete(&mut self, output: Option<&str>) {
        self.outputs.suppose_complete(output);
    }

    /// The ids of the calls that were accepted and are not made.
    pub fn accepted_calls(&self) -> impl Iterator<Item = &str> {
        self.consents.accepted_calls()
    }

    /// The oldest action that was accepted is done.
    pub fn suppose_done(&mut self) {
        self.consents.suppose_done();
    }

    /// Applies an event that breaks a rule of its type as if it were right.
    pub fn suppose(&mut self, event: &Event<'_>) {
        match &event.payload {
            Payload::SessionCompleted | Payload::SessionErrored | Payload::SessionCancelled => {
                self.calls = Calls::default();
                self.outputs = Outputs::default();
                self.consents.end();
                self.phase = Phase::Over;
            }
            Payload::StateChanged { from, to } => {
                if from == AWAITING_INPUT && [THINKING, DECIDING].contains(&to.as_ref()) {
                    self.consents.withdraw();
                }
                self.consents.told();
                self.state.suppose(to);
            }
            Payload::ToolInvoked { tool, tool_call_id, irreversible, .. } => {
                let act = Act {
                    tool_call_id: tool_call_id.as_deref(),
                    action_hash: event.envelope.link.action_hash.as_deref(),
                    irreversible: *irreversible,
                    at: Time::from_millis(event.envelope.timestamp_micros / 1_000),
                };
                self.consents.suppose_used(&act);
                self.calls.suppose_open(tool, tool_call_id.as_deref());
                self.state.implied.calling_tool = true;
            }
            Payload::ToolCompleted { tool, tool_call_id, .. } => {
                self.calls.suppose_returned(tool, tool_call_id.as_deref());
                self.state.implied.calling_tool = true;
            }
            Payload::OutputStreaming(chunk) => {
                self.outputs.suppose(chunk);
                self.state.implied.writing_output = true;
                self.consents.told();
            }
            Payload::AwaitingConfirmation(_) | Payload::AwaitingClarification(_) => {
                self.suppose_asked();
            }
            Payload::HandoffRequested(_) => {
                self.state.implied.handing_off = true;
                self.consents.told();
            }
            Payload::SessionStarted { .. }
            | Payload::ProgressUpdated { .. }
            | Payload::Extension { .. } => {}
        }
        self.timestamp_micros = self.timestamp_micros.max(event.envelope.timestamp_micros);
        // An event that came too late does not set the number back.
        if let (Some(number), Some(next)) = (event.envelope.sequence_number, self.next_number) {
            self.next_number = Some(next.max(number.saturating_add(1)));
        }
    }
}
