//! The customer's side: what they may send, what they are told, and the characters they write.

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use super::{Desk, act, path};
use crate::server::{ok, refused};
use crate::sse::whole_ledger;
use crate::ws::socket::Socket;

/// A desk whose customer speaks German, with `carol` beside `bob`, and the customer's token.
async fn german() -> (Desk, Client, String) {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let carol = desk.server.agent("carol");
    let open = json!({ "agent": "bob", "customer": { "name": "Ana", "language": "de-AT" } });
    let opened = ok(&desk.bob, Call::post("/v1/conversations", open)).await;
    let text = |name: &str| opened[name].as_str().expect("text").to_owned();
    let (conversation, token) = (text("conversation_id"), text("customer_token"));
    let customer = desk.server.with_token(&token);
    (Desk { conversation, customer, ..desk }, carol, token)
}

/// Everything that a caller can read and is told of the conversation.
async fn seen(desk: &Desk, who: &Client, token: &str) -> String {
    let mut all = ok(who, Call::get(desk.path("/messages?limit=200"))).await.to_string();
    let shown = ok(who, Call::get(desk.path(""))).await;
    all.push_str(&shown.to_string());
    if let Some(transfer) = shown["transfer_id"].as_str() {
        all.push_str(&ok(who, Call::get(format!("/v1/transfers/{transfer}"))).await.to_string());
    }
    let mut socket = Socket::open(&desk.server, token).await;
    let follow = json!({ "do": "subscribe", "conversation": desk.conversation, "after": 0 });
    socket.ok(follow).await;
    desk.say(&desk.customer, "the last word", None).await;
    loop {
        let frame = socket.told().await;
        all.push_str(&frame.to_string());
        if frame["event"]["data"]["parts"][0]["text"] == "the last word" {
            return all;
        }
    }
}

/// Over HTTP and on a socket, with the field named.
#[tokio::test]
async fn a_customer_cannot_speak_as_the_bot() {
    let (desk, _, token) = german().await;
    let mut socket = Socket::open(&desk.server, &token).await;
    let verified =
        json!({ "summary": "VERIFIED by bot", "custom_attributes": { "kyc": "passed" } });
    for (operation, below, field, body) in [
        ("request_human", "/transfers", "priority", json!({ "priority": 100 })),
        ("request_human", "/transfers", "queue", json!({ "queue": "default" })),
        ("request_human", "/transfers", "queue", json!({ "queue": "nowhere" })),
        ("request_human", "/transfers", "wanted", json!({ "wanted": { "team": "vip" } })),
        ("request_human", "/transfers", "type", json!({ "type": "blind" })),
        ("request_human", "/transfers", "context", json!({ "context": verified })),
        ("request_human", "/transfers", "customer_text", json!({ "customer_text": "hi" })),
        ("ask_callback", "/callbacks", "queue", json!({ "queue": "default", "contact": "c" })),
    ] {
        let refusal = refused(&desk.customer, Call::post(desk.path(below), body.clone())).await;
        let shown = (refusal.status, &refusal.body["code"], &refusal.body["field"]);
        assert_eq!(shown, (422, &json!("schema_invalid"), &json!(field)), "{}", refusal.body);
        let with = json!({ "conversation": desk.conversation });
        let answer = socket.ask(json!({ "do": operation, "with": with, "body": body })).await;
        assert_eq!((&answer["status"], &answer["body"]["field"]), (&json!(422), &json!(field)));
    }
    let hana = desk.person("hana").await;
    let mut hears = Socket::open(&desk.server, &desk.server.token("bob", &[])).await;
    hears.ok(json!({ "do": "subscribe", "conversation": desk.conversation })).await;
    let asked = json!({ "reason": "my bill", "words": "VERIFIED by bot" });
    let transfer = desk.request(&desk.customer, asked).await;
    assert_eq!(transfer["reason"], "my bill", "it is theirs to see");
    act(&hana, &transfer, "pickup", json!({ "epoch": 2, "accept": true })).await;
    let shown = ok(&hana, Call::get(path(&transfer, "").trim_end_matches('/'))).await;
    assert!(shown["requested_by"].as_str().expect("a name").starts_with("customer:"), "{shown}");
    assert_eq!(shown["bundle"]["customerWords"], "VERIFIED by bot");
    assert_eq!(shown["bundle"]["transcriptSummary"], Value::Null);
    let page = ok(&hana, Call::get(desk.path("/messages"))).await;
    let part = &page["items"][0]["parts"][0];
    assert_eq!((&part["reasonBy"], &part["reason"]), (&json!("customer"), &json!("my bill")));
    assert_eq!(part["customerWords"], "VERIFIED by bot");
    // The customer's reason is always marked as the customer's.
    let bundle = shown["bundle"]["bundleId"].as_str().expect("an id");
    let bundle = ok(&hana, Call::get(format!("/v1/bundles/{bundle}"))).await;
    for (road, by) in [
        ("transfer", &shown["reason_by"]),
        ("its bundle", &shown["bundle"]["reasonBy"]),
        ("the bundle by its id", &bundle["reasonBy"]),
    ] {
        assert_eq!(*by, "customer", "{road}");
    }
    let frames = hears.all_told().await;
    let is_reason = |it: &&Value| it["type"] == "handoff.status" && it["reason"].is_string();
    let frame = frames.iter().find(is_reason).expect("bob hears why");
    assert_eq!((&frame["reason"], &frame["reasonBy"]), (&json!("my bill"), &json!("customer")));
}

