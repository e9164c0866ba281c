//! The bundle that a person gets in advance: the newest is shown, each can be read by its id, and a
//! blind transfer brings none.

use protocol::narrator::texts::Message;
use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use super::{Desk, act};
use crate::server::{ok, refused};

async fn shown(who: &Client, transfer: &Value) -> Value {
    let id = transfer["transfer_id"].as_str().expect("an id");
    ok(who, Call::get(format!("/v1/transfers/{id}"))).await
}

/// The lines of the transcript that tell of a transfer.
async fn parts(desk: &Desk, who: &Client) -> Vec<Value> {
    let page = ok(who, Call::get(desk.path("/messages?limit=200"))).await;
    let lines = page["items"].as_array().expect("a page").iter();
    let parts = lines.map(|line| line["parts"][0].clone());
    parts.filter(|part| part["type"] == "agent-transfer").collect()
}

/// The last step from person to person, in the export.
async fn passed_on(desk: &Desk) -> Value {
    let response =
        desk.operator.open(&Call::get(desk.path("/export")), &[]).await.expect("an answer");
    let body = http_body_util::BodyExt::collect(response.into_body()).await.expect("it is whole");
    let text = String::from_utf8(body.to_bytes().to_vec()).expect("text");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let passed = lines.filter_map(|line| line.get("passed_on").cloned());
    passed.collect::<Vec<_>>().pop().expect("a person passed it on")
}

fn bundle(id: &Value) -> Call {
    Call::get(format!("/v1/bundles/{}", id.as_str().expect("an id")))
}

#[tokio::test]
async fn what_a_warm_transfer_takes_along_is_there_after_the_accept() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let (hana, ivan) = (desk.person("hana").await, desk.person("ivan").await);
    let first = json!({ "epoch": 1, "reason": "a refund", "context": { "summary": "by bob" } });
    let transfer = desk.request(&desk.bob, first).await;
    act(&hana, &transfer, "pickup", json!({ "epoch": 2, "accept": true })).await;
    let second = json!({ "to": "ivan", "type": "warm", "reason": "tax", "epoch": 3,
                         "context": { "summary": "by hana", "warm_context": { "bill": 7 } } });
    let asked = act(&hana, &transfer, "transfer", second).await;
    assert_eq!((&asked["leg"]["reason"], &asked["reason"]), (&json!("tax"), &json!("a refund")));
    assert_eq!(asked["bundle"]["transcriptSummary"], "by bob");
    act(&ivan, &transfer, "accept", json!({ "epoch": 3 })).await;

    let seen = shown(&ivan, &transfer).await;
    assert_eq!((&seen["type"], &seen["reason"]), (&json!("warm"), &json!("tax")));
    let newest = &seen["bundle"];
    assert_eq!(newest["transcriptSummary"], "by hana");
    assert_eq!((&newest["reason"], &newest["warmContext"]), (&json!("tax"), &json!({ "bill": 7 })));

    // Each bundle that the transcript names can be read by the participants, and by no other agent.
    let named: Vec<_> =
        parts(&desk, &ivan).await.into_iter().map(|it| it["bundleId"].clone()).collect();
    assert_eq!(named.len(), 3, "requested, hana, ivan");
    let mut summaries = Vec::new();
    for id in &named {
        let read = ok(&ivan, bundle(id)).await;
        assert_eq!(read["bundleId"], *id);
        summaries.push(read["transcriptSummary"].clone());
    }
    assert_eq!(summaries, ["by bob", "by bob", "by hana"]);
    assert_eq!(ok(&ivan, bundle(&named[2])).await, *newest);
    let stranger = desk.server.agent("zoe");
    assert_eq!(refused(&stranger, bundle(&named[2])).await.status, 404);
    assert_eq!(refused(&desk.customer, bundle(&named[2])).await.status, 403);
    for wrong in ["x", "01938c2e-0000-7000-9000-000000000001-0"] {
        assert_eq!(refused(&ivan, bundle(&json!(wrong))).await.status, 404, "{wrong}");
    }
    let id = transfer["transfer_id"].as_str().expect("an id");
    for wrong in [format!("{id}-2"), format!("{id}-00"), id.to_owned()] {
        assert_eq!(refused(&ivan, bundle(&json!(wrong))).await.status, 404, "{wrong}");
    }

    // The export has the step as well.
    let passed = passed_on(&desk).await;
    assert_eq!((&passed["by"], &passed["reason"]), (&json!("hana"), &json!("tax")), "{passed}");
    assert_eq!(passed["bundle"], *newest);

    // It still exists when the transfer is over and another one has replaced it.
    act(&ivan, &transfer, "complete", json!({ "epoch": 4 })).await;
    desk.request(&desk.bob, json!({ "epoch": 5 })).await;
    assert_eq!(ok(&ivan, bundle(&named[2])).await["transcriptSummary"], "by hana");
    for (who, is_told) in [(&ivan, true), (&desk.customer, true), (&stranger, false)] {
        let gone = refused(who, Call::get(format!("/v1/transfers/{id}"))).await;
        let points_on = gone.body.to_string().contains("/messages");
        assert_eq!((gone.status, points_on), (404, is_told), "{gone:?}");
    }
    // An erased message may have been in it.
    let erase = json!({ "position": 2, "reason": "asked" });
    ok(&desk.operator, Call::post(desk.path("/erase"), erase)).await;
    assert_eq!(refused(&ivan, bundle(&named[2])).await.status, 404);
}

