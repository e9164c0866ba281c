//! Who owns a task, what an approval covers, and what a conversation costs.

use std::sync::Arc;

use engine::Engine;
use engine::ports::store::Store as _;
use protocol::caller::{Caller, Principal};
use protocol::conversation;
use protocol::conversation::command::{Open, Route, Say};
use protocol::conversation::state::customer_name;
use protocol::ledger::{Stream, Subject};
use protocol::step::Command;
use serde_json::json;
use store::Sqlite;
use tokio::task::JoinSet;

use crate::concurrency::{all_at_once, tally};
use crate::server::{Server, act, initiate, is_full_run, offer, ok};
use crate::sse::whole_ledger;
use crate::support::{self, agent, default_teamspace, id, operator};
use crate::wire::Request;

const AT_ONCE: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_never_own_the_same_thing() {
    let server = Server::start();
    server.agent("tim");
    let tokens: Vec<_> =
        (0..AT_ONCE).map(|number| server.token(&format!("worker-{number}"), &[])).collect();
    let propose = Request::new("POST /v1/handoffs").json(&offer("T-1", "tim"));
    let requests = tokens.iter().map(|token| propose.clone().token(token)).collect();
    let answers = all_at_once(server.address(), requests).await;
    let expected = [("201 ".to_owned(), 1), ("409 ownership_conflict".to_owned(), AT_ONCE - 1)];
    assert_eq!(tally(&answers), expected.into());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_approval_runs_once() {
    let server = Server::start();
    let (alice, bob) = (server.agent("alice"), server.agent("bob"));
    let mut guarded = offer("T-1", "bob");
    guarded["policy"] = json!({ "human_gate": "required" });
    let proposed = ok(&alice, tasuki::client::Call::post("/v1/handoffs", guarded)).await;
    let handoff = proposed["handoff_id"].as_str().expect("an id");
    assert_eq!(act(&bob, handoff, "accept", json!({})).await["status"], "validating");
    let tokens: Vec<_> = (0..AT_ONCE)
        .map(|number| server.token(&format!("human-{number}"), &["--kind", "human"]))
        .collect();
    let approve = format!("POST /v1/handoffs/{handoff}/approve");
    let approve = |token: &String| Request::new(&approve).token(token).json(&json!({}));
    let answers = all_at_once(server.address(), tokens.iter().map(approve).collect()).await;
    let expected = [("200 ".to_owned(), 1), ("409 wrong_state".to_owned(), AT_ONCE - 1)];
    assert_eq!(tally(&answers), expected.into());
    let told = whole_ledger(&alice, "&kind=handoff").await;
    let names: Vec<_> = told.iter().filter_map(|event| event.name.as_deref()).collect();
    for once in ["handoff.approved", "handoff.accepted"] {
        assert_eq!(names.iter().filter(|name| **name == once).count(), 1, "{names:?}");
    }
    // The approval covers this one, and no other.
    let other = initiate(&alice, "T-2", "bob").await;
    let shown = ok(&alice, tasuki::client::Call::get(format!("/v1/handoffs/{other}"))).await;
    assert_eq!(shown["status"], "proposed");
}

/// A message number has more digits when there are more messages.
const DIGITS: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stored_does_not_grow_with_the_square_of_the_conversation() {
    let n_messages = if is_full_run() { 10_000 } else { 1_000 };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = Arc::new(Sqlite::open(folder.path()).expect("a new database"));
    let (engine, _clock) = support::engine_on(store.clone());
    support::register(&engine, &["ann", "bob"]).await;
    let chat = engine.new_conversation_id();
    let stream = Stream { teamspace: default_teamspace(), subject: Subject::Conversation(chat) };
    let open = Open { agent: Some(id("ann")), ..Open::default() };
    let open = Command::Conversation(conversation::Command::Open(Box::new(open)));
    engine.submit_new(&operator(), stream.clone(), open, None).await.expect("it is new");
    let customer = Caller { principal: Principal::Customer(customer_name(chat)), ..operator() };

    say(&engine, &customer, &stream, 9).await;
    // Who has passed the customer on is remembered, once for each agent.
    route((&engine, &store), &stream, "ann", "bob", 1).await;
    route((&engine, &store), &stream, "bob", "ann", 2).await;
    say(&engine, &customer, &stream, 1).await;
    let after_ten = route((&engine, &store), &stream, "ann", "bob", 3).await;
    say(&engine, &customer, &stream, 1).await;
    route((&engine, &store), &stream, "bob", "ann", 4).await;
    say(&engine, &customer, &stream, n_messages - 11).await;
    let after_all = route((&engine, &store), &stream, "ann", "bob", 5).await;
    println!("{after_ten:?} bytes after 10 messages, {after_all:?} after {n_messages}");
    assert!(after_all.0.abs_diff(after_ten.0) <= DIGITS, "what a handoff writes");
    assert!(after_all.1.abs_diff(after_ten.1) <= DIGITS, "the state of the conversation");
}

async fn say(engine: &Engine, customer: &Caller, stream: &Stream, n_messages: usize) {
    let mut all = JoinSet::new();
    for _ in 0..n_messages {
        let parts = json!({ "parts": [{ "type": "text", "text": "x".repeat(500) }] });
        let say: Say = serde_json::from_value(parts).expect("a message");
        let say = Command::Conversation(conversation::Command::Say(say));
        let (engine, customer, stream) = (engine.clone(), customer.clone(), stream.clone());
        all.spawn(async move {
            engine.submit(&customer, stream, say, None).await.expect("a customer may speak");
        });
        if all.len() == AT_ONCE {
            all.join_next().await.expect("some speak").expect("it was said");
        }
    }
    all.join_all().await;
}

/// Hands over, and returns the bytes of the entry and those of the state then.
async fn route(
    (engine, store): (&Engine, &Sqlite),
    stream: &Stream,
    from: &str,
    to: &str,
    epoch: u64,
) -> (usize, usize) {
    let route: Route =
        serde_json::from_value(json!({ "goto": to, "epoch": epoch })).expect("a route");
    let route = Command::Conversation(conversation::Command::Route(Box::new(route)));
    engine.submit(&agent(from), stream.clone(), route, None).await.expect("it may be handed on");
    let newest = engine.read().history(stream, u64::MAX, 1).await.expect("it can be read");
    assert_eq!(newest[0].entry.name, "conversation.routed");
    let body = newest[0].entry.body.text().expect("nothing was erased");
    let kept = store.load(stream).await.expect("it can be read").expect("it is kept");
    (body.len(), kept.state_text.len())
}
