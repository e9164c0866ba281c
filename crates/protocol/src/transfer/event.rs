//! The events of a transfer, in their stored form. Each names the holder of the conversation at the
//! time.

mod told;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bundle::Bundle;
use super::state::{Limits, Outcome, Overflow, Target};
use super::status::{Action, Status};
use crate::ids::{AgentId, Disposition, TransferId};
use crate::queue::{OrderKey, Wanted};
use crate::time::{Span, Time};
use crate::transfer::kind::Kind;

pub use told::{Line, QueueStep, is_line};

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Requested(Box<Requested>),
    Queued(Queued),
    Ringing(Ringing),
    Returned(Returned),
    PassedOn(PassedOn),
    Connected(Connected),
    Consulted(Consulted),
    Held(Held),
    Resumed(Resumed),
    LegRequested(Box<LegRequested>),
    LegEnded(LegEnded),
    Noted(Noted),
    Over(Over),
    Rated(Rated),
}

/// A person was asked for. From here on the queue holds the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Requested {
    pub holder: AgentId,
    pub transfer: TransferId,
    pub queue: AgentId,
    /// Its position in the transcript.
    pub number: u64,
    pub epoch: u64,
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_key: Option<String>,
    pub kind: Kind,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What the customer is told instead.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub customer_text: String,
    pub priority: i32,
    pub wanted: Wanted,
    pub limits: Limits,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<Bundle>,
    /// The agents looped, so a person was asked for instead of this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<AgentId>,
}

/// It waits in a queue: its first, or the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued {
    pub holder: AgentId,
    pub transfer: TransferId,
    pub queue: AgentId,
    pub epoch: u64,
    pub order: OrderKey,
    pub limits: Limits,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overflow: Option<Overflow>,
}

/// It rings for a person. Leg 0 is the transfer itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ringing {
    pub holder: AgentId,
    pub transfer: TransferId,
    pub leg: u16,
    pub agent: AgentId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<u16>,
    pub until: Time,
    /// The person picked the item.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub picked: bool,
}

/// It waits again, in its old place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Returned {
    pub holder: AgentId,
    pub transfer: TransferId,
    pub leg: u16,
    /// The person who does not have it any more.
    pub agent: AgentId,
    pub why: WhyReturned,
    pub epoch: u64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What the customer is told instead.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub customer_text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhyReturned {
    Declined,
    NotAnswered,
    AgentLost,
    /// It was passed on blindly. Since there is [`PassedOn`], only earlier entries say so.
    Blind,
}

/// The person who answered passed it on to a queue, and left. The customer waits again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassedOn {
    /// The person.
    pub holder: AgentId,
    pub transfer: TransferId,
    pub queue: AgentId,
    /// Its position in the transcript.
    pub number: u64,
    pub epoch: u64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What the customer is told instead.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub customer_text: String,
}

/// A person answers, and holds the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connected {
    pub holder: AgentId,
    pub transfer: TransferId,
    pub leg: u16,
    /// The person who answers now.
    pub agent: AgentId,
    pub epoch: u64,
    /// Its position in the transcript.
    pub number: u64,
    pub kind: Kind,
    /// The bundle that the person got beforehand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle_id: Option<String>,
    /// The person who passed it into the queue from which it was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed_by: Option<AgentId>,
    /// Why the person who had it before asked this one in. A person who passed it on to a queue
    /// said so in the line about that.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What the customer is told about the change of person.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub customer_text: String,
    /// The customer was told when it was passed on, and is not told again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub was_told: bool,
}

impl Connected {
    /// The person from whom this one takes over, if it is not a bot.
    pub fn passed_on_by(&self) -> Option<&AgentId> {
        if self.leg == 0 { self.passed_by.as_ref() } else { Some(&self.holder) }
    }
}

/// A person listens, and advises the person who answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consulted {
    pub holder: AgentId,
    pub transfer: TransferId,
    pub leg: u16,
    /// The person who listens.
    pub agent: AgentId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    pub holder: AgentId,
    pub transfer: TransferId,
    pub until: Time,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed {
    pub holder: AgentId,
    pub transfer: TransferId,
    /// The maximum time on hold was over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overdue: bool,
}

/// Another person is asked in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LegRequested {
    pub holder: AgentId,
    pub transfer: TransferId,
    pub leg: u16,
    pub kind: Kind,
    pub target: Target,
    pub order: OrderKey,
    pub limits: Limits,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What the customer is told instead.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub customer_text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<Bundle>,
}

/// The other person is not asked any more, or has left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LegEnded {
    pub holder: AgentId,
    pub transfer: TransferId,
    pub leg: u16,
    /// The other person, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    pub why: WhyLegEnded,
    /// The words of the person who declined or cancelled.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhyLegEnded {
    Declined,
    NotAnswered,
    AgentLost,
    Cancelled,
    /// The consultation is over.
    Finished,
}

/// A note for colleagues. The customer does not see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    pub holder: AgentId,
    pub transfer: TransferId,
    pub number: u64,
    /// The author, as the record names them.
    pub by: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whispered: bool,
    pub text: String,
}

