//! The settings of a teamspace: they apply to every proposal after their change was acknowledged,
//! over every transport, and to none before it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use engine::Engine;
use protocol::handoff::Handoff;
use protocol::handoff::sla::Slas;
use protocol::ids::TeamspaceId;
use protocol::ledger::Stream;
use protocol::step::{Command, State};
use protocol::teamspace::{self, Configuration, Settings};
use protocol::time::Span;

use super::{Server, story};
use crate::support::{agent, code, default_teamspace, operator, proposed};

fn limit(minutes: i64) -> Command {
    let sla = Slas { proposed: Some(Span::from_minutes(minutes)), ..Slas::default() };
    let settings = Settings { sla, ..Settings::default() };
    let configuration = Configuration { settings, ..Configuration::default() };
    Command::Teamspace(teamspace::Command::Configure { configuration, revision: None })
}

async fn configure(engine: &Engine, minutes: i64) {
    let stream = Stream::of_teamspace(default_teamspace());
    let done = engine.submit(&operator(), stream, limit(minutes), None).await;
    done.expect("an operator may configure its teamspace");
}

/// How many minutes the target of a handoff has.
async fn minutes(engine: &Engine, stream: &Stream) -> Option<i64> {
    let item = engine.read().item(stream).await.expect("it can be read").expect("it is there");
    let State::Handoff(handoff) = item.state.as_ref() else { panic!("a handoff") };
    let Handoff::Made(made) = handoff.as_ref() else { panic!("it was proposed") };
    made.terms.slas.proposed.map(|span| span.as_millis() / 60_000)
}

#[tokio::test]
async fn a_limit_holds_from_its_answer_on_and_after_a_restart() {
    let server = Server::with_agents(&["barry", "tim"]).await;
    let first = proposed(&server.engine, "barry", "tim", "t1").await;
    configure(&server.engine, 7).await;
    let second = proposed(&server.engine, "barry", "tim", "t2").await;
    let server = server.restart();
    let third = proposed(&server.engine, "barry", "tim", "t3").await;
    configure(&server.engine, 9).await;
    let fourth = proposed(&server.engine, "barry", "tim", "t4").await;
    let mut found = Vec::new();
    for stream in [&first, &second, &third, &fourth] {
        found.push(minutes(&server.engine, stream).await);
    }
    assert_eq!(found, [None, Some(7), Some(7), Some(9)]);
    let own = Stream::of_teamspace(default_teamspace());
    assert_eq!(story(&server.engine, &own).await, ["teamspace.configured"; 2]);
}

#[tokio::test]
async fn a_teamspace_speaks_for_itself_alone() {
    let server = Server::with_agents(&["barry", "tim"]).await;
    let other: TeamspaceId = "other".parse().unwrap();
    let mut stranger = operator();
    stranger.teamspace = other.clone();
    for teamspace in [default_teamspace(), other.clone()] {
        assert_eq!(server.engine.read().settings(&teamspace).await.unwrap(), Settings::default());
    }
    let own = Stream::of_teamspace(default_teamspace());
    let refused = server.engine.submit(&stranger, own.clone(), limit(3), None).await;
    assert_eq!(code(&refused), "not_found");
    let refused = server.engine.submit(&agent("barry"), own, limit(3), None).await;
    assert_eq!(code(&refused), "not_allowed");
    let theirs = Stream::of_teamspace(other.clone());
    server.engine.submit(&stranger, theirs, limit(3), None).await.unwrap();
    let stream = proposed(&server.engine, "barry", "tim", "t1").await;
    assert_eq!(minutes(&server.engine, &stream).await, None);
    assert_ne!(server.engine.read().settings(&other).await.unwrap(), Settings::default());
}

/// One caller changes the limit repeatedly while others propose. A proposal after an acknowledged
/// change gets that limit or a later one.
#[tokio::test(flavor = "multi_thread")]
async fn no_proposal_is_decided_by_what_was_replaced_before_it() {
    const CHANGES: i64 = 60;
    let server = Server::with_agents(&["barry", "tim"]).await;
    let answered = Arc::new(AtomicI64::new(0));
    let proposers = (0..3).map(|number| {
        let (engine, answered) = (server.engine.clone(), Arc::clone(&answered));
        tokio::spawn(async move {
            let mut n_proposed = 0;
            loop {
                let before = answered.load(Ordering::SeqCst);
                let task = format!("t-{number}-{n_proposed}");
                let stream = proposed(&engine, "barry", "tim", &task).await;
                let found = minutes(&engine, &stream).await.unwrap_or(0);
                assert!(found >= before, "{found} after {before} was answered");
                n_proposed += 1;
                if before == CHANGES {
                    return n_proposed;
                }
            }
        })
    });
    let proposers: Vec<_> = proposers.collect();
    for change in 1..=CHANGES {
        configure(&server.engine, change).await;
        answered.store(change, Ordering::SeqCst);
    }
    for proposer in proposers {
        assert!(proposer.await.expect("no proposal was wrong") > 0);
    }
}
