//! The state of a question.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{Addressee, Asked, Decision, Given};
use crate::caller::Caller;
use crate::ids::{AgentId, QuestionId};
use crate::stored::{Deadline, Hold};
use crate::time::Time;

/// The name of the deadline of an answer.
pub const ANSWER: &str = "answer";

/// The name of the deadline of a claim.
pub const CLAIM: &str = "claim";

const HOLD: &str = "question";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    pub id: QuestionId,
    pub asked: Box<Asked>,
    pub asked_at: Time,
    pub state: Settled,
    #[serde(default)]
    pub continuation: Continuation,
    /// An entry of it was erased, and with it what was asked and answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
}

/// How the wait for an answer stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Settled {
    /// A human answers, the asker withdraws it, or its time ends.
    Open,
    /// A worker claims its continuation.
    Answered { by: String, at: Time, given: Given, note: Option<String> },
    /// The same; the default counts.
    Defaulted { at: Time, given: Given },
    /// The same; there is no answer.
    Unanswered { at: Time },
    /// Nothing follows.
    Withdrawn { at: Time, reason: Option<String> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It waits for an answer.
    Open,
    Answered,
    /// No human answered in time, and the default counts.
    Defaulted,
    /// No human answered in time.
    Unanswered,
    Withdrawn,
}

/// The work that goes on with the answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Continuation {
    /// Of the last claim; 0 before the first.
    pub epoch: u64,
    /// The last claim, until it is finished.
    pub claim: Option<Claimed>,
    pub finished: Option<Finished>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claimed {
    pub by: AgentId,
    /// Earlier releases did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    pub until: Time,
    /// Its time is over, and no other worker has claimed it since.
    pub lapsed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    pub by: AgentId,
    pub at: Time,
    pub result: Option<String>,
}

/// The key with which a worker makes the calls that the answer allows. It is the same for every
/// claim, so that a system which honours such keys does the work once.
pub fn idempotency_key(id: QuestionId) -> String {
    format!("question-{id}")
}

/// The prefix of the holds of the open questions that a person or a queue is asked.
pub fn open_prefix(to: &AgentId) -> String {
    format!("{HOLD}/{to}/")
}

impl Question {
    pub fn status(&self) -> Status {
        match self.state {
            Settled::Open => Status::Open,
            Settled::Answered { .. } => Status::Answered,
            Settled::Defaulted { .. } => Status::Defaulted,
            Settled::Unanswered { .. } => Status::Unanswered,
            Settled::Withdrawn { .. } => Status::Withdrawn,
        }
    }

    pub fn is_open(&self) -> bool {
        self.status() == Status::Open
    }

    pub fn asker(&self) -> &AgentId {
        &self.asked.parties.asker
    }

    /// The answer that counts if no human gives one in time.
    pub fn default(&self) -> Option<&Given> {
        // Asking refuses a default that is a yes to what cannot be undone. It would not count here
        // either.
        let counts = |decision| !self.asked.irreversible || decision == Decision::Decline;
        self.asked.default.as_ref().filter(|it| counts(it.decision))
    }

    /// The queue that is asked, if it is one.
    pub fn queue(&self) -> Option<&AgentId> {
        match self.asked.parties.to_kind {
            Addressee::Queue => Some(&self.asked.parties.to),
            Addressee::Person => None,
        }
    }

    /// Whether the caller may see it without being a member of the queue: the asker, those that may
    /// go on with the answer, the person who is asked or who answered, and coordinators.
    pub fn is_known_to(&self, caller: &Caller) -> bool {
        let answered = match &self.state {
            Settled::Answered { by, .. } => *by == caller.principal.to_string(),
            Settled::Open
            | Settled::Defaulted { .. }
            | Settled::Unanswered { .. }
            | Settled::Withdrawn { .. } => false,
        };
        let takes_part =
            |agent: &AgentId| self.may_continue(agent) || self.asked.parties.to == *agent;
        answered || caller.is_coordinator() || caller.agent().is_some_and(takes_part)
    }

    /// Whether an agent may claim its continuation.
    pub fn may_continue(&self, agent: &AgentId) -> bool {
        self.asker() == agent || self.asked.workers.contains(agent)
    }

    /// Whether there is an answer, or none in time, and its continuation is not finished.
    pub fn is_to_continue(&self) -> bool {
        match self.status() {
            Status::Answered | Status::Defaulted | Status::Unanswered => {
                self.continuation.finished.is_none()
            }
            Status::Open | Status::Withdrawn => false,
        }
    }

    /// Whether this agent may go on with the answer, and no worker does.
    pub fn waits_for_claim_by(&self, agent: &AgentId) -> bool {
        let is_claimed = self.continuation.claim.as_ref().is_some_and(|claim| !claim.lapsed);
        let may_claim = self.asker() == agent || self.asked.workers.contains(agent);
        self.is_to_continue() && !is_claimed && may_claim
    }

    pub fn deadlines(&self) -> Vec<Deadline> {
        if self.is_open() {
            return vec![Deadline { name: ANSWER.into(), due: self.asked.until }];
        }
        let claim = self.continuation.claim.as_ref().filter(|claim| !claim.lapsed);
        claim.map(|claim| Deadline { name: CLAIM.into(), due: claim.until }).into_iter().collect()
    }

    /// It is found by the person or the queue that is asked while it is open.
    pub fn hold(&self) -> Hold {
        let key = format!("{}{}", open_prefix(&self.asked.parties.to), self.id);
        Hold { key, occupied: self.is_open(), value: None }
    }

    /// What remains after an erasure.
    pub(crate) fn without_texts(mut self) -> Self {
        self.erased = true;
        let asked = &mut self.asked;
        asked.text.clear();
        asked.options.clear();
        asked.action = None;
        asked.arguments = None;
        asked.default = None;
        asked.reference = None;
        match &mut self.state {
            Settled::Answered { given, note, .. } => {
                (given.option, given.text, *note) = (None, None, None);
            }
            Settled::Defaulted { given, .. } => (given.option, given.text) = (None, None),
            Settled::Withdrawn { reason, .. } => *reason = None,
            Settled::Open | Settled::Unanswered { .. } => {}
        }
        if let Some(finished) = &mut self.continuation.finished {
            finished.result = None;
        }
        self
    }
}

impl Continuation {
    /// The claim that counts now.
    pub fn live(&self, now: Time) -> Option<&Claimed> {
        self.claim.as_ref().filter(|claim| !claim.lapsed && now < claim.until)
    }
}

impl Status {
    pub const ALL: [Status; 5] =
        [Status::Open, Status::Answered, Status::Defaulted, Status::Unanswered, Status::Withdrawn];

    pub fn as_str(self) -> &'static str {
        match self {
            Status::Open => "open",
            Status::Answered => "answered",
            Status::Defaulted => "defaulted",
            Status::Unanswered => "unanswered",
            Status::Withdrawn => "withdrawn",
        }
    }
}

impl FromStr for Status {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let named = Status::ALL.into_iter().find(|status| status.as_str() == text);
        named.ok_or("open, answered, defaulted, unanswered or withdrawn")
    }
}
