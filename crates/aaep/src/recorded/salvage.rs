//! What can be known of an invalid event: enough to tell its effect on its session.

use serde_json::Value;

use super::is_start;
use super::reading::Reading;
use crate::event::{
    Chunk, Clarification, Confirmation, Decision, Envelope, Event, HandoffRequest, Link, Payload,
    Reversibility, Risk, TargetKind, Text, ToolStatus, Urgency,
};
use crate::flaw::Flaw;
use crate::machine::Phase;
use crate::read::is_of_another_type;
use base::time::Time;

/// Fields of the envelope that later events are compared with. One that breaks its form is as good
/// as missing.
pub(super) const ENVELOPE: &[&str] =
    &["event_id", "session_id", "timestamp", "producer.agent_id", "sequence_number"];

/// The same of the payload: without it, what the event did is not certain.
const REFERRED_TO: &[&str] = &[
    "tool",
    "tool_call_id",
    "output_id",
    "reply_token",
    "to_state",
    "extensions.tasuki.tool_call_id",
    "extensions.tasuki.action_hash",
];

/// The readable parts of an invalid document.
#[derive(Debug, Clone)]
pub struct Salvaged {
    pub session_id: Option<String>,
    pub event_id: Option<String>,
    /// The event, if it has the fields that the rules of its type use. Two events if an unreadable
    /// field has only two possible values.
    pub(super) events: Vec<Event<'static>>,
    /// Whether the event may also have been of another type, or about something else.
    pub(super) may_be_another: bool,
    flaws: Vec<Flaw>,
}

/// Reads what can be read of an invalid document with these flaws.
pub fn salvage(document: &str, flaws: &[Flaw]) -> Salvaged {
    let mut value: Value = serde_json::from_str(document).unwrap_or_default();
    // A field that its type does not know may be right: the type may be wrong.
    let known = flaws.iter().filter(|flaw| flaw.rule != "additionalProperties");
    let fields = || known.clone().map(|flaw| flaw.field.as_str());
    let is_referred_to = |field: &&str| ENVELOPE.contains(field) || REFERRED_TO.contains(field);
    let may_be_another = is_of_another_type(&value)
        || fields().any(|field| field.starts_with("extensions") || REFERRED_TO.contains(&field));
    for field in fields().filter(is_referred_to) {
        if let Some(at) = value.pointer_mut(&format!("/{}", field.replace('.', "/"))) {
            *at = Value::Null;
        }
    }
    let owned = |name: &str| value[name].as_str().map(str::to_owned);
    let (session_id, event_id) = (owned("session_id"), owned("event_id"));
    let events = event(&value).map_or_else(Vec::new, |it| vec![it]);
    let mut salvaged =
        Salvaged { session_id, event_id, events, may_be_another, flaws: flaws.to_vec() };
    salvaged.add_other();
    salvaged
}

impl Salvaged {
    /// The event with the other value of a field that can have two.
    fn add_other(&mut self) {
        let Some(event) = self.events.first() else { return };
        let mut other = event.clone();
        if is_start(&other) && self.is_flawed("sequence_number") {
            other.envelope.sequence_number = Some(0);
        } else if let Payload::ToolInvoked { irreversible, .. } = &mut other.payload
            && self.is_flawed("irreversible")
        {
            *irreversible = !*irreversible;
        } else if let Payload::OutputStreaming(chunk) = &mut other.payload
            && self.is_flawed("complete")
        {
            chunk.complete = !chunk.complete;
        } else {
            return;
        }
        self.events.push(other);
    }

    /// The same, as part of this session.
    pub(super) fn of_session(&self, session_id: &str) -> Self {
        let mut meant = self.clone();
        meant.session_id = Some(session_id.to_owned());
        for event in &mut meant.events {
            event.envelope.session_id = session_id.to_owned().into();
        }
        meant
    }

    /// Whether the document breaks the form of this field, or of a part of it.
    pub(super) fn is_flawed(&self, field: &str) -> bool {
        self.flaws.iter().any(|flaw| flaw.is_in(field))
    }

    /// Whether a broken rule of its session follows from the wrong fields.
    pub(super) fn explains(&self, flaw: &Flaw) -> bool {
        let causes: &[&str] = match flaw.field.as_str() {
            "producer.agent_id" => &["producer"],
            field if ENVELOPE.contains(&field) => return self.is_flawed(field),
            _ if self.may_be_another => return true,
            "position" | "output_id" => &["position", "output_id", "complete"],
            "irreversible" => &["irreversible", "tool"],
            field => return self.is_flawed(field),
        };
        causes.iter().any(|cause| self.is_flawed(cause))
    }
}

fn event(value: &Value) -> Option<Event<'static>> {
    let text = |name: &str| text(&value[name]);
    let ours = &value["extensions"][crate::EXTENSION];
    let at = value["timestamp"].as_str().and_then(|at| at.parse::<Time>().ok());
    let envelope = Envelope {
        event_id: text("event_id").unwrap_or_default(),
        session_id: text("session_id").unwrap_or_default(),
        timestamp_micros: at.map_or(0, |at| at.as_millis() * 1_000),
        agent_id: self::text(&value["producer"]["agent_id"]).unwrap_or_default(),
        agent_name: None,
        sequence_number: value["sequence_number"].as_u64(),
        verbosity: None,
        urgency: value["urgency"].as_str().and_then(Urgency::parse),
        primary_language: None,
        correlation_id: None,
        link: Link {
            conversation_id: None,
            parent_session_id: None,
            tool_call_id: self::text(&ours["tool_call_id"]),
            action_hash: self::text(&ours["action_hash"]),
        },
    };
    Some(Event { envelope, payload: payload(value)? })
}

