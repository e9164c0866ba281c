//! A customer is called back instead of waiting: requested, shown to the people of the queue, and
//! settled by one of them.

use serde_json::{Value, json};
use tasuki::client::Call;

use crate::server::{ok, refused};
use crate::transfers::{Desk, act};

/// A queue that is never open.
fn closed() -> Value {
    json!({ "hours": { "utc_offset_minutes": 0 } })
}

#[tokio::test]
async fn nobody_is_there_so_somebody_calls() {
    let desk = Desk::open(closed()).await;
    let hana = desk.person("hana").await;
    let asked = Call::post(desk.path("/transfers"), json!({ "epoch": 1 }));
    assert_eq!(refused(&desk.bob, asked).await.body["code"], "queue_closed");
    let body = json!({
        "contact": "+34 600 000 000", "note": "a wrong bill", "epoch": 1,
        "not_before": "2026-01-01T09:00:00Z",
    });
    let asked = ok(&desk.bob, Call::post(desk.path("/callbacks"), body)).await;
    assert_eq!((&asked["queue"], &asked["note"]), (&json!("default"), &json!("a wrong bill")));
    let again = Call::post(desk.path("/callbacks"), json!({ "contact": "x" }));
    assert_eq!(refused(&desk.customer, again).await.body["code"], "already_exists");

    // The bot still has it; the customer sees that a call is planned, but not the note.
    let seen = ok(&desk.customer, Call::get(desk.path(""))).await;
    assert_eq!((&seen["holder"], &seen["epoch"]), (&json!("bob"), &json!(1)));
    assert_eq!(seen["callback"]["contact"], "+34 600 000 000");
    assert!(!seen.to_string().contains("a wrong bill"), "{seen}");
    let queue = ok(&hana, Call::get("/v1/queues/default")).await;
    assert_eq!(queue["callbacks"], json!([asked]));
    let of_bob = ok(&desk.bob, Call::get("/v1/queues/default")).await;
    assert_eq!(of_bob["callbacks"], Value::Null);

    // The chat may end before the call.
    ok(&desk.customer, Call::post(desk.path("/close"), json!({}))).await;
    let done = || Call::post(desk.path("/callbacks/done"), json!({ "outcome": "reached" }));
    assert_eq!(refused(&desk.bob, done()).await.body["code"], "not_allowed");
    assert_eq!(refused(&desk.customer, done()).await.body["code"], "not_allowed");
    assert_eq!(ok(&hana, done()).await["outcome"], "reached");
    assert_eq!(refused(&desk.operator, done()).await.body["code"], "not_found");
    let queue = ok(&hana, Call::get("/v1/queues/default")).await;
    assert_eq!(queue["callbacks"], json!([]));
}

#[tokio::test]
async fn whoever_does_not_want_to_wait_is_called() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let hana = desk.person("hana").await;
    let transfer = desk.request(&desk.customer, json!({})).await;
    act(&hana, &transfer, "pickup", json!({ "epoch": 2 })).await;
    let ask = Call::post(desk.path("/callbacks"), json!({ "contact": "ana@example.com" }));
    let asked = ok(&desk.customer, ask).await;
    assert_eq!((&asked["queue"], &asked["asked_by"]), (&json!("default"), &Value::Null));
    let seen = ok(&desk.bob, Call::get(desk.path(""))).await;
    assert_eq!((&seen["holder"], &seen["transfer_status"]), (&json!("bob"), &json!("cancelled")));
    // The customer gave no reason, and none is invented for them.
    let page = ok(&desk.bob, Call::get(desk.path("/messages?limit=200"))).await;
    let over = page["items"].as_array().expect("a page").iter().map(|it| &it["parts"][0]);
    let over = over.filter(|part| part["status"] == "cancelled").collect::<Vec<_>>();
    assert_eq!((over.len(), &over[0]["reason"]), (1, &Value::Null), "{page}");
    let queue = ok(&hana, Call::get("/v1/queues/default")).await;
    assert_eq!((&queue["n_waiting"], &queue["waiting"]), (&json!(0), &json!([])));
    assert_eq!(queue["callbacks"][0]["contact"], "ana@example.com");

    // An erasure removes the contact too, here and in the record.
    let erase = json!({ "position": 6, "reason": "asked for" });
    ok(&desk.operator, Call::post(desk.path("/erase"), erase)).await;
    let queue = ok(&hana, Call::get("/v1/queues/default")).await;
    assert_eq!(queue["callbacks"][0]["contact"], Value::Null, "{queue}");
    let stream = format!("&stream=conversation/{}", desk.conversation);
    let record = crate::sse::whole_ledger(&desk.operator, &stream).await;
    assert!(!format!("{record:?}").contains("ana@example.com"), "{record:?}");
}
