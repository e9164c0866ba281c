//! `POST /v1/handoffs/detect` finds in a history what happened in the conversation.

use protocol::tools::Form;
use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use super::history::story;
use super::turn;
use crate::server::ok;

async fn detected(who: &Client, body: Value) -> Value {
    ok(who, Call::post("/v1/handoffs/detect", body)).await
}

#[tokio::test]
async fn the_handoffs_of_a_history_are_found_over_the_api() {
    let (desk, hana) = story().await;
    let before = ok(&desk.operator, Call::get(desk.path(""))).await;
    for form in Form::ALL {
        let path = desk.path(&format!("/history?form={}", form.as_str()));
        let messages = ok(&desk.bob, Call::get(path)).await["messages"].clone();
        for (who, given) in [(&desk.bob, Some(form.as_str())), (&hana, None)] {
            let mut body = json!({ "messages": messages });
            if let Some(given) = given {
                body["form"] = given.into();
            }
            let shown = detected(who, body).await;
            assert_eq!((&shown["form"], &shown["ok"]), (&json!(form), &json!(true)), "{shown}");
            assert_eq!(shown["problems"], json!([]));
            let found = shown["handoffs"].as_array().expect("handoffs").iter();
            let found = found.map(|it| [&it["to"], &it["outcome"], &it["direction"]]);
            let found: Vec<String> =
                found.map(|words| words.map(|it| it.as_str().unwrap_or("?")).join(" ")).collect();
            let expected = ["human accepted forth", "hana accepted forth", "bob accepted back"];
            assert_eq!(found, expected, "{form:?}");
        }
    }
    assert_eq!(ok(&desk.operator, Call::get(desk.path(""))).await, before, "it changes nothing");

    // A call without its result, with characters that other requests may not have.
    let asks = turn("responses", "\u{202e}", "transfer_to_billing", json!({ "reason": "late" }));
    let items = json!([asks["output"][1], asks["output"][2]]);
    let shown = detected(&desk.bob, json!({ "form": "responses", "messages": items })).await;
    assert_eq!(
        (&shown["ok"], &shown["problems"][0]["rule"]),
        (&json!(false), &json!("unanswered"))
    );
    let found = &shown["handoffs"][0];
    assert_eq!((&found["to"], &found["outcome"]), (&json!("billing"), &json!("unanswered")));
    assert_eq!((&found["index"], &found["reason"]), (&json!(1), &json!("late")));
}
