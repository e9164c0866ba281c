//! The events of a conversation, in their stored form. Each names the holder at the time, so that a
//! reader can tell from the entry alone who may see it.

use super::not_heard::Why;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::part::Part;
use super::state::Setup;
use crate::conversation::turn_route::TurnRoute;
use crate::conversation::wait::OwedKind;
use crate::ids::AgentId;
use crate::signal::{Escalate, SignalScore};
use crate::time::{Span, Time};
use crate::{callback, transfer};

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Opened(Box<Opened>),
    Said(Said),
    NotHeard(NotHeard),
    Routed(Routed),
    Updated(Updated),
    SignalsObserved(SignalsObserved),
    Delivered(Delivered),
    Unreached(Unreached),
    HolderSilent(HolderSilent),
    Extended(Extended),
    ReplyOverdue(ReplyOverdue),
    Closed(Closed),
    /// An event of its transfer to a person.
    Transfer(transfer::Event),
    /// A callback was asked for, or settled.
    Callback(callback::Event),
}

/// A line that an event adds to the transcript.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Line<'e> {
    Said(&'e Said),
    Routed(&'e Routed),
    HolderSilent(&'e HolderSilent),
    Transfer(transfer::event::Line<'e>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    pub holder: AgentId,
    pub setup: Setup,
}

/// A message that everyone in the conversation sees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Said {
    pub holder: AgentId,
    /// Its position in the transcript, from 1.
    pub number: u64,
    pub by: Speaker,
    pub epoch: u64,
    pub parts: Vec<Part>,
    /// The message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<u64>,
    /// The detected signals, each at most once. Not for the customer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<SignalScore>,
    /// The rule that calls a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Escalate>,
    /// The graph's decision, unless the conversation changed hands by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<TurnRoute>,
    /// The holder gets it at its endpoint.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deliver: bool,
    /// The holder hands the customer on with these words, so they are no answer. Earlier releases
    /// did not record it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parting: bool,
    /// The person who listens and advises the holder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listener: Option<AgentId>,
    /// How long the bot that holds the conversation has: to answer the customer, or to do what it
    /// said if it told the customer that it transfers them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_within: Option<Span>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    Customer,
    Agent(AgentId),
}

/// An agent spoke out of turn. The customer does not see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NotHeard {
    pub holder: AgentId,
    pub agent: AgentId,
    /// The epoch for which it spoke, and the current one.
    pub epoch: u64,
    pub current: u64,
    pub why: Why,
    pub parts: Vec<Part>,
}

/// The conversation changed hands between AI agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Routed {
    pub holder: AgentId,
    pub to: AgentId,
    /// Its position in the transcript.
    pub number: u64,
    /// The epoch that begins.
    pub epoch: u64,
    pub how: How,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// What the customer is told instead of the reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub customer_text: String,
    /// Changes to the data that the agents share; `null` removes a name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub update: Map<String, Value>,
    /// The agents looped, so it did not go to this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<AgentId>,
    /// The graph's decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<TurnRoute>,
    /// The new holder gets it at its endpoint.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deliver: bool,
    /// How long the new holder has to answer what is unanswered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_within: Option<Span>,
}

/// The holder changed the data that the agents share, and the conversation stays where it is, or
/// goes to people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Updated {
    pub holder: AgentId,
    pub epoch: u64,
    /// The changes, by name; `null` removes a name.
    pub update: Map<String, Value>,
}

/// A program outside scored how a message of the customer sounds. The customer does not see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SignalsObserved {
    pub holder: AgentId,
    pub epoch: u64,
    /// The number of the message.
    pub message: u64,
    /// The scores, each signal at most once.
    pub signals: Vec<SignalScore>,
    /// The rule that calls a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<Escalate>,
}

/// The holder got messages at its endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivered {
    pub holder: AgentId,
    pub epoch: u64,
    /// The number of the last delivered message.
    pub through: u64,
}

/// The holder could not be reached in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreached {
    pub holder: AgentId,
    pub epoch: u64,
    pub through: u64,
    /// The last error.
    pub detail: String,
    /// Who is asked next. Earlier releases did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Fallback>,
}

/// The bot that holds the conversation did not answer in time, or did not transfer the customer as
/// it said. The customer is told, by this line of the transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HolderSilent {
    pub holder: AgentId,
    pub epoch: u64,
    /// Its position in the transcript.
    pub number: u64,
    pub owed: OwedKind,
    pub since: Time,
    /// The limit.
    pub within: Span,
    pub next: Fallback,
    /// Nothing is next, and the customer cannot ask for a person either: none of the queues that
    /// they may ask is open.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_person: bool,
}

/// Who is asked next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    Agent(AgentId),
    Queue(AgentId),
    /// Neither an agent nor a queue is left: the holder stays.
    Nothing,
}

/// The holder showed that it is working on the answer, and has more time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extended {
    pub holder: AgentId,
    pub epoch: u64,
    pub until: Time,
}

/// A person has not answered the customer within the time of the queue. Nothing moves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyOverdue {
    /// The person.
    pub holder: AgentId,
    pub epoch: u64,
    pub queue: AgentId,
    /// The customer's message.
    pub message: u64,
    pub since: Time,
    /// The limit.
    pub within: Span,
}

