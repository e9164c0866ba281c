//! The state of a transfer. The messages meanwhile are in the conversation.

use super::kind::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bundle::Bundle;
use super::status::Status;
use crate::agent::slot_key;
use crate::conversation::author::whose;
use crate::fixed::Fixed;
use crate::ids::{AgentId, TransferId};
use crate::queue::settings::TARGET_DEFAULT;
use crate::queue::{OrderKey, Wanted};
use crate::stored::{Deadline, Hold};
use crate::time::{Span, Time};

/// How many people who declined or did not answer are remembered. Earlier ones may be asked again.
pub const PASSED_OVER_MAX: usize = 64;

/// Rings without an answer in all queues together, however many queues there are.
pub const RINGS_IN_ALL_MAX: u16 = 2_000;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Transfer {
    pub id: TransferId,
    pub terms: Fixed<Terms>,
    pub queue: AgentId,
    /// Its sort key in the queue; it never changes while it waits.
    pub order: OrderKey,
    pub limits: Limits,
    /// The queue it goes to if no person answers before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overflow: Option<Overflow>,
    pub stage: Stage,
    /// Another person is being asked in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leg: Option<Leg>,
    /// How many legs there were; numbers the legs.
    pub n_legs: u16,
    /// People who declined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declined: Vec<AgentId>,
    /// People who did not answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<AgentId>,
    /// Rings without an answer in this queue, and in all queues. They are counted where there is a
    /// limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rings: u16,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rings_in_all: u16,
    /// Queues that it left by overflow during this wait. It does not go back to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<AgentId>,
    /// The customer has rated it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rated: bool,
    /// The last message that the previous holder knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<u64>,
    /// How a person last passed it on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<Box<Passed>>,
}

/// A person passed it on: to another person who accepted, or blindly into a queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Passed {
    pub by: AgentId,
    /// The person who took over; `None` for a queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<AgentId>,
    pub kind: Kind,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What the customer is told instead of the reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub customer_text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<Fixed<Bundle>>,
    /// The customer was told when it was passed on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub was_told: bool,
}

/// What was fixed when it was requested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// The caller who asked, as the record names them.
    pub requested_by: String,
    pub requested_at: Time,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<Bundle>,
    /// The previous holder, which gets the conversation back.
    pub previous: AgentId,
}

/// The time limits, from the queue's settings when it was entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub ring: Span,
    pub hold: Span,
    pub wait: Span,
    /// When the wait ends without a person.
    pub gives_up_at: Time,
    /// Within this time a person should answer. Entries of the first releases do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Span>,
    /// How many rings without an answer end the wait in this queue; any number when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rings: Option<u16>,
    /// After this time without a reply, the person who answers is reminded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_target: Option<Span>,
}

impl Limits {
    pub fn target(&self) -> Span {
        self.target.unwrap_or(TARGET_DEFAULT)
    }

    /// Whether so many rings without an answer are the last.
    pub fn are_last(&self, rings: u16) -> bool {
        self.rings.is_some_and(|max| rings >= max)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overflow {
    pub at: Time,
    pub to: AgentId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    Requested,
    Queued,
    Ringing {
        claim: Claim,
        until: Time,
    },
    Connected {
        claim: Claim,
    },
    OnHold {
        claim: Claim,
        until: Time,
    },
    /// `number` is its position in the transcript.
    Over {
        outcome: Outcome,
        at: Time,
        number: u64,
    },
}

/// The person who has it, and the slot that it takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub agent: AgentId,
    /// `None` for a person without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Completed,
    Ended,
    Failed,
    Cancelled,
}

/// Another person is asked in while the customer is with the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    pub number: u16,
    pub kind: Kind,
    pub target: Target,
    pub order: OrderKey,
    pub limits: Limits,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<Fixed<Bundle>>,
    /// What the customer is told when the other person takes over.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub customer_text: String,
    pub stage: LegStage,
    /// People who declined, and people who did not answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declined: Vec<AgentId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<AgentId>,
    /// Rings without an answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rings: u16,
}

