//! Turns that reach the holder at its endpoint: what it must still be told, in which piece, and
//! under which name. What was said is in the ledger; here are only its numbers.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::customer_text::whose;
use super::event::{Event, Routed, Said, Speaker};
use super::part::{Attachment, Part};
use super::reader::is_between_people;
use super::state::{Conversation, Customer};
use crate::hidden::make_visible;
use crate::ids::{AgentId, ConversationId, TeamspaceId};
use crate::step::Effect;
use crate::time::{Span, Time};
use crate::transfer;

/// What is told at once. A message has at most 16 parts of 16 KiB, so this is at most 4 MiB.
pub const MESSAGES_MAX: u64 = 16;

/// Whoever waits in a chat for longer than this has been forgotten.
pub const REACHED_WITHIN: Span = Span::from_minutes(2);

/// Before the epoch and the last number, in the name of an effect.
pub const DELIVER: &str = "deliver/";

/// How far the holder is told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The last message of an agent, of whichever.
    pub spoken: u64,
    /// Up to which message the holder was told in this epoch.
    pub through: u64,
    /// What it is being told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telling: Option<Telling>,
}

/// A piece of the transcript on its way to the holder. It stays as it is until it arrived, so that
/// each try is the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Telling {
    /// What has a larger number, up to this one.
    pub after: u64,
    pub through: u64,
    /// What must be told, this piece and those after it.
    pub newest: u64,
    pub since: Time,
}

/// What the holder is to be told, as data.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub agent: AgentId,
    pub conversation: ConversationId,
    pub epoch: u64,
    pub after: u64,
    pub through: u64,
    /// The message of the customer that waits for an answer.
    pub in_reply_to: Option<u64>,
    pub customer: Customer,
    pub shared: Map<String, Value>,
}

/// A line of the transcript; without an event once erased.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub number: u64,
    pub at: Time,
    /// Who did it, as the record names them.
    pub actor: String,
    pub event: Option<Event>,
}

impl Told {
    /// There is something new, and the holder is to be told.
    pub fn wants(&mut self, number: u64, turn: u64, at: Time) {
        match &mut self.telling {
            Some(telling) => telling.newest = number,
            None => {
                // Also the turn itself, however much agents said to it.
                let after = self.spoken.min(turn.saturating_sub(1)).max(self.through);
                self.telling = Some(Telling::piece(after, number, at));
            }
        }
    }

    /// People give the conversation back to an agent that knew it up to a message: it is told all
    /// that happened since.
    pub fn hands_back(&mut self, known: u64, number: u64, at: Time) {
        self.telling = Some(Telling::piece(known, number, at));
    }

    /// The holder was told up to here.
    pub fn reached(&mut self, through: u64, at: Time) {
        let Some(telling) = self.telling.take() else { return };
        self.through = through;
        if telling.newest > through {
            self.telling = Some(Telling::piece(through, telling.newest, at));
        }
    }

    /// The holder said something. Whoever answers a message knows it.
    pub fn spoke(&mut self, said: &Said, turn: u64, at: Time) {
        self.spoken = said.number;
        let (Some(telling), Some(answered)) = (&self.telling, said.in_reply_to) else { return };
        let (through, newest) = (telling.through, telling.newest);
        if answered >= turn {
            self.reached(newest, at);
        } else if answered >= through {
            self.reached(through, at);
        }
    }

    /// Somebody else holds the conversation.
    pub fn begin(&mut self) {
        *self = Self { spoken: self.spoken, ..Self::default() };
    }
}

impl Telling {
    fn piece(after: u64, newest: u64, since: Time) -> Self {
        Self { after, through: newest.min(after.saturating_add(MESSAGES_MAX)), newest, since }
    }
}

impl Conversation {
    fn telling(&self) -> Option<&Telling> {
        self.told.telling.as_ref().filter(|_| self.closed.is_none())
    }

    /// Whether this is the piece that the holder is being told.
    pub fn is_telling(&self, epoch: u64, through: u64) -> Option<&Telling> {
        self.telling().filter(|telling| self.epoch == epoch && telling.through == through)
    }

