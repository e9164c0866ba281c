//! The agents that first sent a task which a coordinator reassigned during the work. The handoff
//! that follows has another sender, the agent that lost the work, and they are told on.

use std::collections::HashMap;

use protocol::handoff::Status;
use protocol::handoff::event::Event as HandoffEvent;
use protocol::handoff::notices::{Form, Notice, notices};
use protocol::handoff::waits::Waiter;
use protocol::ids::{AgentId, HandoffId};

/// Tasks that a coordinator gave to another agent during the work, whose first sender is told on.
/// They are remembered until the handoff that followed is closed; past this many, no further ones.
pub const NOTICE_REASSIGNED_MAX: usize = 10_000;

/// By the handoff that followed, the agent that first sent the task.
#[derive(Debug, Default)]
pub struct FirstSenders {
    of: HashMap<HandoffId, AgentId>,
}

impl FirstSenders {
    /// What the agent is told that first sent a task which a coordinator reassigned: the same as
    /// the sender of the handoff.
    pub fn notices(&self, handoff: HandoffId, event: &HandoffEvent, actor: &str) -> Vec<Notice> {
        let Some(first) = self.of.get(&handoff) else { return Vec::new() };
        let (from, to) = event.parties();
        if first == from || Some(first) == to {
            return Vec::new();
        }
        // Its actor need not be told, but the first sender is not the sender.
        let of_sender = notices(event, "system").into_iter().filter_map(|notice| {
            let is_told = notice.to == Waiter::Agent(from.clone());
            let form = match notice.form {
                Form::Derived | Form::Message => Form::Derived,
                Form::WithoutCoordinators => Form::WithoutCoordinators,
            };
            let to = Waiter::Agent(first.clone());
            is_told.then_some(Notice { to, form, ..notice })
        });
        let is_own = actor.strip_prefix("agent:") == Some(first.as_str());
        of_sender.filter(|_| !is_own).collect()
    }

    pub fn take_in(&mut self, handoff: HandoffId, event: &HandoffEvent) {
        let HandoffEvent::Closed(closed) = event else { return };
        let known = self.of.remove(&handoff);
        let Some(successor) = closed.reassigned_to else { return };
        // Before the work began, the sender of the handoff sends the next one too.
        let was_sender = (closed.from_status == Status::Activated).then(|| closed.from.clone());
        if let Some(sender) = known.or(was_sender)
            && self.of.len() < NOTICE_REASSIGNED_MAX
        {
            self.of.insert(successor, sender);
        }
    }
}
