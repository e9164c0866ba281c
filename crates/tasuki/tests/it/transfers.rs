//! From the bot to a person and back, over HTTP: which person gets it, what each party is told, and
//! that no message of the customer is lost.

mod bots;
mod bundles;
pub mod clocked;
mod figures;
mod load;
mod races;
mod reconnect;
mod script;
mod theirs;
mod typing;
mod waits;

use std::time::Duration;

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use crate::server::{Server, ok, refused};

/// A conversation that `bob` holds, and a queue.
pub struct Desk {
    pub server: Server,
    pub operator: Client,
    pub bob: Client,
    pub customer: Client,
    pub conversation: String,
}

impl Desk {
    pub async fn open(queue: Value) -> Self {
        let server = Server::start();
        let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
        ok(&operator, Call::put("/v1/agents/default", json!({ "kind": "queue" }))).await;
        ok(&operator, Call::put("/v1/queues/default", queue)).await;
        let bob = server.agent("bob");
        let (conversation, customer) = open(&server, &bob).await;
        Self { server, operator, bob, customer, conversation }
    }

    /// A person who is present.
    pub async fn person(&self, name: &str) -> Client {
        let agent = json!({ "kind": "human", "profile": { "name": name } });
        ok(&self.operator, Call::put(format!("/v1/agents/{name}"), agent)).await;
        let person = self.server.agent(name);
        let there = json!({ "presence": "available" });
        ok(&person, Call::put(format!("/v1/agents/{name}/presence"), there)).await;
        person
    }

    pub fn path(&self, rest: &str) -> String {
        format!("/v1/conversations/{}{rest}", self.conversation)
    }

    pub async fn request(&self, who: &Client, body: Value) -> Value {
        ok(who, Call::post(self.path("/transfers"), body)).await
    }

    pub async fn say(&self, who: &Client, text: &str, epoch: Option<u64>) -> Value {
        let mut body = json!({ "parts": [{ "type": "text", "text": text }] });
        if let Some(epoch) = epoch {
            body["epoch"] = epoch.into();
        }
        ok(who, Call::post(self.path("/messages"), body)).await
    }

    pub async fn texts(&self, reader: &Client) -> Vec<String> {
        let page = ok(reader, Call::get(self.path("/messages?limit=200"))).await;
        let lines = page["items"].as_array().expect("a page").clone();
        let text = |line: &Value| line["parts"][0]["text"].as_str().map(str::to_owned);
        lines.iter().filter_map(text).collect()
    }
}

pub async fn open(server: &Server, bob: &Client) -> (String, Client) {
    let opened = ok(bob, Call::post("/v1/conversations", json!({ "agent": "bob" }))).await;
    let id = opened["conversation_id"].as_str().expect("an id").to_owned();
    (id, server.with_token(opened["customer_token"].as_str().expect("a token")))
}

pub async fn act(who: &Client, transfer: &Value, action: &str, body: Value) -> Value {
    ok(who, Call::post(path(transfer, action), body)).await
}

pub fn path(transfer: &Value, action: &str) -> String {
    format!("/v1/transfers/{}/{action}", transfer["transfer_id"].as_str().expect("an id"))
}

/// The transfer once it has this status.
pub async fn until(who: &Client, transfer: &Value, status: &str) -> Value {
    let path = format!("/v1/transfers/{}", transfer["transfer_id"].as_str().expect("an id"));
    let seen = async {
        loop {
            let shown = ok(who, Call::get(path.clone())).await;
            if shown["status"] == status {
                return shown;
            }
        }
    };
    let seen = tokio::time::timeout(Duration::from_secs(60), seen).await;
    seen.unwrap_or_else(|_| panic!("it is not {status}"))
}