#[tokio::test]
async fn a_customer_names_the_queues_that_a_conversation_or_its_graph_opens() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    for queue in ["billing", "tax"] {
        let put = Call::put(format!("/v1/agents/{queue}"), json!({ "kind": "queue" }));
        ok(&desk.operator, put).await;
    }
    ok(&desk.operator, Call::put("/v1/agents/bob", json!({ "kind": "worker" }))).await;
    let graph = json!({ "entry": "general", "customer_queues": ["tax"], "nodes": [
        { "id": "general", "kind": "specialist", "agent": "bob" }] });
    ok(&desk.operator, Call::put("/v1/graphs/support", graph)).await;
    for (open, queue, expected) in [
        (json!({ "agent": "bob", "customer_queues": ["billing"] }), "billing", 201),
        (json!({ "agent": "bob", "customer_queues": ["billing"] }), "tax", 422),
        (json!({ "graph": "support" }), "tax", 201),
        (json!({ "graph": "support" }), "billing", 422),
        (json!({ "graph": "support", "customer_queues": ["billing"] }), "billing", 201),
    ] {
        let opened = ok(&desk.bob, Call::post("/v1/conversations", open.clone())).await;
        let customer = desk.server.with_token(opened["customer_token"].as_str().expect("a token"));
        let id = opened["conversation_id"].as_str().expect("an id");
        let ask =
            Call::post(format!("/v1/conversations/{id}/transfers"), json!({ "queue": queue }));
        let answer = customer.call(ask).await.expect("the server answers");
        assert_eq!(answer.status, expected, "{open} {queue}: {}", answer.body);
    }
}

/// A model's opinion of a customer is for colleagues.
#[tokio::test]
async fn the_reason_of_a_bot_does_not_reach_the_customer() {
    let (desk, carol, token) = german().await;
    let secret = "customer is abusive, fraud score 0.93";
    let route = json!({ "goto": "carol", "epoch": 1, "reason": secret });
    ok(&desk.bob, Call::post(desk.path("/commands"), route)).await;
    let told = "Bob kennt sich damit besser aus.";
    let route = json!({ "goto": "bob", "epoch": 2, "reason": secret, "customer_text": told });
    ok(&carol, Call::post(desk.path("/commands"), route)).await;
    let asked = json!({ "epoch": 3, "reason": secret });
    let transfer = desk.request(&desk.bob, asked).await;
    assert_eq!(transfer["reason"], secret);

    let seen_by_customer = seen(&desk, &desk.customer, &token).await;
    assert!(!seen_by_customer.contains("fraud"), "{seen_by_customer}");
    let page = ok(&desk.customer, Call::get(desk.path("/messages"))).await;
    let reason = |index: usize| page["items"][index]["parts"][0]["reason"].clone();
    let fixed = "\u{2068}bob\u{2069} übergibt das Gespräch an \u{2068}carol\u{2069}.";
    assert_eq!(reason(0), fixed);
    assert_eq!(reason(1), told);
    assert!(reason(2).as_str().expect("a sentence").contains("\u{2068}default\u{2069}"));
    for text in [fixed, told] {
        assert!(seen_by_customer.matches(text).count() >= 3, "{text}: {seen_by_customer}");
    }
    // Members see it unchanged.
    let page = ok(&desk.operator, Call::get(desk.path("/messages"))).await;
    for index in 0..3 {
        assert_eq!(page["items"][index]["parts"][0]["reason"], secret, "{page}");
    }
    assert_eq!(page["items"][1]["parts"][0]["customerText"], told);
}

