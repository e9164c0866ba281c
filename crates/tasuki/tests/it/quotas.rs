//! Quotas over HTTP: what is refused when one is reached, what makes room again, and what passes
//! all the same. Customers, members and teamspaces do not use up each other's shares.

mod disk;
mod open_things;
mod usage;

use serde_json::{Value, json};
use tasuki::client::{Answer, Call, Client};

use crate::server::{Server, act, initiate, offer, ok, refused};
use crate::wire::Request;
use crate::ws::socket::Socket;

/// A server with these quotas.
fn server_with(quotas: &[(&str, u32)]) -> (Server, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let server = restarted_with(&folder, quotas);
    (server, folder)
}

fn restarted_with(folder: &tempfile::TempDir, quotas: &[(&str, u32)]) -> Server {
    Server::start_on(&folder.path().join("data"), |command| {
        for (quota, limit) in quotas {
            command.env(format!("TASUKI_QUOTAS_{}", quota.to_uppercase()), limit.to_string());
        }
    })
}

/// The status, the code, and the quota that was reached.
fn reached(refused: &Answer) -> (u16, Value, Value) {
    (refused.status, refused.body["code"].clone(), refused.body["field"].clone())
}

fn full(quota: &str) -> (u16, Value, Value) {
    (507, json!("quota_full"), json!(quota))
}

fn for_now(quota: &str) -> (u16, Value, Value) {
    (429, json!("quota_reached"), json!(quota))
}

fn propose(task: &str) -> Call {
    Call::post("/v1/handoffs", offer(task, "bob"))
}

/// What is used of a quota, as an operator sees it for the whole teamspace.
async fn used(operator: &Client, quota: &str) -> u64 {
    let usage = ok(operator, Call::get("/v1/usage")).await;
    let found = usage["whole"].as_array().expect("a list").iter().find(|one| one["quota"] == quota);
    found.unwrap_or_else(|| panic!("{quota}: {usage}"))["used"].as_u64().expect("a number")
}

#[tokio::test]
async fn members_have_their_own_shares_and_the_teamspace_one_for_all() {
    let quotas = [("member_handoffs", 2), ("teamspace_handoffs", 3)];
    let (server, _folder) = server_with(&quotas);
    let (alice, carol) = (server.agent("alice"), server.agent("carol"));
    server.agent("bob");
    let first = initiate(&alice, "T-1", "bob").await;
    initiate(&alice, "T-2", "bob").await;
    let too_many = refused(&alice, propose("T-3")).await;
    assert_eq!(reached(&too_many), full("member_handoffs"));
    assert_eq!((&too_many.body["used"], &too_many.body["limit"]), (&json!(2), &json!(2)));
    let detail = too_many.body["detail"].as_str().expect("a text");
    assert!(detail.contains("completing or closing a handoff makes room"), "{detail}");
    initiate(&carol, "T-4", "bob").await;
    let too_many = refused(&carol, propose("T-5")).await;
    assert_eq!(reached(&too_many), full("teamspace_handoffs"));
    act(&alice, &first, "withdraw", json!({})).await;
    initiate(&carol, "T-5", "bob").await;
    assert_eq!(reached(&refused(&alice, propose("T-3")).await), full("teamspace_handoffs"));
}

/// Whoever asks, and by whichever way, takes from one share.
#[tokio::test]
async fn every_way_in_meets_the_same_quota() {
    let (server, _folder) = server_with(&[("member_handoffs", 5)]);
    let token = server.token("alice", &[]);
    server.agent("bob");
    let asking = (0..20).map(|number| {
        let alice = server.with_token(&token);
        async move {
            alice.call(propose(&format!("T-{number}"))).await.expect("the server answers").status
        }
    });
    let mut answers = futures_util::future::join_all(asking).await;
    answers.sort_unstable();
    assert_eq!(answers, [vec![201; 5], vec![507; 15]].concat());
    let mut socket = Socket::open(&server, &token).await;
    let frame = json!({ "do": "initiate_handoff", "body": offer("T-20", "bob") });
    assert_eq!(socket.refused(frame).await, (507, "quota_full".to_owned()));
    let mut acp = offer("T-21", "bob");
    acp["action"] = "initiate".into();
    let alice = server.with_token(&token);
    let answer = refused(&alice, Call::post("/v1/acp/handoff", acp)).await;
    assert_eq!((answer.status, &answer.body["error"]["code"]), (507, &json!("quota_full")));
    let tried = Call::post("/v1/handoffs?dry_run=true", offer("T-22", "bob"));
    let found = ok(&alice, tried).await;
    assert_eq!(found["ok"], false);
    assert!(found["remarks"][0]["fix"].to_string().contains("quota_full"), "{found}");
}

