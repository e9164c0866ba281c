//! A handoff that an agent requests in its session is carried out: to a queue, to another agent, to
//! the default queue, or not at all; once, and on the record.

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use protocol::narrator::texts::Message;

use super::announcement_follower::{AnnouncementFollower, words};
use crate::server::{ok, refused};
use crate::transfers::{Desk, act, until};

const CONTEXTS: [&str; 2] = ["https://aaep-protocol.org/context/v1", "urn:tasuki:aaep:v1"];

/// A session of an agent in a conversation.
fn started(conversation: &str, who: &str, session: &str) -> Value {
    let mut event = super::event(1, "session.started", json!({}));
    event["@context"] = json!(CONTEXTS);
    event["session_id"] = session.into();
    event["producer"]["agent_id"] = who.into();
    event["extensions"] = json!({ "tasuki": { "conversation_id": conversation } });
    event
}

fn requests(who: &str, session: &str, number: u32, more: Value) -> Value {
    let mut event = super::event(number, "handoff.requested", more);
    event["session_id"] = session.into();
    event["producer"]["agent_id"] = who.into();
    event["urgency"] = "critical".into();
    event["reason"] = "hush, cannot refund".into();
    event
}

/// The result of an event's request.
async fn outcome(client: &Client, session: &str, event_id: &str) -> Value {
    let path = format!("/aaep/v1/sessions/{session}");
    let settled = async {
        loop {
            let shown = ok(client, Call::get(path.clone())).await;
            if shown["handoff"]["event_id"] == event_id {
                return shown["handoff"].clone();
            }
        }
    };
    let settled = tokio::time::timeout(std::time::Duration::from_secs(60), settled).await;
    settled.expect("something becomes of it")
}

/// Begins a session, requests in it, and returns the result.
async fn asked(
    conversation: &str,
    (who, client): (&str, &Client),
    session: &str,
    request: Value,
) -> Value {
    let events = json!([started(conversation, who, session), requests(who, session, 2, request)]);
    ok(client, Call::post("/aaep/v1/events", events)).await;
    outcome(client, session, "evt_2").await
}

#[tokio::test]
async fn a_person_takes_over_with_all_that_the_agent_packed() {
    let desk = Desk::open(json!({})).await;
    let advice = json!({ "kind": "queue", "profile": { "name": "Advice" } });
    ok(&desk.operator, Call::put("/v1/agents/financial-advisor", advice)).await;
    let hana = desk.person("hana").await;
    let mut ear = AnnouncementFollower::open(&desk.customer, "en").await;
    let packed = json!({ "goal": "refund", "amount": 65, "facts": ["charged twice"] });
    let request = json!({
        "target_kind": "human", "target_uri": "queue://customer-service/financial-advisor",
        "packaged_context": packed, "urgency_for_handoff": "high",
        "summary_normal": "Ana wants her money back",
    });
    let done = asked(&desk.conversation, ("bob", &desk.bob), "sess_a", request.clone()).await;
    assert_eq!((&done["outcome"], &done["to"]), (&json!("requested"), &json!("financial-advisor")));
    let transfer = json!({ "transfer_id": done["transfer_id"] });
    let ringing = until(&hana, &transfer, "ringing").await;
    let bundle = &ringing["bundle"];
    assert_eq!(bundle["transcriptSummary"], "Ana wants her money back", "{ringing}");
    let expected = json!({ "goal": "refund", "amount": 65, "facts": ["charged twice"] });
    assert_eq!(bundle["warmContext"], expected, "{ringing}");
    assert_eq!(
        (&ringing["priority"], &ringing["reason"]),
        (&json!(3), &json!("hush, cannot refund"))
    );
    act(&hana, &transfer, "accept", json!({ "epoch": 2 })).await;
    act(&hana, &transfer, "complete", json!({ "epoch": 3 })).await;

    // The same request again, as if its answer had been lost, changes nothing.
    let again = json!([requests("bob", "sess_a", 2, request)]);
    ok(&desk.bob, Call::post("/aaep/v1/events", again)).await;

    let mut told = ear.until("session.completed").await;
    // The reason for the handoff, and its context, are for colleagues.
    let heard = Value::from(told.clone()).to_string();
    assert!(!heard.contains("hush") && !heard.contains("charged twice"), "{heard}");
    told.retain(|event| event["producer"]["agent_id"] == "tasuki");
    assert_eq!(words(&told)[0], "handoff.requested queue://financial-advisor");
    let link = &told[0]["extensions"]["tasuki"];
    assert_eq!(
        (&link["requested_by_session"], &link["requested_by_event"], &link["outcome"]),
        (&json!("sess_a"), &json!("evt_2"), &json!("requested"))
    );
    assert_eq!(link["transfer_id"], done["transfer_id"]);
    assert!(!Value::from(told).to_string().contains("hush"));
}

