//! Bots that answer late, answer twice, or go on talking after they have handed over: the customer
//! sees none of it, and the record has it. And bots that hand a customer round end with a person.

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use super::Desk;
use crate::server::{ok, refused};
use crate::sse::whole_ledger;
use crate::ws::socket::Socket;

/// A desk with a second bot, and a customer on a socket.
struct Chat {
    desk: Desk,
    carol: Client,
    hana: Client,
    ana: Socket,
}

impl Chat {
    async fn open() -> Self {
        let desk = Desk::open(json!({ "mode": "pick" })).await;
        let carol = desk.server.agent("carol");
        let hana = desk.person("hana").await;
        let minted = ok(&desk.bob, Call::post(desk.path("/tokens"), json!({}))).await;
        let token = minted["token"].as_str().expect("a token");
        let mut ana = Socket::open(&desk.server, token).await;
        ana.ok(json!({ "do": "subscribe", "after": 0 })).await;
        Self { desk, carol, hana, ana }
    }

    async fn post(&self, who: &Client, rest: &str, body: Value) -> Value {
        ok(who, Call::post(self.desk.path(rest), body)).await
    }

    /// A message that must not be heard; returns the code of the refusal.
    async fn unheard(&self, who: &Client, text: &str, epoch: u64, answers: u64) -> String {
        let parts = json!([{ "type": "text", "text": text }]);
        let body = json!({ "parts": parts, "epoch": epoch, "in_reply_to": answers });
        let refusal = refused(who, Call::post(self.desk.path("/messages"), body)).await;
        assert_eq!(refusal.status, 409, "{}", refusal.body);
        refusal.body["code"].as_str().expect("a code").to_owned()
    }

    /// What the customer has, over HTTP and on the socket, and the unheard messages in the record.
    async fn check(mut self, heard: &[&str], unheard: &[&str]) {
        self.desk.say(&self.desk.customer, "the last word", None).await;
        let heard = [heard, &["the last word"]].concat();
        assert_eq!(self.desk.texts(&self.desk.customer).await, heard);
        let mut told = Vec::new();
        while told.last().is_none_or(|text| text != "the last word") {
            let frame = self.ana.told().await;
            let all = frame.to_string();
            assert!(unheard.iter().all(|text| !all.contains(text)), "{all}");
            told.extend(frame["event"]["data"]["parts"][0]["text"].as_str().map(str::to_owned));
        }
        assert_eq!(told, heard);
        let record = whole_ledger(&self.desk.operator, "&kind=conversation.not_heard").await;
        let text = |data: &Value| data["data"]["parts"][0]["text"].as_str().map(str::to_owned);
        let record: Vec<_> = record.iter().filter_map(|event| text(&event.data)).collect();
        assert_eq!(record, unheard);
    }
}

#[tokio::test]
async fn a_bot_that_answers_late_is_not_heard() {
    let chat = Chat::open().await;
    chat.desk.say(&chat.desk.customer, "my bill is wrong", None).await;
    chat.post(&chat.desk.bob, "/transfers", json!({ "epoch": 1 })).await;
    assert_eq!(chat.unheard(&chat.desk.bob, "late 1", 1, 1).await, "epoch_outdated");
    let shown = ok(&chat.desk.operator, Call::get(chat.desk.path(""))).await;
    assert_eq!(shown["holder"], "default");
    // Nor if it guesses the epoch.
    assert_eq!(chat.unheard(&chat.desk.bob, "late 2", 2, 1).await, "not_holder");
    chat.check(&["my bill is wrong"], &["late 1", "late 2"]).await;
}

#[tokio::test]
async fn a_bot_that_answers_twice_is_heard_once() {
    let chat = Chat::open().await;
    chat.desk.say(&chat.desk.customer, "hello", None).await;
    let parts = json!([{ "type": "text", "text": "hi" }]);
    let answer = json!({ "parts": parts, "epoch": 1, "in_reply_to": 1 });
    chat.post(&chat.desk.bob, "/messages", answer).await;
    assert_eq!(chat.unheard(&chat.desk.bob, "hi again", 1, 1).await, "already_answered");
    chat.check(&["hello", "hi"], &["hi again"]).await;
}

