//! Recalls and reports of progress: what the clock, a restart and callers at the same time make of
//! them.

use std::collections::BTreeMap;

use engine::Engine;
use protocol::caller::Caller;
use protocol::handoff::progress::ProgressReport;
use protocol::handoff::{self, Made, Status};
use protocol::ledger::Stream;
use protocol::step::{Command, State};
use protocol::time::Span;

use super::{Server, story};
use crate::support::{accept, activate, agent, code, complete, key, proposed, reject};

fn recall() -> Command {
    Command::Handoff(handoff::Command::Recall { reason: "plans changed".to_owned() })
}

fn progress(percent: u8) -> Command {
    let report = ProgressReport { percent: Some(percent), ..ProgressReport::default() };
    Command::Handoff(handoff::Command::Progress(Box::new(report)))
}

async fn activated(server: &Server) -> Stream {
    let stream = proposed(&server.engine, "barry", "tim", "t1").await;
    for command in [accept(), activate()] {
        done(&server.engine, &agent("tim"), &stream, command).await;
    }
    stream
}

async fn done(engine: &Engine, caller: &Caller, stream: &Stream, command: Command) {
    engine.submit(caller, stream.clone(), command, None).await.expect("it may be done");
}

async fn made(engine: &Engine, stream: &Stream) -> Made {
    let state = engine.read().current(stream).await.expect("the store works");
    let handoff = state.as_deref().and_then(State::as_handoff).expect("a handoff");
    let handoff::Handoff::Made(made) = handoff else { panic!("not proposed: {handoff:?}") };
    made.clone()
}

#[tokio::test]
async fn a_recall_escalates_once_and_survives_a_restart() {
    let server = Server::with_agents(&["barry", "tim"]).await;
    let stream = activated(&server).await;
    done(&server.engine, &agent("barry"), &stream, recall()).await;
    server.clock.advance(Span::from_minutes(14));
    assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 0);
    let server = server.restart();
    done(&server.engine, &agent("barry"), &stream, recall()).await;
    server.clock.advance(Span::from_minutes(1));
    assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 1);
    assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 0);
    let server = server.restart();
    assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 0);
    let state = made(&server.engine, &stream).await;
    assert!(state.recall.as_ref().is_some_and(|recall| recall.escalated), "{state:?}");
    // The stage still has its own limit.
    server.clock.advance(Span::from_hours(24));
    assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 1);
    done(&server.engine, &agent("tim"), &stream, reject("as asked")).await;
    assert_eq!(made(&server.engine, &stream).await.recall, None);
    let events = ["recalled", "escalated", "escalated", "rejected"];
    let story = story(&server.engine, &stream).await;
    assert_eq!(story[4..], events.map(|name| format!("handoff.{name}")));
}

#[tokio::test]
async fn an_answered_recall_leaves_no_deadline() {
    for answer in [complete(), reject("as asked")] {
        let server = Server::with_agents(&["barry", "tim"]).await;
        let stream = activated(&server).await;
        done(&server.engine, &agent("barry"), &stream, recall()).await;
        done(&server.engine, &agent("tim"), &stream, answer).await;
        server.clock.advance(Span::from_hours(48));
        assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 0);
    }
}

#[tokio::test]
async fn a_retry_of_a_report_or_a_recall_is_recorded_once() {
    let server = Server::with_agents(&["barry", "tim"]).await;
    let stream = activated(&server).await;
    let tries = [(agent("tim"), progress(40), "p"), (agent("barry"), recall(), "r")];
    for (caller, command, name) in tries {
        let mut positions = Vec::new();
        for _ in 0..3 {
            let (stream, command) = (stream.clone(), command.clone());
            let submitted = server.engine.submit(&caller, stream, command, key(name, name)).await;
            positions.push(submitted.expect("a retry is answered").position);
        }
        assert_eq!(positions, [positions[0]; 3], "{name}");
    }
    let server = server.restart();
    let tim = agent("tim");
    let again = server.engine.submit(&tim, stream.clone(), progress(40), key("p", "p"));
    assert_eq!(again.await.expect("the stored outcome").position, 5);
    let state = made(&server.engine, &stream).await;
    assert_eq!((state.n_reports, state.recall.is_some()), (1, true));
    assert_eq!(story(&server.engine, &stream).await.len(), 6);
}

/// Whichever command is first, the record is one of two stories, and no recall is left open.
#[tokio::test(flavor = "multi_thread")]
async fn a_recall_and_an_answer_at_once_leave_nothing_open() {
    for (answer, end) in [(complete(), Status::Completed), (reject("no time"), Status::Rejected)] {
        for _ in 0..20 {
            let server = Server::with_agents(&["barry", "tim"]).await;
            let stream = activated(&server).await;
            let mut asked = tokio::task::JoinSet::new();
            let commands = [("barry", recall()), ("tim", answer.clone()), ("barry", recall())];
            for (name, command) in commands {
                let (engine, stream) = (server.engine.clone(), stream.clone());
                asked.spawn(async move {
                    (name, code(&engine.submit(&agent(name), stream, command, None).await))
                });
            }
            let mut codes: BTreeMap<(&str, &str), usize> = BTreeMap::new();
            while let Some(one) = asked.join_next().await {
                *codes.entry(one.expect("no panic")).or_default() += 1;
            }
            assert_eq!(codes.get(&("tim", "ok")), Some(&1), "{codes:?}");
            let state = made(&server.engine, &stream).await;
            assert_eq!((state.stage.status(), state.recall.is_none()), (end, true));
            let story = story(&server.engine, &stream).await;
            let n_recalls = story.iter().filter(|name| *name == "handoff.recalled").count();
            let n_ok = codes.get(&("barry", "ok")).copied().unwrap_or_default();
            assert_eq!(n_recalls, n_ok.min(1), "{codes:?}: {story:?}");
            server.clock.advance(Span::from_hours(48));
            assert_eq!(server.engine.fire_due_deadlines().await.unwrap(), 0);
        }
    }
}
