//! Every event of a handoff in its shapes.

use super::delegation_shapes::delegation_shapes;
use crate::handoff::Status;
use crate::handoff::artifact::{Finding, Seen};
use crate::handoff::edit::Difference;
use crate::handoff::event::{
    Accepted, Activated, Approved, Checked, Closed, Completed, Countered, Drafted, Escalated,
    Event as HandoffEvent, Parties, Proposed, Refused, Rejected, SlaExtended, SlaWarned,
    ValidationStarted, VerificationUnavailable, WorkqDegraded, WorkqSettled,
};
use crate::handoff::package::{
    Artifact, ArtifactKind, ArtifactRef, Classification, OfferedWorkState, Policy, TaskKind,
    TestStatus, WorkStatus,
};
use crate::handoff::readers::Readers;
use crate::handoff::reject_reason::RejectReason;
use crate::handoff::sla::{SlaStage, Slas};
use crate::handoff::workq::Degradation;
use crate::ids::AgentId;
use crate::time::{Span, Time};

pub fn handoff_shapes() -> Vec<(&'static str, HandoffEvent)> {
    let mut shapes = proposal_shapes();
    shapes.extend(answer_shapes());
    shapes.extend(negotiation_shapes());
    shapes.extend(approval_shapes());
    shapes.extend(delegation_shapes());
    shapes.extend(ending_shapes());
    shapes.extend(workq_shapes());
    shapes
}

pub fn proposed() -> Proposed {
    Proposed {
        parties: parties(),
        task_id: "workq:task-123".parse().expect("a task"),
        thread_id: "thread-1".parse().expect("a thread"),
        title: "Mend the build".to_owned(),
        reason: String::new(),
        is_return: false,
        needs_human: false,
        target_is_human: false,
        has_artifacts: false,
        has_remote_artifacts: false,
        has_workq_items: false,
        is_guarded: false,
        task_kind: TaskKind::Execution,
        requires_evidence: false,
        requires_verifier: false,
        deadline: None,
        slas: Slas::default(),
        chain: vec![agent("barry")],
        parts: 0,
        origin_session: "token:1".to_owned(),
        package_hash: "ab".repeat(32),
        parent: None,
        replaces: None,
        readers: None,
        gated: None,
        loosens: None,
        differences: Vec::new(),
        files: Vec::new(),
    }
}

/// A proposal that is laxer than what was agreed on.
fn bound_less() -> Proposed {
    let agreed = Policy {
        classification: Classification::Restricted,
        requires_human_approval: true,
        requires_verifier: true,
        export_restrictions: vec!["eu".to_owned()],
        ..Policy::default()
    };
    let own = Policy { requires_verifier: false, ..agreed.clone() };
    Proposed {
        needs_human: true,
        is_guarded: true,
        readers: Some(Readers::Private),
        gated: Some(Box::new(own)),
        loosens: Some(Box::new(agreed)),
        differences: vec![Difference {
            field: "policy.requires_verifier".to_owned(),
            before: Some(true.into()),
            after: None,
        }],
        ..proposed()
    }
}

/// A coordinator proposes the task of another agent.
fn of_another_owner() -> Proposed {
    Proposed { chain: vec![agent("alice"), agent("carol")], ..proposed() }
}

fn negotiation_shapes() -> Vec<(&'static str, HandoffEvent)> {
    let detail = "it took too long".to_owned();
    let not_found = vec![Seen {
        artifact_id: "log".to_owned(),
        path: None,
        finding: Finding::Unavailable { detail },
    }];
    vec![
        (
            "artifacts",
            HandoffEvent::ValidationStarted(ValidationStarted {
                parties: parties(),
                notes: None,
                artifacts: Some(vec!["log".to_owned()]),
            }),
        ),
        (
            "artifacts",
            HandoffEvent::Proposed(Box::new(Proposed {
                has_artifacts: true,
                is_guarded: true,
                slas: Slas {
                    proposed: Some(Span::from_minutes(1)),
                    warn_percent: Some(80),
                    ..Slas::default()
                },
                ..proposed()
            })),
        ),
        ("private", HandoffEvent::Proposed(Box::new(bound_less()))),
        ("owner", HandoffEvent::Proposed(Box::new(of_another_owner()))),
        (
            "owner",
            HandoffEvent::Countered(Box::new(Countered {
                revision: 2,
                changes: vec!["context.summary".to_owned()],
                proposed: of_another_owner(),
            })),
        ),
        (
            "differences",
            HandoffEvent::Countered(Box::new(Countered {
                revision: 2,
                changes: vec!["policy.visibility".to_owned()],
                proposed: bound_less(),
            })),
        ),
        (
            "merge",
            HandoffEvent::Proposed(Box::new(Proposed { task_kind: TaskKind::Merge, ..proposed() })),
        ),
        (
            "least",
            HandoffEvent::VerificationUnavailable(VerificationUnavailable {
                parties: parties(),
                failed: vec!["verification_unavailable".to_owned()],
                artifacts: not_found,
            }),
        ),
    ]
}

