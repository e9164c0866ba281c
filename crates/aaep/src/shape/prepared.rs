//! An event as subscriptions share it: its text, and the fields that shaping needs, parsed once.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::event::{Boundary, Event, Payload, Urgency};
use super::super::language::Offered;
use super::super::{AGENT_ID, secrets};

#[derive(Debug)]
pub struct Prepared {
    /// The JSON, as the producer sent it.
    pub text: Arc<str>,
    pub event_id: Arc<str>,
    pub session_id: Arc<str>,
    pub is_critical: bool,
    pub kind: Kind,
    pub has_sequence_number: bool,
    /// Whether `summary_terse` and `summary_detailed` are present.
    pub has_terse: bool,
    pub has_detailed: bool,
    /// The replacement of `args_summary`, if it has secrets.
    pub masked: Option<Box<str>>,
    /// Whether it has the reason of a handoff, in the agent's own words.
    pub is_for_colleagues: bool,
    /// The other languages that it has, if any.
    pub languages: Option<Box<Offered>>,
    /// The text without its number, shared by all subscriptions without numbers. Made when first
    /// needed.
    unnumbered: OnceLock<Arc<str>>,
}

/// How shaping treats an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Text of an output: joined with what follows it.
    Output(Box<Output>),
    /// Only the newest counts.
    Progress { percent: Option<f64> },
    /// Consecutive changes merge into one, from the first state to the last.
    State { from: Box<str> },
    /// Waits for an answer; subscribers do not get its `reply_token`.
    Question { name: &'static str },
    /// Delivered one by one, in order.
    Other { name: Box<str> },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    pub text: Box<str>,
    /// In Unicode scalar values, like `position`.
    pub n_chars: u64,
    pub position: u64,
    pub is_complete: bool,
    pub hint: Option<Boundary>,
    pub output_id: Option<Box<str>>,
    pub language: Option<Box<str>>,
}

impl Prepared {
    /// `text` is the JSON from which `event` was read.
    pub fn new(text: Arc<str>, event: &Event<'_>) -> Self {
        let name = event.payload.name();
        let kind = match &event.payload {
            Payload::OutputStreaming(chunk) => Kind::Output(Box::new(Output {
                text: chunk.text.as_ref().into(),
                n_chars: chunk.text.chars().count() as u64,
                position: chunk.position,
                is_complete: chunk.complete,
                hint: chunk.coalesce_hint,
                output_id: chunk.output_id.as_deref().map(Into::into),
                language: chunk.language.as_deref().map(Into::into),
            })),
            Payload::ProgressUpdated { percent } => Kind::Progress { percent: *percent },
            Payload::StateChanged { from, .. } => Kind::State { from: from.as_ref().into() },
            Payload::AwaitingConfirmation(_) => {
                Kind::Question { name: "aaep:agent.awaiting.confirmation" }
            }
            Payload::AwaitingClarification(_) => {
                Kind::Question { name: "aaep:agent.awaiting.clarification" }
            }
            Payload::SessionStarted { .. }
            | Payload::SessionCompleted
            | Payload::SessionErrored
            | Payload::SessionCancelled
            | Payload::ToolInvoked { .. }
            | Payload::ToolCompleted { .. }
            | Payload::HandoffRequested(_)
            | Payload::Extension { .. } => Kind::Other { name: name.into() },
        };
        Self {
            event_id: event.envelope.event_id.as_ref().into(),
            session_id: event.envelope.session_id.as_ref().into(),
            is_critical: event.envelope.urgency == Some(Urgency::Critical),
            has_sequence_number: event.envelope.sequence_number.is_some(),
            has_terse: text.contains("\"summary_terse\""),
            has_detailed: text.contains("\"summary_detailed\""),
            masked: masked(&text, &event.payload),
            is_for_colleagues: matches!(event.payload, Payload::HandoffRequested(_))
                && event.envelope.agent_id != AGENT_ID,
            languages: languages(&text),
            unnumbered: OnceLock::new(),
            kind,
            text,
        }
    }

    /// The name of its type.
    pub fn name(&self) -> &str {
        match &self.kind {
            Kind::Output(_) => "aaep:agent.output.streaming",
            Kind::Progress { .. } => "aaep:agent.progress.updated",
            Kind::State { .. } => "aaep:agent.state.changed",
            Kind::Question { name } => name,
            Kind::Other { name } => name,
        }
    }

    /// Whether it ends its session, and is not critical.
    pub fn is_end(&self) -> bool {
        ["aaep:agent.session.completed", "aaep:agent.session.cancelled"].contains(&self.name())
    }

    pub fn is_question(&self) -> bool {
        matches!(self.kind, Kind::Question { .. })
    }

    /// The text without `sequence_number`.
    pub fn unnumbered(&self) -> &Arc<str> {
        if !self.has_sequence_number {
            return &self.text;
        }
        self.unnumbered.get_or_init(|| {
            let mut event = self.document();
            event.remove("sequence_number");
            Value::Object(event).to_string().into()
        })
    }

    /// The JSON, to be changed.
    pub fn document(&self) -> Map<String, Value> {
        serde_json::from_str(&self.text).expect("the event was read from this text")
    }
}

/// Only calls have arguments.
fn masked(text: &str, payload: &Payload<'_>) -> Option<Box<str>> {
    #[derive(Deserialize)]
    struct Call<'a> {
        #[serde(borrow)]
        args_summary: Option<Cow<'a, str>>,
    }
    let Payload::ToolInvoked { .. } = payload else { return None };
    let call: Call<'_> = serde_json::from_str(text).ok()?;
    secrets::masked(&call.args_summary?).map(Into::into)
}

/// Most events have one language: they are recognised without parsing again.
fn languages(text: &str) -> Option<Box<Offered>> {
    let may_have = text.match_indices("\"summary_").any(|(at, found)| {
        let name = text[at + found.len()..].split('"').next().unwrap_or_default();
        name.contains('_')
    });
    if !may_have {
        return None;
    }
    let offered = Offered::of(&serde_json::from_str(text).ok()?);
    (!offered.variants.is_empty()).then(|| Box::new(offered))
}
