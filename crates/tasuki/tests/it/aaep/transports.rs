//! AAEP over lasting connections: a WebSocket, the Unix socket, and standard input and output. What
//! they have in common beyond the stories that run over every line.

mod bounds;

use aaep::handshake::read_handshake;
use serde_json::{Value, json};
use tasuki::client::Call;

use super::lines::branch::Branch;
use super::lines::peer::{Peer, Road};
use super::{SESSION, TOKEN, asks, event, listener};
use crate::server::ok;

/// A request of a listener that can answer, with our own capabilities.
fn request(ours: Value) -> Value {
    listener::request(&listener::terms(json!({ "tasuki": ours })))
}

fn state(number: u32, from: &str, to: &str) -> Value {
    event(number, "state.changed", json!({ "from_state": from, "to_state": to }))
}

fn chunk(number: u32, text: &str, position: usize, complete: bool) -> Value {
    let chunk = json!({
        "chunk": text, "position": position, "complete": complete, "coalesce_hint": "sentence",
    });
    event(number, "output.streaming", chunk)
}

/// The events before the question.
fn opening() -> Vec<Value> {
    let balance = json!({ "tool": "fetch_balance", "tool_call_id": "call_1" });
    let found = json!({ "tool": "fetch_balance", "tool_call_id": "call_1", "status": "success" });
    vec![
        event(1, "session.started", json!({})),
        state(2, "idle", "thinking"),
        event(3, "tool.invoked", balance),
        event(4, "tool.completed", found),
        state(5, "thinking", "deciding"),
        state(6, "deciding", "thinking"),
        asks(7),
    ]
}

fn transfer(number: u32) -> Value {
    let call = json!({
        "tool": "transfer_funds", "tool_call_id": "call_2", "irreversible": true,
        "risk_level": "high",
    });
    event(number, "tool.invoked", call)
}

/// The events after the answer.
fn ending() -> Vec<Value> {
    let first = "Your balance is $12,500.";
    vec![
        state(8, "thinking", "writing_output"),
        chunk(9, first, 0, false),
        chunk(10, " Nothing was moved.", first.len(), true),
        event(11, "session.completed", json!({})),
    ]
}

fn reply(subscription: &str, token: &Value, decision: &str) -> Value {
    json!({
        "type": "confirmation.reply", "reply_token": token, "decision": decision,
        "subscription_id": subscription, "timestamp": "2026-05-24T14:22:10.000Z",
        "decided_by": "user:dana",
    })
}

/// Sends events, some together and some alone, and waits until each message is recorded.
async fn announce(producer: &mut Peer, events: &[Value]) {
    let (together, alone) = events.split_at(2);
    producer.send(json!(together)).await;
    for event in alone {
        producer.send(event.clone()).await;
    }
    for n_events in [&[2][..], &vec![1; alone.len()]].concat() {
        let recorded = producer.next().await;
        assert_eq!(recorded["type"], "tasuki.recorded", "{recorded}");
        assert_eq!(
            (&recorded["n_events"], &recorded["session_id"]),
            (&json!(n_events), &json!(SESSION))
        );
    }
}

async fn hear(listener: &mut Peer, n_events: usize) -> Vec<Value> {
    let mut heard = Vec::new();
    while heard.len() < n_events {
        heard.push(listener.next().await);
    }
    heard
}

/// The question, which may overtake the others, and the others.
fn split(mut heard: Vec<Value>) -> (Value, Vec<Value>) {
    let at = heard.iter().position(|event| event["urgency"] == "critical").expect("a question");
    (heard.remove(at), heard)
}

#[tokio::test]
async fn a_connection_says_what_became_of_each_message_and_ends_as_it_is_asked_to() {
    for road in [Road::WebSocket, Road::Unix, Road::Stdio] {
        let branch = Branch::open().await;
        let (mut dana, subscription) = branch.listener(road).await;
        let mut teller = branch.producer(road).await;
        let told = [&opening()[..6], &ending()].concat();
        announce(&mut teller, &told).await;
        let mut heard = hear(&mut dana, told.len()).await;
        for chunk in heard.iter_mut().filter(|event| event["chunk"].is_string()) {
            // The announced boundary is not one that the listener asked for.
            assert!(chunk.get("coalesce_hint").is_none(), "{chunk}");
            chunk["coalesce_hint"] = "sentence".into();
        }
        assert_eq!(heard, told, "as they were announced over {road:?}");
        let close = json!({ "type": "subscription.close", "subscription_id": subscription });
        dana.send(close).await;
        assert_eq!(dana.closed().await, Some(4005));
    }
}

