//! What a conversation, a transfer or a question waits for: who must act, what they can do, since
//! when, until when, and what happens then. What a handoff waits for has more to tell, such as its
//! parts, and is in `handoff::waits`.

use crate::ids::AgentId;
use crate::time::Time;

/// One thing that is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    pub who: Waiter,
    /// What they can do, by the names of the actions.
    pub actions: &'static [&'static str],
    /// The further person who is asked in during a transfer; 0 for everything else.
    pub leg: u16,
    /// `None` if that is not recorded.
    pub since: Option<Time>,
    pub until: Option<Time>,
    pub then: Then,
}

/// Who must act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waiter {
    /// A person of this queue.
    Queue(AgentId),
    Agent(AgentId),
    /// The asker of a question, or one of its workers.
    Worker,
}

/// What happens when the time is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Then {
    /// It has no end of its own.
    Nothing,
    /// A transfer goes on to this queue, if that is open then.
    Overflows(AgentId),
    /// The agent that held the conversation before the transfer answers again.
    Fails,
    /// The next person of the queue is asked.
    ReturnsToQueue,
    HoldEnds,
    /// The customer stays with the person who answers.
    InvitationEnds,
    /// The next fallback gets the conversation. Without one its holder keeps it, and the customer
    /// is told that no answer has come.
    FallsBack,
    /// The person who answers is reminded, and keeps the conversation.
    Reminds,
    /// The default of a question counts.
    Defaults,
    /// A question stays without an answer.
    EndsUnanswered,
    /// Another worker may claim the question.
    ClaimLapses,
}

impl Waiter {
    /// As answers name it.
    pub fn describe(&self) -> String {
        match self {
            Waiter::Queue(queue) => format!("queue:{queue}"),
            Waiter::Agent(agent) => format!("agent:{agent}"),
            Waiter::Worker => "worker".to_owned(),
        }
    }
}

impl Then {
    pub fn as_str(&self) -> &'static str {
        match self {
            Then::Nothing => "nothing",
            Then::Overflows(_) => "overflows",
            Then::Fails => "fails",
            Then::ReturnsToQueue => "returns_to_queue",
            Then::HoldEnds => "hold_ends",
            Then::InvitationEnds => "invitation_ends",
            Then::FallsBack => "falls_back",
            Then::Reminds => "reminds",
            Then::Defaults => "defaults",
            Then::EndsUnanswered => "ends_unanswered",
            Then::ClaimLapses => "claim_lapses",
        }
    }

    /// The queue to which it goes.
    pub fn to(&self) -> Option<&AgentId> {
        match self {
            Then::Overflows(to) => Some(to),
            Then::Nothing
            | Then::Fails
            | Then::ReturnsToQueue
            | Then::HoldEnds
            | Then::InvitationEnds
            | Then::FallsBack
            | Then::Reminds
            | Then::Defaults
            | Then::EndsUnanswered
            | Then::ClaimLapses => None,
        }
    }
}
