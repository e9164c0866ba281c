//! A customer and two bots, each on a socket.

use serde_json::{Value, json};
use tasuki::client::Call;

use super::{Chat, Socket};
use crate::hidden_places::newest;
use crate::server::ok;
use crate::sse::whole_ledger;

/// The subject of a frame, in a word.
fn name(frame: &Value) -> String {
    let event = frame["event"]["event"].as_str().or(frame["type"].as_str());
    let text = frame["event"]["data"]["parts"][0]["text"].as_str().unwrap_or_default();
    format!("{} {text}", event.unwrap_or_default()).trim().to_owned()
}

async fn told(socket: &mut Socket, n_frames: usize) -> Vec<String> {
    let mut names = Vec::new();
    while names.len() < n_frames {
        names.push(name(&socket.told().await));
    }
    names
}

#[tokio::test]
async fn a_customer_talks_with_one_bot_and_then_with_another() {
    let chat = Chat::start().await;
    let mut ana = chat.socket(&chat.customer).await;
    let mut bob = chat.socket(&chat.bob).await;
    let mut carol = chat.socket(&chat.carol).await;
    let from = ana.ok(chat.follow(None)).await["cursor"].clone();
    bob.ok(chat.follow(Some(from))).await;
    assert_eq!(carol.refused(chat.follow(None)).await, (404, "not_found".to_owned()));

    assert_eq!(ana.ok(chat.say("my bill is wrong")).await["number"], 1);
    assert_eq!(told(&mut bob, 1).await, ["conversation.said my bill is wrong"]);
    bob.ok(chat.answer("one moment", 1)).await;
    let route = json!({ "goto": "carol", "epoch": 1, "reason": "a refund", "context": "May" });
    assert_eq!(bob.ok(chat.command("route_conversation", route)).await["epoch"], 2);
    let late = bob.ask(chat.answer("wait", 1)).await;
    assert_eq!((&late["status"], &late["body"]["code"]), (&json!(409), &json!("epoch_outdated")));
    assert_eq!((&late["body"]["holder"], &late["body"]["epoch"]), (&json!("carol"), &json!(2)));
    carol.ok(chat.follow(None)).await;
    carol.ok(chat.answer("let me see", 2)).await;

    let says = ["conversation.said my bill is wrong", "conversation.said one moment"];
    let moved = ["agent_handoff", "agent_changed", "conversation.routed"];
    let answered = "conversation.said let me see";
    let all = [&says[..], &moved, &[answered]].concat();
    assert_eq!(told(&mut ana, 6).await, all);
    // Bob hears what came while the conversation was his, and that he came too late.
    let heard = [&says[1..], &moved, &["conversation.not_heard wait"]].concat();
    assert_eq!(told(&mut bob, 5).await, heard);
    assert_eq!(told(&mut carol, 1).await, [answered]);
    assert_eq!(bob.all_told().await, Vec::<Value>::new());
}

#[tokio::test]
async fn what_a_customer_is_told_is_what_it_may_read() {
    let chat = Chat::start().await;
    let mut ana = chat.socket(&chat.customer).await;
    let mut bob = chat.socket(&chat.bob).await;
    ana.ok(json!({ "do": "subscribe", "after": 0 })).await;
    ana.ok(chat.say("hello")).await;
    bob.ok(chat.answer("hi", 1)).await;
    let route = json!({
        "goto": "carol", "epoch": 1, "reason": "a refund",
        "context": "hush", "update": { "a": "hush" },
    });
    bob.ok(chat.command("route_conversation", route)).await;
    bob.refused(chat.answer("hush", 1)).await;
    let erase = json!({ "position": 2, "reason": "asked for" });
    ok(&chat.operator, Call::post(format!("/v1/conversations/{}/erase", chat.id), erase)).await;
    ana.ok(chat.command("close_conversation", json!({}))).await;
    let mut told = Vec::new();
    while told.last().is_none_or(|frame: &Value| name(frame) != "conversation.closed") {
        told.push(ana.told().await);
    }
    let everything = json!(told).to_string();
    for secret in ["hush", "topology", "opened_by", "hops_max", "operator:", "\"hash\""] {
        assert!(!everything.contains(secret), "{secret}: {everything}");
    }
    let transcript = format!("/v1/conversations/{}/messages", chat.id);
    let read = ok(&chat.server.with_token(&chat.customer), Call::get(transcript)).await;
    let is_line = |frame: &&Value| frame["event"]["data"]["number"].is_u64();
    let lines: Vec<_> = told.iter().filter(is_line).map(|it| it["event"]["data"].clone()).collect();
    // The erased message had been told before.
    assert_eq!(lines[1..], read["items"].as_array().expect("a page")[1..]);
    let changed = told.iter().find(|frame| frame["type"] == "agent_handoff").expect("told");
    assert_eq!(changed["sessionId"], json!(chat.id));
    assert_eq!(changed["fromAgent"]["agentName"], "BOB");
    assert_eq!(changed["toAgent"]["agentId"], "carol");
    let why = "\u{2068}BOB\u{2069} hands the conversation over to \u{2068}CAROL\u{2069}.";
    assert_eq!(changed["reason"], why);
    assert_eq!(changed["eventId"], lines[2]["parts"][0]["id"]);
}