/// A retry of what was done is not refused, even if the quota is reached since.
#[tokio::test]
async fn a_repeated_request_gets_its_answer() {
    let (server, _folder) = server_with(&[("member_handoffs", 1)]);
    let alice = server.agent("alice");
    server.agent("bob");
    let keyed = || Call { key: Some("once".to_owned()), ..propose("T-1") };
    let first = ok(&alice, keyed()).await;
    assert_eq!(reached(&refused(&alice, propose("T-2")).await), full("member_handoffs"));
    assert_eq!(ok(&alice, keyed()).await["handoff_id"], first["handoff_id"]);
}

#[tokio::test]
async fn a_teamspace_may_have_quotas_of_its_own() {
    let (server, folder) = server_with(&[("member_drafts", 1)]);
    let root = server.token("root", &["--kind", "operator"]);
    let operator = server.with_token(&root);
    let body = json!({ "teamspace": "acme", "operator": "olga" });
    let made = ok(&operator, Call::post("/v1/teamspaces", body)).await;
    let olga = server.with_token(made["token"].as_str().expect("a text"));
    let mut tokens = Vec::new();
    for agent in ["ada", "bob"] {
        let issued = ok(&olga, Call::post("/v1/tokens", json!({ "agent": agent }))).await;
        tokens.push(issued["token"].as_str().expect("a text").to_owned());
    }
    let draft = || Call::post("/v1/handoffs/drafts", json!({ "to_agent": "bob" }));
    let ada = server.with_token(&tokens[0]);
    ok(&ada, draft()).await;
    assert_eq!(reached(&refused(&ada, draft()).await), full("member_drafts"));

    let set =
        |quotas: Value| Call::put("/v1/quotas", json!({ "teamspace": "acme", "quotas": quotas }));
    let own = refused(&olga, set(json!({ "member_drafts": 9 }))).await;
    assert_eq!((own.status, &own.body["code"]), (403, &json!("not_allowed")), "it is not hers");
    let unknown = refused(&operator, set(json!({ "member_draughts": 9 }))).await;
    assert_eq!((unknown.status, &unknown.body["code"]), (422, &json!("schema_invalid")));
    let nowhere = json!({ "teamspace": "nowhere", "quotas": {} });
    assert_eq!(refused(&operator, Call::put("/v1/quotas", nowhere)).await.status, 404);
    let answer = ok(&operator, set(json!({ "member_drafts": 3 }))).await;
    assert_eq!(answer["quotas"], json!({ "member_drafts": 3 }));
    ok(&ada, draft()).await;

    // Its own operator configures the rest, and a restart keeps all of it.
    ok(&olga, Call::put("/v1/teamspace", json!({ "name": "Acme" }))).await;
    assert_eq!(server.stop(), Some(0));
    let server = restarted_with(&folder, &[("member_drafts", 1)]);
    let ada = server.with_token(&tokens[0]);
    ok(&ada, draft()).await;
    assert_eq!(reached(&refused(&ada, draft()).await), full("member_drafts"));
    let alice = server.agent("alice");
    ok(&alice, Call::post("/v1/handoffs/drafts", json!({}))).await;
    let other = refused(&alice, Call::post("/v1/handoffs/drafts", json!({}))).await;
    assert_eq!(reached(&other), full("member_drafts"), "others have the server's");
    ok(&server.with_token(&root), set(json!({}))).await;
    assert_eq!(other.body["limit"], 1);
}