    pub fn effects(&self) -> Vec<Effect> {
        self.telling()
            .map(|telling| Effect { name: self.effect_name(telling).into() })
            .into_iter()
            .collect()
    }

    fn effect_name(&self, telling: &Telling) -> String {
        format!("{DELIVER}{}/{}", self.epoch, telling.through)
    }

    /// What is to be told for an effect, if it is still wanted.
    pub fn turn_of(&self, effect: &str) -> Option<Turn> {
        let telling = self.telling().filter(|telling| self.effect_name(telling) == effect)?;
        // What the customer said after this piece is answered after it.
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

impl Line {
    /// Whether no endpoint is told of it: a note or a whisper.
    pub fn is_between_people(&self) -> bool {
        self.event.as_ref().is_some_and(|event| is_between_people(event.name()))
    }
}

impl Turn {
    /// The same for each try, and for nothing else.
    pub fn id(&self) -> String {
        format!("{}_{}_{}", self.conversation, self.epoch, self.through)
    }

    /// As it is sent.
    pub fn body(&self, teamspace: &TeamspaceId, at: Time, lines: &[Line]) -> String {
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
        // A model reads it: what a person would not see is written out.
        make_visible(&mut body);
        body.to_string()
    }

    fn message(&self, line: &Line) -> Value {
        let mut message = json!({ "number": line.number, "at": line.at.to_string() });
        match &line.event {
            Some(Event::Said(said)) => {
                message["epoch"] = said.epoch.into();
                message["from"] = match &said.by {
                    Speaker::Customer => json!({ "kind": "customer" }),
                    Speaker::Agent(agent) => json!({ "kind": "agent", "agent_id": agent }),
                };
                message["parts"] = self.parts(said);
            }
            Some(Event::Routed(routed)) => {
                message["epoch"] = routed.epoch.into();
                message["from"] = json!({ "kind": "system" });
                message["route"] = route(routed);
            }
            Some(Event::Transfer(event)) => {
                message["from"] = json!({ "kind": "system" });
                message["transfer"] = transfer_line(event, &line.actor);
            }
            Some(
                Event::Opened(_)
                | Event::NotHeard(_)
                | Event::Delivered(_)
                | Event::Unreached(_)
                | Event::Callback(_)
                | Event::Closed(_),
            )
            | None => message["erased"] = true.into(),
        }
        message
    }

    /// Texts as they are, files by where to get them.
    fn parts(&self, said: &Said) -> Value {
        let numbered = said.parts.iter().enumerate();
        let parts = numbered.map(|(index, part)| match part {
            Part::Text(text) => json!({ "type": "text", "text": text.text }),
            Part::Attachment(Attachment { name, media_type, sha256, size_bytes, .. }) => json!({
                "type": "attachment", "name": name, "media_type": media_type, "sha256": sha256,
                "size_bytes": size_bytes,
                "path": format!(
                    "/v1/conversations/{}/messages/{}/attachments/{index}",
                    self.conversation, said.number
                ),
            }),
        });
        parts.collect()
    }
}

/// What whoever gets a conversation back must know of the time with people.
fn transfer_line(event: &transfer::Event, actor: &str) -> Value {
    match event {
        transfer::Event::Requested(it) => {
            with_reason(json!({ "status": "requested" }), &it.reason, &it.by)
        }
        transfer::Event::Connected(it) => json!({ "status": "connected", "agent_id": it.agent }),
        transfer::Event::Over(it) => {
            let line = json!({ "status": it.outcome, "summary": it.summary });
            with_reason(line, &it.reason, actor)
        }
        // What people tell each other never gets here.
        transfer::Event::Noted(_)
        | transfer::Event::Queued(_)
        | transfer::Event::Ringing(_)
        | transfer::Event::Returned(_)
        | transfer::Event::Consulted(_)
        | transfer::Event::Held(_)
        | transfer::Event::Resumed(_)
        | transfer::Event::LegRequested(_)
        | transfer::Event::LegEnded(_)
        | transfer::Event::Rated(_) => Value::Null,
    }
}

/// A reason, and whose words it is: a customer's must not read as the server's.
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
