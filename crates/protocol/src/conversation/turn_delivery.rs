//! Delivery of turns to the holder's endpoint: what is still to be told, in which piece, and under
//! which id. The messages are in the ledger; here are only their numbers.

use serde_json::{Map, Value, json};

use super::event::{Line, Routed, Said, Speaker};
use super::part::{Attachment, FilePart, Part, file_path};
use super::state::{Conversation, Customer};
use super::told::DeliveryPiece;
use super::transcript_line::TranscriptLine;
use crate::conversation::author::whose;
use crate::hidden::make_visible;
use crate::ids::{AgentId, ConversationId, TeamspaceId};
use crate::stored::Effect;
use crate::time::{Span, Time};
use crate::tools::history_form::HistoryForm;
use crate::tools::transcript::History;
use crate::transfer;

/// After this long a delivery has failed. No customer waits longer in a chat.
pub const REACHED_WITHIN: Span = Span::from_minutes(2);

/// The prefix of an effect's name, before the epoch and the last number.
pub const DELIVER: &str = "deliver/";

/// What the holder is to be told, as data.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub agent: AgentId,
    pub conversation: ConversationId,
    pub epoch: u64,
    pub after: u64,
    pub through: u64,
    /// The customer's message that waits for an answer.
    pub in_reply_to: Option<u64>,
    pub customer: Customer,
    pub shared: Map<String, Value>,
}

impl Conversation {
    fn telling(&self) -> Option<&DeliveryPiece> {
        self.told.telling.as_ref().filter(|_| self.closed.is_none())
    }

    /// Whether this is the piece that is being delivered.
    pub fn is_telling(&self, epoch: u64, through: u64) -> Option<&DeliveryPiece> {
        self.telling().filter(|telling| self.epoch == epoch && telling.through == through)
    }

    pub fn effects(&self) -> Vec<Effect> {
        self.telling()
            .map(|telling| Effect { name: self.effect_name(telling).into() })
            .into_iter()
            .collect()
    }

    fn effect_name(&self, telling: &DeliveryPiece) -> String {
        format!("{DELIVER}{}/{}", self.epoch, telling.through)
    }

    /// What an effect is to deliver, if it is still wanted.
    pub fn turn_of(&self, effect: &str) -> Option<Turn> {
        let telling = self.telling().filter(|telling| self.effect_name(telling) == effect)?;
        // Later messages of the customer are answered after a later piece.
        let waits = |number: &u64| *number <= telling.through;
        Some(Turn {
            agent: self.holder.clone(),
            conversation: self.id,
            epoch: self.epoch,
            after: telling.after,
            through: telling.through,
            in_reply_to: self.turn.open().filter(waits),
            customer: self.setup.customer.clone(),
            shared: self.shared.clone(),
        })
    }
}

impl Turn {
    /// The same for each retry, and different for everything else.
    pub fn id(&self) -> String {
        format!("{}_{}_{}", self.conversation, self.epoch, self.through)
    }

    /// The body of the request.
    pub fn body(
        &self,
        teamspace: &TeamspaceId,
        at: Time,
        lines: &[TranscriptLine],
        history: Option<&(HistoryForm, History)>,
    ) -> String {
        let lines = lines.iter().filter(|line| !line.is_between_people());
        let messages: Vec<Value> = lines.map(|line| self.message(line)).collect();
        let mut body = json!({
            "type": "conversation.turn",
            "timestamp": at.to_string(),
            "data": {
                "teamspace": teamspace.as_str(),
                "agent": self.agent.as_str(),
                "conversation_id": self.conversation.to_string(),
                "epoch": self.epoch,
                "delivery_id": self.id(),
                "in_reply_to": self.in_reply_to,
                "customer": self.customer,
                "shared": self.shared,
                "messages": messages,
            },
        });
        if let Some((form, history)) = history {
            body["data"]["history"] = json!({
                "form": form,
                "messages": history.messages,
                "left_out": history.n_left_out,
                "through": history.through,
            });
        }
        // A model reads it, so invisible characters are escaped.
        make_visible(&mut body);
        body.to_string()
    }