/// The transfer is over. The conversation goes back to its previous holder, unless it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Over {
    pub holder: AgentId,
    pub transfer: TransferId,
    pub outcome: Outcome,
    /// The new holder.
    pub to: AgentId,
    pub epoch: u64,
    pub number: u64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What the new holder must know.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// How the person settled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disposition: Option<Disposition>,
    /// The customer asked to be called back instead.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_for_callback: bool,
    /// The new holder is told at its endpoint.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deliver: bool,
    /// How long the new holder has to answer what is unanswered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_within: Option<Span>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rated {
    pub holder: AgentId,
    pub transfer: TransferId,
    pub score: u8,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub comment: String,
}

impl Event {
    /// The stored name.
    pub fn name(&self) -> &'static str {
        match self {
            Event::Requested(_) => "transfer.requested",
            Event::Queued(_) => "transfer.queued",
            Event::Ringing(_) => "transfer.ringing",
            Event::Returned(_) => "transfer.returned",
            Event::PassedOn(_) => "transfer.passed_on",
            Event::Connected(_) => "transfer.connected",
            Event::Consulted(_) => "transfer.consulted",
            Event::Held(_) => "transfer.held",
            Event::Resumed(_) => "transfer.resumed",
            Event::LegRequested(_) => "transfer.leg_requested",
            Event::LegEnded(_) => "transfer.leg_ended",
            Event::Noted(_) => "transfer.noted",
            Event::Over(_) => "transfer.over",
            Event::Rated(_) => "transfer.rated",
        }
    }

    /// The transfer that it is about.
    pub fn transfer(&self) -> TransferId {
        match self {
            Event::Requested(it) => it.transfer,
            Event::Queued(it) => it.transfer,
            Event::Ringing(it) => it.transfer,
            Event::Returned(it) => it.transfer,
            Event::PassedOn(it) => it.transfer,
            Event::Connected(it) => it.transfer,
            Event::Consulted(it) => it.transfer,
            Event::Held(it) => it.transfer,
            Event::Resumed(it) => it.transfer,
            Event::LegRequested(it) => it.transfer,
            Event::LegEnded(it) => it.transfer,
            Event::Noted(it) => it.transfer,
            Event::Over(it) => it.transfer,
            Event::Rated(it) => it.transfer,
        }
    }

    /// The holder of the conversation at the time.
    pub fn holder(&self) -> &AgentId {
        match self {
            Event::Requested(it) => &it.holder,
            Event::Queued(it) => &it.holder,
            Event::Ringing(it) => &it.holder,
            Event::Returned(it) => &it.holder,
            Event::PassedOn(it) => &it.holder,
            Event::Connected(it) => &it.holder,
            Event::Consulted(it) => &it.holder,
            Event::Held(it) => &it.holder,
            Event::Resumed(it) => &it.holder,
            Event::LegRequested(it) => &it.holder,
            Event::LegEnded(it) => &it.holder,
            Event::Noted(it) => &it.holder,
            Event::Over(it) => &it.holder,
            Event::Rated(it) => &it.holder,
        }
    }

    /// The agents that may read it: the holder at the time, the person who is asked or answers,
    /// and who has it next.
    pub fn parties(&self) -> [Option<&AgentId>; 3] {
        let other = match self {
            Event::Ringing(it) => Some(&it.agent),
            Event::Returned(it) => Some(&it.agent),
            Event::Connected(it) => Some(&it.agent),
            Event::Consulted(it) => Some(&it.agent),
            Event::LegEnded(it) => it.agent.as_ref(),
            Event::Over(it) => Some(&it.to),
            Event::Requested(_)
            | Event::Queued(_)
            | Event::PassedOn(_)
            | Event::Held(_)
            | Event::Resumed(_)
            | Event::LegRequested(_)
            | Event::Noted(_)
            | Event::Rated(_) => None,
        };
        [Some(self.holder()), other, None]
    }

    /// The action on the transfer as a whole, and the new status. `None` for events of a leg, and
    /// for notes between colleagues.
    pub fn moved(&self) -> Option<(Action, Status)> {
        match self {
            Event::Requested(_) => Some((Action::Request, Status::Requested)),
            Event::Queued(_) => Some((Action::Queue, Status::Queued)),
            Event::Ringing(it) => (it.leg == 0).then_some((Action::Pickup, Status::Ringing)),
            Event::Returned(it) => {
                let action = match it.why {
                    WhyReturned::Declined => Action::Decline,
                    WhyReturned::NotAnswered => Action::Miss,
                    WhyReturned::AgentLost => Action::LoseAgent,
                    WhyReturned::Blind => Action::TransferBlind,
                };
                (it.leg == 0).then_some((action, Status::Queued))
            }
            Event::PassedOn(_) => Some((Action::TransferBlind, Status::Queued)),
            Event::Connected(it) => {
                let action = if it.leg == 0 { Action::Accept } else { Action::Join };
                Some((action, Status::Connected))
            }
            Event::Held(_) => Some((Action::Hold, Status::OnHold)),
            Event::Resumed(_) => Some((Action::Resume, Status::Connected)),
            Event::Over(it) => {
                let action = match it.outcome {
                    Outcome::Completed => Action::Complete,
                    Outcome::Ended => Action::End,
                    Outcome::Failed => Action::Fail,
                    Outcome::Cancelled => Action::Cancel,
                };
                Some((action, it.outcome.status()))
            }
            Event::Consulted(_)
            | Event::LegRequested(_)
            | Event::LegEnded(_)
            | Event::Noted(_)
            | Event::Rated(_) => None,
        }
    }
}