/// What made it change hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum How {
    AgentHandoff,
    SupervisorRouting,
    UserSelection,
    /// The graph of the conversation.
    Graph,
    /// The holder did not answer in time.
    NoAnswer,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closed {
    pub holder: AgentId,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl Event {
    /// The stored name.
    pub fn name(&self) -> &'static str {
        match self {
            Event::Opened(_) => "conversation.opened",
            Event::Said(_) => "conversation.said",
            Event::NotHeard(_) => "conversation.not_heard",
            Event::Routed(_) => "conversation.routed",
            Event::Updated(_) => "conversation.updated",
            Event::SignalsObserved(_) => "conversation.signals_observed",
            Event::Delivered(_) => "conversation.delivered",
            Event::Unreached(_) => "conversation.unreached",
            Event::HolderSilent(_) => "conversation.holder_silent",
            Event::Extended(_) => "conversation.extended",
            Event::ReplyOverdue(_) => "conversation.reply_overdue",
            Event::Closed(_) => "conversation.closed",
            Event::Transfer(event) => event.name(),
            Event::Callback(event) => event.name(),
        }
    }

    /// The agents that may read it: the holder at the time, who spoke out of turn or was asked,
    /// who came next, and who listened.
    pub fn parties(&self) -> [Option<&AgentId>; 3] {
        match self {
            Event::Opened(it) => [Some(&it.holder), None, None],
            Event::Said(it) => [Some(&it.holder), it.listener.as_ref(), None],
            Event::NotHeard(it) => [Some(&it.holder), Some(&it.agent), None],
            Event::Routed(it) => [Some(&it.holder), Some(&it.to), None],
            Event::Updated(it) => [Some(&it.holder), None, None],
            Event::SignalsObserved(it) => [Some(&it.holder), None, None],
            Event::Delivered(it) => [Some(&it.holder), None, None],
            Event::Unreached(it) => {
                let next = it.next.as_ref().and_then(Fallback::agent);
                [Some(&it.holder), next, None]
            }
            Event::HolderSilent(it) => [Some(&it.holder), it.next.agent(), None],
            Event::Extended(it) => [Some(&it.holder), None, None],
            Event::ReplyOverdue(it) => [Some(&it.holder), None, None],
            Event::Closed(it) => [Some(&it.holder), None, None],
            Event::Transfer(event) => event.parties(),
            Event::Callback(event) => event.parties(),
        }
    }

    /// The epoch from then on, if it says so.
    pub fn epoch(&self) -> Option<u64> {
        match self {
            Event::Opened(_) => Some(1),
            Event::Said(it) => Some(it.epoch),
            Event::NotHeard(it) => Some(it.current),
            Event::Routed(it) => Some(it.epoch),
            Event::Updated(it) => Some(it.epoch),
            Event::SignalsObserved(it) => Some(it.epoch),
            Event::Delivered(it) => Some(it.epoch),
            Event::Unreached(it) => Some(it.epoch),
            Event::HolderSilent(it) => Some(it.epoch),
            Event::Extended(it) => Some(it.epoch),
            Event::ReplyOverdue(it) => Some(it.epoch),
            Event::Transfer(event) => event.epoch(),
            Event::Callback(_) | Event::Closed(_) => None,
        }
    }

    /// Whether it is for people only: notes and whispers.
    pub fn is_between_people(&self) -> bool {
        if let Event::Transfer(event) = self { event.is_between_people() } else { false }
    }

    /// Whether it may still happen after the conversation is closed.
    pub fn may_follow_close(&self) -> bool {
        matches!(self, Event::Transfer(transfer::Event::Rated(_)))
    }

    /// The line that it adds to the transcript, if it adds one.
    pub fn line(&self) -> Option<Line<'_>> {
        match self {
            Event::Said(said) => Some(Line::Said(said)),
            Event::Routed(routed) => Some(Line::Routed(routed)),
            Event::HolderSilent(silent) => Some(Line::HolderSilent(silent)),
            Event::Transfer(event) => event.line().map(Line::Transfer),
            Event::Opened(_)
            | Event::NotHeard(_)
            | Event::Updated(_)
            | Event::SignalsObserved(_)
            | Event::Delivered(_)
            | Event::Unreached(_)
            | Event::Extended(_)
            | Event::ReplyOverdue(_)
            | Event::Callback(_)
            | Event::Closed(_) => None,
        }
    }

    /// Its position in the transcript, if it has one.
    pub fn number(&self) -> Option<u64> {
        self.line().map(Line::number)
    }
}

impl Line<'_> {
    /// Its position in the transcript.
    pub fn number(self) -> u64 {
        match self {
            Line::Said(said) => said.number,
            Line::Routed(routed) => routed.number,
            Line::HolderSilent(silent) => silent.number,
            Line::Transfer(line) => line.number(),
        }
    }
}

impl Fallback {
    /// The agent or queue that is asked, if there is one.
    pub fn asked(&self) -> Option<&AgentId> {
        match self {
            Fallback::Agent(id) | Fallback::Queue(id) => Some(id),
            Fallback::Nothing => None,
        }
    }

    /// The agent that gets the conversation, if it is not a queue.
    pub fn agent(&self) -> Option<&AgentId> {
        match self {
            Fallback::Agent(id) => Some(id),
            Fallback::Queue(_) | Fallback::Nothing => None,
        }
    }
}

/// Whether entries of this name have a position in the transcript. Of an erased entry, only the
/// name is left.
pub fn is_line(name: &str) -> bool {
    let lines = ["conversation.said", "conversation.routed", "conversation.holder_silent"];
    lines.contains(&name) || transfer::event::is_line(name)
}
