//! A listener over server-sent events, on terms of its own.

use std::time::Duration;

use axum::body::Body;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use crate::server::ok;

/// A stream sends a heartbeat sooner than this.
const SILENCE_MAX: Duration = Duration::from_secs(30);

pub struct AnnouncementFollower {
    pub subscription: String,
    body: Body,
    waiting: Vec<u8>,
}

impl AnnouncementFollower {
    pub async fn open(client: &Client, language: &str) -> Self {
        Self::on_terms(client, json!({ "languages": [language] })).await
    }

    pub async fn on_terms(client: &Client, capabilities: Value) -> Self {
        let request = json!({
            "type": "subscription.request", "aaep_version": "1.0.0", "subscriber_id": "ear",
            "capabilities": capabilities,
        });
        let accepted = ok(client, Call::post("/aaep/v1/subscriptions", request)).await;
        let id = accepted["subscription_id"].as_str().expect("an id");
        let path = format!("/aaep/v1/events?subscription_id={id}");
        let response = client.open(&Call::get(path), &[]).await.expect("the server answers");
        assert_eq!(response.status().as_u16(), 200);
        let (subscription, body) = (id.to_owned(), response.into_body());
        Self { subscription, body, waiting: Vec::new() }
    }

    pub async fn next(&mut self) -> Value {
        loop {
            if let Some(end) = self.waiting.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.waiting.drain(..end + 2).collect();
                let block = std::str::from_utf8(&block).expect("a stream is text");
                let data = block.lines().find_map(|line| line.strip_prefix("data: "));
                match data {
                    Some(data) => return serde_json::from_str(data).expect("JSON"),
                    None => continue,
                }
            }
            let frame = tokio::time::timeout(SILENCE_MAX, self.body.frame()).await;
            let frame = frame.expect("a stream beats").expect("it goes on").expect("it is read");
            self.waiting.extend(frame.into_data().unwrap_or_default());
        }
    }

    /// Everything up to an event of a kind, the critical ones first: they overtake others.
    pub async fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut heard = Vec::new();
        loop {
            let event = self.next().await;
            let is_last = event["type"] == format!("aaep:agent.{kind}");
            heard.push(event);
            if is_last {
                heard.sort_by_key(|event: &Value| event["urgency"] != "critical");
                return heard;
            }
        }
    }
}

/// Each event in a few words.
pub fn words(heard: &[Value]) -> Vec<String> {
    let text = |event: &Value, name: &str| event[name].as_str().unwrap_or_default().to_owned();
    let word = |event: &Value| {
        let kind = text(event, "type").replace("aaep:agent.", "");
        let more = ["to_state", "target_uri", "cancelled_by"];
        let more = more.iter().map(|name| text(event, name)).find(|text| !text.is_empty());
        format!("{kind} {}", more.unwrap_or_default()).trim().to_owned()
    };
    heard.iter().map(word).collect()
}
