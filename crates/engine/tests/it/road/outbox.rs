//! Work outside the server, and its results: checking artifacts and asking a work queue, across
//! failures and restarts.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;

use engine::ports::adapter::{Adapter, Taken, WakeCall};
use engine::ports::outbox::{Claim, OutboxList};
use protocol::handoff::Command as HandoffCommand;
use protocol::handoff::artifact::{Finding, Seen};
use protocol::handoff::package::{
    Artifact, ArtifactKind, ArtifactRef, ExternalRef, ExternalRefKind,
};
use protocol::step::{Command, EffectKind};
use protocol::time::{Span, Time};

use super::{Server, story};
use crate::support::{self, agent, default_teamspace, handoff_stream, offer};

/// Returns the given findings, one after the other; the last one stays.
pub struct Told(Mutex<Vec<Finding>>);

impl Told {
    pub fn to_find(findings: &[Finding]) -> Self {
        Self(Mutex::new(findings.iter().rev().cloned().collect()))
    }
}

impl Adapter for Told {
    fn look(&self, artifacts: Vec<Artifact>) -> Pin<Box<dyn Future<Output = Vec<Seen>> + Send>> {
        let mut findings = self.0.lock().expect("nothing panics in here");
        let finding = match findings.len() {
            1 => findings[0].clone(),
            _ => findings.pop().expect("there is something to find"),
        };
        let seen = artifacts.into_iter().map(move |artifact| Seen {
            artifact_id: artifact.artifact_id,
            path: None,
            finding: finding.clone(),
        });
        Box::pin(std::future::ready(seen.collect()))
    }

    fn wake(&self, _: WakeCall) -> Taken {
        Box::pin(std::future::ready(Ok(())))
    }
}

fn one(kind: EffectKind, now: Time, until: Time) -> Claim {
    let running = HashMap::new();
    Claim { now, until, kind, limit: 1, per_teamspace: 1, running, after: None }
}

fn verified() -> Finding {
    Finding::Verified { sha256: "ab".repeat(32), size_bytes: 7 }
}

fn unavailable() -> Finding {
    Finding::Unavailable { detail: "the disk is away".to_owned() }
}

/// A handoff whose target has agreed, and whose artifact is not checked yet.
async fn validating(server: &Server) -> protocol::ids::HandoffId {
    let id = server.engine.new_handoff_id();
    let mut offer = offer("bob", "t1");
    offer.artifacts.push(Artifact {
        artifact_id: "log".to_owned(),
        reference: ArtifactRef {
            description: None,
            path: "/log".to_owned(),
            required: None,
            sha256: None,
            size_bytes: None,
            kind: ArtifactKind::File,
            version: None,
        },
    });
    let initiate = HandoffCommand::Initiate { offer: Some(Box::new(offer)) };
    for (who, command) in [("alice", Command::Handoff(initiate)), ("bob", support::accept())] {
        let submitted = server.engine.submit(&agent(who), handoff_stream(id), command, None).await;
        submitted.expect("it is theirs to do");
    }
    id
}

#[tokio::test]
async fn what_was_found_comes_back_as_a_command() {
    let server = Server::with_agents(&["alice", "bob"]).await;
    let id = validating(&server).await;
    let adapter = Told::to_find(&[verified()]);
    assert_eq!(server.engine.outbox().carry_out_due(&adapter).await.unwrap(), 1);
    assert_eq!(server.engine.outbox().carry_out_due(&adapter).await.unwrap(), 0);
    let events = story(&server.engine, &handoff_stream(id)).await;
    assert_eq!(events, ["handoff.proposed", "handoff.validation_started", "handoff.accepted"]);
    let left = server.store.outstanding(&default_teamspace(), OutboxList::All, 9).await.unwrap();
    assert_eq!(left, []);
}

