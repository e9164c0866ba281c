//! What the customer of a conversation waits for, as each reader sees it.

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use super::{Desk, act};
use crate::server::ok;

/// What the conversation says, alone and in the list.
async fn waits(desk: &Desk, reader: &Client) -> Value {
    ok(reader, Call::get(desk.path(""))).await["waiting_for"].clone()
}

fn brief(wait: &Value) -> Value {
    let wait = &wait[0];
    json!([wait["who"], wait["for"], wait["until"].is_string(), wait["then"]])
}

#[tokio::test]
async fn a_conversation_says_for_whom_its_customer_waits() {
    let desk = Desk::open(json!({ "mode": "pick", "reply_target": "10m" })).await;
    let hana = desk.person("hana").await;
    assert_eq!(waits(&desk, &desk.bob).await, Value::Null);

    desk.say(&desk.customer, "my bill is wrong", None).await;
    let inside = json!(["agent:bob", ["answer"], true, "falls_back"]);
    let outside = json!(["agent", [], true, "falls_back"]);
    for (reader, expected) in
        [(&desk.bob, &inside), (&desk.operator, &inside), (&desk.customer, &outside)]
    {
        assert_eq!(brief(&waits(&desk, reader).await), *expected);
    }
    let listed = ok(&desk.bob, Call::get("/v1/conversations")).await;
    assert_eq!(brief(&listed["items"][0]["waiting_for"]), inside);

    let transfer = desk.request(&desk.bob, json!({ "epoch": 1 })).await;
    let waiting = waits(&desk, &desk.bob).await;
    assert_eq!(waiting, transfer["waiting_for"], "as the transfer says it");
    assert_eq!(brief(&waiting), json!(["queue:default", ["pickup"], true, "fails"]));
    assert!(waiting[0]["since"].is_string(), "{waiting}");
    let path = format!("/v1/transfers/{}", transfer["transfer_id"].as_str().expect("an id"));
    let of_transfer = ok(&desk.customer, Call::get(path)).await["waiting_for"].clone();
    assert_eq!(waits(&desk, &desk.customer).await, of_transfer);

    act(&hana, &transfer, "pickup", json!({ "epoch": 2, "accept": true })).await;
    let inside = json!(["agent:hana", ["answer"], true, "reminds"]);
    assert_eq!(brief(&waits(&desk, &hana).await), inside);
    // The name of a colleague, and when they are reminded, is not for customers.
    let outside = json!(["person", [], false, "nothing"]);
    assert_eq!(brief(&waits(&desk, &desk.customer).await), outside);
    desk.say(&hana, "I look into it", Some(3)).await;
    assert_eq!(waits(&desk, &hana).await, Value::Null);
}
