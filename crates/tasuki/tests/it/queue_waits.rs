//! What waits in a queue, and what rings there: the figures are about the same customers.

use serde_json::{Value, json};
use tasuki::client::Call;

use crate::server::ok;
use crate::transfers::{Desk, act};

/// What rings for a person does not wait: neither figure counts it.
#[tokio::test]
async fn a_queue_counts_those_who_wait_and_not_those_who_ring() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let hana = desk.person("hana").await;
    let transfer = desk.request(&desk.customer, json!({})).await;
    let figures = async || {
        let queue = ok(&hana, Call::get("/v1/queues/default")).await;
        let listed = ok(&hana, Call::get("/v1/queues")).await["items"][0].clone();
        for figure in ["n_waiting", "longest_wait"] {
            assert_eq!(queue[figure].is_null(), listed[figure].is_null(), "{figure}");
        }
        (queue["n_waiting"].clone(), queue["longest_wait"].is_string())
    };
    assert_eq!(figures().await, (json!(1), true));
    act(&hana, &transfer, "pickup", json!({ "epoch": 2 })).await;
    assert_eq!(figures().await, (json!(0), false));
    act(&hana, &transfer, "decline", json!({ "epoch": 2 })).await;
    assert_eq!(figures().await, (json!(1), true));
}

/// A queue shows each setting, also one that was never set.
#[tokio::test]
async fn settings_at_their_default_are_shown() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let queue = ok(&desk.operator, Call::get("/v1/queues/default")).await;
    let settings = &queue["settings"];
    assert_eq!((&settings["rings"], &settings["target"]), (&json!(20), &json!("20s")));
    assert_eq!(settings["hours"], Value::Null);
}