fn approval_shapes() -> Vec<(&'static str, HandoffEvent)> {
    let finding = Finding::Verified { sha256: "ab".repeat(32), size_bytes: 7 };
    let found = vec![Seen { artifact_id: "log".to_owned(), path: None, finding }];
    let passed = vec!["schema".to_owned()];
    let checked = |artifacts| Checked { parties: parties(), passed: passed.clone(), artifacts };
    let approved = |why: Option<&str>| {
        HandoffEvent::Approved(Approved { parties: parties(), why: why.map(str::to_owned) })
    };
    vec![
        ("least", HandoffEvent::Checked(checked(Vec::new()))),
        ("most", HandoffEvent::Checked(checked(found.clone()))),
        ("least", approved(None)),
        ("most", approved(Some("it is time"))),
        (
            "least",
            HandoffEvent::Refused(Refused { parties: parties(), why: "not this week".to_owned() }),
        ),
        (
            "most",
            HandoffEvent::Accepted(Accepted {
                parties: parties(),
                passed: passed.clone(),
                artifacts: found,
            }),
        ),
        (
            "least",
            HandoffEvent::SlaWarned(SlaWarned {
                parties: parties(),
                stage: SlaStage::Proposed,
                due: time(),
            }),
        ),
        (
            "least",
            HandoffEvent::SlaExtended(SlaExtended {
                parties: parties(),
                stage: SlaStage::Activated,
                due: time(),
                why: "it is hard".to_owned(),
                recall_only: false,
            }),
        ),
        (
            "least",
            HandoffEvent::Countered(Box::new(Countered {
                revision: 2,
                changes: vec!["context.summary".to_owned()],
                proposed: proposed(),
            })),
        ),
        (
            "withdrawn",
            HandoffEvent::Closed(Closed {
                from: agent("barry"),
                to: Some(agent("tim")),
                from_status: Status::Proposed,
                closure_notes: None,
                forced: false,
                withdrawn: true,
                reassigned_to: None,
                at: time(),
            }),
        ),
    ]
}

fn proposal_shapes() -> Vec<(&'static str, HandoffEvent)> {
    let drafted = Drafted {
        from: agent("barry"),
        thread_id: "thread-1".parse().expect("a thread"),
        offer_hash: "ab".repeat(32),
        to: None,
        task_id: None,
        title: None,
    };
    let proposed = proposed();
    vec![
        ("least", HandoffEvent::Drafted(drafted.clone())),
        (
            "most",
            HandoffEvent::Drafted(Drafted {
                to: Some(agent("tim")),
                task_id: Some("workq:task-123".parse().expect("a task")),
                title: Some("Mend the build".to_owned()),
                ..drafted
            }),
        ),
        ("least", HandoffEvent::Proposed(Box::new(proposed.clone()))),
        (
            "most",
            HandoffEvent::Proposed(Box::new(Proposed {
                reason: "lunch".to_owned(),
                is_return: true,
                needs_human: true,
                target_is_human: true,
                deadline: Some(time()),
                chain: vec![agent("tim"), agent("barry")],
                ..proposed
            })),
        ),
    ]
}

fn answer_shapes() -> Vec<(&'static str, HandoffEvent)> {
    let started = |notes: Option<&str>| {
        let notes = notes.map(str::to_owned);
        HandoffEvent::ValidationStarted(ValidationStarted {
            parties: parties(),
            notes,
            artifacts: None,
        })
    };
    let rejected = Rejected {
        parties: parties(),
        from_status: Status::Proposed,
        reason: RejectReason::Other,
        detail: "not mine".to_owned(),
        suggested_fix: None,
        passed: Vec::new(),
        failed: vec!["other".to_owned()],
        at: time(),
    };
    let passed = vec!["schema".to_owned(), "policy".to_owned()];
    vec![
        ("least", started(None)),
        ("most", started(Some("gladly"))),
        (
            "least",
            HandoffEvent::Accepted(Accepted {
                parties: parties(),
                passed: passed.clone(),
                artifacts: Vec::new(),
            }),
        ),
        ("least", HandoffEvent::Rejected(rejected.clone())),
        (
            "most",
            HandoffEvent::Rejected(Rejected {
                from_status: Status::Validating,
                reason: RejectReason::HashMismatch,
                suggested_fix: Some("seal it again".to_owned()),
                passed,
                failed: vec!["package_hash".to_owned()],
                ..rejected
            }),
        ),
    ]
}

