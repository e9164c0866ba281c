//! Retries: the same key and body have one effect and one answer; another body is refused.

use engine::road::submit::SubmitError;
use protocol::agent::{self, Kind, Profile};
use protocol::step::Command;

use super::{Server, story};
use crate::support::{
    accept, activate, agent, agent_stream, code, handoff_stream, initiate, key, operator, proposed,
    register,
};

#[tokio::test(flavor = "multi_thread")]
async fn fifty_retries_at_once_have_one_effect_and_one_answer() {
    let server = Server::with_agents(&["barry", "tim"]).await;
    let mut asked = Vec::new();
    for _ in 0..50 {
        let engine = server.engine.clone();
        // A retry does not know the id that the first attempt was given.
        let stream = handoff_stream(engine.new_handoff_id());
        asked.push(tokio::spawn(async move {
            engine.submit(&agent("barry"), stream, initiate("tim", "t1"), key("k", "body")).await
        }));
    }
    let mut answers = Vec::new();
    for one in asked {
        answers.push(one.await.unwrap().unwrap());
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(server.ledger().await.len(), 3);

    let stream = proposed(&server.engine, "barry", "tim", "t2").await;
    let mut asked = Vec::new();
    for _ in 0..50 {
        let (engine, stream) = (server.engine.clone(), stream.clone());
        asked.push(tokio::spawn(async move {
            engine.submit(&agent("tim"), stream, accept(), key("k", "accept")).await
        }));
    }
    let mut answers = Vec::new();
    for one in asked {
        answers.push(one.await.unwrap().unwrap());
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(story(&server.engine, &stream).await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_after_a_restart_gets_the_recorded_answer() {
    let server = Server::with_agents(&["barry", "tim"]).await;
    let stream = proposed(&server.engine, "barry", "tim", "t1").await;
    let first = server.engine.submit(&agent("tim"), stream.clone(), accept(), key("k", "a")).await;
    let first = first.unwrap();
    let activated = server.engine.submit(&agent("tim"), stream.clone(), activate(), None).await;
    activated.unwrap();
    let server = server.restart();
    let again = server.engine.submit(&agent("tim"), stream.clone(), accept(), key("k", "a")).await;
    assert_eq!(again.unwrap(), first, "the world moved on, and the answer did not");
    assert_eq!(story(&server.engine, &stream).await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_with_another_body_is_refused() {
    let server = Server::with_agents(&["barry", "tim"]).await;
    let engine = &server.engine;
    let stream = handoff_stream(engine.new_handoff_id());
    let barry = agent("barry");
    let first = engine.submit(&barry, stream.clone(), initiate("tim", "t1"), key("k", "one")).await;
    first.unwrap();
    let before = server.ledger().await.len();
    // One that would succeed, one that would be refused, and one on the same stream.
    let other = handoff_stream(engine.new_handoff_id());
    for (stream, command) in [
        (other.clone(), initiate("tim", "t2")),
        (other, initiate("tim", "t1")),
        (stream, initiate("tim", "t1")),
    ] {
        let result = engine.submit(&barry, stream, command, key("k", "two")).await;
        assert!(matches!(result, Err(SubmitError::KeyReused)), "{result:?}");
    }
    assert_eq!(server.ledger().await.len(), before);
    // The key is the caller's own.
    let other = handoff_stream(engine.new_handoff_id());
    let tim = engine.submit(&agent("tim"), other, initiate("barry", "t9"), key("k", "two")).await;
    assert_eq!(code(&tim), "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_changes_nothing_does_not_hide_its_key() {
    let server = Server::start();
    let engine = &server.engine;
    let stream = agent_stream("barry");
    let named = |name: &str| {
        let profile = Profile { name: name.to_owned(), ..Profile::default() };
        Command::Agent(agent::Command::Register { kind: Kind::Worker, profile })
    };
    let submit =
        async |command, key| engine.submit(&operator(), stream.clone(), command, key).await;
    let first = submit(named("a"), key("k1", "a")).await.unwrap();
    submit(named("b"), key("k2", "b")).await.unwrap();
    submit(named("a"), key("k3", "a")).await.unwrap();
    // The profile is `a` already, so there is nothing to do; the recorded answer still counts.
    assert_eq!(submit(named("a"), key("k1", "a")).await.unwrap(), first);
    let reused = submit(named("a"), key("k2", "a")).await;
    assert!(matches!(reused, Err(SubmitError::KeyReused)), "{reused:?}");
    assert_eq!(story(engine, &stream).await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_decided_afresh() {
    let server = Server::with_agents(&["barry"]).await;
    let engine = &server.engine;
    let stream = handoff_stream(engine.new_handoff_id());
    let submit = async || {
        let caller = agent("barry");
        engine.submit(&caller, stream.clone(), initiate("tim", "t1"), key("k", "body")).await
    };
    assert_eq!(code(&submit().await), "unknown_agent");
    assert_eq!(code(&submit().await), "unknown_agent");
    register(engine, &["tim"]).await;
    assert_eq!(code(&submit().await), "ok");
    assert_eq!(code(&submit().await), "ok");
    assert_eq!(story(engine, &stream).await.len(), 1);
}
