//! A server, an agent that announces, and people who listen, each over a connection of its own.

use std::time::Duration;

use axum::body::Body;
use engine::ports::clock::Stopwatch;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use super::burst::Burst;
use crate::server::{Server, ok};

/// A stream sends something every ten seconds; one that is silent for this long has failed.
const SILENCE_MAX: Duration = Duration::from_secs(40);

/// Events of one request.
pub const BATCH_EVENTS: usize = 200;

/// Everything as it is announced, with its number.
pub fn everything() -> Value {
    json!({ "coalesce_boundaries": ["none"], "event_filters": { "include": ["*"] } })
}

#[derive(Debug)]
pub struct Stage {
    pub server: Server,
    pub teller: Client,
}

/// A listener, and everything it heard.
#[derive(Debug)]
pub struct Listener {
    pub client: Client,
    pub id: String,
    body: Body,
    waiting: Vec<u8>,
    /// The last id that was seen: the cursor to resume at.
    place: Option<String>,
    pub heard: Vec<Heard>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Heard {
    /// The JSON, as it came.
    pub data: String,
    pub seconds: f64,
}

impl Stage {
    pub fn open() -> Self {
        let server = Server::start();
        let teller = server.agent("teller");
        Self { server, teller }
    }

    /// A person of the teamspace.
    pub fn person(&self, name: &str) -> Client {
        self.server.with_token(&self.server.token(name, &["--kind", "human"]))
    }

    /// Announces sessions, all at the same time.
    pub async fn announce(&self, bursts: &[Burst]) {
        let all = bursts.iter().map(async |burst| {
            for events in burst.events.chunks(BATCH_EVENTS) {
                self.post(events).await;
            }
        });
        futures_util::future::join_all(all).await;
    }

    pub async fn post(&self, events: &[Value]) {
        let recorded = ok(&self.teller, Call::post("/aaep/v1/events", events.into())).await;
        assert_eq!(recorded["n_events"], json!(events.len()));
    }
}

impl Heard {
    pub fn event(&self) -> Value {
        serde_json::from_str(&self.data).expect("an event is JSON")
    }

    pub fn is_critical(&self) -> bool {
        self.data.contains("\"urgency\":\"critical\"")
    }

    pub fn is_end(&self) -> bool {
        self.data.contains("\"aaep:agent.session.completed\"")
    }
}

impl Listener {
    /// Negotiates terms and begins to listen.
    pub async fn open(client: &Client, capabilities: Value) -> Self {
        let request = json!({ "type": "subscription.request", "aaep_version": "1.0.0",
            "subscriber_id": "braille", "capabilities": capabilities });
        let accepted = ok(client, Call::post("/aaep/v1/subscriptions", request)).await;
        let id = accepted["subscription_id"].as_str().expect("an id").to_owned();
        let body = begin(client, &id, None).await;
        let (waiting, heard, place) = (Vec::new(), Vec::new(), None);
        Self { client: client.clone(), id, body, waiting, place, heard }
    }

    /// Listens until a condition holds. A listener that did not read for long is cut off, and
    /// resumes.
    pub async fn until(&mut self, clock: &Stopwatch, is_so: impl Fn(&[Heard]) -> bool) {
        while !is_so(&self.heard) {
            let frame = tokio::time::timeout(SILENCE_MAX, self.body.frame()).await;
            match frame.expect("a stream beats") {
                Some(Ok(frame)) => self.waiting.extend(frame.into_data().unwrap_or_default()),
                Some(Err(_)) | None => {
                    self.waiting.clear();
                    self.body = begin(&self.client, &self.id, self.place.as_deref()).await;
                }
            }
            let seconds = clock.seconds();
            let Some(end) = self.waiting.windows(2).rposition(|pair| pair == b"\n\n") else {
                continue;
            };
            let rest = self.waiting.split_off(end + 2);
            let blocks = std::mem::replace(&mut self.waiting, rest);
            for line in std::str::from_utf8(&blocks).expect("a stream is text").lines() {
                if let Some(data) = line.strip_prefix("data: ") {
                    self.heard.push(Heard { data: data.to_owned(), seconds });
                }
                if let Some(id) = line.strip_prefix("id: ") {
                    self.place = Some(id.to_owned());
                }
            }
        }
    }

    /// Asks for other terms.
    pub async fn renegotiate(&self, capabilities: Value) {
        let message = json!({ "type": "subscription.renegotiate", "subscription_id": self.id,
            "capabilities": capabilities });
        ok(&self.client, Call::post("/aaep/v1/replies", message)).await;
    }
}

async fn begin(client: &Client, id: &str, place: Option<&str>) -> Body {
    let call = Call::get(format!("/aaep/v1/events?subscription_id={id}"));
    let headers: Vec<_> = place.iter().map(|id| ("last-event-id", (*id).to_owned())).collect();
    let response = client.open(&call, &headers).await.expect("the server answers");
    assert_eq!(response.status().as_u16(), 200, "{id}");
    response.into_body()
}