#[tokio::test]
async fn a_request_goes_where_it_can() {
    let desk = Desk::open(json!({})).await;
    for (name, kind) in [("carol", "worker"), ("hana", "human"), ("router", "system")] {
        ok(&desk.operator, Call::put(format!("/v1/agents/{name}"), json!({ "kind": kind }))).await;
    }
    let rows = [
        ("human", None, "requested", "default"),
        ("escalation_queue", None, "requested", "default"),
        ("specialist_agent", None, "requested", "default"),
        ("specialist_agent", Some("agent://specialists/carol"), "routed", "carol"),
        ("specialist_agent", Some("queue://default"), "requested", "default"),
        ("human", Some("queue://nowhere"), "default_queue", "default"),
        ("human", Some("agent://carol"), "default_queue", "default"),
        ("human", Some("agent://people/hana"), "default_queue", "default"),
        ("escalation_queue", Some("https://elsewhere.example/q"), "default_queue", "default"),
        ("specialist_agent", Some("agent://router"), "refused", ""),
    ];
    for (number, (kind, uri, expected, to)) in rows.into_iter().enumerate() {
        let (conversation, customer) = crate::transfers::open(&desk.server, &desk.bob).await;
        let mut request = json!({ "target_kind": kind });
        if let Some(uri) = uri {
            request["target_uri"] = uri.into();
        }
        let mut ear = AnnouncementFollower::open(&customer, "fr").await;
        let session = format!("sess_row{number}");
        let done = asked(&conversation, ("bob", &desk.bob), &session, request).await;
        let label = format!("{kind} {uri:?}: {done}");
        assert_eq!(done["outcome"], expected, "{label}");
        assert_eq!(done["to"].as_str().unwrap_or_default(), to, "{label}");
        let route = ok(&desk.bob, Call::get(format!("/v1/conversations/{conversation}"))).await;
        let holder = if to.is_empty() { "bob" } else { to };
        assert_eq!(route["holder"], holder, "{label}");
        let is_told = |event: &Value| {
            let link = &event["extensions"]["tasuki"];
            link["outcome"] == expected && link["requested_by_session"] == session.as_str()
        };
        let last = match expected {
            "refused" => "aaep:agent.session.cancelled",
            _ => "aaep:agent.handoff.requested",
        };
        let told = loop {
            let event = ear.next().await;
            if event["type"] == last && is_told(&event) {
                break event;
            }
        };
        if expected == "default_queue" {
            let text = Message::TargetUnknown { queue: "default" }.in_language("fr").normal;
            assert_eq!(told["summary_normal"], text, "{label}");
        }
        if expected == "refused" {
            assert_eq!(told["cancellation_reason"], done["code"], "{label}");
        }
    }
}

#[tokio::test]
async fn only_the_holder_hands_over_and_nobody_goes_round_for_ever() {
    let desk = Desk::open(json!({})).await;
    let carol = desk.server.agent("carol");
    let to = |name: &str| {
        let uri = format!("agent://{name}");
        json!({ "target_kind": "specialist_agent", "target_uri": uri })
    };
    let first = asked(&desk.conversation, ("bob", &desk.bob), "sess_b", to("carol")).await;
    assert_eq!((&first["outcome"], &first["route"]), (&json!("routed"), &json!(1)));
    // Bob no longer holds the conversation.
    let late = json!([requests("bob", "sess_b", 3, to("carol"))]);
    let said = refused(&desk.bob, Call::post("/aaep/v1/events", late)).await;
    assert_eq!(said.body["rule"], "tasuki.holder", "{said:?}");

    let back = asked(&desk.conversation, ("carol", &carol), "sess_c", to("bob")).await;
    assert_eq!(back["outcome"], "routed");
    let again = json!([requests("bob", "sess_b", 4, to("carol"))]);
    ok(&desk.bob, Call::post("/aaep/v1/events", again)).await;
    let stopped = outcome(&desk.bob, "sess_b", "evt_4").await;
    assert_eq!(stopped["outcome"], "default_queue", "{stopped}");
    assert!(stopped["transfer_id"].is_string(), "{stopped}");

    // While a person is being asked, a second request is refused.
    let more = json!([requests("bob", "sess_b", 5, json!({ "target_kind": "human" }))]);
    let said = refused(&desk.bob, Call::post("/aaep/v1/events", more)).await;
    assert_eq!(said.body["rule"], "tasuki.holder", "{said:?}");
}

