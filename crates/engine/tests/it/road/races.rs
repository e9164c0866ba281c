//! Many callers at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::Engine;
use engine::ports::clock::ManualClock;
use engine::ports::ids::SeededIds;
use engine::ports::store::{HandoffFilter, ListOf};
use protocol::handoff;
use protocol::ledger::Stream;
use protocol::step::{Command, State};
use store::Memory;

use super::{Server, story};
use crate::support::{
    accept, activate, agent, close, code, complete, coordinator, default_teamspace, handoff_stream,
    initiate, offer, operator, proposed, register, reject, start,
};

#[tokio::test(flavor = "multi_thread")]
async fn of_a_thousand_initiates_on_one_task_one_succeeds() {
    let server = Server::with_agents(&["barry", "tim"]).await;
    let mut asked = Vec::new();
    for _ in 0..1_000 {
        let engine = server.engine.clone();
        asked.push(tokio::spawn(async move {
            let stream = handoff_stream(engine.new_handoff_id());
            let result = engine.submit(&agent("barry"), stream, initiate("tim", "t1"), None).await;
            (code(&result), result)
        }));
    }
    let mut codes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut winner = None;
    for one in asked {
        let (code, result) = one.await.unwrap();
        *codes.entry(code).or_default() += 1;
        winner = winner.or(result.ok());
    }
    assert_eq!(codes, BTreeMap::from([("ok", 1), ("ownership_conflict", 999)]));
    let ledger = server.ledger().await;
    let proposals: Vec<_> =
        ledger.iter().filter(|kept| kept.entry.name == "handoff.proposed").collect();
    assert_eq!(proposals.len(), 1, "the ledger agrees");
    assert_eq!(proposals[0].entry.stream.subject.to_string(), winner.unwrap().subject);
    assert_eq!(ledger.len(), 3, "a refusal leaves nothing behind");
}

