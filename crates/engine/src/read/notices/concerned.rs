//! The agents that a handoff concerns although they neither send nor get it, and that are told what
//! its sender is told: the owner of a task that another agent proposes, and the agent that first
//! sent a task which a coordinator reassigned during the work.

use std::collections::HashMap;

use protocol::handoff::Status;
use protocol::handoff::event::Event as HandoffEvent;
use protocol::handoff::notice_kind::NoticeKind;
use protocol::handoff::notices::{Form, Notice, absent_owner, notices};
use protocol::handoff::waits::Waiter;
use protocol::ids::{AgentId, HandoffId};

/// Handoffs that concern such agents. They are remembered until they are closed; past this many, no
/// further ones.
pub const NOTICE_CONCERNED_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub struct Concerned {
    of: HashMap<HandoffId, Others>,
}

#[derive(Debug, Default)]
struct Others {
    /// It sent the task before a coordinator reassigned it.
    first_sender: Option<AgentId>,
    /// It owned the task when another agent proposed it.
    owner: Option<AgentId>,
}

impl Concerned {
    /// What these agents are told of an event: the same as the sender of the handoff, but for what
    /// it is asked to do.
    pub fn notices(&self, handoff: HandoffId, event: &HandoffEvent, actor: &str) -> Vec<Notice> {
        let Some(others) = self.of.get(&handoff) else { return Vec::new() };
        let (from, to) = event.parties();
        let is_other = |agent: &&AgentId| {
            let is_actor = actor.strip_prefix("agent:") == Some(agent.as_str());
            *agent != from && Some(*agent) != to && !is_actor
        };
        let first_sender = others.first_sender.as_ref();
        let owner = others.owner.as_ref().filter(|owner| Some(*owner) != first_sender);
        let mut all = Vec::new();
        for agent in first_sender.into_iter().chain(owner).filter(is_other) {
            // The actor need not be told, but it may be the sender.
            all.extend(notices(event, "system").into_iter().filter_map(|notice| {
                // Only the sender itself may confirm.
                let is_told = notice.to == Waiter::Agent(from.clone())
                    && notice.kind != NoticeKind::ConfirmationWanted;
                let form = match notice.form {
                    Form::Derived | Form::Message => Form::Derived,
                    Form::WithoutCoordinators => Form::WithoutCoordinators,
                };
                let to = Waiter::Agent(agent.clone());
                is_told.then_some(Notice { to, form, ..notice })
            }));
        }
        all
    }

    pub fn take_in(&mut self, handoff: HandoffId, event: &HandoffEvent) {
        if let Some(owner) = absent_owner(event) {
            self.remember(handoff, |others| others.owner = Some(owner.clone()));
        }
        let HandoffEvent::Closed(closed) = event else { return };
        let known = self.of.remove(&handoff).and_then(|others| others.first_sender);
        let Some(successor) = closed.reassigned_to else { return };
        // Before the work began, the sender of the handoff sends the next one too.
        let was_sender = (closed.from_status == Status::Activated).then(|| closed.from.clone());
        if let Some(sender) = known.or(was_sender) {
            self.remember(successor, |others| others.first_sender = Some(sender));
        }
    }

    fn remember(&mut self, handoff: HandoffId, change: impl FnOnce(&mut Others)) {
        if self.of.len() < NOTICE_CONCERNED_MAX || self.of.contains_key(&handoff) {
            change(self.of.entry(handoff).or_default());
        }
    }
}
