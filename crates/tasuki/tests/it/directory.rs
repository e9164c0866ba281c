//! The directory, seen from outside: the profiles of agents, the presence of humans, and what only
//! operators see.

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use crate::server::{Server, ok, refused};
use crate::sse::{Stream, whole_ledger};

const PROFILE: &str = r##"{"name":"Dana","icon":"🛟","color":"#2f6fde","user_selectable":true,
    "capacity":2,"skills":[{"name":"billing","level":4}],"team":"Care","languages":["de"]}"##;

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_shows() {
    let server = Server::start();
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    let alice = server.agent("alice");
    let profile: Value = serde_json::from_str(PROFILE).expect("a profile");
    let body = json!({ "kind": "human", "profile": profile });
    ok(&operator, Call::put("/v1/agents/dana", body)).await;
    let shown = ok(&alice, Call::get("/v1/agents/dana")).await;
    assert_eq!(shown["profile"], profile);
    let identity = json!({ "agentId": "dana", "agentName": "Dana", "agentIcon": "🛟",
                           "agentColor": "#2f6fde" });
    assert_eq!(shown["identity"], identity);
    assert_eq!((&shown["capacity"], &shown["presence"]), (&json!(2), &json!("offline")));
    let shown = ok(&alice, Call::get("/v1/agents/alice")).await;
    assert_eq!(shown["identity"]["agentName"], "alice");
    assert_eq!((&shown["capacity"], &shown["presence"]), (&Value::Null, &Value::Null));
    for (field, value) in [
        ("icon", json!("https://evil.example/x.svg")),
        ("color", json!("javascript:")),
        ("capacity", json!(65)),
        ("team", json!("two\nlines")),
    ] {
        let body = json!({ "kind": "human", "profile": { field: value } });
        let answer = refused(&operator, Call::put("/v1/agents/dana", body)).await;
        assert_eq!(answer.body["code"], "schema_invalid");
        assert_eq!(answer.body["field"], format!("profile.{field}"));
    }
    // A profile is advice to others: an agent does not write its own.
    let dana = server.agent("dana");
    let body = json!({ "kind": "human", "profile": { "name": "The boss" } });
    let answer = refused(&dana, Call::put("/v1/agents/dana", body)).await;
    assert_eq!(answer.body["code"], "not_allowed");
}