#[tokio::test]
async fn a_customer_chooses_in_the_words_of_chat_clients() {
    let chat = Chat::start().await;
    let mut ana = chat.socket(&chat.customer).await;
    let choose =
        |kind: &str, agent: &str| json!({ "type": kind, "sessionId": chat.id, "agentId": agent });
    ana.ok(chat.follow(None)).await;
    let changed = ana.ask(choose("select_agent", "carol")).await;
    let carol = ok(&chat.operator, Call::get("/v1/agents/carol")).await["identity"].clone();
    assert_eq!(
        changed,
        json!({
            "re": changed["re"], "type": "agent_changed", "sessionId": chat.id,
            "currentAgent": carol, "handoffType": "user_selection",
        })
    );
    let told: Vec<_> =
        [ana.told().await, ana.told().await, ana.told().await].iter().map(name).collect();
    assert_eq!(told, ["agent_handoff", "agent_changed", "conversation.routed"]);
    assert_eq!(ana.ask(choose("agent:select", "bob")).await["currentAgent"]["agentId"], "bob");

    let long = "x".repeat(300);
    let rows = [
        ("nobody", "Unknown agent: nobody", "unknown_agent"),
        ("No Name", "Unknown agent: No Name", "schema_invalid"),
        ("dora", "Agent dora is not user-selectable", "agent_not_selectable"),
        (&long, "", "schema_invalid"),
    ];
    for (agent, message, code) in rows {
        let error = ana.ask(choose("select_agent", agent)).await;
        assert_eq!((&error["type"], &error["code"]), (&json!("error"), &json!(code)), "{error}");
        let said = error["message"].as_str().expect("a message");
        assert!(said == message || (message.is_empty() && !said.contains(&long)), "{said}");
    }
    let mut bob = chat.socket(&chat.bob).await;
    let not_his = bob.ask(choose("select_agent", "carol")).await;
    assert_eq!((&not_his["type"], &not_his["code"]), (&json!("error"), &json!("not_allowed")));
    // Without an id there is nothing to refer to, and the answer is the same.
    let frame = choose("select_agent", "carol").to_string();
    ana.send(tokio_tungstenite::tungstenite::Message::text(frame)).await;
    while name(&ana.told().await) != "conversation.routed" {}
}

/// A bot that shows that it is working has more time to answer, on whichever way it shows it.
#[tokio::test]
async fn a_bot_that_types_has_more_time_to_answer() {
    for way in ["socket", "call"] {
        let chat = Chat::start().await;
        let profile = json!({ "name": "BOB", "answer_within": "4s" });
        let agent = json!({ "kind": "worker", "profile": profile });
        ok(&chat.operator, Call::put("/v1/agents/bob", agent)).await;
        let mut ana = chat.socket(&chat.customer).await;
        let mut bob = chat.socket(&chat.bob).await;
        ana.ok(chat.say("hello")).await;
        // A sign counts once half of the time is over.
        loop {
            if way == "socket" {
                // A frame too many is refused, and the next one counts.
                bob.ask(json!({ "do": "typing", "conversation": chat.id })).await;
            } else {
                let path = format!("/v1/conversations/{}/progress", chat.id);
                let bob = chat.server.with_token(&chat.bob);
                ok(&bob, Call::post(path, json!({ "epoch": 1 }))).await;
            }
            let ledger = whole_ledger(&chat.operator, "&kind=conversation").await;
            let is_there = |name| ledger.iter().any(|event| event.name.as_deref() == Some(name));
            assert!(!is_there("conversation.holder_silent"), "{way}");
            if is_there("conversation.extended") {
                break;
            }
        }
    }
}

