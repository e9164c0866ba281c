//! The lines of `handoffs.jsonl`: a pure function of ledger entries, so that the file can be
//! rebuilt byte for byte. Every state change has its `handoff_transition` line first.

use serde::Serialize;

use super::event::{Escalated, Event, Proposed, Rejected, WorkqDegraded, WorkqSettled};
use super::status::Status;
use super::workq::{Degradation, WorkqStatus};
use crate::handoff::reject_reason::RejectReason;
use crate::handoff::sla::SlaStage;
use crate::ids::{AgentId, HandoffId, TaskId};
use crate::time::Time;

/// One line. Fields are written in this order.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum AuditLine<'a> {
    HandoffTransition {
        handoff_id: HandoffId,
        from_status: Status,
        to_status: Status,
        actor: &'a str,
        timestamp: Time,
    },
    HandoffCreated {
        handoff_id: HandoffId,
        task_id: &'a TaskId,
        from: &'a AgentId,
        to: &'a AgentId,
        timestamp: Time,
    },
    HandoffVerification {
        handoff_id: HandoffId,
        passed: &'a [String],
        failed: &'a [String],
        timestamp: Time,
    },
    HandoffRejected {
        handoff_id: HandoffId,
        reason: RejectReason,
        detail: &'a str,
        actor: &'a str,
        timestamp: Time,
    },
    HandoffCompleted {
        handoff_id: HandoffId,
        actor: &'a str,
        completion_notes: Option<&'a str>,
        timestamp: Time,
    },
    HandoffClosed {
        handoff_id: HandoffId,
        actor: &'a str,
        closure_notes: Option<&'a str>,
        timestamp: Time,
    },
    HandoffEscalation {
        handoff_id: HandoffId,
        trigger: &'a str,
        escalated_to: &'a str,
        stage: SlaStage,
        sla_configured: &'a str,
        timestamp: Time,
    },
    HandoffWorkq {
        handoff_id: HandoffId,
        workq_status: WorkqStatus,
        owner: &'a AgentId,
        items: &'a [String],
        timestamp: Time,
    },
    HandoffDegradation {
        handoff_id: HandoffId,
        integration: &'static str,
        reason: Degradation,
        detail: &'a str,
        owner: &'a AgentId,
        item_status: &'static str,
        items: &'a [String],
        timestamp: Time,
    },
}

/// The lines of one entry: none for a draft, which concerns only its sender.
pub fn lines<'a>(id: HandoffId, event: &'a Event, actor: &'a str, at: Time) -> Vec<AuditLine<'a>> {
    let moved = |from_status, to_status| AuditLine::HandoffTransition {
        handoff_id: id,
        from_status,
        to_status,
        actor,
        timestamp: at,
    };
    let verified = |passed, failed| AuditLine::HandoffVerification {
        handoff_id: id,
        passed,
        failed,
        timestamp: at,
    };
    match event {
        Event::Drafted(_)
        | Event::Approved(_)
        | Event::Refused(_)
        | Event::Progressed(_)
        | Event::Recalled(_)
        | Event::CompletionStarted(_)
        | Event::Confirmed(_)
        | Event::Disputed(_)
        | Event::SlaExtended(_)
        | Event::SlaWarned(_)
        | Event::Delegated(_)
        | Event::DelegationEnded(_)
        | Event::DelegationReopened(_)
        | Event::DelegationRecalled(_) => Vec::new(),
        Event::Proposed(proposed) => {
            vec![moved(Status::Draft, Status::Proposed), created(id, proposed, at)]
        }
        Event::ValidationStarted(_) => vec![moved(Status::Proposed, Status::Validating)],
        Event::VerificationUnavailable(unavailable) => vec![verified(&[], &unavailable.failed)],
        Event::Checked(checked) => vec![verified(&checked.passed, &[])],
        Event::CompletionChecked(checked) => vec![verified(&checked.passed, &[])],
        Event::CompletionFailed(failure) => vec![verified(&failure.passed, &failure.failed)],
        Event::Countered(_) => vec![moved(Status::Rejected, Status::Proposed)],
        Event::Accepted(accepted) => {
            vec![moved(Status::Validating, Status::Accepted), verified(&accepted.passed, &[])]
        }
        Event::Rejected(rejected) => vec![
            moved(rejected.from_status, Status::Rejected),
            verified(&rejected.passed, &rejected.failed),
            refusal(id, rejected, actor, at),
        ],
        Event::Activated(_) => vec![moved(Status::Accepted, Status::Activated)],
        Event::Completed(completed) => vec![
            moved(Status::Activated, Status::Completed),
            AuditLine::HandoffCompleted {
                handoff_id: id,
                actor,
                completion_notes: completed.completion_notes.as_deref(),
                timestamp: at,
            },
        ],
        Event::Closed(closed) => {
            let closure_notes = closed.closure_notes.as_deref();
            let ended =
                AuditLine::HandoffClosed { handoff_id: id, actor, closure_notes, timestamp: at };
            vec![moved(closed.from_status, Status::Closed), ended]
        }
        Event::Escalated(escalated) => vec![overdue(id, escalated, at)],
        Event::WorkqSettled(settled) => vec![settlement(id, settled, at)],
        Event::WorkqDegraded(degraded) => vec![degradation(id, degraded, at)],
    }
}

fn created(id: HandoffId, proposed: &Proposed, at: Time) -> AuditLine<'_> {
    AuditLine::HandoffCreated {
        handoff_id: id,
        task_id: &proposed.task_id,
        from: &proposed.parties.from,
        to: &proposed.parties.to,
        timestamp: at,
    }
}

fn refusal<'a>(id: HandoffId, rejected: &'a Rejected, actor: &'a str, at: Time) -> AuditLine<'a> {
    AuditLine::HandoffRejected {
        handoff_id: id,
        reason: rejected.reason,
        detail: &rejected.detail,
        actor,
        timestamp: at,
    }
}

fn overdue(id: HandoffId, escalated: &Escalated, at: Time) -> AuditLine<'_> {
    AuditLine::HandoffEscalation {
        handoff_id: id,
        trigger: &escalated.trigger,
        escalated_to: &escalated.escalated_to,
        stage: escalated.stage,
        sla_configured: &escalated.sla_configured,
        timestamp: at,
    }
}

fn settlement(id: HandoffId, settled: &WorkqSettled, at: Time) -> AuditLine<'_> {
    let (workq_status, items) = match settled.transferred.as_slice() {
        [] => (WorkqStatus::NotApplicable, &settled.missing),
        [_, ..] => (WorkqStatus::Transferred, &settled.transferred),
    };
    AuditLine::HandoffWorkq {
        handoff_id: id,
        workq_status,
        owner: &settled.to,
        items,
        timestamp: at,
    }
}

fn degradation(id: HandoffId, degraded: &WorkqDegraded, at: Time) -> AuditLine<'_> {
    AuditLine::HandoffDegradation {
        handoff_id: id,
        integration: "workq",
        reason: degraded.reason,
        detail: &degraded.detail,
        owner: &degraded.to,
        item_status: "orphaned",
        items: &degraded.orphaned,
        timestamp: at,
    }
}
