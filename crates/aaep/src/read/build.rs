//! Builds the event from the values of a document without flaws.

use super::core::{Core, CoreType};
use super::table::Slot;
use super::walk::{Got, Walk};
use crate::event::{
    Boundary, Chunk, Clarification, Confirmation, Decision, Envelope, Event, HandoffRequest, Link,
    Payload, ResponseKind, Reversibility, Risk, TargetKind, Text, ToolStatus, Urgency, Verbosity,
};

/// `None` only if the tables do not require a field that they should, which tests would show.
pub(super) fn event<'de>(
    walk: &mut Walk<'de>,
    core: Option<&'static CoreType>,
) -> Option<Event<'de>> {
    let link = Link {
        conversation_id: walk.taken_text(Slot::LinkConversation),
        parent_session_id: walk.taken_text(Slot::LinkParent),
        tool_call_id: walk.taken_text(Slot::LinkCall),
        action_hash: walk.taken_text(Slot::LinkHash),
    };
    let envelope = Envelope {
        event_id: walk.taken_text(Slot::EventId)?,
        session_id: walk.taken_text(Slot::SessionId)?,
        timestamp_micros: walk.micros(Slot::Timestamp)?,
        agent_id: walk.taken_text(Slot::AgentId)?,
        agent_name: walk.taken_text(Slot::AgentName),
        sequence_number: walk.integer(Slot::SequenceNumber),
        verbosity: walk.text(Slot::Verbosity).and_then(Verbosity::parse),
        urgency: walk.text(Slot::Urgency).and_then(Urgency::parse),
        primary_language: walk.taken_text(Slot::PrimaryLanguage),
        correlation_id: walk.taken_text(Slot::CorrelationId),
        link,
    };
    let payload = match core {
        Some(core) => payload(walk, core.core)?,
        None => Payload::Extension { name: walk.taken_text(Slot::Type)? },
    };
    Some(Event { envelope, payload })
}

fn payload<'de>(walk: &mut Walk<'de>, core: Core) -> Option<Payload<'de>> {
    Some(match core {
        Core::SessionStarted => {
            Payload::SessionStarted { requested_by: walk.taken_text(Slot::RequestedBy) }
        }
        Core::SessionCompleted => Payload::SessionCompleted,
        Core::SessionErrored => Payload::SessionErrored,
        Core::SessionCancelled => Payload::SessionCancelled,
        Core::StateChanged => Payload::StateChanged {
            from: walk.taken_text(Slot::FromState)?,
            to: walk.taken_text(Slot::ToState)?,
        },
        Core::ProgressUpdated => Payload::ProgressUpdated { percent: walk.number(Slot::Percent) },
        Core::ToolInvoked => Payload::ToolInvoked {
            tool: walk.taken_text(Slot::Tool)?,
            tool_call_id: walk.taken_text(Slot::ToolCall),
            risk: walk.text(Slot::Risk).and_then(Risk::parse).unwrap_or(Risk::Low),
            irreversible: walk.is_true(Slot::Irreversible),
        },
        Core::ToolCompleted => Payload::ToolCompleted {
            tool: walk.taken_text(Slot::Tool)?,
            tool_call_id: walk.taken_text(Slot::ToolCall),
            status: walk.text(Slot::Status).and_then(ToolStatus::parse)?,
        },
        Core::OutputStreaming => Payload::OutputStreaming(Chunk {
            text: walk.taken_text(Slot::Chunk)?,
            position: walk.integer(Slot::Position)?,
            complete: walk.is_true(Slot::Complete),
            coalesce_hint: walk.text(Slot::CoalesceHint).and_then(Boundary::parse),
            output_id: walk.taken_text(Slot::OutputId),
            language: walk.taken_text(Slot::Language),
        }),
        Core::AwaitingConfirmation => Payload::AwaitingConfirmation(Box::new(confirmation(walk)?)),
        Core::AwaitingClarification => {
            Payload::AwaitingClarification(Box::new(clarification(walk)?))
        }
        Core::HandoffRequested => Payload::HandoffRequested(Box::new(HandoffRequest {
            reason: walk.taken_text(Slot::Reason)?,
            target_kind: walk.text(Slot::TargetKind).and_then(TargetKind::parse)?,
            target_uri: walk.taken_text(Slot::TargetUri),
            packaged_context: walk.json(Slot::PackagedContext),
            urgency: walk.text(Slot::Risk).and_then(Risk::parse),
            summary: walk.taken_text(Slot::Summary),
        })),
    })
}

fn confirmation<'de>(walk: &mut Walk<'de>) -> Option<Confirmation<'de>> {
    let reversibility = walk.text(Slot::Reversibility).and_then(Reversibility::parse);
    Some(Confirmation {
        action: walk.taken_text(Slot::Question)?,
        reply_token: walk.taken_text(Slot::ReplyToken)?,
        timeout_seconds: walk.timeout_seconds()?,
        default_decision: walk.text(Slot::DefaultDecision).and_then(Decision::parse)?,
        risk: walk.text(Slot::Risk).and_then(Risk::parse),
        // Either of the two markers counts.
        irreversible: walk.is_true(Slot::Irreversible)
            || reversibility == Some(Reversibility::Irreversible),
        said_reversible: *walk.got(Slot::Irreversible) == Got::Truth(false),
        reversibility,
        allowed_replies: walk.taken_texts(Slot::AllowedReplies),
    })
}

fn clarification<'de>(walk: &mut Walk<'de>) -> Option<Clarification<'de>> {
    let kinds = walk.taken_texts(Slot::Kinds);
    Some(Clarification {
        question: walk.taken_text(Slot::Question)?,
        reply_token: walk.taken_text(Slot::ReplyToken)?,
        timeout_seconds: walk.timeout_seconds()?,
        accepted_kinds: kinds.iter().filter_map(|kind| ResponseKind::parse(kind)).collect(),
        choices: walk.taken_texts(Slot::Choices),
        default_response: walk.taken_text(Slot::DefaultResponse),
    })
}

impl<'de> Walk<'de> {
    fn taken_text(&mut self, slot: Slot) -> Option<Text<'de>> {
        if let Got::Text(text) = self.take(slot) { Some(text) } else { None }
    }

    fn taken_texts(&mut self, slot: Slot) -> Vec<Text<'de>> {
        if let Got::Texts(texts) = self.take(slot) { texts } else { Vec::new() }
    }

    fn micros(&self, slot: Slot) -> Option<i64> {
        if let Got::Moment(moment) = self.got(slot) { Some(moment.micros) } else { None }
    }

    fn json(&self, slot: Slot) -> Option<&'de str> {
        if let Got::Json(json) = self.got(slot) { Some(json) } else { None }
    }

    fn integer(&self, slot: Slot) -> Option<u64> {
        if let Got::Integer(integer) = self.got(slot) { Some(*integer) } else { None }
    }

    fn number(&self, slot: Slot) -> Option<f64> {
        if let Got::Number(number) = self.got(slot) { Some(*number) } else { None }
    }

    fn is_true(&self, slot: Slot) -> bool {
        *self.got(slot) == Got::Truth(true)
    }

    fn timeout_seconds(&self) -> Option<u32> {
        self.integer(Slot::TimeoutSeconds).and_then(|seconds| u32::try_from(seconds).ok())
    }
}