#[tokio::test]
async fn what_failed_is_tried_again_later_and_later_and_across_restarts() {
    let server = Server::with_agents(&["alice", "bob"]).await;
    let id = validating(&server).await;
    let adapter = Told::to_find(&[unavailable()]);
    for pause in [1_000, 2_000, 4_000, 8_000] {
        assert_eq!(server.engine.outbox().carry_out_due(&adapter).await.unwrap(), 1);
        server.clock.advance(Span::from_millis(pause - 1));
        assert_eq!(server.engine.outbox().carry_out_due(&adapter).await.unwrap(), 0, "{pause} ms");
        // Plus a jitter of up to a quarter.
        server.clock.advance(Span::from_millis(pause / 4 + 1));
    }
    let server = server.restart();
    let adapter = Told::to_find(&[verified()]);
    assert_eq!(server.engine.outbox().carry_out_due(&adapter).await.unwrap(), 1);
    let events = story(&server.engine, &handoff_stream(id)).await;
    let expected = [
        "handoff.proposed",
        "handoff.validation_started",
        "handoff.verification_unavailable",
        "handoff.accepted",
    ];
    assert_eq!(events, expected, "that it did not work is said once");
}

#[tokio::test]
async fn who_dies_at_work_is_followed_by_another() {
    let server = Server::with_agents(&["alice", "bob"]).await;
    let id = validating(&server).await;
    let now = server.engine.clock().now();
    let until = now.plus(Span::from_millis(60_000));
    assert_eq!(server.store.claim(one(EffectKind::Look, now, until)).await.unwrap().len(), 1);
    let server = server.restart();
    let adapter = Told::to_find(&[verified()]);
    assert_eq!(
        server.engine.outbox().carry_out_due(&adapter).await.unwrap(),
        0,
        "it is still held"
    );
    server.clock.advance(Span::from_millis(60_000));
    assert_eq!(server.engine.outbox().carry_out_due(&adapter).await.unwrap(), 1);
    let events = story(&server.engine, &handoff_stream(id)).await;
    assert_eq!(events.last().map(String::as_str), Some("handoff.accepted"));
}

#[tokio::test]
async fn nobody_looks_at_what_was_withdrawn() {
    let server = Server::with_agents(&["alice", "bob"]).await;
    let id = validating(&server).await;
    let withdraw = Command::Handoff(HandoffCommand::Withdraw { why: None });
    server.engine.submit(&agent("alice"), handoff_stream(id), withdraw, None).await.unwrap();
    let adapter = Told::to_find(&[verified()]);
    assert_eq!(server.engine.outbox().carry_out_due(&adapter).await.unwrap(), 0);
    let events = story(&server.engine, &handoff_stream(id)).await;
    assert_eq!(events.last().map(String::as_str), Some("handoff.closed"));
}

#[tokio::test]
async fn a_work_queue_is_asked_once_and_again_only_after_a_crash() {
    let server = Server::with_agents(&["alice", "bob"]).await;
    let id = server.engine.new_handoff_id();
    let mut offer = offer("bob", "t1");
    let (kind, value) = (ExternalRefKind::WorkqItem, "item".to_owned());
    let item = ExternalRef { description: None, kind, value, version: None };
    offer.task.get_or_insert_default().external_refs.push(item);
    let initiate = HandoffCommand::Initiate { offer: Some(Box::new(offer)) };
    let asked = [
        ("alice", Command::Handoff(initiate)),
        ("bob", support::accept()),
        ("bob", support::activate()),
    ];
    for (who, command) in asked {
        let submitted = server.engine.submit(&agent(who), handoff_stream(id), command, None).await;
        submitted.expect("it is theirs to do");
    }
    let now = server.engine.clock().now();
    let until = now.plus(Span::from_millis(60_000));
    assert_eq!(server.store.claim(one(EffectKind::Transfer, now, until)).await.unwrap().len(), 1);
    let server = server.restart();
    let without_queue = Told::to_find(&[]);
    assert_eq!(
        server.engine.outbox().carry_out_due(&without_queue).await.unwrap(),
        0,
        "it is still held"
    );
    server.clock.advance(Span::from_millis(60_000));
    assert_eq!(server.engine.outbox().carry_out_due(&without_queue).await.unwrap(), 1);
    server.clock.advance(Span::from_hours(1));
    assert_eq!(
        server.engine.outbox().carry_out_due(&without_queue).await.unwrap(),
        0,
        "that was all"
    );
    let events = story(&server.engine, &handoff_stream(id)).await;
    assert_eq!(events[3..], ["handoff.activated", "handoff.workq_degraded"]);
}