#[tokio::test]
async fn from_the_bot_to_a_person_and_back() {
    let desk = Desk::open(json!({})).await;
    let hana = desk.person("hana").await;
    desk.say(&desk.customer, "my bill is wrong", None).await;
    let context = json!({ "summary": "a wrong bill", "custom_attributes": { "vip": true } });
    let asked =
        json!({ "epoch": 1, "reason": "cannot refund", "type": "warm", "context": context });
    let transfer = desk.request(&desk.bob, asked).await;
    assert_eq!((&transfer["holder"], &transfer["epoch"]), (&json!("default"), &json!(2)));

    // The bot is silent from here on, and the customer's messages are kept.
    let late = json!({ "parts": [{ "type": "text", "text": "wait" }], "epoch": 1 });
    let late = refused(&desk.bob, Call::post(desk.path("/messages"), late)).await;
    assert_eq!(late.body["code"], "epoch_outdated");
    desk.say(&desk.customer, "hello?", None).await;

    // It is offered to the person who is present.
    let ringing = until(&hana, &transfer, "ringing").await;
    assert_eq!(ringing["agent"]["agentName"], "hana");
    assert_eq!(ringing["bundle"]["transcriptSummary"], "a wrong bill");
    assert_eq!(ringing["bundle"]["messageCount"], 1);
    desk.say(&desk.customer, "still there?", None).await;
    let connected = act(&hana, &transfer, "accept", json!({ "epoch": 2 })).await;
    assert_eq!((&connected["holder"], &connected["epoch"]), (&json!("hana"), &json!(3)));
    let seen = ok(&desk.customer, Call::get(desk.path(""))).await;
    assert_eq!((&seen["holder"], &seen["transfer_status"]), (&json!("hana"), &json!("connected")));
    assert_eq!(desk.texts(&hana).await, ["my bill is wrong", "hello?", "still there?"]);

    desk.say(&hana, "I see it", Some(3)).await;
    act(&hana, &transfer, "note", json!({ "epoch": 3, "text": "charged twice" })).await;
    act(&hana, &transfer, "hold", json!({ "epoch": 3 })).await;
    desk.say(&desk.customer, "thanks", None).await;
    act(&hana, &transfer, "resume", json!({ "epoch": 3 })).await;
    let over = json!({ "epoch": 3, "summary": "refunded 10" });
    let over = act(&hana, &transfer, "complete", over).await;
    assert_eq!((&over["status"], &over["holder"]), (&json!("completed"), &json!("bob")));

    // The note is for people; the bot learns how it ended.
    let all = ["my bill is wrong", "hello?", "still there?", "I see it", "charged twice", "thanks"];
    assert_eq!(desk.texts(&hana).await, all);
    for outsider in [&desk.bob, &desk.customer] {
        let texts = desk.texts(outsider).await;
        assert!(!texts.contains(&"charged twice".to_owned()), "{texts:?}");
    }
    let page = ok(&desk.bob, Call::get(desk.path("/messages?after=8"))).await;
    assert_eq!(page["items"][0]["parts"][0]["context"], "refunded 10", "{page}");
    desk.say(&desk.bob, "anything else?", Some(4)).await;

    let seen = until(&desk.customer, &transfer, "completed").await;
    assert_eq!((&seen["asks_rating"], &seen["bundle"]), (&json!(true), &Value::Null));
    act(&desk.customer, &transfer, "rate", json!({ "score": 5, "comment": "quick" })).await;
    let gone = Call::post(path(&transfer, "pickup"), json!({ "epoch": 4 }));
    let gone = refused(&hana, gone).await;
    assert_eq!((gone.status, &gone.body["code"]), (410, &json!("HANDOFF_GONE")));
}

#[tokio::test]
async fn a_queue_shows_who_waits_and_how_long_it_may_take() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let hana = desk.person("hana").await;
    let first = desk.request(&desk.customer, json!({})).await;
    assert_eq!((&first["queue_position"], &first["status"]), (&json!(1), &json!("queued")));
    let (other, customer) = open(&desk.server, &desk.bob).await;
    let asked = json!({ "priority": 1, "epoch": 1 });
    let asked = Call::post(format!("/v1/conversations/{other}/transfers"), asked);
    ok(&desk.bob, asked).await;
    let shown = ok(&customer, Call::get(format!("/v1/conversations/{other}"))).await;
    let path = format!("/v1/transfers/{}", shown["transfer_id"].as_str().expect("an id"));
    let second = ok(&customer, Call::get(path)).await;
    assert_eq!(second["queue_position"], 1, "a level of priority is worth five minutes");
    // The roster of people follows the ledger.
    let queue = loop {
        let queue = ok(&hana, Call::get("/v1/queues/default")).await;
        if queue["n_available"] == 1 {
            break queue;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(queue["n_waiting"], 2);
    let waiting: Vec<_> = queue["waiting"].as_array().expect("a list").iter().collect();
    assert_eq!(waiting[0]["transfer_id"], second["transfer_id"]);
    assert_eq!(waiting[1]["queue_position"], 2);
    assert_eq!(ok(&desk.bob, Call::get("/v1/queues/default")).await["waiting"], Value::Null);

    // The duration of a transfer is unknown yet, so no estimate is given; later it is a range.
    assert_eq!(first["estimated_wait"], Value::Null);
    act(&hana, &second, "pickup", json!({ "epoch": 2, "accept": true })).await;
    act(&hana, &second, "complete", json!({ "epoch": 3 })).await;
    let shown = loop {
        let shown = until(&desk.customer, &first, "queued").await;
        if !shown["estimated_wait"].is_null() {
            break shown;
        }
    };
    assert!(shown["estimated_wait"]["from"].is_string(), "{shown}");
}

#[tokio::test]
async fn a_person_who_says_goodbye_leaves_nobody_behind() {
    let desk = Desk::open(json!({})).await;
    let hana = desk.person("hana").await;
    let transfer = desk.request(&desk.customer, json!({})).await;
    until(&hana, &transfer, "ringing").await;
    act(&hana, &transfer, "accept", json!({ "epoch": 2 })).await;
    let ivan = desk.person("ivan").await;
    let gone = json!({ "presence": "offline" });
    ok(&hana, Call::put("/v1/agents/hana/presence", gone)).await;
    let ringing = until(&desk.operator, &transfer, "ringing").await;
    assert_eq!((&ringing["agent"]["agentId"], &ringing["epoch"]), (&json!("ivan"), &json!(4)));
    let late = json!({ "parts": [{ "type": "text", "text": "wait" }], "epoch": 3 });
    let late = refused(&hana, Call::post(desk.path("/messages"), late)).await;
    assert_eq!(late.body["code"], "epoch_outdated");
    act(&ivan, &transfer, "accept", json!({ "epoch": 4 })).await;
}
