//! Deadlines: fired once, by whichever process is running when they are due, whatever the clock
//! does meanwhile.

use engine::ports::store::StoreReads;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use engine::Loops;
use engine::ledger::behind::{Behind, Doubt};
use engine::ledger::seal::{CheckpointSink, NotKept};
use engine::loops::retention::Retention;
use protocol::checkpoint::Signer;
use protocol::fork::Lost;
use protocol::ledger::Stream;
use protocol::time::{Span, Time};

use super::outbox::Told;
use super::{Server, story};
use crate::support::{accept, activate, agent, code, complete, operator, proposed, start};

const PATIENCE: Duration = Duration::from_secs(20);

struct Nowhere;

impl CheckpointSink for Nowhere {
    fn keep(&self, _: &str) -> Result<(), NotKept> {
        Ok(())
    }
}

pub(super) fn start_loops(server: &Server) -> Loops {
    let signer = Signer::new("test", &[7; 32]).expect("a key name");
    let told = Arc::new(Told::to_find(&[]));
    server.engine.start(signer, Arc::new(Nowhere), told, Retention::default())
}

fn at(minutes: i64) -> Time {
    start().plus(Span::from_minutes(minutes))
}

fn n_escalations(story: &[String]) -> usize {
    story.iter().filter(|name| *name == "handoff.escalated").count()
}

/// Moves the clock second by second, as the loop would see it, until the stream has escalated.
async fn wait_for_escalation(server: &Server, stream: &Stream, n_wanted: usize) {
    let cursor = server.engine.ledger().newest().await.expect("the ledger can be read");
    let waited = tokio::time::timeout(PATIENCE, async {
        let mut follower = server.engine.ledger().follow(cursor.saturating_sub(1));
        while n_escalations(&story(&server.engine, stream).await) < n_wanted {
            server.clock.advance(Span::from_millis(1_000));
            tokio::select! {
                page = follower.next() => drop(page.expect("the ledger can be read")),
                () = tokio::task::yield_now() => {}
            }
        }
    });
    waited.await.expect("the deadline fires");
}

#[tokio::test]
async fn deadlines_wait_until_a_ledger_that_is_behind_goes_on() {
    let server = Server::with_agents(&["barry", "tim"]).await;
    let stream = proposed(&server.engine, "barry", "tim", "t1").await;
    let lost = Lost { size: 9, root: [7; 32] };
    server.engine.ledger().fall_behind(Behind { ledger_size: 3, lost, doubt: Doubt::Lost });
    server.clock.set(at(60));
    assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 0);
    let refused = server.engine.submit(&agent("tim"), stream.clone(), accept(), None).await;
    assert_eq!(code(&refused), "ledger_behind_checkpoint");
    assert!(server.engine.ledger().declare_fork(&agent("tim"), "why not", None).await.is_err());
    let declared =
        server.engine.ledger().declare_fork(&operator(), "the disk died", None).await.unwrap();
    assert_eq!(declared.map(|behind| behind.lost), Some(lost));
    assert_eq!(story(&server.engine, &Stream::of_ledger()).await, ["ledger.forked"]);
    assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 1);
    assert_eq!(n_escalations(&story(&server.engine, &stream).await), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_loop_fires_each_stage_once() {
    let server = Server::with_agents(&["barry", "tim"]).await;
    let loops = start_loops(&server);
    let stream = proposed(&server.engine, "barry", "tim", "t1").await;
    server.clock.set(at(5));
    wait_for_escalation(&server, &stream, 1).await;
    server.engine.submit(&agent("tim"), stream.clone(), accept(), None).await.unwrap();
    server.clock.advance(Span::from_minutes(15));
    wait_for_escalation(&server, &stream, 2).await;
    server.engine.submit(&agent("tim"), stream.clone(), activate(), None).await.unwrap();
    server.clock.advance(Span::from_hours(24));
    wait_for_escalation(&server, &stream, 3).await;
    server.engine.submit(&agent("tim"), stream.clone(), complete(), None).await.unwrap();
    server.clock.advance(Span::from_hours(24));
    assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 0);
    loops.stop().await;
    let story = story(&server.engine, &stream).await;
    assert_eq!(
        story,
        [
            "handoff.proposed",
            "handoff.escalated",
            "handoff.validation_started",
            "handoff.accepted",
            "handoff.escalated",
            "handoff.activated",
            "handoff.escalated",
            "handoff.completed",
        ]
    );
    assert_eq!(server.engine.counts().escalated.load(Ordering::Relaxed), 3);
    assert_eq!(
        server.store.sealed().await.unwrap().unwrap().size,
        13,
        "sealed to the end, with a notice of each escalation"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_between_due_and_fired_forgets_nothing_and_doubles_nothing() {
    let server = Server::with_agents(&["barry", "tim"]).await;
    let stream = proposed(&server.engine, "barry", "tim", "t1").await;
    server.clock.set(at(6));
    let server = server.restart();
    let loops = start_loops(&server);
    wait_for_escalation(&server, &stream, 1).await;
    loops.stop().await;
    let server = server.restart();
    for _ in 0..3 {
        assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 0);
    }
    assert_eq!(story(&server.engine, &stream).await, ["handoff.proposed", "handoff.escalated"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_goes_back_fires_nothing_early_and_nothing_twice() {
    let server = Server::with_agents(&["barry", "tim"]).await;
    let stream = proposed(&server.engine, "barry", "tim", "t1").await;
    for minutes in [4, -60, 4] {
        server.clock.set(at(minutes));
        assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 0, "at {minutes} minutes");
    }
    server.clock.set(at(5));
    assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 1);
    for minutes in [-60, 4, 5, 600] {
        server.clock.set(at(minutes));
        assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 0, "at {minutes} minutes");
    }
    // Accepted while the clock is back: the stage begins no earlier than the stream's last entry.
    server.clock.set(at(-600));
    server.engine.submit(&agent("tim"), stream.clone(), accept(), None).await.unwrap();
    assert_eq!(server.store.next_due().await.unwrap(), Some(at(20)));
    server.clock.set(at(20));
    assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 1);
    assert_eq!(n_escalations(&story(&server.engine, &stream).await), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_a_round_of_deadlines_is_fired_in_rounds() {
    let server = Server::with_agents(&["barry", "tim"]).await;
    let mut streams = Vec::new();
    for number in 0..300 {
        streams.push(proposed(&server.engine, "barry", "tim", &format!("t{number}")).await);
    }
    server.clock.set(at(10));
    let mut rounds = Vec::new();
    for _ in 0..3 {
        rounds.push(server.engine.fire_due_deadlines().await.unwrap());
    }
    assert_eq!(rounds, [256, 44, 0]);
    for stream in &streams {
        assert_eq!(n_escalations(&story(&server.engine, stream).await), 1);
    }
}

/// Two processes look at the same moment; the second finds that the deadline was already fired.
#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_that_somebody_else_fired_is_not_counted() {
    let server = Server::with_agents(&["barry", "tim"]).await;
    let stream = proposed(&server.engine, "barry", "tim", "t1").await;
    server.clock.set(at(5));
    let looks = (0..8).map(|_| {
        let engine = server.engine.clone();
        tokio::spawn(async move { engine.fire_due_deadlines().await })
    });
    for look in looks.collect::<Vec<_>>() {
        look.await.unwrap().unwrap();
    }
    assert_eq!(n_escalations(&story(&server.engine, &stream).await), 1);
    assert_eq!(server.engine.counts().escalated.load(Ordering::Relaxed), 1);
}
