//! The rules of a session, over all its events. Pure: the history is in [`Session`], which stays
//! small. Data that grows with the session (used ids, complete outputs) is looked up by the caller
//! through [`Used`].
//!
//! - [`rules`]: every rule, with its number and its text. `docs/aaep-rules.md` is generated from
//!   it.
//! - [`consent`]: what is asked, what was allowed, and which call may rest on it.
//! - [`tools`], [`output`], [`state`]: the rules of those events.
//!
//! An event is checked in this order: its place between start and end, the envelope, its urgency,
//! then the rules of its type. The first broken rule is reported.

pub mod consent;
mod limits;
mod output;
pub mod rules;
mod state;
mod suppose;
mod tools;
mod used_ids;

#[cfg(test)]
mod model_tests;
#[cfg(test)]
pub(super) mod table_tests;

use serde::{Deserialize, Serialize};

use self::consent::Consents;
pub use self::consent::{
    Audience, Binding, Consent, Lasts, NotSettled, Outcome, Question, QuestionKind, Response,
    Settled, Weak, as_read,
};
use self::limits::{AGENT_ID_BYTES_MAX, kept};
pub use self::limits::{CALLS_MAX, CONSENTS_MAX, OUTPUTS_MAX, QUESTIONS_MAX, REFUSED_MAX};
use self::output::Outputs;
use self::rules::{Rule, flaw};
use self::state::State;
use self::tools::Calls;
pub use self::used_ids::Used;
use super::event::{Event, Payload, Urgency};
use super::flaw::Flaw;
use base::time::Time;

/// The state of a session, as far as its rules need it. Bounded: each list has a limit, and an
/// event that would exceed it is refused.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Session {
    phase: Phase,
    session_id: String,
    agent_id: String,
    timestamp_micros: i64,
    /// The number that the next event must have, if this session numbers its events.
    next_number: Option<u64>,
    state: State,
    calls: Calls,
    outputs: Outputs,
    consents: Consents,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Waits for `session.started`.
    #[default]
    Unstarted,
    Active,
    /// After its one terminal event. It is final.
    Over,
}

/// The further effects of an event. Mostly none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Followed {
    /// The accept that an irreversible call rests on, and has used up.
    pub consent: Option<Consent>,
    /// Questions that were withdrawn and need no answer any more.
    pub withdrawn: Vec<Settled>,
}

/// What must be closed before the session can end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LooseEnds<'a> {
    /// Tool and id of each call that has not returned.
    pub calls: Vec<(&'a str, Option<&'a str>)>,
    /// Id and length of each output that is not complete.
    pub outputs: Vec<(Option<&'a str>, u64)>,
}

impl Session {
    /// Applies one more event that came at `at` by our clock, or returns the rule that it breaks;
    /// then nothing has changed. `is_used` tells whether an earlier event used an id, including
    /// events just before in the same batch. The ids that this event uses are added to `uses`.
    ///
    /// `is_used` and `weak` can only refuse: replaying accepted events with nothing used and
    /// [`Weak::Allowed`] leads to the same session.
    pub fn follow(
        &mut self,
        event: &Event<'_>,
        at: Time,
        weak: Weak,
        is_used: &dyn Fn(&Used) -> bool,
        uses: &mut Vec<Used>,
    ) -> Result<Followed, Flaw> {
        self.bracket(&event.payload)?;
        self.envelope(event)?;
        let id = Used::Event(event.envelope.event_id.as_ref().to_owned());
        if is_used(&id) {
            return Err(flaw(&rules::EVENT_ONCE, "event_id", "an id that no earlier event has"));
        }
        urgency(event)?;
        let n_uses = uses.len();
        uses.push(id);
        let step = Step { event, at, weak, is_used };
        let followed = self.payload(&step, uses);
        if followed.is_err() {
            uses.truncate(n_uses);
            return followed;
        }
        self.timestamp_micros = event.envelope.timestamp_micros;
        self.next_number = event.envelope.sequence_number.map(|number| number.saturating_add(1));
        followed
    }

    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The state that was announced last.
    pub fn state(&self) -> &str {
        self.state.announced()
    }

    /// The agent that announces this session. Empty before its start.
    pub fn agent_id(&self) -> &str {
        &self.agent_id
    }

    /// The number of the next event, if this session numbers its events.
    pub fn next_number(&self) -> Option<u64> {
        self.next_number
    }

    /// The first millisecond that is not before the timestamp of the last event.
    pub fn last_timestamp(&self) -> Time {
        let millis = self.timestamp_micros.div_euclid(1_000);
        let is_past = self.timestamp_micros.rem_euclid(1_000) > 0;
        Time::from_millis(millis + i64::from(is_past))
    }

