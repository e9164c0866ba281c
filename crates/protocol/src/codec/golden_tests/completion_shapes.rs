//! The shapes of the events that complete a handoff.

use super::handoff_shapes::{artifact, parties, proposed};
use crate::handoff::artifact::{Finding, Seen};
use crate::handoff::completion::Evidence;
use crate::handoff::event::{
    Completed, CompletionChecked, CompletionFailed, CompletionStarted, Confirmed, Disputed,
    Event as HandoffEvent, Proposed,
};
use crate::handoff::reject_reason::RejectReason;

pub fn completion_shapes() -> Vec<(&'static str, HandoffEvent)> {
    let mut shapes = report_shapes();
    shapes.extend(look_shapes());
    shapes.extend(word_shapes());
    shapes
}

fn evidence() -> Vec<Evidence> {
    vec![Evidence {
        criterion: "CI is green".to_owned(),
        evidence: "run 7".to_owned(),
        artifact_ids: vec!["log".to_owned()],
    }]
}

fn passed() -> Vec<String> {
    vec!["artifact:log".to_owned()]
}

fn report_shapes() -> Vec<(&'static str, HandoffEvent)> {
    let started = CompletionStarted {
        parties: parties(),
        completion_notes: None,
        final_artifacts: Vec::new(),
        evidence: Vec::new(),
        needs_verifier: false,
    };
    let most = CompletionStarted {
        completion_notes: Some("done".to_owned()),
        final_artifacts: vec![artifact()],
        evidence: evidence(),
        needs_verifier: true,
        ..started.clone()
    };
    let asks = CompletionStarted { needs_verifier: true, ..started.clone() };
    let asked = Proposed { requires_evidence: true, requires_verifier: true, ..proposed() };
    let remote = Proposed { has_artifacts: true, has_remote_artifacts: true, ..proposed() };
    vec![
        ("remote_artifacts", HandoffEvent::Proposed(Box::new(remote))),
        ("shown", HandoffEvent::Proposed(Box::new(asked))),
        ("least", HandoffEvent::CompletionStarted(Box::new(started))),
        ("most", HandoffEvent::CompletionStarted(Box::new(most))),
        ("verifier", HandoffEvent::CompletionStarted(Box::new(asks))),
        (
            "shown",
            HandoffEvent::Completed(Completed {
                parties: parties(),
                completion_notes: Some("done".to_owned()),
                final_artifacts: vec![artifact()],
                evidence: evidence(),
                passed: passed(),
                confirmed_by: Some("agent:barry".to_owned()),
            }),
        ),
    ]
}

fn look_shapes() -> Vec<(&'static str, HandoffEvent)> {
    let finding = Finding::Verified { sha256: "ab".repeat(32), size_bytes: 7 };
    let path = Some("/work/log".to_owned());
    let found = vec![Seen { artifact_id: "log".to_owned(), path, finding }];
    let checked = CompletionChecked {
        parties: parties(),
        passed: Vec::new(),
        artifacts: Vec::new(),
        needs_verifier: false,
    };
    let most_checked = CompletionChecked {
        passed: passed(),
        artifacts: found.clone(),
        needs_verifier: true,
        ..checked.clone()
    };
    let failed = CompletionFailed {
        parties: parties(),
        reason: RejectReason::MissingArtifact,
        detail: "artifact:log: there is no such file".to_owned(),
        passed: Vec::new(),
        failed: passed(),
        artifacts: Vec::new(),
    };
    let most_failed = CompletionFailed {
        passed: vec!["artifact:plan".to_owned()],
        artifacts: found,
        ..failed.clone()
    };
    vec![
        ("least", HandoffEvent::CompletionChecked(checked)),
        ("most", HandoffEvent::CompletionChecked(most_checked)),
        ("least", HandoffEvent::CompletionFailed(failed)),
        ("most", HandoffEvent::CompletionFailed(most_failed)),
    ]
}

fn word_shapes() -> Vec<(&'static str, HandoffEvent)> {
    let confirmed = |why: Option<&str>| {
        HandoffEvent::Confirmed(Confirmed { parties: parties(), why: why.map(str::to_owned) })
    };
    let disputed = Disputed { parties: parties(), why: "the build is red".to_owned() };
    vec![
        ("least", confirmed(None)),
        ("most", confirmed(Some("I ran it"))),
        ("least", HandoffEvent::Disputed(disputed)),
    ]
}
