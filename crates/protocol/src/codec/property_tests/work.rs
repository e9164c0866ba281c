//! Arbitrary events of the work itself: delegated parts, answers of the work queue, reports of
//! progress, and recalls.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::{agent, parties, task, text, texts, time};
use crate::handoff::Status;
use crate::handoff::edit::Difference;
use crate::handoff::event::{
    Delegated, DelegationEnded, DelegationRecalled, DelegationReopened, Event as HandoffEvent,
    Progressed, Recalled, WorkqDegraded, WorkqSettled,
};
use crate::handoff::package::Policy;
use crate::handoff::progress::{ProgressReport, ProgressStep};
use crate::handoff::readers::Readers;
use crate::handoff::workq::Degradation;
use crate::ids::HandoffId;

pub fn work() -> impl Strategy<Value = HandoffEvent> {
    prop_oneof![delegations(), workq(), reports()]
}

fn delegations() -> impl Strategy<Value = HandoffEvent> {
    let delegated = (parties(), handoff(), task(), agent()).prop_map(
        |(parties, child, child_task, child_to)| {
            HandoffEvent::Delegated(Delegated { parties, child, child_task, child_to })
        },
    );
    let status = select(Status::ALL.to_vec());
    let ended = (parties(), handoff(), status).prop_map(|(parties, child, status)| {
        HandoffEvent::DelegationEnded(DelegationEnded { parties, child, status })
    });
    let reopened = (parties(), handoff()).prop_map(|(parties, child)| {
        HandoffEvent::DelegationReopened(DelegationReopened { parties, child })
    });
    let recalled = (parties(), handoff()).prop_map(|(parties, child)| {
        HandoffEvent::DelegationRecalled(DelegationRecalled { parties, child })
    });
    prop_oneof![delegated, ended, reopened, recalled]
}

pub fn handoff() -> impl Strategy<Value = HandoffId> {
    (0..1_000_000_u64)
        .prop_map(|number| format!("01938c2e-0000-7000-8000-{number:012}").parse().expect("a UUID"))
}

fn reports() -> impl Strategy<Value = HandoffEvent> {
    let step = (text(), any::<bool>()).prop_map(|(text, done)| ProgressStep { text, done });
    let fields = (option::of(any::<u8>()), option::of(text()), option::of(text()));
    let progressed = (parties(), fields, vec(step, 0..4)).prop_map(
        |(parties, (percent, note, blocked_by), steps)| {
            let report = ProgressReport { percent, note, steps, blocked_by };
            HandoffEvent::Progressed(Box::new(Progressed { parties, report }))
        },
    );
    let recalled = (parties(), text(), time()).prop_map(|(parties, reason, until)| {
        HandoffEvent::Recalled(Recalled { parties, reason, until })
    });
    prop_oneof![progressed, recalled]
}

fn workq() -> impl Strategy<Value = HandoffEvent> {
    let settled =
        (parties(), agent(), texts(), texts()).prop_map(|(parties, to, transferred, missing)| {
            HandoffEvent::WorkqSettled(WorkqSettled { parties, to, transferred, missing })
        });
    let reason = select(Degradation::ALL.to_vec());
    let degraded = (parties(), agent(), reason, text(), texts(), texts(), texts()).prop_map(
        |(parties, to, reason, detail, orphaned, transferred, missing)| {
            HandoffEvent::WorkqDegraded(WorkqDegraded {
                parties,
                to,
                reason,
                detail,
                orphaned,
                transferred,
                missing,
            })
        },
    );
    prop_oneof![settled, degraded]
}

type Bounds = (Option<Readers>, Option<Box<Policy>>, Option<Box<Policy>>, Vec<Difference>);

/// Who may read a proposal, and the policy that was agreed on.
pub fn bounds() -> impl Strategy<Value = Bounds> {
    let all = [Readers::Private, Readers::HumanAudit, Readers::Team];
    let policy = || {
        (any::<[bool; 3]>(), vec(text(), 0..3)).prop_map(|(flags, export_restrictions)| {
            let [requires_human_approval, requires_verifier, requires_evidence] = flags;
            Box::new(Policy {
                export_restrictions,
                requires_human_approval,
                requires_verifier,
                requires_evidence,
                ..Policy::default()
            })
        })
    };
    let difference =
        (text(), option::of(text()), option::of(text())).prop_map(|(field, before, after)| {
            Difference { field, before: before.map(Into::into), after: after.map(Into::into) }
        });
    (
        option::of(select(all.to_vec())),
        option::of(policy()),
        option::of(policy()),
        vec(difference, 0..3),
    )
}
