//! Promise 1: at most one active handoff per task, under any race. Many callers, each with a
//! connection that is open before the first of them sends.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use tasuki::client::Call;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::hidden_places;
use crate::server::{Server, initiate, is_full_run, offer, ok, raise_open_files};
use crate::sse::whole_ledger;
use crate::wire::{Answer, Line, Request};

const SENDERS: usize = 20;

#[tokio::test(flavor = "multi_thread")]
async fn of_all_who_hand_over_one_task_at_once_exactly_one_succeeds() {
    raise_open_files();
    let n_callers = if is_full_run() { 1_000 } else { 300 };
    let server = Server::start();
    let root = server.with_token(&server.token("root", &["--kind", "operator"]));
    let mut tokens = Vec::new();
    for number in 0..SENDERS {
        let body = json!({ "agent": format!("sender-{number}") });
        let issued = ok(&root, Call::post("/v1/tokens", body)).await;
        tokens.push(issued["token"].as_str().unwrap().to_owned());
    }
    server.agent("target");
    let newest = hidden_places::newest();
    let requests = (0..n_callers).map(|caller| {
        let token = &tokens[caller % SENDERS];
        Request::new("POST /v1/handoffs").token(token).json(&offer("T-1", "target"))
    });
    let answers = all_at_once(server.address(), requests.collect()).await;

    let expected = BTreeMap::from([("201 ".to_owned(), 1), (conflict(), n_callers - 1)]);
    assert_eq!(tally(&answers), expected);
    let winner = answers.iter().find(|answer| answer.status == 201).unwrap();
    let winner = winner.json()["handoff_id"].clone();
    for answer in answers.iter().filter(|answer| answer.status != 201) {
        assert_eq!(answer.json()["active_handoff_id"], winner, "{:?}", answer.json());
    }
    let listed = ok(&root, Call::get("/v1/handoffs?task_id=T-1")).await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    assert_eq!(listed["items"][0]["handoff_id"], winner);
    let ledger = whole_ledger(&root, "&kind=handoff").await;
    assert_eq!(ledger.len(), 1, "{ledger:?}");
    assert_eq!(hidden_places::newest(), newest + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_all_who_accept_one_handoff_at_once_exactly_one_succeeds() {
    raise_open_files();
    let server = Server::start();
    let alice = server.agent("alice");
    let bob = server.token("bob", &[]);
    let id = initiate(&alice, "T-1", "bob").await;
    let accept = Request::new(&format!("POST /v1/handoffs/{id}/accept")).token(&bob);
    let answers = all_at_once(server.address(), vec![accept.json(&json!({})); 100]).await;
    let expected = BTreeMap::from([("200 ".to_owned(), 1), ("409 wrong_state".to_owned(), 99)]);
    assert_eq!(tally(&answers), expected);
    let entries = whole_ledger(&alice, &format!("&stream=handoff/{id}")).await;
    assert_eq!(entries.len(), 3, "proposed, validation started, accepted");
}

fn conflict() -> String {
    "409 ownership_conflict".to_owned()
}

/// Sends each request on its own connection, all of them once all connections are open.
pub async fn all_at_once(address: &str, requests: Vec<Request>) -> Vec<Answer> {
    let start = Arc::new(Barrier::new(requests.len()));
    let mut callers = JoinSet::new();
    for request in requests {
        let (start, address) = (Arc::clone(&start), address.to_owned());
        callers.spawn(async move {
            let mut line = Line::open(&address).await;
            start.wait().await;
            line.ask(&request).await
        });
    }
    callers.join_all().await
}

pub fn tally(answers: &[Answer]) -> BTreeMap<String, usize> {
    let mut tally = BTreeMap::new();
    for answer in answers {
        let body = answer.json();
        let outcome = format!("{} {}", answer.status, body["code"].as_str().unwrap_or_default());
        *tally.entry(outcome).or_default() += 1;
    }
    tally
}
