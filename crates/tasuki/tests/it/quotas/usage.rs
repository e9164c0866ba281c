//! What is used, as members, operators, the command line and the metrics see it.

use std::process::Command;

use serde_json::{Value, json};
use tasuki::client::Call;

use super::{server_with, used};
use crate::server::{Server, initiate, ok, refused};
use crate::wire::Request;

fn printed(server: &Server, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_tasuki"))
        .args(arguments)
        .arg("--data")
        .arg(&server.data)
        .env_remove("TASUKI_TOKEN")
        .output()
        .expect("the executable runs");
    let text = |bytes| String::from_utf8(bytes).expect("the command line prints text");
    assert!(output.status.success(), "{arguments:?}: {}", text(output.stderr));
    text(output.stdout)
}

fn names(usage: &Value) -> Vec<&str> {
    usage
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["quota"].as_str().expect("a text"))
        .collect()
}

#[tokio::test]
async fn members_see_their_own_usage_and_operators_all_of_it() {
    let (server, _folder) = server_with(&[("member_handoffs", 5)]);
    let (alice, bob) = (server.agent("alice"), server.agent("bob"));
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    initiate(&alice, "T-1", "bob").await;
    let own = ok(&alice, Call::get("/v1/usage")).await;
    let handoffs =
        own["own"].as_array().expect("a list").iter().find(|it| it["quota"] == "member_handoffs");
    let expected = json!({ "quota": "member_handoffs", "used": 1, "limit": 5, "set": false });
    assert_eq!(handoffs, Some(&expected));
    assert_eq!((names(&own["whole"]), names_of(&own)), (Vec::new(), Vec::new()));
    assert!(names(&own["own"]).iter().all(|name| name.starts_with("member_")), "{own}");
    let elsewhere = Call::get("/v1/usage?teamspace=other");
    assert_eq!(refused(&bob, elsewhere).await.status, 403);

    let all = ok(&operator, Call::get("/v1/usage")).await;
    assert!(names(&all["whole"]).contains(&"teamspace_stored_mib"), "{all}");
    assert!(names_of(&all).contains(&"agent:alice".to_owned()), "{all}");
    assert_eq!(used(&operator, "teamspace_handoffs").await, 1);
    assert_eq!(refused(&operator, Call::get("/v1/usage?teamspace=other")).await.status, 404);
}

fn names_of(usage: &Value) -> Vec<String> {
    let principals = usage["principals"].as_array().expect("a list").iter();
    principals.map(|one| one["principal"].as_str().expect("a text").to_owned()).collect()
}

#[tokio::test]
async fn the_command_line_shows_usage_and_sets_quotas() {
    let (server, _folder) = server_with(&[]);
    let alice = server.agent("alice");
    server.agent("bob");
    initiate(&alice, "T-1", "bob").await;
    let shown = printed(&server, &["usage"]);
    assert!(shown.contains("teamspace_handoffs"), "{shown}");
    let set = ["usage", "--of", "default", "--set", "teamspace_handoffs=1"];
    let shown = printed(&server, &set);
    assert!(shown.contains("1 (set)"), "{shown}");
    let answer = refused(&alice, super::propose("T-2")).await;
    assert_eq!(super::reached(&answer), super::full("teamspace_handoffs"));
    printed(&server, &["usage", "--of", "default", "--set", "teamspace_handoffs=default"]);
    initiate(&alice, "T-2", "bob").await;
    let set = ["usage", "--of", "default", "--set", "customer_kib_per_minute=7"];
    let shown = printed(&server, &set);
    assert!(
        shown.contains("each customer") && shown.contains("7 (set)"),
        "no one used it: {shown}"
    );
}

#[tokio::test]
async fn the_metrics_show_usage_and_refusals() {
    let (server, _folder) = server_with(&[("member_handoffs", 1)]);
    let alice = server.agent("alice");
    server.agent("bob");
    initiate(&alice, "T-1", "bob").await;
    refused(&alice, super::propose("T-2")).await;
    let asked = Request::new("GET /metrics").header("host", b"localhost");
    let metrics = asked.send(server.address()).await;
    let metrics = String::from_utf8_lossy(&metrics.bytes);
    for line in [
        "tasuki_usage{quota=\"teamspace_handoffs\"} 1",
        "tasuki_quota_refusals_total{quota=\"member_handoffs\"} 1",
        "tasuki_disk_reserve_refusals_total 0",
    ] {
        assert!(metrics.lines().any(|it| it == line), "{line}:\n{metrics}");
    }
    assert!(!metrics.contains("default"), "it names a teamspace:\n{metrics}");
}