fn ending_shapes() -> Vec<(&'static str, HandoffEvent)> {
    let activated = |work_state_update| {
        let chain = vec![agent("barry"), agent("tim")];
        HandoffEvent::Activated(Activated { parties: parties(), chain, work_state_update })
    };
    let completed = |notes: Option<&str>, final_artifacts| {
        let completion_notes = notes.map(str::to_owned);
        HandoffEvent::Completed(Completed {
            parties: parties(),
            completion_notes,
            final_artifacts,
            evidence: Vec::new(),
            passed: Vec::new(),
            confirmed_by: None,
        })
    };
    let closed = Closed {
        from: agent("barry"),
        to: None,
        from_status: Status::Draft,
        closure_notes: None,
        forced: false,
        withdrawn: false,
        reassigned_to: None,
        at: time(),
    };
    let most_closed = Closed {
        to: Some(agent("tim")),
        from_status: Status::Activated,
        closure_notes: Some("stuck".to_owned()),
        forced: true,
        ..closed.clone()
    };
    let escalated = Escalated::timeout(
        parties(),
        SlaStage::Validating,
        Span::from_minutes(10),
        Span::from_minutes(11),
        time(),
    );
    vec![
        ("least", activated(None)),
        ("most", activated(Some(Box::new(work_state())))),
        ("least", completed(None, Vec::new())),
        ("most", completed(Some("done"), vec![artifact()])),
        ("least", HandoffEvent::Closed(closed)),
        ("most", HandoffEvent::Closed(most_closed)),
        ("least", HandoffEvent::Escalated(escalated)),
    ]
}

fn workq_shapes() -> Vec<(&'static str, HandoffEvent)> {
    let item = |name: &str| vec![name.to_owned()];
    let settled = WorkqSettled {
        parties: parties(),
        to: agent("tim"),
        transferred: item("workq:task-123"),
        missing: Vec::new(),
    };
    let degraded = WorkqDegraded {
        parties: parties(),
        to: agent("tim"),
        reason: Degradation::Unavailable,
        detail: "it cannot be reached".to_owned(),
        orphaned: item("workq:task-123"),
        transferred: Vec::new(),
        missing: Vec::new(),
    };
    let present =
        vec![Seen { artifact_id: "item".to_owned(), path: None, finding: Finding::Present }];
    vec![
        (
            "workq",
            HandoffEvent::Proposed(Box::new(Proposed { has_workq_items: true, ..proposed() })),
        ),
        (
            "files",
            HandoffEvent::Proposed(Box::new(Proposed {
                has_artifacts: true,
                files: vec![format!("sha256:{}", "ab".repeat(32)).parse().expect("a file")],
                ..proposed()
            })),
        ),
        (
            "workq",
            HandoffEvent::Accepted(Accepted {
                parties: parties(),
                passed: vec!["schema".to_owned()],
                artifacts: present,
            }),
        ),
        ("least", HandoffEvent::WorkqSettled(settled.clone())),
        ("most", HandoffEvent::WorkqSettled(WorkqSettled { missing: item("gone"), ..settled })),
        ("least", HandoffEvent::WorkqDegraded(degraded.clone())),
        (
            "most",
            HandoffEvent::WorkqDegraded(WorkqDegraded {
                reason: Degradation::NotConfigured,
                transferred: item("workq:task-124"),
                missing: item("gone"),
                ..degraded
            }),
        ),
    ]
}

pub fn agent(name: &str) -> AgentId {
    name.parse().expect("an agent id")
}

pub fn parties() -> Parties {
    Parties { from: agent("barry"), to: agent("tim") }
}

pub fn time() -> Time {
    "2026-02-21T14:00:00.25Z".parse().expect("a time")
}

fn work_state() -> OfferedWorkState {
    OfferedWorkState {
        status: Some(WorkStatus::InProgress),
        percent_complete: Some(12.5),
        completed_steps: vec!["bisected".to_owned()],
        next_step: Some("pin the crate".to_owned()),
        branch: Some("main".to_owned()),
        worktree_path: Some("/work".to_owned()),
        test_status: Some(TestStatus::Failing),
    }
}

pub fn artifact() -> Artifact {
    Artifact {
        artifact_id: "log".to_owned(),
        reference: ArtifactRef {
            kind: ArtifactKind::File,
            path: "/work/log".to_owned(),
            sha256: Some("ab".repeat(32)),
            description: Some("the linker's last words".to_owned()),
            version: Some("1".to_owned()),
            size_bytes: Some(7),
            required: Some(true),
        },
    }
}
