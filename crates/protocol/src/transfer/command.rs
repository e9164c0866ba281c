//! The commands of a transfer.

use schemars::{JsonSchema, Schema};
use serde::Deserialize;

use super::bundle::{About, SUMMARY_BYTES_MAX};

use super::state::Target;
use crate::conversation::customer_text::CUSTOMER_TEXT_BYTES_MAX;
use crate::form;
use crate::ids::{AgentId, Disposition, TransferId};
use crate::needs::{Needs, QueueOf, SlotOf};
use crate::notes::NOTES_BYTES_MAX;
use crate::queue::Wanted;
use crate::queue::order::PRIORITY_MAX;
use crate::time::Time;
use crate::transfer::kind::Kind;

pub const REQUEST_KEY_BYTES_MAX: usize = 200;

/// One line that is not empty, but may be blank.
const KEY: &str = r"^[^\x00-\x1F\x7F-\x9F]+$";

/// The form of a `request_key`.
pub fn key_form(schema: &mut Schema) {
    form::patterned(KEY, REQUEST_KEY_BYTES_MAX, key_expected())(schema);
}

pub fn key_expected() -> String {
    format!("1 to {REQUEST_KEY_BYTES_MAX} bytes of text in one line")
}

#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// A customer or an agent asks for a person.
    Request { transfer: TransferId, request: Box<Request> },
    /// A caller acts on a transfer.
    Act { transfer: TransferId, epoch: Option<u64>, act: Act },
    /// The server offers it to a person.
    Ring { transfer: TransferId, agent: AgentId },
    /// A person has lost the connection for good.
    Lose { agent: AgentId },
    /// A deadline may have passed.
    Elapse { due: Time },
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The queue where it waits; the teamspace's default queue when absent. A customer names one
    /// only if the conversation or its graph lets customers do so.
    #[serde(default)]
    pub queue: Option<AgentId>,
    #[serde(default, rename = "type")]
    #[schemars(transform = form::one_of(Kind::REQUESTED))]
    pub kind: Kind,
    #[serde(default)]
    #[schemars(transform = form::bytes(NOTES_BYTES_MAX))]
    pub reason: Option<String>,
    /// From -100 to 100; each level counts as some minutes of waiting.
    #[serde(default)]
    #[schemars(transform = form::range(-PRIORITY_MAX, PRIORITY_MAX))]
    pub priority: i32,
    /// What this transfer requires of the person, besides the requirements of its queue.
    #[serde(default)]
    pub wanted: Option<Wanted>,
    /// The epoch for which an agent asks. Customers have none.
    #[serde(default)]
    pub epoch: Option<u64>,
    /// The caller's own name for this request: repeating it with the same name changes nothing.
    #[serde(default)]
    #[schemars(transform = key_form)]
    pub request_key: Option<String>,
    /// What the person should know beforehand. Not for customers.
    #[serde(default)]
    pub context: About,
    /// What the customer wants the person to know. For customers only; shown as theirs.
    #[serde(default)]
    #[schemars(transform = form::text(SUMMARY_BYTES_MAX))]
    pub words: Option<String>,
    /// What the customer is told instead of the reason; a sentence in their language when absent.
    #[serde(default)]
    #[schemars(transform = form::text(CUSTOMER_TEXT_BYTES_MAX))]
    pub customer_text: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// A person takes it from the queue, and with `accept` answers at once.
    Pickup {
        accept: bool,
    },
    Accept,
    Decline {
        reason: Option<String>,
    },
    Hold,
    Resume,
    /// Another person is asked in, or takes over.
    Transfer(Box<Transfer>),
    /// The matter is settled.
    Complete {
        summary: Option<String>,
        disposition: Option<Disposition>,
        /// The bot that gets the conversation; the one that had it before when absent.
        to: Option<AgentId>,
    },
    /// The transfer is over, and so is the conversation.
    End {
        reason: Option<String>,
    },
    Cancel {
        reason: Option<String>,
    },
    /// No person can take it.
    Fail {
        reason: String,
    },
    /// For colleagues only.
    Note {
        text: String,
    },
    /// To the person who holds the conversation, from a person who listens or oversees.
    Whisper {
        text: String,
    },
    /// The customer's rating.
    Rate {
        score: u8,
        comment: Option<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    #[serde(default = "human_to_human", rename = "type")]
    #[schemars(transform = form::one_of(Kind::PASSED_ON))]
    pub kind: Kind,
    /// A person or a queue.
    pub to: AgentId,
    /// Why, for colleagues.
    #[serde(default)]
    #[schemars(transform = form::bytes(NOTES_BYTES_MAX))]
    pub reason: Option<String>,
    /// What the customer is told when the other person takes over.
    #[serde(default)]
    #[schemars(transform = form::text(CUSTOMER_TEXT_BYTES_MAX))]
    pub customer_text: Option<String>,
    #[serde(default)]
    pub epoch: Option<u64>,
    /// What the person should know beforehand.
    #[serde(default)]
    pub context: About,
}