/// An agent that has lost a conversation is not heard in it any more, by any way; it may end what
/// it began.
#[tokio::test]
async fn only_the_holder_is_heard() {
    let desk = Desk::open(json!({})).await;
    let shop = desk.server.agent("shop");
    let begin = |who: &str, session: &str| json!([started(&desk.conversation, who, session)]);
    let announce = |events: Value| Call::post("/aaep/v1/events", events);
    ok(&desk.bob, announce(begin("bob", "sess_b"))).await;
    let to = json!({ "goto": "carol", "epoch": 1, "reason": "x" });
    let carol = desk.server.agent("carol");
    ok(&desk.bob, Call::post(desk.path("/commands"), to)).await;
    let says = |number: u32, kind: &str, more: Value| {
        let mut event = super::event(number, kind, more);
        event["session_id"] = "sess_b".into();
        event["producer"]["agent_id"] = "bob".into();
        event
    };
    let question = json!({
        "urgency": "critical", "action": "Refund 500.", "consequence": "It is gone.",
        "reply_token": "rpl_late", "timeout_seconds": 60, "default_decision": "reject",
        "risk_level": "high", "irreversible": true,
    });
    let output = json!({ "chunk": "Your card number?", "position": 0, "complete": true });
    let progress = json!({ "progress": { "percent": 5 } });
    let hand_over = json!({
        "urgency": "critical", "target_kind": "human", "reason": "x", "packaged_context": {},
    });
    let late = [
        says(6, "handoff.requested", hand_over),
        says(2, "output.streaming", output),
        says(3, "progress.updated", progress),
        says(4, "awaiting.confirmation", question),
    ];
    for event in &late {
        let said = refused(&desk.bob, announce(json!([event]))).await;
        assert_eq!(said.body["rule"], "tasuki.holder", "{event}: {said:?}");
    }
    let others = [(&desk.bob, "bob", "tasuki.holder"), (&shop, "shop", "tasuki.conversation")];
    for (client, who, rule) in others {
        let said = refused(client, announce(begin(who, &format!("sess_new{who}")))).await;
        assert_eq!(said.body["rule"], rule, "{who}: {said:?}");
    }
    ok(&carol, announce(begin("carol", "sess_c"))).await;
    // What it ends is told in the server's words, and nothing else of it.
    let mut ear = AnnouncementFollower::open(&desk.customer, "en").await;
    let speech = "Bob here: I am still your agent. Tell me your PIN.";
    let state = json!({
        "from_state": "idle", "to_state": "thinking", "urgency": "critical",
        "summary_normal": speech,
    });
    let ended = json!({ "cancelled_by": "system", "summary_normal": speech });
    let last = json!([says(7, "state.changed", state), says(8, "session.cancelled", ended)]);
    ok(&desk.bob, announce(last)).await;
    let told = loop {
        let event = ear.next().await;
        assert!(!event.to_string().contains("PIN"), "{event}");
        if event["session_id"] == "sess_b" && event["type"] == "aaep:agent.session.cancelled" {
            break event;
        }
    };
    let text = Message::SessionCancelled { agent: "bob" }.in_language("en").normal;
    assert_eq!(told["summary_normal"], text, "{told}");
    ok(&desk.customer, Call::post(desk.path("/close"), json!({}))).await;
    let said = refused(&carol, announce(begin("carol", "sess_after"))).await;
    assert_eq!(said.body["rule"], "tasuki.holder", "{said:?}");
}

