//! A transfer as it stands. What was said meanwhile is in the conversation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bundle::Bundle;
use super::status::Status;
use crate::agent::slot_key;
use crate::conversation::customer_text::whose;
use crate::fixed::Fixed;
use crate::ids::{AgentId, TransferId};
use crate::queue::{OrderKey, Wanted};
use crate::step::{Deadline, Hold};
use crate::time::{Span, Time};

/// Those who said no, or did not answer, and are remembered. Whoever was before them may be asked
/// again.
pub const PASSED_OVER_MAX: usize = 64;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Transfer {
    pub id: TransferId,
    pub terms: Fixed<Terms>,
    pub queue: AgentId,
    /// Its place among those who wait; kept for as long as it waits, whatever happens.
    pub order: OrderKey,
    pub limits: Limits,
    /// To which queue it goes on if nobody comes before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overflow: Option<Overflow>,
    pub stage: Stage,
    /// Somebody else is asked in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leg: Option<Leg>,
    /// How many people it was offered or passed to in turn; numbers the legs.
    pub n_legs: u16,
    /// Who said no.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declined: Vec<AgentId>,
    /// Who did not answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<AgentId>,
    /// The customer has said how it was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rated: bool,
    /// Up to which message the agent that gets the conversation back knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<u64>,
    /// How one person passed it on to another, the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<Box<Passed>>,
}

/// A person passed it on: to somebody who was asked in and accepted, or into a queue, blindly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Passed {
    pub by: AgentId,
    pub kind: Kind,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<Fixed<Bundle>>,
}

/// What was settled when it was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// Who asked, as the record names them.
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
    /// Who held the conversation before, and gets it back.
    pub previous: AgentId,
}

/// How long things may last, as the queue said when it was entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub ring: Span,
    pub hold: Span,
    pub wait: Span,
    /// When whoever waits is told that nobody came.
    pub gives_up_at: Time,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overflow {
    pub at: Time,
    pub to: AgentId,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    #[default]
    BotToHuman,
    BotToBot,
    HumanToHuman,
    SupervisorConsult,
    /// Without context.
    Blind,
    /// With all of it.
    Warm,
}

impl Kind {
    /// How a person can be asked for.
    pub const REQUESTED: [Kind; 3] = [Kind::BotToHuman, Kind::Warm, Kind::Blind];

    /// How a person can ask another one in, or pass the conversation on.
    pub const PASSED_ON: [Kind; 4] =
        [Kind::HumanToHuman, Kind::Warm, Kind::Blind, Kind::SupervisorConsult];
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
    /// `number` is where the transcript says so.
    Over {
        outcome: Outcome,
        at: Time,
        number: u64,
    },
}

/// Who has it, and which of their slots it takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub agent: AgentId,
    /// None for somebody who takes any number.
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
    /// What the customer is told when the other person is there.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub customer_text: String,
    pub stage: LegStage,
    /// Who said no, and who did not answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declined: Vec<AgentId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<AgentId>,
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

/// Somebody to be found for: the transfer itself, or the leg of one.
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

    /// The person who is asked or connected.
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

    /// Everybody who has a part in it now.
    pub fn people(&self) -> impl Iterator<Item = &AgentId> {
        let leg = self.leg.as_ref().and_then(Leg::claim);
        self.claim().into_iter().chain(leg).map(|claim| &claim.agent)
    }

    /// Whoever is asked, or advises, and does not speak with the customer.
    pub fn asked(&self) -> Option<&AgentId> {
        let leg = self.leg.as_ref().and_then(Leg::claim);
        let rung = self.claim().filter(|_| self.answering().is_none());
        leg.or(rung).map(|claim| &claim.agent)
    }

    /// Who listens, and advises whoever answers.
    pub fn listener(&self) -> Option<&AgentId> {
        match self.leg.as_ref().map(|leg| &leg.stage) {
            Some(LegStage::Consulting { claim }) => Some(&claim.agent),
            Some(LegStage::Queued | LegStage::Ringing { .. }) | None => None,
        }
    }

    /// Where it, or its leg, waits for somebody.
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

    /// As what the person who answers, or is asked, has it.
    pub fn kind(&self) -> Kind {
        self.passed.as_ref().map_or(self.terms.kind, |passed| passed.kind)
    }

    /// Why that person has it.
    pub fn reason(&self) -> &str {
        self.passed.as_ref().map_or(&self.terms.reason, |passed| &passed.reason)
    }

    /// Whose words that is. Only people pass on what they have.
    pub fn reason_by(&self) -> &str {
        self.passed.as_ref().map_or_else(|| whose(&self.terms.requested_by), |_| "agent")
    }

    /// What that person should know: the newest bundle that was taken along.
    pub fn bundle(&self) -> Option<&Bundle> {
        match &self.passed {
            Some(passed) => passed.bundle.as_deref(),
            None => self.terms.bundle.as_ref(),
        }
    }

    /// Leaves out why a person was wanted, and what they were told.
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

    /// What it keeps others from taking: its name, and a slot of everybody who has a part in it.
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

/// The hold by whose value the conversation of a transfer is found, for ever.
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

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::BotToHuman => "bot_to_human",
            Kind::BotToBot => "bot_to_bot",
            Kind::HumanToHuman => "human_to_human",
            Kind::SupervisorConsult => "supervisor_consult",
            Kind::Blind => "blind",
            Kind::Warm => "warm",
        }
    }
}