fn payload(value: &Value) -> Option<Payload<'static>> {
    let text = |name: &str| text(&value[name]);
    let payload = match value["type"].as_str()?.strip_prefix("aaep:agent.")? {
        "session.started" => Payload::SessionStarted { requested_by: None },
        "session.completed" => Payload::SessionCompleted,
        "session.errored" => Payload::SessionErrored,
        "session.cancelled" => Payload::SessionCancelled,
        "state.changed" => {
            let from = text("from_state").unwrap_or_default();
            Payload::StateChanged { from, to: text("to_state")? }
        }
        "progress.updated" => Payload::ProgressUpdated { percent: None },
        "tool.invoked" => Payload::ToolInvoked {
            tool: text("tool")?,
            tool_call_id: text("tool_call_id")
                .or_else(|| self::text(&value["extensions"][crate::EXTENSION]["tool_call_id"])),
            risk: Risk::Low,
            // An unreadable one may rest on an accept.
            irreversible: value.get("irreversible").is_some_and(|it| *it != false),
        },
        "tool.completed" => Payload::ToolCompleted {
            tool: text("tool").unwrap_or_default(),
            tool_call_id: text("tool_call_id"),
            status: ToolStatus::Success,
        },
        "output.streaming" => Payload::OutputStreaming(Chunk {
            // Without its text, where the next one begins is unknown.
            text: text("chunk")?,
            position: value["position"].as_u64()?,
            complete: value["complete"].as_bool().unwrap_or_default(),
            coalesce_hint: None,
            output_id: text("output_id"),
            language: None,
        }),
        "awaiting.confirmation" => Payload::AwaitingConfirmation(Box::new(confirmation(value)?)),
        "awaiting.clarification" => Payload::AwaitingClarification(Box::new(Clarification {
            question: text("question").unwrap_or_default(),
            reply_token: text("reply_token")?,
            timeout_seconds: timeout(value),
            accepted_kinds: Vec::new(),
            choices: Vec::new(),
            default_response: None,
        })),
        "handoff.requested" => Payload::HandoffRequested(Box::new(HandoffRequest {
            reason: text("reason").unwrap_or_default(),
            target_kind: TargetKind::Human,
            target_uri: None,
            packaged_context: None,
            urgency: None,
            summary: None,
        })),
        _ => return None,
    };
    Some(payload)
}

fn confirmation(value: &Value) -> Option<Confirmation<'static>> {
    Some(Confirmation {
        action: text(&value["action"]).unwrap_or_default(),
        reply_token: text(&value["reply_token"])?,
        timeout_seconds: timeout(value),
        default_decision: Decision::Reject,
        risk: None,
        irreversible: value["irreversible"] == true,
        said_reversible: value["irreversible"] == false,
        reversibility: value["reversibility"].as_str().and_then(Reversibility::parse),
        allowed_replies: Vec::new(),
    })
}

/// A missing timeout counts as long enough.
fn timeout(value: &Value) -> u32 {
    let seconds = value["timeout_seconds"].as_u64();
    seconds.and_then(|seconds| u32::try_from(seconds).ok()).unwrap_or(86_400)
}

fn text(value: &Value) -> Option<Text<'static>> {
    value.as_str().map(|text| text.to_owned().into())
}

impl Reading {
    /// An invalid event with the fields that could not be read filled in.
    pub(super) fn completed(&self, event: &Event<'static>, salvaged: &Salvaged) -> Event<'static> {
        let mut event = event.clone();
        if salvaged.is_flawed("urgency") {
            event.envelope.urgency = Some(Urgency::Critical);
        }
        if self.session.phase() != Phase::Active || is_start(&event) {
            return event;
        }
        let envelope = &mut event.envelope;
        if envelope.agent_id.is_empty() {
            envelope.agent_id = self.session.agent_id().to_owned().into();
        }
        if salvaged.is_flawed("sequence_number") {
            envelope.sequence_number = self.session.next_number();
        }
        if salvaged.is_flawed("timestamp") {
            envelope.timestamp_micros = self.session.timestamp_micros();
        }
        if let Payload::StateChanged { from, .. } = &mut event.payload
            && salvaged.is_flawed("from_state")
        {
            *from = self.session.state().to_owned().into();
        }
        event
    }

    /// The event with this number was another one.
    pub(super) fn lose_one(&mut self, salvaged: &Salvaged) {
        self.miss(1);
        let got = salvaged.events.first().and_then(|it| it.envelope.sequence_number);
        match (self.session.next_number(), self.session.phase()) {
            (Some(next), Phase::Active) if got.is_none_or(|got| got == next) => {
                self.session.suppose_number(Some(next.saturating_add(1)));
            }
            (_, _) => self.n_unnumbered += 1,
        }
    }
}
