//! Bots that hand over to each other.

use serde_json::{Value, json};
use tasuki::client::Call;

use super::{code, holder, route, tool_calls, words};
use crate::server::{Server, ok};
use crate::transfers::Desk;
use crate::ws::socket::Socket;

#[tokio::test]
async fn a_tool_call_next_to_a_handoff_does_not_corrupt_the_history() {
    let desk = Desk::open(json!({})).await;
    desk.server.agent("carol");
    let names = ["lookup_order", "transfer_to_carol", "lookup_bill"];
    let done = ok(&desk.bob, tool_calls(&desk, &names, 1)).await;
    // Every call has one answer: from the server, or from the program that runs the tool.
    let answered = done["messages"].as_array().expect("messages").iter();
    let answered: Vec<_> = answered.map(|message| &message["tool_call_id"]).collect();
    assert_eq!(answered, ["call-1"]);
    assert_eq!(done["waiting"], json!(["call-0", "call-2"]));
    assert_eq!(done["routed"]["holder"], "carol");
}

#[tokio::test]
async fn handoffs_that_are_too_many_do_not_poison_later_turns() {
    let desk = Desk::open(json!({})).await;
    let (carol, dora) = (desk.server.agent("carol"), desk.server.agent("dora"));
    let names = ["transfer_to_carol", "transfer_to_dora"];
    let done = ok(&desk.bob, tool_calls(&desk, &names, 1)).await;
    let [first, second] = &done["messages"].as_array().expect("messages")[..] else {
        panic!("one answer for each call: {done}")
    };
    assert!(first["content"].to_string().contains("Successfully transferred to carol"));
    assert!(!second["content"].to_string().contains("Successfully"), "{second}");
    assert_eq!(holder(&desk).await, "carol@2");
    assert_eq!(code(&dora, words(&desk, "here I am", Some(2))).await, "not_found");
    ok(&carol, words(&desk, "here I am", Some(2))).await;
    assert_eq!(desk.texts(&desk.customer).await, ["here I am"]);
}

#[tokio::test]
async fn ping_pong_ends_with_a_person_before_the_money_is_gone() {
    let desk = Desk::open(json!({})).await;
    let carol = desk.server.agent("carol");
    ok(&desk.bob, route(&desk, "carol", 1)).await;
    ok(&carol, route(&desk, "bob", 2)).await;
    ok(&desk.bob, route(&desk, "carol", 3)).await;
    assert_eq!(holder(&desk).await, "default@4");
    let id = ok(&desk.operator, Call::get(desk.path(""))).await["transfer_id"].clone();
    let id = id.as_str().expect("a person is asked for").to_owned();
    let why = ok(&desk.operator, Call::get(format!("/v1/transfers/{id}"))).await["reason"].clone();
    assert!(why.as_str().is_some_and(|why| why.contains("circle")), "{why}");
}

/// A model is told what really happened: where the loop guard sent the conversation, and why a
/// handoff was not performed. Programs read the ids of agents, not the names of tools.
#[tokio::test]
async fn a_model_is_told_where_the_conversation_went() {
    let led = json!({ "kind": "supervisor", "supervisor": "router", "workers": ["bob", "carol"] });
    for (topology, holder, says) in [
        (json!({ "kind": "free" }), "default", "the customer waits in the queue default"),
        (led, "router", "it was transferred to router instead"),
    ] {
        let desk = Desk::open(json!({ "mode": "pick" })).await;
        let carol = desk.server.agent("carol");
        desk.server.token("router", &["--kind", "system"]);
        let open = json!({ "agent": "carol", "topology": topology, "hops_max": 1 });
        let opened = ok(&desk.bob, Call::post("/v1/conversations", open)).await;
        let id = opened["conversation_id"].as_str().expect("an id").to_owned();
        let desk = Desk { conversation: id, ..desk };
        let back = json!({ "goto": "bob", "epoch": 1, "graph": "parent" });
        ok(&carol, Call::post(desk.path("/commands"), back)).await;
        // The tools of a worker with a supervisor lead to the supervisor alone.
        let target = if holder == "router" { "router" } else { "carol" };
        let tool = format!("transfer_to_{target}");
        let tools = [tool.as_str(), "lookup", "transfer_to_bob", "transfer_to_default"];
        let call = || Call { key: Some("turn".to_owned()), ..tool_calls(&desk, &tools, 2) };
        let done = ok(&desk.bob, call()).await;
        assert_eq!(ok(&desk.bob, call()).await, done, "a retry is answered the same");
        assert_eq!(done["routed"]["holder"], holder, "{done}");
        let said = done["messages"][0]["content"].as_str().expect("a text");
        let outcome = |index: usize| done["calls"][index]["outcome"].as_str().expect("a word");
        assert_eq!(done["calls"][0]["target"], target, "{done}");
        assert_eq!(done["calls"][0]["holder"], holder, "{done}");
        assert_eq!([outcome(1), outcome(2), outcome(3)], ["waiting", "refused", "refused"]);
        assert_eq!(done["calls"][2]["target"], "bob");
        if target == holder {
            assert_eq!((said, outcome(0)), ("Successfully transferred to router", "accepted"));
            continue;
        }
        assert!(said.starts_with("Not transferred to carol: "), "{said}");
        assert!(said.ends_with(says), "{said}");
        assert_eq!((outcome(0), &done["calls"][0]["code"]), ("redirected", &json!("loop_guard")));
        assert_eq!(done["routed"]["instead_of"], "carol");
        let id = done["routed"]["transfer_id"].as_str().expect("a person was asked for");
        let asked = ok(&desk.operator, Call::get(format!("/v1/transfers/{id}"))).await;
        assert_eq!(asked["status"], "queued");
        let surplus = &done["messages"][1]["content"];
        assert!(surplus.as_str().is_some_and(|it| it.ends_with("to 'default'")), "{surplus}");
    }
}