fn is_zero(count: &u16) -> bool {
    *count == 0
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    Human(AgentId),
    Queue(AgentId),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LegStage {
    Queued,
    Ringing {
        claim: Claim,
        until: Time,
    },
    /// Listens and advises; the customer does not see them.
    Consulting {
        claim: Claim,
    },
}

/// A transfer, or a leg of one, that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting<'a> {
    pub queue: &'a AgentId,
    pub order: OrderKey,
}

impl Transfer {
    pub fn status(&self) -> Status {
        match &self.stage {
            Stage::Requested => Status::Requested,
            Stage::Queued => Status::Queued,
            Stage::Ringing { .. } => Status::Ringing,
            Stage::Connected { .. } => Status::Connected,
            Stage::OnHold { .. } => Status::OnHold,
            Stage::Over { outcome, .. } => outcome.status(),
        }
    }

    pub fn is_over(&self) -> bool {
        self.status().is_over()
    }

    /// Whether it waits in this queue, or left it by overflow during this wait.
    pub fn has_visited(&self, queue: &AgentId) -> bool {
        self.queue == *queue || self.left.contains(queue)
    }

    /// The person for whom it rings, or who is connected.
    pub fn claim(&self) -> Option<&Claim> {
        match &self.stage {
            Stage::Ringing { claim, .. }
            | Stage::Connected { claim }
            | Stage::OnHold { claim, .. } => Some(claim),
            Stage::Requested | Stage::Queued | Stage::Over { .. } => None,
        }
    }

    /// The person with whom the customer speaks.
    pub fn answering(&self) -> Option<&Claim> {
        match &self.stage {
            Stage::Connected { claim } | Stage::OnHold { claim, .. } => Some(claim),
            Stage::Requested | Stage::Queued | Stage::Ringing { .. } | Stage::Over { .. } => None,
        }
    }

    /// All people who take part now.
    pub fn people(&self) -> impl Iterator<Item = &AgentId> {
        let leg = self.leg.as_ref().and_then(Leg::claim);
        self.claim().into_iter().chain(leg).map(|claim| &claim.agent)
    }

    /// The person who is rung or advises, and does not speak with the customer.
    pub fn asked(&self) -> Option<&AgentId> {
        let leg = self.leg.as_ref().and_then(Leg::claim);
        let rung = self.claim().filter(|_| self.answering().is_none());
        leg.or(rung).map(|claim| &claim.agent)
    }

    /// The person who listens and advises the person who answers.
    pub fn listener(&self) -> Option<&AgentId> {
        match self.leg.as_ref().map(|leg| &leg.stage) {
            Some(LegStage::Consulting { claim }) => Some(&claim.agent),
            Some(LegStage::Queued | LegStage::Ringing { .. }) | None => None,
        }
    }