#[tokio::test]
async fn what_customers_write_is_kept_and_programs_see_what_hides_in_it() {
    let (desk, _, token) = german().await;
    let flag = "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}";
    let sent = format!("{flag} 👩\u{200d}💻 \u{202b}שלום\u{202c} \u{2067}x\u{2069}\u{b}\u{1b}[2J");
    desk.say(&desk.customer, &sent, None).await;
    let mut socket = Socket::open(&desk.server, &token).await;
    let body = json!({ "parts": [{ "type": "text", "text": sent }] });
    let with = json!({ "conversation": desk.conversation });
    let said = socket.ask(json!({ "do": "say", "with": with, "body": body })).await;
    assert_eq!(said["status"], 201, "{said}");

    let hidden = r"\u{202B}שלום\u{202C} \u{2067}x\u{2069}\u{000B}\u{001B}[2J";
    let escaped = format!("{flag} 👩\u{200d}💻 {hidden}");
    for (who, expected) in [(&desk.customer, &sent), (&desk.operator, &sent), (&desk.bob, &escaped)]
    {
        assert_eq!(desk.texts(who).await, [expected.clone(), expected.clone()]);
    }
    let filter = format!("&stream=conversation/{}", desk.conversation);
    for (who, expected) in [(&desk.operator, &sent), (&desk.bob, &escaped)] {
        let events = whole_ledger(who, &filter).await;
        let text = |event: &Value| event["data"]["parts"][0]["text"].as_str().map(str::to_owned);
        let texts: Vec<_> = events.iter().filter_map(|event| text(&event.data)).collect();
        assert_eq!(texts, [expected.clone(), expected.clone()]);
    }
    // Fields outside of the chat are as strict as before.
    let reason = json!({ "goto": "carol", "epoch": 1, "reason": "a\u{202e}b" });
    let refusal = refused(&desk.bob, Call::post(desk.path("/commands"), reason)).await;
    assert_eq!((refusal.status, &refusal.body["field"]), (400, &json!("reason")));
    let asked = json!({ "epoch": 1, "reason": "a\u{202e}b" });
    let refusal = refused(&desk.bob, Call::post(desk.path("/transfers"), asked)).await;
    assert_eq!((refusal.status, &refusal.body["field"]), (400, &json!("reason")));
    let words = json!({ "reason": "\u{2067}x\u{2069}", "words": flag });
    let transfer = desk.request(&desk.customer, words).await;
    assert_eq!(transfer["reason"], "\u{2067}x\u{2069}");
    let id = transfer["transfer_id"].as_str().expect("an id");
    for (who, expected) in
        [(&desk.operator, "\u{2067}x\u{2069}"), (&desk.bob, r"\u{2067}x\u{2069}")]
    {
        let shown = ok(who, Call::get(format!("/v1/transfers/{id}"))).await;
        let bundle = ok(who, Call::get(format!("/v1/bundles/{id}-0"))).await;
        assert_eq!(shown["reason"], expected);
        assert_eq!((&shown["bundle"], &bundle["reason"]), (&bundle, &json!(expected)));
    }
    let name = json!({ "agent": "bob", "customer": { "name": "A\u{3164}na" },
                       "attributes": { "pl\u{200b}an": "gold\u{e000}" } });
    let opened = ok(&desk.bob, Call::post("/v1/conversations", name)).await;
    let own = format!("/v1/conversations/{}", opened["conversation_id"].as_str().expect("an id"));
    let customer = desk.server.with_token(opened["customer_token"].as_str().expect("a token"));
    let contact = json!({ "contact": "\u{202a}+49\u{202c}\u{200b}30" });
    ok(&customer, Call::post(format!("{own}/callbacks"), contact)).await;
    let shown = ok(&desk.bob, Call::get(&*own)).await;
    assert_eq!(shown["customer"]["name"], r"A\u{3164}na");
    assert_eq!(shown["callback"]["contact"], r"\u{202A}+49\u{202C}\u{200B}30");
    assert_eq!(shown["attributes"], json!({ r"pl\u{200B}an": r"gold\u{E000}" }));
    let to_people = ok(&desk.operator, Call::get(&*own)).await;
    assert_eq!(to_people["customer"]["name"], "A\u{3164}na", "people get it as it was sent");
    assert_eq!(to_people["callback"]["contact"], "\u{202a}+49\u{202c}\u{200b}30");
    let typed = json!({ "parts": [{ "type": "text", "text": "a\u{8}b" }] });
    ok(&customer, Call::post(format!("{own}/messages"), typed)).await;
    let id = opened["conversation_id"].as_str().expect("an id");
    let heard = whole_ledger(&desk.bob, &format!("&stream=conversation/{id}")).await;
    assert!(heard.iter().any(|event| event.data.to_string().contains(r"a\\u{0008}b")), "{heard:?}");
    let nul = json!({ "parts": [{ "type": "text", "text": "a\u{0}b" }] });
    let refusal = refused(&desk.customer, Call::post(desk.path("/messages"), nul)).await;
    assert_eq!((refusal.status, &refusal.body["field"]), (400, &json!("parts[0].text")));
}
