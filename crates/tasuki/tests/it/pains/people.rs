//! People who are asked, answer, disappear, or never come.

use protocol::agent::Presence;
use protocol::time::Span;
use protocol::transfer::command::Act;
use serde_json::json;
use store::Memory;

use super::{code, holder, words};
use crate::server::ok;
use crate::sse::whole_ledger;
use crate::support::{self, agent, agent_stream, default_teamspace, id};
use crate::transfers::clocked::Clocked;
use crate::transfers::{Desk, act};

#[tokio::test]
async fn control_comes_back_however_it_ends() {
    for (ending, body) in [
        ("complete", json!({ "summary": "refunded" })),
        ("fail", json!({ "reason": "the line is down" })),
        ("cancel", json!({})),
    ] {
        let desk = Desk::open(json!({ "mode": "pick" })).await;
        let hana = desk.person("hana").await;
        let transfer = desk.request(&desk.bob, json!({ "epoch": 1 })).await;
        act(&hana, &transfer, "pickup", json!({ "epoch": 2, "accept": true })).await;
        let over = act(&desk.operator, &transfer, ending, body).await;
        assert_eq!((&over["holder"], &over["epoch"]), (&json!("bob"), &json!(4)), "{ending}");
        ok(&desk.bob, words(&desk, "I am back", Some(4))).await;
        assert_eq!(code(&hana, words(&desk, "wait", Some(3))).await, "epoch_outdated");
    }
}

#[tokio::test]
async fn there_is_a_way_to_a_person_and_a_way_back() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let hana = desk.person("hana").await;
    // The bot is not silenced by a prompt: its message is refused, whatever it believes.
    let transfer = desk.request(&desk.customer, json!({})).await;
    assert_eq!(code(&desk.bob, words(&desk, "can I help?", Some(1))).await, "epoch_outdated");
    act(&hana, &transfer, "pickup", json!({ "epoch": 2, "accept": true })).await;
    assert_eq!(code(&desk.bob, words(&desk, "can I help?", Some(3))).await, "not_holder");
    ok(&hana, words(&desk, "I can", Some(3))).await;
    act(&hana, &transfer, "complete", json!({ "epoch": 3, "summary": "refunded" })).await;
    // The bot is told that it has it back, and is heard again.
    assert_eq!(holder(&desk).await, "bob@4");
    let told = whole_ledger(&desk.bob, "&kind=transfer.over").await;
    let told = told.iter().find(|event| event.name.is_some()).expect("the bot is told");
    assert_eq!(told.data["data"]["summary"], "refunded");
    ok(&desk.bob, words(&desk, "anything else?", Some(4))).await;
    assert_eq!(desk.texts(&desk.customer).await, ["I can", "anything else?"]);
}

#[tokio::test]
async fn a_person_who_is_gone_loses_the_work_and_is_told_before() {
    let desk = Clocked::open(Memory::default()).await;
    let moment = Span::from_millis(0);
    let connection = desk.engine.queues().connection_opened(&default_teamspace(), &id("hana"));
    desk.say(Presence::Available).await;
    assert_eq!(desk.after(moment).await, "ringing default@2");
    assert!(desk.does(&agent("hana"), Act::Accept).await);
    drop(connection);
    assert_eq!(desk.after(moment).await, "connected hana@3");
    // Her own record says until when the server waits for her.
    let until = support::start().plus(Span::from_millis(30_000)).to_stored_string();
    let lost = ("agent.connection_lost".to_owned(), json!({ "until": until }));
    assert_eq!(desk.last(&agent_stream("hana")).await, lost);
    assert_eq!(desk.after(Span::from_millis(29_999)).await, "connected hana@3");
    assert_eq!(desk.after(Span::from_millis(1)).await, "queued default@4");
    let (name, body) = desk.last(&desk.stream).await;
    assert_eq!((name.as_str(), &body["why"]), ("transfer.returned", &json!("agent_lost")));
    // Once she is back she is asked again, and her old epoch no longer counts.
    let _connection = desk.engine.queues().connection_opened(&default_teamspace(), &id("hana"));
    assert_eq!(desk.after(moment).await, "ringing default@4");
}

#[tokio::test]
async fn nobody_answers_and_something_happens() {
    // A person is present and does not answer: the customer stays in the queue, and she is asked
    // again.
    let desk = Clocked::open(Memory::default()).await;
    let _connection = desk.engine.queues().connection_opened(&default_teamspace(), &id("hana"));
    desk.say(Presence::Available).await;
    assert_eq!(desk.after(Span::from_millis(0)).await, "ringing default@2");
    assert_eq!(desk.after(Span::from_millis(30_000)).await, "ringing default@2");
    assert_eq!(desk.conversation().await.transfer.expect("it rings").missed, [id("hana")]);

    // No person is present at all: after the wait the bot has it back, with the reason.
    let desk = Clocked::open(Memory::default()).await;
    assert_eq!(desk.after(Span::from_minutes(59)).await, "queued default@2");
    assert_eq!(desk.after(Span::from_minutes(1)).await, "failed bob@3");
    let (name, body) = desk.last(&desk.stream).await;
    let why = (name.as_str(), &body["reason"]);
    assert_eq!(why, ("transfer.over", &json!("nobody came in time")));

    // The same for work that no agent accepts.
    support::register(&desk.engine, &["tim"]).await;
    let handoff = support::proposed(&desk.engine, "bob", "tim", "t1").await;
    desk.after(Span::from_minutes(5)).await;
    assert_eq!(desk.last(&handoff).await.0, "handoff.escalated");
}
