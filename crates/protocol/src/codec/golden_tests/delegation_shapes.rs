//! The shapes of the events of parts of a task, and of handoffs that replace others.

use super::handoff_shapes::{agent, parties, proposed, time};
use crate::handoff::Status;
use crate::handoff::event::{
    Closed, Delegated, DelegationEnded, DelegationRecalled, DelegationReopened,
    Event as HandoffEvent, Proposed,
};
use crate::ids::HandoffId;

pub fn delegation_shapes() -> Vec<(&'static str, HandoffEvent)> {
    let child = handoff(2);
    let reassigned = Closed {
        from: agent("barry"),
        to: Some(agent("tim")),
        from_status: Status::Accepted,
        closure_notes: Some("nobody answers".to_owned()),
        forced: true,
        withdrawn: false,
        reassigned_to: Some(handoff(3)),
        at: time(),
    };
    let part = Proposed { parent: Some(handoff(1)), ..proposed() };
    let successor = Proposed { replaces: Some(handoff(1)), ..proposed() };
    let divided = Proposed { parts: 2, ..proposed() };
    vec![
        ("reassigned", HandoffEvent::Closed(reassigned)),
        ("part", HandoffEvent::Proposed(Box::new(part))),
        ("successor", HandoffEvent::Proposed(Box::new(successor))),
        ("divided", HandoffEvent::Proposed(Box::new(divided))),
        (
            "least",
            HandoffEvent::Delegated(Delegated {
                parties: parties(),
                child,
                child_task: "task-1.1".parse().expect("a task id"),
                child_to: agent("ann"),
            }),
        ),
        (
            "least",
            HandoffEvent::DelegationEnded(DelegationEnded {
                parties: parties(),
                child,
                status: Status::Completed,
            }),
        ),
        (
            "least",
            HandoffEvent::DelegationReopened(DelegationReopened { parties: parties(), child }),
        ),
        (
            "least",
            HandoffEvent::DelegationRecalled(DelegationRecalled { parties: parties(), child }),
        ),
    ]
}

fn handoff(number: u32) -> HandoffId {
    format!("01938c2e-0000-7000-8000-{number:012}").parse().expect("a UUID")
}
