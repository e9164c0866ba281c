//! Who may read a handoff, in every way to read one. The matrix is made from the table of
//! `docs/visibility.md`: each policy, for each role, in each way; a cell that the table does not
//! have fails the test. A run as a coordinator shows that a filter that lets everything through
//! would be noticed.

mod stage;
mod ways;

use std::sync::Arc;

use protocol::handoff;
use protocol::handoff::package::{Policy, Visibility};
use protocol::step::{Command, State};
use serde_json::{Value, json};
use tasuki::client::Call;

use self::stage::{Asks, ROLES, Stage};
use self::ways::WAYS;
use crate::server::{Server, act, initiate, offer, ok, refused};
use crate::support;

/// One row of the table: a policy, and the roles that may read a handoff under it.
#[derive(Debug)]
pub struct Row {
    visibility: Value,
    classification: String,
    /// One for each of [`ROLES`].
    cells: Vec<bool>,
}

impl Row {
    fn policy(&self, asks: Asks) -> Value {
        let mut policy = json!({ "classification": self.classification });
        if !self.visibility.is_null() {
            policy["visibility"] = self.visibility.clone();
        }
        if asks == Asks::Both {
            policy["requires_human_approval"] = json!(true);
            policy["requires_verifier"] = json!(true);
        }
        policy
    }

    /// Whether a role may read it. If the policy asks for neither, an approver counts as a human,
    /// and a verifier as a member.
    fn may_read(&self, role: &str, asks: Asks) -> bool {
        let column = match (role, asks) {
            ("approver", Asks::Neither) => "human",
            ("verifier", Asks::Neither) => "member",
            (role, _) => role,
        };
        let at = ROLES.iter().position(|known| *known == column).expect("a role of the table");
        self.cells[at]
    }
}

/// The table of the page.
fn table() -> Vec<Row> {
    let page = include_str!("../../../../docs/visibility.md");
    let mut lines = page.lines().skip_while(|line| !line.starts_with("| `visibility`"));
    let words = |line: &str| -> Vec<String> {
        let cells = line.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().trim_matches('`').to_owned()).collect()
    };
    let head = words(lines.next().expect("the page has the table"));
    assert_eq!(head[2..], ROLES, "the columns of docs/visibility.md");
    let rows = lines.skip(1).take_while(|line| line.starts_with('|')).map(|line| {
        let cells = words(line);
        let visibility = match cells[0].as_str() {
            "absent" => Value::Null,
            visibility => json!(visibility),
        };
        let read = |cell: &String| match cell.as_str() {
            "yes" => true,
            "no" => false,
            other => panic!("neither yes nor no: {other}"),
        };
        let cells: Vec<bool> = cells[2..].iter().map(read).collect();
        Row { visibility, classification: words(line)[1].clone(), cells }
    });
    rows.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_role_reads_what_the_table_says_in_every_way() {
    let rows = table();
    // Three values or none for the visibility, two for the classification; one pair is refused.
    assert_eq!(rows.len(), 7, "every policy that can be proposed has a row");
    let stage = Stage::set(&rows).await;
    let (wrong, n_cells, n_closed) = stage.judge(&rows, |role| role).await;
    assert!(wrong.is_empty(), "{} of {n_cells} cells:\n{}", wrong.len(), wrong.join("\n"));
    println!("{n_cells} cells, {n_closed} of them closed, {} ways", WAYS.len());

    // A filter that lets everything through: every role sees what a coordinator sees.
    let (noticed, _, _) = stage.judge(&rows, |_| "coordinator").await;
    assert_eq!(noticed.len(), n_closed, "{}", noticed.join("\n"));
}

