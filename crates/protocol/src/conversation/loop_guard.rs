//! When agents that hand a conversation on in circles are stopped.

use super::state::Conversation;
use crate::ids::AgentId;
use crate::rejection::Rejection;

/// Whether handing it there needs a person instead: the agents loop, and have no supervisor to stop
/// them.
pub fn is_stopped(conversation: &Conversation, to: &AgentId) -> bool {
    guarded(conversation, to).is_err()
}

impl Conversation {
    /// Whether handing it there makes a loop, or too many hops. Work that a supervisor hands out
    /// and gets back is no loop: it may let the same worker try again.
    pub fn is_too_much(&self, to: &AgentId) -> bool {
        let holders = &self.turn.holders;
        let leads = |agent: &AgentId| self.setup.topology.supervisor() == Some(agent);
        let is_circle = match holders.as_slice() {
            [.., a, b, c] => a == c && b == to && !leads(a) && !leads(b),
            [] | [_] | [_, _] => false,
        };
        is_circle || holders.len() > usize::from(self.setup.hops_max)
    }
}

/// Where it really goes: a loop, or too many hops, ends at the supervisor.
pub fn guarded(
    conversation: &Conversation,
    to: &AgentId,
) -> Result<(AgentId, Option<AgentId>), Rejection> {
    if !conversation.is_too_much(to) {
        return Ok((to.clone(), None));
    }
    match conversation.setup.topology.supervisor() {
        Some(supervisor) if conversation.holder != *supervisor => {
            Ok((supervisor.clone(), Some(to.clone()).filter(|to| to != supervisor)))
        }
        Some(_) | None => Err(Rejection::HandoffLoop { hops_max: conversation.setup.hops_max }),
    }
}