/// Each refusal says what is wrong with the named agent.
#[tokio::test]
async fn a_model_is_told_why_a_handoff_is_not_performed() {
    let desk = Desk::open(json!({})).await;
    desk.person("hana").await;
    desk.server.agent("carol");
    desk.server.token("router", &["--kind", "system"]);
    for (name, code, says) in [
        ("transfer_to_zoe", "unknown_agent", "Cannot handoff: agent 'zoe' not found"),
        ("transfer_to_router", "system_agent", "Cannot handoff to system agent 'router'"),
        ("transfer_to_bob", "has_it_already", "Cannot handoff to 'bob': it has the conversation"),
        (
            "transfer_to_hana",
            "not_a_worker",
            "Cannot handoff to 'hana': ask for a person with transfer_to_human",
        ),
    ] {
        let done = ok(&desk.bob, tool_calls(&desk, &[name], 1)).await;
        assert_eq!(done["messages"][0]["content"], says);
        assert_eq!((&done["calls"][0]["code"], &done["routed"]), (&json!(code), &Value::Null));
    }
    // In a loop that no queue can end, the reason names no field that the model did not write.
    let carol = desk.server.agent("carol");
    let gone = json!({ "mode": "pick", "hours": { "utc_offset_minutes": 0 } });
    ok(&desk.operator, Call::put("/v1/queues/default", gone)).await;
    ok(&desk.bob, route(&desk, "carol", 1)).await;
    ok(&carol, route(&desk, "bob", 2)).await;
    let names = ["transfer_to_carol", "transfer_to_dora"];
    desk.server.agent("dora");
    let call = || Call { key: Some("turn".to_owned()), ..tool_calls(&desk, &names, 3) };
    let done = ok(&desk.bob, call()).await;
    let said = done["messages"][0]["content"].as_str().expect("a text");
    assert!(said.starts_with("Cannot handoff: the agents hand the conversation round"), "{said}");
    assert_eq!(done["messages"][1]["content"], "Successfully transferred to dora");
    let again = ok(&desk.bob, call()).await;
    assert_eq!(again["routed"], done["routed"]);
    assert_eq!(again["messages"][1], done["messages"][1], "a retry names the same agent");
    let outcomes = |done: &Value| [0, 1].map(|index| done["calls"][index]["outcome"].clone());
    assert_eq!(outcomes(&again), outcomes(&done));
}

#[tokio::test]
async fn who_holds_the_conversation_is_not_forgotten_between_turns() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().join("data");
    let server = Server::start_on(&data, |_| {});
    let (bob, carol) = (server.agent("bob"), server.token("carol", &[]));
    let opened = ok(&bob, Call::post("/v1/conversations", json!({ "agent": "bob" }))).await;
    let text = |name: &str| opened[name].as_str().expect("text").to_owned();
    let path = |rest: &str| format!("/v1/conversations/{}{rest}", text("conversation_id"));
    ok(&bob, Call::post(path("/commands"), json!({ "goto": "carol", "epoch": 1 }))).await;
    server.kill();

    let server = Server::start_on(&data, |_| {});
    let customer = server.with_token(&text("customer_token"));
    let hello = json!({ "parts": [{ "type": "text", "text": "where were we?" }] });
    let said = ok(&customer, Call::post(path("/messages"), hello)).await;
    assert_eq!((&said["holder"], &said["epoch"]), (&json!("carol"), &json!(2)));
    let answer = json!({ "parts": [{ "type": "text", "text": "here" }], "epoch": 2 });
    ok(&server.with_token(&carol), Call::post(path("/messages"), answer)).await;
}