    /// Open calls and outputs, for the server when it ends the session of a producer that is gone.
    pub fn loose_ends(&self) -> LooseEnds<'_> {
        LooseEnds { calls: self.calls.open(), outputs: self.outputs.open() }
    }

    /// One start, first; one end, last.
    fn bracket(&self, payload: &Payload<'_>) -> Result<(), Flaw> {
        let is_start = matches!(payload, Payload::SessionStarted { .. });
        match self.phase {
            Phase::Unstarted if is_start => Ok(()),
            Phase::Unstarted => {
                let expected = "aaep:agent.session.started, the first event of a session";
                Err(flaw(&rules::STARTS, "type", expected))
            }
            Phase::Active if is_start => {
                Err(flaw(&rules::STARTS_ONCE, "type", "no second start of the same session"))
            }
            Phase::Active => Ok(()),
            Phase::Over if payload.is_terminal() => {
                Err(flaw(&rules::ENDS_ONCE, "type", "no second end of the same session"))
            }
            Phase::Over => Err(flaw(&rules::NOTHING_AFTER, "type", "nothing after the end")),
        }
    }

    /// Fields that must stay the same, go up, or not go back.
    fn envelope(&self, event: &Event<'_>) -> Result<(), Flaw> {
        let envelope = &event.envelope;
        if self.phase == Phase::Unstarted {
            return match envelope.sequence_number {
                None | Some(0) => Ok(()),
                Some(_) => Err(flaw(&rules::NUMBERED, "sequence_number", "0 on the first event")),
            };
        }
        if envelope.session_id != self.session_id {
            return Err(flaw(&rules::SAME_SESSION, "session_id", &self.session_id));
        }
        if envelope.agent_id != self.agent_id {
            return Err(flaw(&rules::SAME_AGENT, "producer.agent_id", &self.agent_id));
        }
        if envelope.sequence_number != self.next_number {
            let expected = match self.next_number {
                Some(next) => next.to_string(),
                None => "none, as the first event has none".to_owned(),
            };
            return Err(flaw(&rules::NUMBERED, "sequence_number", expected));
        }
        if envelope.timestamp_micros < self.timestamp_micros {
            let expected = "a time that is not before the last event's";
            return Err(flaw(&rules::TIME_FORWARD, "timestamp", expected));
        }
        Ok(())
    }

    /// The rules of the type. Every check comes before any change.
    fn payload(&mut self, step: &Step<'_>, uses: &mut Vec<Used>) -> Result<Followed, Flaw> {
        match &step.event.payload {
            Payload::SessionStarted { .. } => self.start(step.event)?,
            Payload::SessionCompleted => return self.end(End::Completed),
            Payload::SessionErrored | Payload::SessionCancelled => return self.end(End::Broken),
            Payload::StateChanged { from, to } => return self.change_state(from, to),
            Payload::ToolInvoked { .. } => return self.invoke(step, uses),
            Payload::ToolCompleted { tool, tool_call_id, .. } => {
                self.calls.complete(tool, tool_call_id.as_deref())?;
                self.state.implied.calling_tool = true;
            }
            Payload::OutputStreaming(chunk) => {
                self.outputs.add(chunk, step.is_used, uses)?;
                self.state.implied.writing_output = true;
                self.consents.told();
            }
            Payload::AwaitingConfirmation(confirmation) => {
                self.consents.ask(confirmation, step, uses)?;
                self.state.implied.awaiting_input = true;
            }
            Payload::AwaitingClarification(clarification) => {
                self.consents.ask_to_clarify(clarification, step, uses)?;
                self.state.implied.awaiting_input = true;
            }
            Payload::HandoffRequested(_) => {
                self.state.implied.handing_off = true;
                self.consents.told();
            }
            Payload::ProgressUpdated { .. } | Payload::Extension { .. } => {}
        }
        Ok(Followed::default())
    }

    fn start(&mut self, event: &Event<'_>) -> Result<(), Flaw> {
        let agent_id = &event.envelope.agent_id;
        kept(agent_id, AGENT_ID_BYTES_MAX, "producer.agent_id")?;
        self.session_id = event.envelope.session_id.as_ref().to_owned();
        self.agent_id = agent_id.as_ref().to_owned();
        self.phase = Phase::Active;
        Ok(())
    }

    /// Every end requires that calls and outputs are closed; a successful one also requires that
    /// accepted actions were done.
    fn end(&mut self, end: End) -> Result<Followed, Flaw> {
        self.calls.check_none_open()?;
        self.outputs.check_all_complete()?;
        match end {
            End::Completed => self.consents.check_settled()?,
            End::Broken => {}
        }
        self.phase = Phase::Over;
        Ok(Followed { consent: None, withdrawn: self.consents.end() })
    }
}

/// One event on its way through the rules.
struct Step<'a> {
    event: &'a Event<'a>,
    at: Time,
    weak: Weak,
    is_used: &'a dyn Fn(&Used) -> bool,
}

enum End {
    Completed,
    /// Errored or cancelled.
    Broken,
}

/// Four types must be critical; a missing urgency is not.
fn urgency(event: &Event<'_>) -> Result<(), Flaw> {
    let rule: &Rule = match &event.payload {
        Payload::SessionErrored => &rules::ERRORED_CRITICAL,
        Payload::AwaitingConfirmation(_) => &rules::CONFIRMATION_CRITICAL,
        Payload::AwaitingClarification(_) => &rules::CLARIFICATION_CRITICAL,
        Payload::HandoffRequested(_) => &rules::HANDOFF_CRITICAL,
        Payload::SessionStarted { .. }
        | Payload::SessionCompleted
        | Payload::SessionCancelled
        | Payload::StateChanged { .. }
        | Payload::ProgressUpdated { .. }
        | Payload::ToolInvoked { .. }
        | Payload::ToolCompleted { .. }
        | Payload::OutputStreaming(_)
        | Payload::Extension { .. } => return Ok(()),
    };
    match event.envelope.urgency {
        Some(Urgency::Critical) => Ok(()),
        Some(Urgency::Background | Urgency::Normal) | None => {
            Err(flaw(rule, "urgency", "critical"))
        }
    }
}