    /// Where it, or its leg, waits for a person.
    pub fn waiting(&self) -> Option<Waiting<'_>> {
        if self.stage == Stage::Queued {
            return Some(Waiting { queue: &self.queue, order: self.order });
        }
        let leg = self.leg.as_ref().filter(|leg| leg.stage == LegStage::Queued)?;
        match &leg.target {
            Target::Queue(queue) => Some(Waiting { queue, order: leg.order }),
            Target::Human(_) => None,
        }
    }

    /// The kind under which the current person has it.
    pub fn kind(&self) -> Kind {
        self.passed.as_ref().map_or(self.terms.kind, |passed| passed.kind)
    }

    /// Why that person has it.
    pub fn reason(&self) -> &str {
        self.passed.as_ref().map_or(&self.terms.reason, |passed| &passed.reason)
    }

    /// What the customer is told instead of that reason.
    pub fn customer_text(&self) -> &str {
        self.passed.as_ref().map_or(&self.terms.customer_text, |passed| &passed.customer_text)
    }

    /// The author of that reason. Only people pass a transfer on.
    pub fn reason_by(&self) -> &str {
        self.passed.as_ref().map_or_else(|| whose(&self.terms.requested_by), |_| "agent")
    }

    /// What that person should know: the newest bundle that was passed on.
    pub fn bundle(&self) -> Option<&Bundle> {
        match &self.passed {
            Some(passed) => passed.bundle.as_deref(),
            None => self.terms.bundle.as_ref(),
        }
    }

    /// Removes the reasons, the texts for the customer and the bundles.
    pub fn forget_texts(&mut self) {
        let (reason, customer_text) = (String::new(), String::new());
        let terms = Terms { reason, customer_text, bundle: None, ..Terms::clone(&self.terms) };
        self.terms = terms.into();
        if let Some(leg) = &mut self.leg {
            leg.reason = String::new();
            leg.bundle = None;
            leg.customer_text = String::new();
        }
        if let Some(passed) = &mut self.passed {
            passed.reason = String::new();
            passed.customer_text = String::new();
            passed.bundle = None;
        }
    }

    pub fn deadlines(&self) -> Vec<Deadline> {
        let mut all = Vec::new();
        let mut arm = |name: &'static str, due| all.push(Deadline { name: name.into(), due });
        match &self.stage {
            Stage::Requested | Stage::Queued => {
                arm(GIVES_UP, self.limits.gives_up_at);
                if let Some(overflow) = &self.overflow {
                    arm(OVERFLOWS, overflow.at);
                }
            }
            Stage::Ringing { until, .. } => arm(RINGS, *until),
            Stage::OnHold { until, .. } => arm(HOLDS, *until),
            Stage::Connected { .. } | Stage::Over { .. } => {}
        }
        match self.leg.as_ref().map(|leg| (leg, &leg.stage)) {
            Some((leg, LegStage::Queued)) => arm(LEG_GIVES_UP, leg.limits.gives_up_at),
            Some((_, LegStage::Ringing { until, .. })) => arm(LEG_RINGS, *until),
            Some((_, LegStage::Consulting { .. })) | None => {}
        }
        all
    }

    /// The keys that it occupies: its id, and a slot of each person who takes part.
    pub fn holds(&self, conversation: &str) -> Vec<Hold> {
        let named = Hold {
            key: transfer_key(self.id),
            occupied: !self.is_over(),
            value: Some(conversation.to_owned()),
        };
        let leg = self.leg.as_ref().and_then(Leg::claim);
        let claims = self.claim().into_iter().chain(leg);
        let slots = claims.filter_map(|claim| {
            let key = slot_key(&claim.agent, claim.slot?);
            Some(Hold { key, occupied: true, value: None })
        });
        std::iter::once(named).chain(slots).collect()
    }
}

/// The names of its deadlines.
pub const GIVES_UP: &str = "gives_up";
pub const OVERFLOWS: &str = "overflows";
pub const RINGS: &str = "rings";
pub const HOLDS: &str = "holds";
pub const LEG_GIVES_UP: &str = "leg_gives_up";
pub const LEG_RINGS: &str = "leg_rings";

/// The hold whose value is the conversation of a transfer. It stays for ever.
pub fn transfer_key(id: TransferId) -> String {
    format!("transfer/{id}")
}

impl Leg {
    pub fn claim(&self) -> Option<&Claim> {
        match &self.stage {
            LegStage::Ringing { claim, .. } | LegStage::Consulting { claim } => Some(claim),
            LegStage::Queued => None,
        }
    }
}

impl Outcome {
    pub fn status(self) -> Status {
        match self {
            Outcome::Completed => Status::Completed,
            Outcome::Ended => Status::Ended,
            Outcome::Failed => Status::Failed,
            Outcome::Cancelled => Status::Cancelled,
        }
    }
}