/// Pages stay full, whatever hidden rows lie between, and end.
#[tokio::test]
async fn a_list_is_paged_past_what_its_reader_may_not_see() {
    let server = Server::start();
    let (alice, _bob, mia) = (server.agent("alice"), server.agent("bob"), server.agent("mia"));
    let mut open = Vec::new();
    for number in 0..40 {
        let mut offer = offer(&format!("T-{number}"), "bob");
        if number % 10 != 0 {
            offer["policy"] = json!({ "visibility": "private" });
        }
        let made = ok(&alice, Call::post("/v1/handoffs", offer)).await;
        if number % 10 == 0 {
            open.push(made["handoff_id"].clone());
        }
    }
    open.reverse();
    let mut seen = Vec::new();
    let (mut cursor, mut n_pages) = (String::new(), 0);
    loop {
        let page = ok(&mia, Call::get(format!("/v1/handoffs?limit=2{cursor}"))).await;
        let items = page["items"].as_array().expect("a list");
        seen.extend(items.iter().map(|item| item["handoff_id"].clone()));
        n_pages += 1;
        let Some(next) = page["next_cursor"].as_str() else { break };
        assert_eq!(items.len(), 2, "a page with a next one is full");
        cursor = format!("&cursor={next}");
    }
    assert_eq!(seen, open);
    assert!(n_pages <= 3, "{n_pages} pages");
}

/// A counter-offer can restrict its readers; only a human can widen them.
#[tokio::test]
async fn a_counter_offer_changes_who_reads_it() {
    let server = Server::start();
    let (alice, bob, mia) = (server.agent("alice"), server.agent("bob"), server.agent("mia"));
    let hana = server.with_token(&server.token("hana", &["--kind", "human"]));
    let id = initiate(&alice, "T-1", "bob").await;
    let show = || Call::get(format!("/v1/handoffs/{id}"));
    let reject = json!({ "reason": "other", "detail": "not like this" });
    ok(&mia, show()).await;
    act(&bob, &id, "reject", reject.clone()).await;
    act(&alice, &id, "counter", json!({ "policy": { "visibility": "private" } })).await;
    assert_eq!(refused(&mia, show()).await.status, 404);
    act(&bob, &id, "reject", reject).await;
    act(&alice, &id, "counter", json!({ "policy": { "visibility": null } })).await;
    assert_eq!(refused(&mia, show()).await.status, 404);
    assert_eq!(act(&bob, &id, "accept", json!({})).await["status"], "validating");
    let waiting = ok(&hana, show()).await;
    let difference = json!([{ "field": "policy.visibility", "before": "private" }]);
    assert_eq!(waiting["differences"], difference);
    assert_eq!(waiting["approval"], "wanted");
    act(&hana, &id, "approve", json!({})).await;
    ok(&mia, show()).await;
}

/// Earlier releases did not record the readers of a handoff; its package names them.
#[tokio::test]
async fn a_handoff_of_an_earlier_release_is_read_by_its_package() {
    let (engine, _clock) = support::engine_on(Arc::new(store::Memory::default()));
    support::register(&engine, &["alice", "bob", "mia"]).await;
    let policies = [(None, true), (Some(Visibility::Private), false)];
    for (number, (visibility, may_read)) in policies.into_iter().enumerate() {
        let mut offer = support::offer("bob", &format!("T-{number}"));
        offer.policy = Some(Policy { visibility, ..Policy::default() });
        let stream = support::handoff_stream(engine.new_handoff_id());
        let command = handoff::Command::Initiate { offer: Some(Box::new(offer)) };
        let command = Command::Handoff(command);
        engine.submit(&support::agent("alice"), stream.clone(), command, None).await.unwrap();
        let state = engine.read().current(&stream).await.unwrap().expect("it was proposed");
        let mut old = serde_json::to_value(state.as_ref()).unwrap();
        let terms = old.pointer_mut("/Handoff/Made/terms").expect("the terms");
        assert!(terms.as_object_mut().unwrap().remove("readers").is_some());
        let old: State = serde_json::from_value(old).unwrap();
        for (name, expected) in [("alice", true), ("bob", true), ("mia", may_read)] {
            let seen =
                engine.access().may_read(&support::agent(name), &stream, &old).await.unwrap();
            assert_eq!(seen, expected, "{visibility:?} by {name}");
        }
    }
}