/// Thousands of requests wait for the disk at once, each with its whole future.
#[tokio::test]
async fn a_request_that_waits_takes_little_room() {
    const ROOM_BYTES_MAX: usize = 2_048;
    let server = Server::with_agents(&["barry", "tim"]).await;
    let (barry, stream) = (agent("barry"), handoff_stream(server.engine.new_handoff_id()));
    let waiting = server.engine.submit(&barry, stream, initiate("tim", "t1"), None);
    let n_bytes = size_of_val(&waiting);
    assert!(n_bytes <= ROOM_BYTES_MAX, "{n_bytes} bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_edits_of_one_draft_all_happen_one_after_the_other() {
    let server = Server::with_agents(&["barry", "tim"]).await;
    let stream = handoff_stream(server.engine.new_handoff_id());
    let mut asked = Vec::new();
    for number in 0..200 {
        let (engine, stream) = (server.engine.clone(), stream.clone());
        asked.push(tokio::spawn(async move {
            let offer = Box::new(offer("tim", &format!("t{number}")));
            let draft = Command::Handoff(handoff::Command::Draft { offer });
            engine.submit(&agent("barry"), stream, draft, None).await.map(|done| done.position)
        }));
    }
    let mut positions = Vec::new();
    for one in asked {
        positions.push(one.await.unwrap().unwrap());
    }
    positions.sort_unstable();
    assert_eq!(positions, (1..=200).collect::<Vec<u64>>());
    assert_eq!(story(&server.engine, &stream).await.len(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_hundred_answers_to_one_handoff_one_counts() {
    let server = Server::with_agents(&["barry", "tim"]).await;
    let stream = proposed(&server.engine, "barry", "tim", "t1").await;
    let mut asked = Vec::new();
    for number in 0..200 {
        let (engine, stream) = (server.engine.clone(), stream.clone());
        asked.push(tokio::spawn(async move {
            let command = if number % 2 == 0 { accept() } else { reject("busy") };
            code(&engine.submit(&agent("tim"), stream, command, None).await)
        }));
    }
    let mut codes: BTreeMap<&str, usize> = BTreeMap::new();
    for one in asked {
        *codes.entry(one.await.unwrap()).or_default() += 1;
    }
    // After an accept a reject is still possible, so there may be two successes, in that order.
    let story = story(&server.engine, &stream).await;
    let n_ok = match story.last().map(String::as_str) {
        Some("handoff.accepted") => 1,
        Some("handoff.rejected") if story.len() == 2 => 1,
        Some("handoff.rejected") if story.len() == 4 => 2,
        other => panic!("unexpected end {other:?} of {story:?}"),
    };
    assert_eq!(codes, BTreeMap::from([("ok", n_ok), ("wrong_state", 200 - n_ok)]));
}

/// Two engines on one store that do not know of each other: as with a second node.
#[tokio::test(flavor = "multi_thread")]
async fn two_engines_on_one_store_keep_every_promise() {
    let store = Arc::new(Memory::default());
    let engines = [1, 2].map(|seed| {
        let clock = Arc::new(ManualClock::starting_at(start()));
        Engine::new(store.clone(), clock, Arc::new(SeededIds::new(seed)))
    });
    register(&engines[0], &["barry", "tim", "zoe"]).await;
    let mut asked = Vec::new();
    for round in 0..8 {
        for (number, engine) in engines.iter().enumerate() {
            let engine = engine.clone();
            asked.push(tokio::spawn(async move { play(&engine, (round + number) % 2).await }));
        }
    }
    for one in asked {
        one.await.unwrap();
    }
    let engine = &engines[0];
    let all = ListOf::Handoffs(HandoffFilter::default());
    let page = engine.read().list(&default_teamspace(), all, None, 200).await.unwrap();
    assert!(page.items.len() > 1);
    for item in &page.items {
        story(engine, &item.stream).await;
        assert_eq!(engine.read().rebuild(&item.stream).await.unwrap(), *item.state);
    }
}

/// One caller that keeps handing one of two tasks around, whatever the others do to it.
async fn play(engine: &Engine, task: usize) {
    let task = format!("t{task}");
    for _ in 0..20 {
        let stream = handoff_stream(engine.new_handoff_id());
        let starter = coordinator("zoe");
        let started = engine.submit(&starter, stream, initiate("tim", &task), None).await;
        assert!(["ok", "ownership_conflict"].contains(&code(&started)), "{started:?}");
        let active = active_of(engine, &task).await;
        assert!(active.len() <= 1, "one active handoff per task");
        for stream in active {
            for command in [accept(), activate(), complete(), reject("no"), close()] {
                let result = engine.submit(&agent("tim"), stream.clone(), command, None).await;
                assert!(["ok", "wrong_state"].contains(&code(&result)), "{result:?}");
            }
        }
    }
}

async fn active_of(engine: &Engine, task: &str) -> Vec<Stream> {
    let filter =
        HandoffFilter { task_id: Some(task.parse().expect("a task")), ..HandoffFilter::default() };
    let page = engine.read().list(&default_teamspace(), ListOf::Handoffs(filter), None, 200).await;
    let page = page.expect("a list can be read");
    let active = page.items.into_iter().filter(|item| match item.state.as_ref() {
        State::Handoff(handoff) => handoff.status().is_active(),
        State::Agent(_)
        | State::Token(_)
        | State::Ledger(_)
        | State::Message(_)
        | State::Conversation(_)
        | State::Graph(_)
        | State::Subscription(_)
        | State::File(_)
        | State::Webhook(_)
        | State::Question(_)
        | State::Session(_)
        | State::Teamspace(_) => false,
    });
    active.map(|item| item.stream).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_of_another_teamspace_finds_nothing() {
    let server = Server::with_agents(&["barry", "tim"]).await;
    let stream = proposed(&server.engine, "barry", "tim", "t1").await;
    let before = server.ledger().await.len();
    let mut elsewhere = agent("tim");
    elsewhere.teamspace = "other".parse().unwrap();
    let mut operator = operator();
    operator.teamspace = "other".parse().unwrap();
    for caller in [elsewhere, operator] {
        for command in [accept(), reject("no"), close(), initiate("tim", "t2")] {
            let result = server.engine.submit(&caller, stream.clone(), command, None).await;
            assert_eq!(code(&result), "not_found");
        }
    }
    assert_eq!(server.ledger().await.len(), before);
}