#[tokio::test]
async fn who_says_no_is_heard_and_who_says_nothing_too_late() {
    let branch = Branch::open().await;
    let (mut dana, subscription) = branch.listener(Road::WebSocket).await;
    let mut teller = branch.producer(Road::WebSocket).await;
    announce(&mut teller, &opening()).await;
    let (asked, _) = split(hear(&mut dana, 7).await);
    let token = asked["reply_token"].clone();
    let mut no = reply(&subscription, &token, "accept");
    no["modified_action"] = json!({ "amount": 50 });
    dana.send(no).await;
    let told = teller.next().await;
    assert_eq!((&told["decision"], &told["reply_token"]), (&json!("reject"), &json!(TOKEN)));
    assert_eq!(told["modified_action"], json!({ "amount": 50 }), "what they want instead");
    read_handshake(&told.to_string()).expect("a reply as the protocol has it");
    let path = format!("/aaep/v1/sessions/{SESSION}/decisions/{TOKEN}");
    let shown = ok(&branch.server.agent("teller"), Call::get(path)).await;
    assert_eq!(shown["modified_action"], json!({ "amount": 50 }), "{shown}");
    teller.send(transfer(8)).await;
    assert_eq!(teller.next().await["type"], "tasuki.refused");

    let mut again = asks(9);
    again["reply_token"] = "rpl_again".into();
    again["action"] = "Transfer $50".into();
    again["timeout_seconds"] = 1.into();
    teller.send(again.clone()).await;
    assert_eq!(teller.next().await["type"], "tasuki.recorded");
    let over = teller.next().await;
    assert_eq!(
        (&over["type"], &over["decision"]),
        (&json!("confirmation.reply"), &json!("reject"))
    );
    let ours = &over["extensions"]["tasuki"];
    assert_eq!((&ours["status"], &ours["session_id"]), (&json!("timed_out"), &json!(SESSION)));

    // A producer that reconnects and is not sure sends it again, and is told again.
    let mut back = branch.producer(Road::Unix).await;
    back.send(again).await;
    assert_eq!(back.next().await["type"], "tasuki.recorded");
    assert_eq!(back.next().await["extensions"], over["extensions"]);

    let mut asked = event(
        10,
        "awaiting.clarification",
        json!({
            "urgency": "critical", "question": "Which account?", "reply_token": "rpl_which",
            "timeout_seconds": 300, "accepted_response_kinds": ["freetext"],
        }),
    );
    asked["timestamp"] = "2026-05-24T14:23:00.000Z".into();
    back.send(asked).await;
    assert_eq!(back.next().await["type"], "tasuki.recorded");
    let token = loop {
        let heard = dana.next().await;
        if heard["type"] == "aaep:agent.awaiting.clarification" {
            break heard["reply_token"].clone();
        }
    };
    let mut answer = reply(&subscription, &token, "");
    answer["type"] = "clarification.reply".into();
    answer["response"] = "The blue one".into();
    answer["confidence"] = 0.5.into();
    answer.as_object_mut().expect("an object").remove("decision");
    dana.send(answer).await;
    let told = back.next().await;
    assert_eq!(
        (&told["reply_token"], &told["response"]),
        (&json!("rpl_which"), &json!("The blue one"))
    );
    assert_eq!((&told["confidence"], &told["decided_by"]), (&json!(0.5), &json!("agent:dana")));
}

#[tokio::test]
async fn a_clarification_without_an_answer_has_the_one_it_came_with() {
    let branch = Branch::open().await;
    let mut teller = branch.producer(Road::WebSocket).await;
    let default = json!({
        "urgency": "critical", "question": "Which account?", "reply_token": TOKEN,
        "timeout_seconds": 1, "default_response": "Savings",
    });
    let asks = event(2, "awaiting.clarification", default);
    teller.send(json!([event(1, "session.started", json!({})), asks])).await;
    assert_eq!(teller.next().await["type"], "tasuki.recorded");
    let told = teller.next().await;
    assert_eq!(
        (&told["type"], &told["response"]),
        (&json!("clarification.reply"), &json!("Savings"))
    );
    assert_eq!(told["extensions"]["tasuki"]["status"], "timed_out", "no listener answered");
    let path = format!("/aaep/v1/sessions/{SESSION}/decisions/{TOKEN}");
    let shown = ok(&branch.server.agent("teller"), Call::get(path)).await;
    assert_eq!((&shown["status"], &shown["response"]), (&json!("timed_out"), &json!("Savings")));
}

#[tokio::test]
async fn a_listener_goes_on_where_it_was() {
    let branch = Branch::open().await;
    let mut teller = branch.producer(Road::WebSocket).await;
    let mut dana = Peer::open(&branch, Road::WebSocket, &branch.dana).await;
    dana.send(request(json!({ "places": true }))).await;
    assert_eq!(dana.next().await["type"], "subscription.accepted");
    let start = dana.next().await;
    assert_eq!(start["type"], "tasuki.place", "a listener can resume before the first event");
    announce(&mut teller, &opening()[..3]).await;
    let mut early = Peer::open(&branch, Road::WebSocket, &branch.dana).await;
    early.send(request(json!({ "resume_after": start["resume_after"] }))).await;
    assert_eq!(early.next().await["type"], "subscription.accepted");
    assert_eq!(hear(&mut early, 3).await, opening()[..3]);
    let (mut place, mut last) = (Value::Null, Value::Null);
    while last != "evt_3" || place.is_null() {
        let heard = dana.next().await;
        match heard["type"] == "tasuki.place" {
            true => place = heard["resume_after"].clone(),
            false => (place, last) = (Value::Null, heard["event_id"].clone()),
        }
    }
    drop(dana);
    announce(&mut teller, &opening()[3..6]).await;
    for after in [place, json!("evt_3")] {
        let mut back = Peer::open(&branch, Road::Unix, &branch.dana).await;
        back.send(request(json!({ "resume_after": after }))).await;
        assert_eq!(back.next().await["type"], "subscription.accepted");
        let heard = hear(&mut back, 3).await;
        assert_eq!(heard, opening()[3..6], "after {after}");
    }
    let mut lost = Peer::open(&branch, Road::Stdio, &branch.dana).await;
    lost.send(request(json!({ "resume_after": "yesterday" }))).await;
    let refused = lost.next().await;
    assert_eq!(
        (&refused["code"], &refused["field"]),
        (&json!("cursor_invalid"), &json!("capabilities.tasuki.resume_after"))
    );
}