#[tokio::test]
async fn a_bot_that_hands_over_and_goes_on_talking_is_not_heard() {
    // To another bot.
    let chat = Chat::open().await;
    chat.desk.say(&chat.desk.customer, "hello", None).await;
    chat.post(&chat.desk.bob, "/commands", json!({ "goto": "carol", "epoch": 1 })).await;
    for (text, epoch, code) in [("and 1", 1, "epoch_outdated"), ("and 2", 2, "not_holder")] {
        assert_eq!(chat.unheard(&chat.desk.bob, text, epoch, 1).await, code);
    }
    chat.desk.say(&chat.carol, "I am carol", Some(2)).await;
    chat.check(&["hello", "I am carol"], &["and 1", "and 2"]).await;

    // To a person, who picks up meanwhile.
    let chat = Chat::open().await;
    chat.desk.say(&chat.desk.customer, "hello", None).await;
    let transfer = chat.post(&chat.desk.bob, "/transfers", json!({ "epoch": 1 })).await;
    assert_eq!(chat.unheard(&chat.desk.bob, "and 1", 1, 1).await, "epoch_outdated");
    let pickup = json!({ "epoch": 2, "accept": true });
    super::act(&chat.hana, &transfer, "pickup", pickup).await;
    for (text, epoch, code) in [("and 2", 2, "epoch_outdated"), ("and 3", 3, "not_holder")] {
        assert_eq!(chat.unheard(&chat.desk.bob, text, epoch, 1).await, code);
    }
    chat.desk.say(&chat.hana, "I am hana", Some(3)).await;
    // Once it is back, messages of the first epoch are still too late.
    super::act(&chat.hana, &transfer, "complete", json!({ "epoch": 3 })).await;
    assert_eq!(chat.unheard(&chat.desk.bob, "and 4", 1, 1).await, "epoch_outdated");
    let unheard = ["and 1", "and 2", "and 3", "and 4"];
    chat.check(&["hello", "I am hana"], &unheard).await;
}

/// Each goes on for as long as it may: the final place of the customer, and the number of hops.
#[tokio::test]
async fn bots_that_hand_a_customer_round_for_ever_end_with_somebody() {
    let free = json!({ "kind": "free" });
    let swarm = json!({ "kind": "swarm", "members": ["bob", "carol"], "default_agent": "bob" });
    let supervisor =
        json!({ "kind": "supervisor", "supervisor": "boss", "workers": ["bob", "carol"] });
    for (topology, hops_max, ends_with) in
        [(free, 8, "default"), (swarm, 2, "default"), (supervisor, 8, "boss")]
    {
        let chat = Chat::open().await;
        let workers = [("bob", &chat.desk.bob, "carol"), ("carol", &chat.carol, "bob")];
        chat.desk.server.agent("boss");
        let body = json!({ "agent": "bob", "topology": topology, "hops_max": hops_max });
        let opened = ok(&chat.desk.operator, Call::post("/v1/conversations", body)).await;
        let path =
            format!("/v1/conversations/{}", opened["conversation_id"].as_str().expect("an id"));
        let mut n_hops = 0;
        let shown = loop {
            let shown = ok(&chat.desk.operator, Call::get(path.clone())).await;
            let holder = workers.iter().find(|(name, _, _)| shown["holder"] == *name);
            let Some((_, holder, next)) = holder else { break shown };
            let route = json!({ "goto": next, "epoch": shown["epoch"], "graph": "parent" });
            ok(holder, Call::post(format!("{path}/commands"), route)).await;
            n_hops += 1;
            assert!(n_hops <= hops_max + 1, "the bots are not stopped: {shown}");
        };
        assert_eq!(shown["holder"], ends_with, "{topology}");
        if ends_with == "default" {
            assert_eq!(shown["transfer_status"], "queued", "{shown}");
        }
    }
}
