//! The events of a question, in their stored form. Golden files pin each shape.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::ANSWER_BYTES_MAX;
use crate::canonical::{self, hex, sha256};
use crate::form;
use crate::ids::{AgentId, TaskId};
use crate::time::Time;

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Asked(Box<Asked>),
    Answered(Box<Answered>),
    Defaulted(Defaulted),
    Unanswered(Unanswered),
    Withdrawn(Withdrawn),
    Claimed(Claimed),
    ClaimRenewed(ClaimRenewed),
    ClaimLapsed(ClaimLapsed),
    Finished(Finished),
}

/// Who asks, and the person or the queue that is asked. Every event has them, so that a follower
/// of the feed can filter for its own questions without keeping state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parties {
    pub asker: AgentId,
    pub to: AgentId,
    pub to_kind: Addressee,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Addressee {
    Person,
    Queue,
}

/// What kind of answer is wanted. A human may decline each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Yes or no.
    #[default]
    Approve,
    /// One of the options.
    Choose,
    /// A text.
    Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Yes, to what was asked.
    Approve,
    /// No; for `choose` and `text`: no answer is given.
    Decline,
    /// `option` is chosen.
    Choose,
    /// `text` is the answer.
    Text,
}

/// An answer, or a default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Given {
    pub decision: Decision,
    /// For `choose`: one of the options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// For `text`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::text(ANSWER_BYTES_MAX))]
    pub text: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    #[serde(flatten)]
    pub parties: Parties,
    pub text: String,
    pub wants: Kind,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Map<String, Value>>,
    /// Of the arguments alone, as canonical JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_hash: Option<String>,
    /// Of all that the human is shown. An answer names it.
    pub hash: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub irreversible: bool,
    pub until: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Given>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<AgentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    #[serde(flatten)]
    pub parties: Parties,
    /// Which human, as the record names principals.
    pub by: String,
    pub hash: String,
    pub given: Given,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Who may go on besides the asker.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<AgentId>,
}

/// No human answered in time; the default counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Defaulted {
    #[serde(flatten)]
    pub parties: Parties,
    pub given: Given,
    /// Who may go on besides the asker.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<AgentId>,
}

/// No human answered in time, and there is no default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unanswered {
    #[serde(flatten)]
    pub parties: Parties,
    /// Who may go on besides the asker.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<AgentId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withdrawn {
    #[serde(flatten)]
    pub parties: Parties,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claimed {
    #[serde(flatten)]
    pub parties: Parties,
    pub epoch: u64,
    pub by: AgentId,
    pub until: Time,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimRenewed {
    #[serde(flatten)]
    pub parties: Parties,
    pub epoch: u64,
    pub until: Time,
}

/// The lease is over; another worker may claim it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimLapsed {
    #[serde(flatten)]
    pub parties: Parties,
    pub epoch: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    #[serde(flatten)]
    pub parties: Parties,
    pub epoch: u64,
    pub by: AgentId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

impl Asked {
    /// The hash of what a human is shown and answers: the text, what may be answered, and the
    /// action with its arguments.
    pub fn shown_hash(&self) -> String {
        let shown = json!({
            "action": self.action,
            "arguments": self.arguments,
            "irreversible": self.irreversible,
            "options": self.options,
            "text": self.text,
            "wants": self.wants,
        });
        hash_of(&shown)
    }
}

/// SHA-256 of a value as canonical JSON, in hexadecimal digits.
pub fn hash_of(value: &Value) -> String {
    hex(&sha256(&[canonical::canonical(value).as_bytes()]))
}

impl Event {
    pub fn name(&self) -> &'static str {
        match self {
            Event::Asked(_) => "question.asked",
            Event::Answered(_) => "question.answered",
            Event::Defaulted(_) => "question.defaulted",
            Event::Unanswered(_) => "question.unanswered",
            Event::Withdrawn(_) => "question.withdrawn",
            Event::Claimed(_) => "question.claimed",
            Event::ClaimRenewed(_) => "question.claim_renewed",
            Event::ClaimLapsed(_) => "question.claim_lapsed",
            Event::Finished(_) => "question.finished",
        }
    }

    pub fn parties(&self) -> &Parties {
        match self {
            Event::Asked(it) => &it.parties,
            Event::Answered(it) => &it.parties,
            Event::Defaulted(it) => &it.parties,
            Event::Unanswered(it) => &it.parties,
            Event::Withdrawn(it) => &it.parties,
            Event::Claimed(it) => &it.parties,
            Event::ClaimRenewed(it) => &it.parties,
            Event::ClaimLapsed(it) => &it.parties,
            Event::Finished(it) => &it.parties,
        }
    }

    /// Whether it ends the wait for an answer.
    pub fn is_settling(&self) -> bool {
        match self {
            Event::Answered(_)
            | Event::Defaulted(_)
            | Event::Unanswered(_)
            | Event::Withdrawn(_) => true,
            Event::Asked(_)
            | Event::Claimed(_)
            | Event::ClaimRenewed(_)
            | Event::ClaimLapsed(_)
            | Event::Finished(_) => false,
        }
    }
}

impl Addressee {
    pub fn as_str(self) -> &'static str {
        match self {
            Addressee::Person => "person",
            Addressee::Queue => "queue",
        }
    }
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Approve => "approve",
            Kind::Choose => "choose",
            Kind::Text => "text",
        }
    }
}

impl Given {
    /// An answer without more words.
    pub fn plain(decision: Decision) -> Self {
        Self { decision, option: None, text: None }
    }
}
