//! Everybody wants the same customer at once.

use serde_json::json;

use super::{Desk, path};
use crate::concurrency::{all_at_once, tally};
use crate::server::raise_open_files;
use crate::wire::Request;

const COCKPITS: usize = 200;

#[tokio::test(flavor = "multi_thread")]
async fn of_all_who_pick_up_at_once_one_has_it_and_the_others_learn_who() {
    raise_open_files();
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let transfer = desk.request(&desk.customer, json!({})).await;
    let mut tokens = Vec::new();
    for number in 0..COCKPITS {
        let name = format!("person-{number}");
        let body = json!({ "agent": name, "kind": "human" });
        let issued = tasuki::client::Call::post("/v1/tokens", body);
        let issued = crate::server::ok(&desk.operator, issued).await;
        tokens.push(issued["token"].as_str().expect("a token").to_owned());
    }
    let pickup = format!("POST {}", path(&transfer, "pickup"));
    let pickup = |token: &String| {
        Request::new(&pickup).token(token).json(&json!({ "epoch": 2, "accept": true }))
    };
    let answers = all_at_once(desk.server.address(), tokens.iter().map(pickup).collect()).await;
    let expected =
        [("200 ".to_owned(), 1), ("409 HANDOFF_ALREADY_CLAIMED".to_owned(), COCKPITS - 1)];
    assert_eq!(tally(&answers), expected.into_iter().collect());
    let winner = answers.iter().find(|answer| answer.status == 200).expect("one has it").json();
    let name = &winner["agent"]["agentId"];
    assert_eq!(&winner["holder"], name);
    for answer in answers.iter().filter(|answer| answer.status != 200) {
        assert_eq!(&answer.json()["claimed_by"], name);
    }
}
