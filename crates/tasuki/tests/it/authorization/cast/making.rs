//! Making what the cast has: conversations, messages, sessions and others, in their first state.

use serde_json::json;
use tasuki::client::{Call, Client};

use super::{BACKROOM, CONVERSATION, Cast, OWN, WEBHOOK};
use crate::authorization::bodies::{graph, started, subscribes, webhook};
use crate::server::ok;

impl Cast {
    /// One in which its customer sent a small file.
    pub(super) async fn make_conversation(&self, alice: &Client) -> String {
        let open = json!({ "agent": "bob", "customer_queues": [BACKROOM] });
        let opened = ok(alice, Call::post("/v1/conversations", open)).await;
        let id = opened["conversation_id"].as_str().expect("an id").to_owned();
        let token = opened["customer_token"].as_str().expect("a token").to_owned();
        let file = json!({
            "type": "attachment", "name": "a", "media_type": "text/plain", "data": "aGk=",
        });
        let path = format!("/v1/conversations/{id}/messages");
        let say = Call::post(path, json!({ "parts": [file] }));
        ok(&self.server.with_token(&token), say).await;
        self.customers.lock().expect("no test panics").insert(id.clone(), token);
        id
    }

    pub(super) async fn make_called(&self) -> String {
        let id = self.make(CONVERSATION).await;
        let at = format!("/v1/conversations/{id}/callbacks");
        ok(&self.operator(OWN), Call::post(at, json!({ "queue": BACKROOM, "contact": "c" }))).await;
        id
    }

    /// A session that the sender announces, with an open question.
    pub(super) async fn make_session(&self, task: &str) -> String {
        let started = started(task, "alice");
        let id = started["session_id"].as_str().expect("an id").to_owned();
        let mut asks = started.clone();
        asks["type"] = "aaep:agent.awaiting.clarification".into();
        asks["event_id"] = "evt_2".into();
        asks["urgency"] = "critical".into();
        asks["question"] = "Which one?".into();
        asks["reply_token"] = "rpl_1".into();
        asks["timeout_seconds"] = 60.into();
        let events = Call::post("/aaep/v1/events", json!([started, asks]));
        ok(&self.client(OWN, "sender"), events).await;
        id
    }

    pub(super) async fn make_message(&self, task: &str) -> String {
        let message = json!({ "to": ["bob"], "type": "status.update", "topic": task });
        let send = Call::post("/v1/acp/messages", message);
        let sent = ok(&self.client(OWN, "sender"), send).await;
        sent["id"].as_str().expect("an id").to_owned()
    }

    pub(super) async fn make_subscription(&self) -> String {
        let request = Call::post("/aaep/v1/subscriptions", subscribes());
        let accepted = ok(&self.client(OWN, "sender"), request).await;
        accepted["subscription_id"].as_str().expect("an id").to_owned()
    }

    /// A new one, in place of the last: a bearer has only so many.
    pub(super) async fn make_webhook(&self) -> String {
        let sender = self.client(OWN, "sender");
        let listed = ok(&sender, Call::get("/v1/webhooks")).await;
        for one in listed["items"].as_array().expect("a list") {
            let id = one["webhook_id"].as_str().expect("an id");
            if self.hidden.get(WEBHOOK).is_some_and(|hidden| hidden != id) {
                ok(&sender, Call::post(format!("/v1/webhooks/{id}/remove"), json!({}))).await;
            }
        }
        let made = ok(&sender, Call::post("/v1/webhooks", webhook())).await;
        made["webhook_id"].as_str().expect("an id").to_owned()
    }

    pub(super) async fn make_graph(&self, task: &str) -> String {
        let id = format!("maze-{}", task.to_lowercase());
        ok(&self.operator(OWN), Call::put(format!("/v1/graphs/{id}"), graph())).await;
        id
    }
}