#[tokio::test]
async fn typing_is_seen_by_the_other_side_and_by_nobody_else() {
    let chat = Chat::start().await;
    let mut sockets = Vec::new();
    let overseer = chat.server.token("root", &["--kind", "operator"]);
    let coordinator = chat.server.token("boss", &["--role", "coordinator"]);
    for token in [&chat.customer, &chat.bob, &overseer, &coordinator] {
        let mut socket = chat.socket(token).await;
        socket.ok(chat.follow(None)).await;
        sockets.push(socket);
    }
    let [ana, bob, operator, boss] = &mut sockets[..] else { unreachable!("there are four") };
    let before = newest();
    let typing = |on: bool| json!({ "do": "typing", "conversation": chat.id, "on": on });

    ana.ok(json!({ "do": "typing" })).await;
    let told = bob.told().await["typing"].clone();
    assert_eq!((&told["from"], &told["on"]), (&json!({ "kind": "customer" }), &json!(true)));
    assert_eq!((&told["conversation"], &told["ttl_ms"]), (&json!(chat.id), &json!(6000)));
    bob.ok(typing(true)).await;
    // The same again, at once, is not passed on.
    bob.ok(typing(true)).await;
    bob.ok(typing(false)).await;
    for on in [true, false] {
        let told = ana.told().await["typing"].clone();
        assert_eq!((&told["from"]["agentId"], &told["on"]), (&json!("bob"), &json!(on)));
    }
    for other in [&mut *operator, boss] {
        let (status, code) = other.refused(typing(true)).await;
        assert_eq!((status, code.as_str()), (403, "not_allowed"));
        assert_eq!(other.all_told().await, Vec::<Value>::new());
    }
    let mut carol = chat.socket(&chat.carol).await;
    assert_eq!(carol.refused(typing(true)).await.0, 404);

    // The former holder is no longer told, nor heard.
    bob.ok(chat.command("route_conversation", json!({ "goto": "carol", "epoch": 1 }))).await;
    carol.ok(chat.follow(None)).await;
    assert_eq!(bob.refused(typing(true)).await.0, 403);
    ana.ok(typing(false)).await;
    assert_eq!(carol.told().await["typing"]["on"], false);
    let is_typing = |frame: &Value| frame.get("typing").is_some();
    assert!(!bob.all_told().await.iter().any(is_typing));
    assert!(!operator.all_told().await.iter().any(is_typing));
    let after = newest();
    assert_eq!(after, before + 1, "only the route is kept");
}

#[tokio::test]
async fn an_open_socket_is_a_connection_of_a_human() {
    let chat = Chat::start().await;
    let human = json!({ "kind": "human", "profile": { "name": "Hana" } });
    ok(&chat.operator, Call::put("/v1/agents/hana", human)).await;
    let mut hana = chat.socket(&chat.server.token("hana", &[])).await;
    let available = json!({ "presence": "available" });
    let with = json!({ "agent": "hana" });
    hana.ok(json!({ "do": "set_presence", "with": with, "body": available })).await;
    let mut operator = chat.socket(&chat.server.token("root", &["--kind", "operator"])).await;
    let follow = json!({ "do": "subscribe", "kind": "agent", "agent": "hana", "after": 0 });
    operator.ok(follow).await;
    for expected in ["agent.registered", "agent.presence_changed", "agent.connected"] {
        assert_eq!(operator.event().await["event"]["event"], expected);
    }
    drop(hana);
    assert_eq!(operator.event().await["event"]["event"], "agent.connection_lost");
}
