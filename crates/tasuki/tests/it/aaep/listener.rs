//! A listener like people's tools: it negotiates terms, reads server-sent events, and answers.

use std::time::Duration;

use axum::body::Body;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tasuki::client::{Answer, Call, Client};

use crate::server::ok;

/// A quiet stream sends a heartbeat every ten seconds.
const SILENCE_MAX: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct Listener {
    pub client: Client,
    pub subscription: String,
    body: Body,
    waiting: Vec<u8>,
    /// The last id that was seen: the cursor to resume at.
    pub place: Option<String>,
}

/// The terms of every listener of these stories, and the additional terms of one of them.
pub fn terms(more: Value) -> Value {
    let mut terms = json!({
        "supports_confirmation_reply": true,
        "supports_clarification_reply": true,
        "coalesce_boundaries": ["none"],
    });
    let fields = terms.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
    terms
}

pub fn request(terms: &Value) -> Value {
    json!({
        "type": "subscription.request", "aaep_version": "1.0.0", "subscriber_id": "reader",
        "capabilities": terms,
    })
}

impl Listener {
    pub async fn open(client: Client, terms: &Value) -> Self {
        let accepted = ok(&client, Call::post("/aaep/v1/subscriptions", request(terms))).await;
        assert_eq!(accepted["type"], "subscription.accepted", "{accepted}");
        let subscription = accepted["subscription_id"].as_str().expect("an id").to_owned();
        Self::resume(client, subscription, None).await
    }

    /// Resumes a subscription, after the last id that was seen.
    pub async fn resume(client: Client, subscription: String, place: Option<String>) -> Self {
        let path = format!("/aaep/v1/events?subscription_id={subscription}");
        let headers: Vec<_> = place.iter().map(|id| ("last-event-id", id.clone())).collect();
        let response = client.open(&Call::get(&path), &headers).await.expect("the server answers");
        assert_eq!(response.status().as_u16(), 200, "{path}");
        assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
        let body = response.into_body();
        Self { client, subscription, body, waiting: Vec::new(), place }
    }

    /// The cursor at which the stream begins.
    pub async fn greeted(&mut self) -> String {
        while self.place.is_none() {
            let frame = self.body.frame().await.expect("a greeting").expect("the stream goes on");
            let text = String::from_utf8(frame.into_data().unwrap_or_default().to_vec());
            let text = text.expect("a stream is text");
            self.place = text.lines().find_map(|line| line.strip_prefix("id: ")).map(str::to_owned);
        }
        self.place.clone().expect("it was just seen")
    }

    /// The next event, or the message that ends the subscription. `None` once the stream is over.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            while let Some(end) = self.waiting.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.waiting.drain(..end + 2).collect();
                let block = String::from_utf8(block).expect("a stream is text");
                let line = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
                self.place = line("id: ").map(str::to_owned).or(self.place.take());
                if let Some(data) = line("data: ") {
                    return Some(serde_json::from_str(data).expect("an event is JSON"));
                }
            }
            let frame = tokio::time::timeout(SILENCE_MAX, self.body.frame())
                .await
                .expect("a stream gives signs of life");
            self.waiting.extend(frame?.ok()?.into_data().unwrap_or_default());
        }
    }

    /// The next event of this type, such as `session.started`; skips others.
    pub async fn until(&mut self, kind: &str) -> Value {
        loop {
            let event = self.next().await.expect("the stream goes on");
            if event["type"] == format!("aaep:agent.{kind}") {
                return event;
            }
        }
    }

    /// All events to the end of a session.
    pub async fn until_the_end(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let event = self.next().await.expect("the stream goes on");
            let is_last = ["completed", "errored", "cancelled"]
                .iter()
                .any(|end| event["type"] == format!("aaep:agent.session.{end}"));
            events.push(event);
            if is_last {
                return events;
            }
        }
    }

    /// Answers a question with its token.
    pub async fn answer(&self, question: &Value, decision: &str) -> Answer {
        let token = question["reply_token"].as_str().expect("a token");
        self.reply(&self.confirmation(token, decision)).await
    }

    pub fn confirmation(&self, token: &str, decision: &str) -> Value {
        json!({
            "type": "confirmation.reply", "reply_token": token, "decision": decision,
            "subscription_id": self.subscription, "timestamp": "2026-05-24T14:22:30.000Z",
        })
    }

    pub async fn reply(&self, message: &Value) -> Answer {
        let call = Call::post("/aaep/v1/replies", message.clone());
        self.client.call(call).await.expect("the server answers")
    }
}
