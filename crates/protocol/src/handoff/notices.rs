//! Who is told about a step of a handoff. A pure function of the recorded event, so notices need
//! no writes of their own: they are derived from the ledger when a reader asks.

use super::event::{Closed, Event, Parties, Proposed};
use super::notice_kind::NoticeKind;
use super::waits::Waiter;
use crate::ids::AgentId;

/// One notice of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub kind: NoticeKind,
    pub to: Waiter,
    pub form: Form,
}

/// How a notice reaches its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Derived from the ledger when the reader looks into its inbox.
    Derived,
    /// The same, but only in a teamspace where no agent is a coordinator.
    WithoutCoordinators,
    /// The server sends a message.
    Message,
}

/// Who is told of an event, and of what. Its actor is not told what it did itself.
pub fn notices(event: &Event, actor: &str) -> Vec<Notice> {
    let mut all = of_event(event);
    all.retain(|notice| match &notice.to {
        Waiter::Agent(agent) => !is_agent(actor, agent),
        Waiter::Approver { .. }
        | Waiter::Verifier { .. }
        | Waiter::Coordinator
        | Waiter::Parts
        | Waiter::Server => true,
    });
    all
}

/// The notice that the server sends as a message, if there is one.
pub fn sent(event: &Event) -> Option<Notice> {
    of_event(event).into_iter().find(|notice| notice.form == Form::Message)
}

fn is_agent(actor: &str, agent: &AgentId) -> bool {
    actor.strip_prefix("agent:") == Some(agent.as_str())
}

fn of_event(event: &Event) -> Vec<Notice> {
    use Form::{Derived, Message, WithoutCoordinators};
    let (from, to) = event.parties();
    let sender = |kind, form| Notice { kind, to: Waiter::Agent(from.clone()), form };
    let target = |kind, form| {
        to.map(|to| Notice { kind, to: Waiter::Agent(to.clone()), form }).into_iter().collect()
    };
    let both = |kind| {
        let mut all: Vec<Notice> = target(kind, Derived);
        all.push(sender(kind, Derived));
        all
    };
    match event {
        Event::Proposed(proposed) => offered(NoticeKind::Proposed, proposed),
        Event::Countered(countered) => offered(NoticeKind::Countered, &countered.proposed),
        Event::Approved(_) => both(NoticeKind::Approved),
        Event::Accepted(_) => both(NoticeKind::Accepted),
        Event::Rejected(_) => {
            let mut all: Vec<Notice> = target(NoticeKind::Rejected, Derived);
            all.push(sender(NoticeKind::Rejected, Message));
            all
        }
        Event::Activated(_) => vec![sender(NoticeKind::Activated, Derived)],
        Event::Progressed(_) => vec![sender(NoticeKind::Progressed, Derived)],
        Event::Recalled(_) => target(NoticeKind::Recalled, Derived),
        Event::CompletionStarted(started)
            if started.needs_verifier && started.final_artifacts.is_empty() =>
        {
            to_confirm(&started.parties.from, &started.parties.to)
        }
        Event::CompletionChecked(checked) if checked.needs_verifier => {
            to_confirm(&checked.parties.from, &checked.parties.to)
        }
        Event::CompletionFailed(_) => target(NoticeKind::CompletionFailed, Message),
        Event::Disputed(_) => {
            let mut all: Vec<Notice> = target(NoticeKind::Disputed, Message);
            all.push(sender(NoticeKind::Disputed, Derived));
            all
        }
        Event::Completed(_) => both(NoticeKind::Completed),
        Event::Closed(closed) => both(closing(closed)),
        Event::Delegated(_) => vec![sender(NoticeKind::Delegated, Derived)],
        Event::DelegationEnded(_) => target(NoticeKind::PartEnded, Derived),
        Event::VerificationUnavailable(_) => both(NoticeKind::VerificationUnavailable),
        Event::SlaWarned(_) => target(NoticeKind::SlaWarned, Message),
        Event::SlaExtended(_) => both(NoticeKind::SlaExtended),
        Event::Escalated(_) => vec![
            Notice { kind: NoticeKind::Escalated, to: Waiter::Coordinator, form: Message },
            sender(NoticeKind::Escalated, WithoutCoordinators),
        ],
        Event::WorkqDegraded(_) => both(NoticeKind::WorkqDegraded),
        // The rejection that follows a refusal, and the completion that follows a confirmation,
        // are told.
        Event::Refused(_) | Event::Confirmed(_) => Vec::new(),
        // They concern no one yet, or the server alone, or those told by the part itself.
        Event::Drafted(_)
        | Event::ValidationStarted(_)
        | Event::Checked(_)
        | Event::CompletionStarted(_)
        | Event::CompletionChecked(_)
        | Event::DelegationReopened(_)
        | Event::DelegationRecalled(_)
        | Event::WorkqSettled(_) => Vec::new(),
    }
}

/// The owner of the task, if another agent proposes it.
pub fn absent_owner(event: &Event) -> Option<&AgentId> {
    event.proposed().and_then(owner_besides)
}

fn owner_besides(proposed: &Proposed) -> Option<&AgentId> {
    let Parties { from, to } = &proposed.parties;
    proposed.chain.last().filter(|owner| *owner != from && *owner != to)
}

fn offered(kind: NoticeKind, proposed: &Proposed) -> Vec<Notice> {
    let (from, to) = (&proposed.parties.from, &proposed.parties.to);
    let of = |agent: &AgentId| {
        let to = Waiter::Agent(agent.clone());
        Notice { kind, to, form: Form::Derived }
    };
    let owner = owner_besides(proposed).map(of);
    let approvers = proposed.needs_human.then(|| Notice {
        kind: NoticeKind::ApprovalWanted,
        to: Waiter::Approver { guarded: proposed.is_guarded, sender: from.clone() },
        form: Form::Derived,
    });
    std::iter::once(of(to)).chain(owner).chain(approvers).collect()
}

/// The sender is sent a message; reviewers and coordinators find it in their inboxes.
fn to_confirm(from: &AgentId, to: &AgentId) -> Vec<Notice> {
    let kind = NoticeKind::ConfirmationWanted;
    let others = Waiter::Verifier { sender: from.clone(), owner: to.clone() };
    vec![
        Notice { kind, to: Waiter::Agent(from.clone()), form: Form::Message },
        Notice { kind, to: others, form: Form::Derived },
    ]
}

fn closing(closed: &Closed) -> NoticeKind {
    match (closed.withdrawn, closed.reassigned_to) {
        (true, _) => NoticeKind::Withdrawn,
        (false, Some(_)) => NoticeKind::Reassigned,
        (false, None) => NoticeKind::Closed,
    }
}