#[tokio::test]
async fn entries_are_limited_by_the_minute_and_what_ends_something_passes() {
    let quotas = [("member_entries_per_minute", 6), ("customer_entries_per_minute", 2)];
    let (server, _folder) = server_with(&quotas);
    let token = server.token("alice", &[]);
    let (alice, bob) = (server.with_token(&token), server.agent("bob"));
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    let id = initiate(&alice, "T-0", "bob").await;
    let mut tasks = (1..).map(|number| format!("T-{number}"));
    let answer = loop {
        let answer = alice.call(propose(&tasks.next().unwrap())).await.expect("the server answers");
        if answer.status != 201 {
            break answer;
        }
    };
    assert_eq!(reached(&answer), for_now("member_entries_per_minute"));
    let again = Request::new("POST /v1/handoffs").token(&token).json(&offer("T-99", "bob"));
    let again = again.send(server.address()).await;
    let seconds: u64 = again.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds} s");
    act(&alice, &id, "withdraw", json!({})).await;
    let opened = ok(&bob, Call::post("/v1/conversations", json!({ "agent": "bob" }))).await;
    let customer = server.with_token(opened["customer_token"].as_str().expect("a text"));
    let id = opened["conversation_id"].as_str().expect("a text");
    let says = Call::post(
        format!("/v1/conversations/{id}/messages"),
        json!({ "parts": [{ "type": "text", "text": "hi" }] }),
    );
    let mut answers = Vec::new();
    for _ in 0..3 {
        answers.push(customer.call(says.clone()).await.expect("the server answers").status);
    }
    assert_eq!(answers, [201, 201, 429]);
    ok(&customer, Call::post(format!("/v1/conversations/{id}/close"), json!({}))).await;
    for number in 0..9 {
        let named = format!("/v1/agents/helper-{number}");
        ok(&operator, Call::put(named, json!({ "kind": "worker" }))).await;
    }
}

#[tokio::test]
async fn a_customer_writes_as_much_in_a_day_as_a_person() {
    let (server, _folder) = server_with(&[("customer_mib_per_day", 1)]);
    let shop = server.agent("shop");
    server.agent("bob");
    let open = || Call::post("/v1/conversations", json!({ "agent": "bob" }));
    let first = ok(&shop, open()).await;
    let second = ok(&shop, open()).await;
    let say = |conversation: &Value| {
        let id = conversation["conversation_id"].as_str().expect("a text");
        let parts = json!({ "parts": [{ "type": "text", "text": "x".repeat(14 * 1024) }] });
        Call::post(format!("/v1/conversations/{id}/messages"), parts)
    };
    let of = |conversation: &Value| {
        server.with_token(conversation["customer_token"].as_str().expect("a text"))
    };
    let customer = of(&first);
    let mut n_said = 0;
    let answer = loop {
        let answer = customer.call(say(&first)).await.expect("the server answers");
        if answer.status != 201 {
            break answer;
        }
        n_said += 1;
    };
    assert_eq!(reached(&answer), for_now("customer_mib_per_day"), "{}", answer.body);
    assert!((50..=73).contains(&n_said), "{n_said} messages of 14 KiB");
    ok(&of(&second), say(&second)).await;
}

/// What is stored stays counted over a restart, and erasing it makes room.
#[tokio::test]
async fn what_is_stored_is_limited_until_it_is_erased() {
    let quotas = [("teamspace_stored_mib", 1)];
    let (server, folder) = server_with(&quotas);
    let alice_token = server.token("alice", &[]);
    let root = server.token("root", &["--kind", "operator"]);
    server.agent("bob");
    let alice = server.with_token(&alice_token);
    let large = |number: usize| {
        let mut offer = offer(&format!("T-{number}"), "bob");
        offer["context"]["summary"] = "x".repeat(60_000).into();
        Call::post("/v1/handoffs", offer)
    };
    let mut made = Vec::new();
    let answer = loop {
        let answer = alice.call(large(made.len())).await.expect("the server answers");
        if answer.status != 201 {
            break answer;
        }
        made.push(answer.body["handoff_id"].as_str().expect("a text").to_owned());
    };
    assert_eq!(reached(&answer), full("teamspace_stored_mib"), "{}", answer.body);
    assert!(made.len() > 4, "{}", made.len());
    assert_eq!(server.stop(), Some(0));

    let server = restarted_with(&folder, &quotas);
    let (alice, operator) = (server.with_token(&alice_token), server.with_token(&root));
    while ok(&operator, Call::get("/v1/usage")).await["counting"] == true {}
    assert_eq!(used(&operator, "teamspace_stored_mib").await, 1);
    assert_eq!(reached(&refused(&alice, large(100)).await), full("teamspace_stored_mib"));
    // Room for a large one takes erasing a large one; closing is not refused meanwhile.
    for id in &made[..2] {
        act(&alice, id, "withdraw", json!({})).await;
        let body = json!({ "position": 1, "reason": "no longer needed" });
        ok(&operator, Call::post(format!("/v1/handoffs/{id}/erase"), body)).await;
    }
    ok(&alice, large(100)).await;
}