#[tokio::test]
async fn what_is_passed_on_blindly_is_told_as_that() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let (hana, ivan) = (desk.person("hana").await, desk.person("ivan").await);
    let asked = json!({ "epoch": 1, "reason": "a refund", "context": { "summary": "by bob" } });
    let transfer = desk.request(&desk.bob, asked).await;
    act(&hana, &transfer, "pickup", json!({ "epoch": 2, "accept": true })).await;
    let blind = json!({ "to": "default", "type": "blind", "reason": "lunch", "epoch": 3 });
    let waiting = act(&hana, &transfer, "transfer", blind).await;
    assert_eq!((&waiting["type"], &waiting["reason"]), (&json!("blind"), &json!("lunch")));
    assert_eq!(waiting["bundle"], Value::Null);
    act(&ivan, &transfer, "pickup", json!({ "epoch": 4, "accept": true })).await;
    let parts = parts(&desk, &ivan).await;
    let last = parts.last().expect("ivan is there");
    assert_eq!((&last["status"], &last["transferType"]), (&json!("connected"), &json!("blind")));
    assert_eq!(
        (&last["bundleId"], &last["targetAgent"]["agentId"]),
        (&Value::Null, &json!("ivan"))
    );
    assert_eq!(parts[1]["transferType"], "bot_to_human", "as it was for hana");
    let seen = shown(&ivan, &transfer).await;
    assert_eq!((&seen["type"], &seen["bundle"]), (&json!("blind"), &Value::Null));
    assert_eq!(passed_on(&desk).await, json!({ "by": "hana", "reason": "lunch" }));
}

/// The reason of a step is for members. The customer gets the text meant for them, or a sentence of
/// ours.
#[tokio::test]
async fn each_reader_learns_why_another_person_takes_over() {
    let sentence = Message::TransferPassedOn { from: "hana", to: "ivan" }.in_language("en").normal;
    let sentence = Some(sentence.as_str());
    for (customer_text, told) in [(Some("Ivan may refund more."), None), (None, sentence)] {
        let desk = Desk::open(json!({ "mode": "pick" })).await;
        let (hana, ivan) = (desk.person("hana").await, desk.person("ivan").await);
        let first = json!({ "epoch": 1, "reason": "a refund", "customer_text": "Hana can help." });
        let transfer = desk.request(&desk.bob, first).await;
        act(&hana, &transfer, "pickup", json!({ "epoch": 2, "accept": true })).await;
        let mut second = json!({ "to": "ivan", "type": "warm", "reason": "tax", "epoch": 3 });
        if let Some(text) = customer_text {
            second["customer_text"] = text.into();
        }
        act(&hana, &transfer, "transfer", second).await;
        act(&ivan, &transfer, "accept", json!({ "epoch": 3 })).await;

        let arrival = parts(&desk, &ivan).await.pop().expect("it is told");
        assert_eq!((&arrival["reason"], &arrival["reasonBy"]), (&json!("tax"), &json!("agent")));
        let inside = shown(&hana, &transfer).await;
        assert_eq!(inside["customer_text"].as_str(), customer_text, "{inside}");
        let told = told.or(customer_text).expect("one of the two");
        let arrival = parts(&desk, &desk.customer).await.pop().expect("it is told");
        assert_eq!(arrival["reason"], told, "{arrival}");
        assert_eq!(shown(&desk.customer, &transfer).await["reason"], told);
    }
}

