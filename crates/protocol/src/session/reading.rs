//! Reading one event. A stand-in until `aaep::read` is there; then this file is the one line
//! `pub use crate::aaep::read::read;`.

use std::borrow::Cow;

use serde_json::Value;

use crate::aaep::event::{
    Chunk, Clarification, Confirmation, Decision, Envelope, Event, HandoffRequest, Link, Payload,
    ResponseKind, Reversibility, Risk, TargetKind, Text, ToolStatus, Urgency,
};
use crate::aaep::flaw::{Flaw, Tier};

pub fn read(text: &str) -> Result<Event<'_>, Vec<Flaw>> {
    let flaw = |field: &str| {
        vec![Flaw {
            tier: Tier::Schema,
            rule: "required",
            field: field.to_owned(),
            expected: "a value of the right type".to_owned(),
        }]
    };
    let value: Value = serde_json::from_str(text).map_err(|_| flaw("event"))?;
    let reader = Reader { value: &value };
    let need = |name: &str| reader.text(name).ok_or_else(|| flaw(name));
    let tasuki = Reader { value: &value["extensions"]["tasuki"] };
    let producer = Reader { value: &value["producer"] };
    let envelope = Envelope {
        event_id: need("event_id")?,
        session_id: need("session_id")?,
        timestamp_micros: 0,
        agent_id: producer.text("agent_id").ok_or_else(|| flaw("producer.agent_id"))?,
        sequence_number: value["sequence_number"].as_u64(),
        verbosity: None,
        urgency: reader.text("urgency").and_then(|word| Urgency::parse(&word)),
        primary_language: None,
        correlation_id: None,
        link: Link {
            conversation_id: tasuki.text("conversation_id"),
            parent_session_id: tasuki.text("parent_session_id"),
            tool_call_id: tasuki.text("tool_call_id"),
            action_hash: tasuki.text("action_hash"),
        },
    };
    let name = need("type")?;
    let payload = reader.payload(&name).map_err(flaw)?;
    Ok(Event { envelope, payload })
}

struct Reader<'v> {
    value: &'v Value,
}

impl Reader<'_> {
    fn text(&self, name: &str) -> Option<Text<'static>> {
        self.value[name].as_str().map(|text| Cow::Owned(text.to_owned()))
    }

    fn need(&self, name: &'static str) -> Result<Text<'static>, &'static str> {
        self.text(name).ok_or(name)
    }

    fn is(&self, name: &str) -> bool {
        self.value[name].as_bool().unwrap_or(false)
    }

    fn seconds(&self) -> Result<u32, &'static str> {
        let seconds = self.value["timeout_seconds"].as_u64().and_then(|n| u32::try_from(n).ok());
        seconds.ok_or("timeout_seconds")
    }

    fn texts(&self, name: &str) -> Vec<Text<'static>> {
        let items = self.value[name].as_array().into_iter().flatten();
        items.filter_map(Value::as_str).map(|text| Cow::Owned(text.to_owned())).collect()
    }

    fn payload(&self, name: &str) -> Result<Payload<'static>, &'static str> {
        let risk = self.text("risk_level").and_then(|word| Risk::parse(&word));
        Ok(match name.strip_prefix("aaep:agent.") {
            Some("session.started") => {
                Payload::SessionStarted { requested_by: self.text("requested_by") }
            }
            Some("session.completed") => Payload::SessionCompleted,
            Some("session.errored") => Payload::SessionErrored,
            Some("session.cancelled") => Payload::SessionCancelled,
            Some("state.changed") => {
                Payload::StateChanged { from: self.need("from_state")?, to: self.need("to_state")? }
            }
            Some("progress.updated") => {
                Payload::ProgressUpdated { percent: self.value["progress"]["percent"].as_f64() }
            }
            Some("tool.invoked") => Payload::ToolInvoked {
                tool: self.need("tool")?,
                tool_call_id: self.text("tool_call_id"),
                risk: risk.unwrap_or(Risk::Low),
                irreversible: self.is("irreversible"),
            },
            Some("tool.completed") => Payload::ToolCompleted {
                tool: self.need("tool")?,
                tool_call_id: self.text("tool_call_id"),
                status: ToolStatus::parse(&self.need("status")?).ok_or("status")?,
            },
            Some("output.streaming") => Payload::OutputStreaming(Chunk {
                text: self.need("chunk")?,
                position: self.value["position"].as_u64().ok_or("position")?,
                complete: self.value["complete"].as_bool().ok_or("complete")?,
                coalesce_hint: None,
                output_id: self.text("output_id"),
                language: self.text("language"),
            }),
            Some("awaiting.confirmation") => self.confirmation(risk)?,
            Some("awaiting.clarification") => self.clarification()?,
            Some("handoff.requested") => Payload::HandoffRequested(Box::new(HandoffRequest {
                reason: self.need("reason")?,
                target_kind: TargetKind::parse(&self.need("target_kind")?).ok_or("target_kind")?,
                target_uri: self.text("target_uri"),
                packaged_context: None,
                urgency: None,
                summary: self.text("summary_normal"),
            })),
            Some(_) => return Err("type"),
            None => Payload::Extension { name: Cow::Owned(name.to_owned()) },
        })
    }

    fn confirmation(&self, risk: Option<Risk>) -> Result<Payload<'static>, &'static str> {
        let default = self.need("default_decision")?;
        let reversibility = self.text("reversibility");
        Ok(Payload::AwaitingConfirmation(Box::new(Confirmation {
            action: self.need("action")?,
            reply_token: self.need("reply_token")?,
            timeout_seconds: self.seconds()?,
            default_decision: Decision::parse(&default).ok_or("default_decision")?,
            risk,
            irreversible: self.is("irreversible"),
            reversibility: reversibility.and_then(|word| Reversibility::parse(&word)),
            allowed_replies: self.texts("allowed_replies"),
        })))
    }

    fn clarification(&self) -> Result<Payload<'static>, &'static str> {
        let kinds = self.texts("accepted_response_kinds");
        let choices = self.value["choices"].as_array().into_iter().flatten();
        let value_of = |choice: &Value| choice["value"].as_str().map(str::to_owned);
        Ok(Payload::AwaitingClarification(Box::new(Clarification {
            question: self.need("question")?,
            reply_token: self.need("reply_token")?,
            timeout_seconds: self.seconds()?,
            accepted_kinds: kinds.iter().filter_map(|word| ResponseKind::parse(word)).collect(),
            choices: choices.filter_map(value_of).map(Cow::Owned).collect(),
            default_response: self.text("default_response"),
        })))
    }
}