#[tokio::test]
async fn the_receiver_gets_what_it_needs_and_not_everything() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let carol = desk.server.agent("carol");
    let hana = desk.person("hana").await;
    ok(&desk.customer, words(&desk, "my bill is wrong", None)).await;
    let handed = json!({
        "goto": "carol", "epoch": 1, "reason": "a refund", "context": "May, 10 too much",
        "update": { "bill": 7 },
    });
    ok(&desk.bob, Call::post(desk.path("/commands"), handed)).await;
    let page = ok(&carol, Call::get(desk.path("/messages?after=1"))).await;
    assert_eq!(page["items"][0]["parts"][0]["context"], "May, 10 too much");
    assert_eq!(ok(&carol, Call::get(desk.path(""))).await["shared"], json!({ "bill": 7 }));

    // A person gets a summary, and the messages that it is about.
    let context = json!({ "summary": "10 too much", "custom_attributes": { "bill": 7 } });
    let transfer = desk.request(&carol, json!({ "epoch": 2, "context": context })).await;
    let digest = &ok(&carol, Call::get(desk.path(""))).await["transcript_digest"];
    let shown =
        crate::transfers::act(&hana, &transfer, "pickup", json!({ "epoch": 3 })).await["bundle"]
            .clone();
    assert_eq!(shown["transcriptSummary"], "10 too much");
    assert_eq!(shown["customAttributes"], json!({ "bill": 7 }));
    assert_eq!(shown["messageCount"], 2);
    assert!(shown["transcriptDigest"].is_string() && shown["transcriptDigest"] != *digest);
}

#[tokio::test]
async fn the_same_message_is_not_there_twice() {
    let desk = Desk::open(json!({})).await;
    let minted = ok(&desk.bob, Call::post(desk.path("/tokens"), json!({}))).await;
    let token = minted["token"].as_str().expect("a token");
    let mut numbers = Vec::new();
    for _ in 0..3 {
        // Each retry reads on a new connection, from where the last one ended.
        let call = Call { key: Some("k-1".to_owned()), ..words(&desk, "hello", None) };
        numbers.push(ok(&desk.customer, call).await["number"].clone());
    }
    assert_eq!(numbers, [1, 1, 1]);
    ok(&desk.customer, words(&desk, "bye", None)).await;
    let (mut place, mut told) = (json!(0), Vec::new());
    while told.last().is_none_or(|text| text != "bye") {
        let mut socket = Socket::open(&desk.server, token).await;
        socket.ok(json!({ "do": "subscribe", "after": place })).await;
        let frame = socket.event().await;
        place = frame["cursor"].clone();
        told.extend(frame["event"]["data"]["parts"][0]["text"].as_str().map(str::to_owned));
    }
    assert_eq!(told, ["hello", "bye"]);
    assert_eq!(desk.texts(&desk.customer).await, ["hello", "bye"]);
}

/// Rules apply beside the model's choice: by a word, or by the customer's mood.
#[tokio::test]
async fn i_will_transfer_you_happens_because_a_rule_says_so() {
    let desk = Desk::open(json!({})).await;
    let graph = json!({
        "entry": "triage",
        "signals": { "rules": [
            { "name": "frustrated", "signal": "frustration", "above": 0.7, "turns": 2 }
        ] },
        "nodes": [
            { "id": "triage", "kind": "router", "default": "general", "rules": [
                { "goto": "human", "keywords": { "any": ["human"] } }
            ] },
            { "id": "general", "kind": "specialist", "agent": "bob" },
        ]
    });
    ok(&desk.operator, Call::put("/v1/graphs/support", graph)).await;
    let rows: [&[&str]; 2] = [&["a human please"], &["This is terrible and unacceptable"; 2]];
    for said in rows {
        let open = json!({ "graph": "support", "customer": { "language": "en" } });
        let opened = ok(&desk.bob, Call::post("/v1/conversations", open)).await;
        let text = |name: &str| opened[name].as_str().expect("text").to_owned();
        let path = format!("/v1/conversations/{}/messages", text("conversation_id"));
        let customer = desk.server.with_token(&text("customer_token"));
        let parts = |text: &str| json!([{ "type": "text", "text": text }]);
        let empty_words = json!({ "parts": parts("I'll transfer you."), "epoch": 1 });
        ok(&desk.bob, Call::post(path.clone(), empty_words)).await;
        let mut answer = Value::Null;
        for text in said {
            answer = ok(&customer, Call::post(path.clone(), json!({ "parts": parts(text) }))).await;
        }
        assert_eq!((&answer["holder"], &answer["epoch"]), (&json!("default"), &json!(2)));
        let more = json!({ "parts": parts("I'll transfer you."), "epoch": 1 });
        assert_eq!(code(&desk.bob, Call::post(path, more)).await, "epoch_outdated");
    }
}

#[tokio::test]
async fn a_former_holder_uses_no_tools_any_more() {
    let desk = Desk::open(json!({})).await;
    let carol = desk.server.agent("carol");
    ok(&desk.bob, route(&desk, "carol", 1)).await;
    for (epoch, expected) in [(1, "epoch_outdated"), (2, "not_holder")] {
        for names in [&["lookup_order"][..], &["lookup_order", "transfer_to_carol"], &[]] {
            let refusal = code(&desk.bob, tool_calls(&desk, names, epoch)).await;
            assert_eq!(refusal, expected, "{names:?}");
        }
    }
    assert_eq!(holder(&desk).await, "carol@2");
    let done = ok(&carol, tool_calls(&desk, &["lookup_order"], 2)).await;
    assert_eq!(done["waiting"], json!(["call-0"]));
}