#[tokio::test(flavor = "multi_thread")]
async fn humans_say_whether_they_are_there() {
    let server = Server::start();
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    let alice = server.agent("alice");
    let lead = server.with_token(&server.token("lead", &["--role", "coordinator"]));
    for name in ["dana", "eli"] {
        let profile = json!({ "user_selectable": name == "dana" });
        let body = json!({ "kind": "human", "profile": profile });
        ok(&operator, Call::put(format!("/v1/agents/{name}"), body)).await;
    }
    let dana = server.agent("dana");
    let set =
        |presence: &str| Call::put("/v1/agents/dana/presence", json!({ "presence": presence }));
    assert_eq!(refused(&alice, set("busy")).await.body["code"], "not_allowed");
    let worker = Call::put("/v1/agents/alice/presence", json!({ "presence": "busy" }));
    let answer = refused(&operator, worker).await;
    assert_eq!(
        (&answer.body["code"], &answer.body["field"]),
        (&json!("schema_invalid"), &json!("agent"))
    );
    assert_eq!(refused(&dana, set("asleep")).await.body["code"], "schema_invalid");
    let set_by_itself = ok(&dana, set("available")).await;
    assert_eq!(set_by_itself["presence"], "available");
    assert_eq!(set_by_itself["presence_by"], Value::Null);
    assert!(set_by_itself["missed_at"].is_string(), "{set_by_itself}");
    // Repeated so soon, it is not recorded again.
    ok(&dana, set("available")).await;
    let seen = whole_ledger(&alice, "&kind=agent.presence_changed").await;
    assert_eq!(seen.len(), 1);
    for (query, expected) in [
        ("", vec!["lead", "alice", "eli", "dana"]),
        ("?kind=human", vec!["eli", "dana"]),
        ("?presence=available", vec!["dana"]),
        ("?presence=offline", vec!["eli"]),
        ("?selectable=true", vec!["dana"]),
        ("?selectable=false&kind=human", vec!["eli"]),
    ] {
        let mut expected = expected;
        let mut found = names(&alice, query).await;
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{query}");
    }
    let answer = refused(&alice, Call::get("/v1/agents?selectable=maybe")).await;
    assert_eq!(
        (&answer.body["code"], &answer.body["field"]),
        (&json!("schema_invalid"), &json!("selectable"))
    );
    let set_by_lead = ok(&lead, set("away")).await;
    assert_eq!(
        (&set_by_lead["presence"], &set_by_lead["presence_by"]),
        (&json!("away"), &json!("lead"))
    );
    let left = ok(&dana, set("offline")).await;
    assert_eq!((&left["presence"], &left["missed_at"]), (&json!("offline"), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_operators_see_where_turns_reach_a_worker() {
    let server = Server::start();
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    let [alice, bob] = ["alice", "bob"].map(|name| server.agent(name));
    let set = |url: Value| Call::put("/v1/agents/bob/endpoint", json!({ "url": url }));
    let url = "https://agents.example/turns?key=hunter2";
    assert_eq!(refused(&bob, set(json!(url))).await.body["code"], "not_allowed");
    for wrong in [json!("ftp://x"), json!("https://u:p@x/"), json!("")] {
        let answer = refused(&operator, set(wrong)).await;
        assert_eq!(
            (&answer.body["code"], &answer.body["field"]),
            (&json!("schema_invalid"), &json!("url"))
        );
    }
    ok(&operator, Call::put("/v1/agents/dana", json!({ "kind": "human" }))).await;
    let human = Call::put("/v1/agents/dana/endpoint", json!({ "url": url }));
    assert_eq!(refused(&operator, human).await.body["code"], "schema_invalid");
    assert_eq!(ok(&operator, set(json!(url))).await["endpoint"], url);
    assert_eq!(ok(&operator, Call::get("/v1/agents/bob")).await["endpoint"], url);
    for who in [&alice, &bob] {
        for path in ["/v1/agents/bob", "/v1/agents"] {
            let shown = ok(who, Call::get(path)).await;
            assert!(!shown.to_string().contains("hunter2"), "{shown}");
        }
        let seen = whole_ledger(who, "&kind=agent").await;
        assert!(seen.iter().all(|event| !event.data.to_string().contains("hunter2")));
    }
    assert_eq!(whole_ledger(&operator, "&kind=agent.endpoint_changed").await.len(), 1);
    assert_eq!(ok(&operator, set(Value::Null)).await["endpoint"], Value::Null);
}

async fn names(client: &Client, query: &str) -> Vec<String> {
    let page = ok(client, Call::get(format!("/v1/agents{query}"))).await;
    let items = page["items"].as_array().expect("a list").iter();
    items.map(|agent| agent["agent"].as_str().expect("an id").to_owned()).collect()
}

/// A human is present for as long as they follow the events; nothing is recorded for a worker.
#[tokio::test(flavor = "multi_thread")]
async fn a_human_who_follows_is_connected() {
    let server = Server::start();
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    let mut watching = Stream::open(&operator, "/v1/events?kind=agent", Some("0")).await;
    let (dana, bob) =
        (server.with_token(&server.token("dana", &["--kind", "human"])), server.agent("bob"));
    let theirs = [
        Stream::open(&bob, "/v1/events", None).await,
        Stream::open(&dana, "/v1/events", None).await,
    ];
    let mut names = Vec::new();
    while names.last().map(String::as_str) != Some("agent.connected") {
        names.extend(watching.next_entry().await.expect("it goes on").name);
    }
    drop(theirs);
    let lost = watching.next_entry().await.expect("it goes on");
    assert_eq!(lost.name.as_deref(), Some("agent.connection_lost"));
    assert_eq!(lost.data["stream"], "agent/dana");
}

/// A worker that only has a token takes conversations while a turn can reach it.
#[tokio::test(flavor = "multi_thread")]
async fn the_directory_says_who_takes_conversations_and_how_they_are_reached() {
    let server = Server::start();
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    let mut watching = Stream::open(&operator, "/v1/events?kind=agent", Some("0")).await;
    server.agent("bob");
    let issued = ok(&operator, Call::post("/v1/tokens", json!({ "agent": "fresh" }))).await;
    let fresh = server.with_token(issued["token"].as_str().expect("a token"));
    for (name, kind) in [("dana", "human"), ("desk", "queue"), ("router", "system")] {
        ok(&operator, Call::put(format!("/v1/agents/{name}"), json!({ "kind": kind }))).await;
    }
    let check = async |name: &str, takes: bool, reached_by: Value| {
        let shown = ok(&operator, Call::get(format!("/v1/agents/{name}"))).await;
        let expected = (&json!(takes), &reached_by);
        assert_eq!((&shown["takes_conversations"], &shown["reached_by"]), expected, "{name}");
    };
    let endpoint = |url: Value| Call::put("/v1/agents/fresh/endpoint", json!({ "url": url }));
    check("bob", true, json!([])).await;
    check("fresh", false, json!([])).await;
    check("dana", false, Value::Null).await;
    check("desk", true, Value::Null).await;
    check("router", false, Value::Null).await;
    ok(&operator, endpoint(json!("https://agents.example/turns"))).await;
    check("fresh", true, json!(["endpoint"])).await;
    ok(&operator, endpoint(Value::Null)).await;
    check("fresh", false, json!([])).await;
    let listening = Stream::open(&fresh, "/v1/events", None).await;
    let mut until = async |name: &str| {
        while watching.next_entry().await.expect("it goes on").name.as_deref() != Some(name) {}
    };
    until("agent.connected").await;
    check("fresh", true, json!(["connection"])).await;
    drop(listening);
    until("agent.connection_lost").await;
    check("fresh", false, json!([])).await;
    let dana = server.agent("dana");
    let here = json!({ "presence": "available" });
    ok(&dana, Call::put("/v1/agents/dana/presence", here)).await;
    check("dana", true, Value::Null).await;
}