fn human_to_human() -> Kind {
    Kind::HumanToHuman
}

impl Command {
    pub fn name(&self) -> &'static str {
        match self {
            Command::Request { .. } => "request_human",
            Command::Ring { .. } => "ring",
            Command::Lose { .. } => "lose_agent",
            Command::Elapse { .. } => "elapse",
            Command::Act { act, .. } => act.name(),
        }
    }

    /// Whether it may give the conversation back to its previous holder.
    pub fn may_end_it(&self) -> bool {
        match self {
            Command::Elapse { .. } => true,
            Command::Act { act, .. } => {
                matches!(act, Act::Complete { .. } | Act::Cancel { .. } | Act::Fail { .. })
            }
            Command::Request { .. } | Command::Ring { .. } | Command::Lose { .. } => false,
        }
    }

    /// The queue that a request names.
    pub fn queue(&self) -> Option<&AgentId> {
        match self {
            Command::Request { request, .. } => request.queue.as_ref(),
            Command::Act { .. }
            | Command::Ring { .. }
            | Command::Lose { .. }
            | Command::Elapse { .. } => None,
        }
    }

    /// The facts it needs besides the conversation. `queue` is where its transfer waits, `overflow`
    /// where it goes next.
    pub fn needs(&self, overflow: Option<&AgentId>, queue: Option<&AgentId>) -> Needs {
        let named = |id: &AgentId| Some(QueueOf::Named(id.clone()));
        match self {
            Command::Request { request, .. } => {
                let queue = request.queue.as_ref().map_or(Some(QueueOf::Default), named);
                Needs { queue, ..Needs::default() }
            }
            Command::Ring { agent, .. } => {
                let slots = vec![SlotOf::Agent(agent.clone())];
                Needs { agent: Some(agent.clone()), slots, ..Needs::default() }
            }
            Command::Act { act: Act::Pickup { .. }, .. } => {
                let queue = queue.and_then(named);
                Needs { caller: true, slots: vec![SlotOf::Caller], queue, ..Needs::default() }
            }
            Command::Act { act: Act::Transfer(transfer), .. } => {
                let (agent, queue) = (Some(transfer.to.clone()), queue.and_then(named));
                let slots = vec![SlotOf::Agent(transfer.to.clone())];
                Needs { agent, slots, caller: true, queue, ..Needs::default() }
            }
            Command::Elapse { .. } => Needs { queue: overflow.and_then(named), ..Needs::default() },
            Command::Act { act: Act::Complete { to, .. }, .. } => {
                let (agent, queue) = (to.clone(), queue.and_then(named));
                Needs { agent, caller: true, queue, ..Needs::default() }
            }
            // A person who may pick it up gets a specific error instead of `not_found`.
            Command::Act { .. } => {
                Needs { caller: true, queue: queue.and_then(named), ..Needs::default() }
            }
            Command::Lose { .. } => Needs { queue: queue.and_then(named), ..Needs::default() },
        }
    }
}

impl Act {
    pub fn name(&self) -> &'static str {
        match self {
            Act::Pickup { .. } => "pickup",
            Act::Accept => "accept",
            Act::Decline { .. } => "decline",
            Act::Hold => "hold",
            Act::Resume => "resume",
            Act::Transfer(_) => "transfer",
            Act::Complete { .. } => "complete",
            Act::End { .. } => "end",
            Act::Cancel { .. } => "cancel",
            Act::Fail { .. } => "fail",
            Act::Note { .. } => "note",
            Act::Whisper { .. } => "whisper",
            Act::Rate { .. } => "rate",
        }
    }
}

impl Target {
    pub fn id(&self) -> &AgentId {
        match self {
            Target::Human(id) | Target::Queue(id) => id,
        }
    }
}