/// The agent that opens a conversation is given the customer's token, so that token does not
/// consent to what the same agent asks for.
#[tokio::test]
async fn an_agent_cannot_consent_with_the_token_it_was_given() {
    let server = crate::server::Server::start();
    let (bob, shop) = (server.agent("bob"), server.agent("shop"));
    for (opener, expected) in [(&bob, "open"), (&shop, "answered")] {
        let opened = json!({ "agent": "bob", "customer": { "name": "Ana" } });
        let opened = ok(opener, Call::post("/v1/conversations", opened)).await;
        let conversation = opened["conversation_id"].as_str().expect("an id");
        let customer = server.with_token(opened["customer_token"].as_str().expect("a token"));
        let session = format!("sess_{expected}");
        let terms = json!({ "languages": ["en"], "supports_confirmation_reply": true });
        let mut ear = AnnouncementFollower::on_terms(&customer, terms).await;
        let mut question = super::event(
            2,
            "awaiting.confirmation",
            json!({
                "urgency": "critical", "action": "Refund 500.", "consequence": "It is gone.",
                "reply_token": "rpl_own", "timeout_seconds": 60, "default_decision": "reject",
                "risk_level": "high", "irreversible": true,
            }),
        );
        question["session_id"] = session.as_str().into();
        question["producer"]["agent_id"] = "bob".into();
        let events = json!([started(conversation, "bob", &session), question]);
        ok(&bob, Call::post("/aaep/v1/events", events)).await;
        let asked = loop {
            let event = ear.next().await;
            if event["type"] == "aaep:agent.awaiting.confirmation" {
                break event;
            }
        };
        let reply = json!({
            "type": "confirmation.reply", "reply_token": asked["reply_token"],
            "decision": "accept", "subscription_id": ear.subscription,
            "timestamp": "2026-05-24T14:22:30.000Z",
        });
        let answer = customer.call(Call::post("/aaep/v1/replies", reply)).await;
        assert_eq!(answer.expect("the server answers").status, 204);
        let decision = format!("/aaep/v1/sessions/{session}/decisions/rpl_own");
        let decision = ok(&bob, Call::get(decision)).await;
        assert_eq!(decision["status"], expected, "{decision}");
    }
}

/// Nobody is asked in the name of an agent that has lost its conversation, and no answer counts.
#[tokio::test]
async fn a_question_of_an_agent_that_lost_its_conversation_is_withdrawn() {
    for lost_by in ["route", "close"] {
        let desk = Desk::open(json!({})).await;
        let carol = desk.server.agent("carol");
        let terms = json!({
            "languages": ["en"], "supports_confirmation_reply": true,
            "supported_extensions": ["urn:tasuki:aaep:v1"],
        });
        let mut ear = AnnouncementFollower::on_terms(&desk.customer, terms.clone()).await;
        let mut question = super::event(
            2,
            "awaiting.confirmation",
            json!({
                "urgency": "critical", "action": "Wire 9.", "consequence": "It is gone.",
                "reply_token": "rpl_w", "timeout_seconds": 60, "default_decision": "reject",
                "risk_level": "high", "irreversible": true,
            }),
        );
        question["session_id"] = "sess_w".into();
        question["producer"]["agent_id"] = "bob".into();
        let events = json!([started(&desk.conversation, "bob", "sess_w"), question]);
        ok(&desk.bob, Call::post("/aaep/v1/events", events)).await;
        let asked = loop {
            let event = ear.next().await;
            if event["type"] == "aaep:agent.awaiting.confirmation" {
                break event;
            }
        };
        match lost_by {
            "route" => {
                let to = json!({ "goto": "carol", "epoch": 1 });
                ok(&desk.bob, Call::post(desk.path("/commands"), to)).await;
            }
            _ => drop(ok(&desk.customer, Call::post(desk.path("/close"), json!({}))).await),
        }
        let decision = || Call::get("/aaep/v1/sessions/sess_w/decisions/rpl_w");
        assert_eq!(ok(&desk.bob, decision()).await["status"], "withdrawn", "{lost_by}");
        let settled = loop {
            let event = ear.next().await;
            if event["type"] == "tasuki:question.settled" {
                break event;
            }
        };
        assert_eq!(
            [&settled["question"], &settled["outcome"], &settled["settled_by"]],
            [&asked["event_id"], &json!("withdrawn"), &json!("conversation")],
            "{lost_by}: {settled}"
        );
        let reply = json!({
            "type": "confirmation.reply", "reply_token": asked["reply_token"],
            "decision": "accept", "subscription_id": ear.subscription,
            "timestamp": "2026-05-24T14:22:30.000Z",
        });
        let answer = desk.customer.call(Call::post("/aaep/v1/replies", reply)).await;
        assert_eq!(answer.expect("the server answers").status, 204);
        assert_eq!(ok(&desk.bob, decision()).await["status"], "withdrawn", "{lost_by}");
        let shown = ok(&desk.bob, Call::get("/aaep/v1/sessions/sess_w")).await;
        assert_eq!(shown["pending"], json!([]), "{shown}");
        if lost_by == "route" {
            let back = json!({ "goto": "bob", "epoch": 2 });
            ok(&carol, Call::post(desk.path("/commands"), back)).await;
            assert_eq!(ok(&desk.bob, decision()).await["status"], "withdrawn", "for good");
        }
    }
}

