//! Many people want the same customer at once.

use protocol::agent::Presence;
use protocol::time::Span;
use protocol::transfer::command::Act;
use serde_json::json;
use store::Sqlite;

use super::clocked::Clocked;
use super::{Desk, path};
use crate::concurrency::{all_at_once, tally};
use crate::server::{is_full_run, raise_open_files, seed};
use crate::support::{Random, agent};
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
        let there = json!({ "presence": "available" });
        let there = tasuki::client::Call::put(format!("/v1/agents/{name}/presence"), there);
        crate::server::ok(&desk.operator, there).await;
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

/// Whichever comes first: no customer is left with a person who is gone.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_answers_while_leaving_keeps_nobody() {
    let n_rounds = if is_full_run() { 2_000 } else { 150 };
    let mut random = Random::from_seed(seed("transfers::races"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let desk = Clocked::open(Sqlite::open(folder.path()).expect("a new database")).await;
    let moment = Span::from_millis(0);
    let mut n_answered = 0;
    for round in 0..n_rounds {
        desk.say(Presence::Available).await;
        assert!(desk.after(moment).await.starts_with("ringing default"), "{round}");
        let (leaving, n_yields) = (desk.clone(), random.below(3_000));
        let leaving = tokio::spawn(async move {
            leaving.say(Presence::Offline).await;
            leaving.engine.queues().dispatch_due().await.expect("the store works");
        });
        let answering = desk.clone();
        let answering = tokio::spawn(async move {
            for _ in 0..n_yields {
                tokio::task::yield_now().await;
            }
            answering.does(&agent("hana"), Act::Accept).await
        });
        leaving.await.expect("she leaves");
        n_answered += usize::from(answering.await.expect("she answers"));
        let stands = desk.after(moment).await;
        assert!(stands.starts_with("queued default"), "{stands}, round {round}");
        assert!(desk.does(&desk.customer, Act::Cancel { reason: None }).await);
        desk.request().await;
    }
    println!("she answered in time in {n_answered} of {n_rounds} rounds");
}