    fn message(&self, line: &TranscriptLine) -> Value {
        let mut message = json!({ "number": line.number, "at": line.at.to_string() });
        match line.content() {
            Some(Line::Said(said)) => {
                message["epoch"] = said.epoch.into();
                message["from"] = match &said.by {
                    Speaker::Customer => json!({ "kind": "customer" }),
                    Speaker::Agent(agent) => json!({ "kind": "agent", "agent_id": agent }),
                };
                message["parts"] = self.parts(said);
            }
            Some(Line::Routed(routed)) => {
                message["epoch"] = routed.epoch.into();
                message["from"] = json!({ "kind": "system" });
                message["route"] = route(routed);
            }
            Some(Line::HolderSilent(silent)) => {
                message["from"] = json!({ "kind": "system" });
                message["silence"] = json!({
                    "agent": silent.holder, "owed": silent.owed, "next": silent.next.asked(),
                });
            }
            Some(Line::Transfer(told)) => {
                message["from"] = json!({ "kind": "system" });
                message["transfer"] = transfer_line(told, &line.actor);
            }
            None => message["erased"] = true.into(),
        }
        message
    }

    /// Texts in full, files by their URL.
    fn parts(&self, said: &Said) -> Value {
        let numbered = said.parts.iter().enumerate();
        let parts = numbered.map(|(index, part)| match part {
            Part::Text(text) => json!({ "type": "text", "text": text.text }),
            Part::Attachment(Attachment { name, media_type, sha256, size_bytes, .. }) => json!({
                "type": "attachment", "name": name, "media_type": media_type, "sha256": sha256,
                "size_bytes": size_bytes,
                "path": file_path(self.conversation, said.number, index),
            }),
            Part::File(FilePart { file, name, media_type }) => json!({
                "type": "file", "name": name, "media_type": media_type, "file": file,
                "path": file_path(self.conversation, said.number, index),
            }),
        });
        parts.collect()
    }
}

/// What the next holder must know about the time with people.
fn transfer_line(told: transfer::event::Line<'_>, actor: &str) -> Value {
    use transfer::event::Line::{Connected, Noted, Over, PassedOn, Requested};
    match told {
        Requested(it) => with_reason(json!({ "status": "requested" }), &it.reason, &it.by),
        PassedOn(it) => {
            with_reason(json!({ "status": "queued", "queue": it.queue }), &it.reason, actor)
        }
        Connected(it) => {
            let mut line = json!({ "status": "connected", "agent_id": it.agent });
            if !it.reason.is_empty() {
                // The person who asked this one in said it.
                line["reason"] = it.reason.as_str().into();
                line["reason_by"] = "agent".into();
            }
            line
        }
        Over(it) => {
            let mut line = json!({ "status": it.outcome, "summary": it.summary });
            if let Some(disposition) = &it.disposition {
                line["disposition"] = disposition.as_str().into();
            }
            with_reason(line, &it.reason, actor)
        }
        // Notes between people never get here.
        Noted(_) => Value::Null,
    }
}

/// A reason with its author, so that a customer's words do not read as the server's.
fn with_reason(mut line: Value, reason: &str, by: &str) -> Value {
    line["reason"] = reason.into();
    if !reason.is_empty() {
        line["reason_by"] = whose(by).into();
    }
    line
}

fn route(routed: &Routed) -> Value {
    let mut route = json!({ "from": routed.holder, "to": routed.to, "how": routed.how });
    let texts = [
        ("reason", &routed.reason),
        ("context", &routed.context),
        ("customer_text", &routed.customer_text),
    ];
    for (name, text) in texts {
        if !text.is_empty() {
            route[name] = text.as_str().into();
        }
    }
    if let Some(instead_of) = &routed.instead_of {
        route["instead_of"] = instead_of.as_str().into();
    }
    route
}