/// An agent that has lost its conversation need not wait for an answer that cannot count.
#[tokio::test]
async fn an_agent_that_lost_its_conversation_may_end_at_once() {
    for _ in 0..8 {
        let desk = Desk::open(json!({})).await;
        let _carol = desk.server.agent("carol");
        let mut question = super::event(
            2,
            "awaiting.clarification",
            json!({
                "urgency": "critical", "question": "Which account?", "reply_token": "rpl_w",
                "timeout_seconds": 60,
            }),
        );
        let mut completed = super::event(3, "session.completed", json!({}));
        for event in [&mut question, &mut completed] {
            event["session_id"] = "sess_w".into();
            event["producer"]["agent_id"] = "bob".into();
        }
        let events = json!([started(&desk.conversation, "bob", "sess_w"), question]);
        ok(&desk.bob, Call::post("/aaep/v1/events", events)).await;
        let refused = desk.bob.call(Call::post("/aaep/v1/events", completed.clone())).await;
        assert_eq!(refused.expect("the server answers").status, 422, "the question is open");
        let to = json!({ "goto": "carol", "epoch": 1 });
        ok(&desk.bob, Call::post(desk.path("/commands"), to)).await;
        ok(&desk.bob, Call::post("/aaep/v1/events", completed)).await;
        let shown = ok(&desk.bob, Call::get("/aaep/v1/sessions/sess_w")).await;
        assert_eq!(shown["status"], "completed", "{shown}");
    }
}

/// A customer who names no language hears the one that the conversation knows.
#[tokio::test]
async fn a_customer_hears_their_own_language() {
    let server = crate::server::Server::start();
    let (bob, carol) = (server.agent("bob"), server.agent("carol"));
    let opened = json!({ "agent": "bob", "customer": { "name": "Ana", "language": "es" } });
    let opened = ok(&bob, Call::post("/v1/conversations", opened)).await;
    let conversation = opened["conversation_id"].as_str().expect("an id");
    let customer = server.with_token(opened["customer_token"].as_str().expect("a token"));
    let mut ear = AnnouncementFollower::on_terms(&customer, json!({})).await;
    let to = json!({ "goto": "carol", "epoch": 1 });
    ok(&bob, Call::post(format!("/v1/conversations/{conversation}/commands"), to)).await;
    drop(carol);
    let told = loop {
        let event = ear.next().await;
        if event["type"] == "aaep:agent.handoff.requested" {
            break event;
        }
    };
    let text = Message::RouteRequested { from: "bob", to: "carol" }.in_language("es").normal;
    assert_eq!((&told["summary_normal"], &told["reason"]), (&json!(text), &json!(text)), "{told}");
}

#[tokio::test]
async fn without_a_default_queue_a_request_says_so() {
    let server = crate::server::Server::start();
    let bob = server.agent("bob");
    let (conversation, customer) = crate::transfers::open(&server, &bob).await;
    let mut ear = AnnouncementFollower::open(&customer, "de").await;
    let request = json!({ "target_kind": "human" });
    let done = asked(&conversation, ("bob", &bob), "sess_q", request).await;
    assert_eq!((&done["outcome"], &done["code"]), (&json!("refused"), &json!("no_default_queue")));
    let told = loop {
        let event = ear.next().await;
        if event["type"] == "aaep:agent.session.cancelled" {
            break event;
        }
    };
    let text = Message::HandoverWithoutQueue { to: "bob" }.in_language("de").normal;
    assert_eq!(told["summary_normal"], text, "{told}");
}

/// A request that was cut off by a crash is carried out after the restart, once.
#[tokio::test]
async fn a_request_outlives_the_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = crate::server::Server::start_on(folder.path(), |_| {});
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    ok(&operator, Call::put("/v1/agents/default", json!({ "kind": "queue" }))).await;
    let bob = server.agent("bob");
    let token = server.token("bob", &[]);
    let (conversation, customer) = crate::transfers::open(&server, &bob).await;
    drop(customer);
    let request = json!({ "target_kind": "human" });
    let events =
        json!([started(&conversation, "bob", "sess_k"), requests("bob", "sess_k", 2, request)]);
    ok(&bob, Call::post("/aaep/v1/events", events)).await;
    server.kill();
    drop(server);
    let server = crate::server::Server::start_on(folder.path(), |_| {});
    let bob = server.with_token(&token);
    let done = outcome(&bob, "sess_k", "evt_2").await;
    assert_eq!(done["outcome"], "requested");
    let root = server.with_token(&server.token("root", &["--kind", "operator"]));
    let entries = crate::sse::whole_ledger(&root, "").await;
    let count =
        |name: &str| entries.iter().filter(|entry| entry.name.as_deref() == Some(name)).count();
    assert_eq!((count("transfer.requested"), count("session.handed_over")), (1, 1));
}
