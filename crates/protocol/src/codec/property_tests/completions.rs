//! Arbitrary events that complete a handoff.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::{HandoffEvent, artifact, parties, seen, text, texts};
use crate::handoff::completion::Evidence;
use crate::handoff::event::{
    Completed, CompletionChecked, CompletionFailed, CompletionStarted, Confirmed, Disputed,
};
use crate::handoff::reject_reason::RejectReason;

pub fn completions() -> impl Strategy<Value = HandoffEvent> {
    let said = || (option::of(text()), vec(artifact(), 0..3), vec(evidence(), 0..3));
    let completed = (parties(), said(), texts(), option::of(text())).prop_map(
        |(parties, (completion_notes, final_artifacts, evidence), passed, confirmed_by)| {
            HandoffEvent::Completed(Completed {
                parties,
                completion_notes,
                final_artifacts,
                evidence,
                passed,
                confirmed_by,
            })
        },
    );
    let started = (parties(), said(), any::<bool>()).prop_map(
        |(parties, (completion_notes, final_artifacts, evidence), needs_verifier)| {
            HandoffEvent::CompletionStarted(Box::new(CompletionStarted {
                parties,
                completion_notes,
                final_artifacts,
                evidence,
                needs_verifier,
            }))
        },
    );
    let checked = (parties(), texts(), vec(seen(), 0..3), any::<bool>()).prop_map(
        |(parties, passed, artifacts, needs_verifier)| {
            HandoffEvent::CompletionChecked(CompletionChecked {
                parties,
                passed,
                artifacts,
                needs_verifier,
            })
        },
    );
    let reason = select(RejectReason::ALL.to_vec());
    let failed = (parties(), reason, text(), texts(), texts(), vec(seen(), 0..3)).prop_map(
        |(parties, reason, detail, passed, failed, artifacts)| {
            HandoffEvent::CompletionFailed(CompletionFailed {
                parties,
                reason,
                detail,
                passed,
                failed,
                artifacts,
            })
        },
    );
    let confirmed = (parties(), option::of(text()))
        .prop_map(|(parties, why)| HandoffEvent::Confirmed(Confirmed { parties, why }));
    let disputed = (parties(), text())
        .prop_map(|(parties, why)| HandoffEvent::Disputed(Disputed { parties, why }));
    prop_oneof![completed, started, checked, failed, confirmed, disputed]
}

fn evidence() -> impl Strategy<Value = Evidence> {
    (text(), text(), texts()).prop_map(|(criterion, evidence, artifact_ids)| Evidence {
        criterion,
        evidence,
        artifact_ids,
    })
}