/// A customer who is passed on to a queue waits again, and is told so at once, as when a bot asks
/// for a person: once, and not again when the next person answers.
#[tokio::test]
async fn a_blind_step_tells_the_customer_at_once() {
    let sentence = Message::TransferRequested { queue: "default" }.in_language("en").normal;
    for (given, told) in
        [(Some("A colleague is asked."), "A colleague is asked."), (None, &sentence)]
    {
        let desk = Desk::open(json!({ "mode": "pick" })).await;
        let (hana, ivan) = (desk.person("hana").await, desk.person("ivan").await);
        let transfer = desk.request(&desk.bob, json!({ "epoch": 1, "reason": "a refund" })).await;
        act(&hana, &transfer, "pickup", json!({ "epoch": 2, "accept": true })).await;
        let mut second = json!({ "to": "default", "type": "blind", "reason": "tax", "epoch": 3 });
        if let Some(text) = given {
            second["customer_text"] = text.into();
        }
        act(&hana, &transfer, "transfer", second).await;

        let waits = parts(&desk, &desk.customer).await.pop().expect("it is told");
        assert_eq!((&waits["status"], &waits["reason"]), (&json!("queued"), &json!(told)));
        assert_eq!(waits["fromAgent"]["agentId"], "hana");
        assert_eq!(shown(&desk.customer, &transfer).await["reason"], told);
        let inside = parts(&desk, &desk.operator).await.pop().expect("it is told");
        assert_eq!((&inside["reason"], &inside["reasonBy"]), (&json!("tax"), &json!("agent")));
        assert_eq!(inside["customerText"].as_str(), given, "{inside}");

        act(&ivan, &transfer, "pickup", json!({ "epoch": 4, "accept": true })).await;
        let arrival = parts(&desk, &desk.customer).await.pop().expect("it is told");
        let of_arrival = (&arrival["status"], arrival.get("reason"));
        assert_eq!(of_arrival, (&json!("connected"), None), "{arrival}");
        let arrival = parts(&desk, &ivan).await.pop().expect("it is told");
        assert_eq!((&arrival["reason"], arrival.get("customerText")), (&json!("tax"), None));
    }
}

/// A bot that has the conversation later reads the reasons of people in the calls, as those of
/// bots, and never their notes.
#[tokio::test]
async fn the_reasons_of_people_are_in_the_history_of_the_next_bot() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let (hana, ivan) = (desk.person("hana").await, desk.person("ivan").await);
    let transfer = desk.request(&desk.bob, json!({ "epoch": 1, "reason": "a refund" })).await;
    act(&hana, &transfer, "pickup", json!({ "epoch": 2, "accept": true })).await;
    act(&hana, &transfer, "note", json!({ "epoch": 3, "text": "a difficult customer" })).await;
    let blind = json!({ "to": "default", "type": "blind", "reason": "tax", "epoch": 3,
                        "customer_text": "A colleague is asked." });
    act(&hana, &transfer, "transfer", blind).await;
    act(&ivan, &transfer, "pickup", json!({ "epoch": 4, "accept": true })).await;
    let warm = json!({ "to": "hana", "type": "warm", "reason": "lunch", "epoch": 5 });
    act(&ivan, &transfer, "transfer", warm).await;
    act(&hana, &transfer, "accept", json!({ "epoch": 5 })).await;
    act(&hana, &transfer, "complete", json!({ "epoch": 6 })).await;

    let history = ok(&desk.bob, Call::get(desk.path("/history?form=responses"))).await;
    let messages = history["messages"].as_array().expect("a history").iter();
    let calls = messages.filter(|it| it["type"] == "function_call").map(|it| {
        let given: Value = it["arguments"].as_str().expect("a text").parse().expect("JSON");
        json!([it["name"], given])
    });
    assert_eq!(
        Value::from_iter(calls),
        json!([
            ["transfer_to_human", { "reason": "a refund", "queue": "default" }],
            ["transfer_to_hana", {}],
            ["transfer_to_human", { "reason": "tax", "queue": "default" }],
            ["transfer_to_ivan", {}],
            ["transfer_to_hana", { "reason": "lunch" }],
            ["transfer_back_to_bob", {}],
        ])
    );
    let text = history.to_string();
    assert!(!text.contains("difficult") && !text.contains("colleague is asked"), "{text}");
}
