//! A subscription at a server: the handshake, the stream of its events, and what is sent back.
//! After a break the stream resumes at its cursor; duplicates are dropped.

use std::collections::{HashSet, VecDeque};

use aaep::VERSION;
use aaep::capabilities::Capabilities;
use aaep::handshake::{Accepted, Handshake, Request};
use aaep::jws::Jwks;
use aaep::manifest::verify;
use anyhow::{Context, Result, bail};
use axum::body::Body;
use engine::ports::clock::{Clock, SystemClock};
use http_body_util::BodyExt;
use protocol::time::Span;
use serde_json::Value;
use tokio::sync::mpsc;

use super::speech::{Speech, Text};
use crate::client::{Answer, Call, Client, Refused, percent_encode};
use crate::output;

/// A server that restarts is back within seconds; a server that is gone should be noticed.
const TRIES_MAX: u32 = 30;
const TRY_AGAIN: Span = Span::from_millis(1_000);

/// Events that were received and not yet handled. Beyond this the server waits, which delays only
/// this listener.
const HEARD_MAX: usize = 64;

/// Event ids that are remembered to detect duplicates: more than can arrive out of order at once.
const IDS_MAX: usize = 4_096;

/// The longest event that is accepted.
const EVENT_BYTES_MAX: usize = 1024 * 1024;

#[derive(Debug, Clone)]
pub struct Subscriber {
    client: Client,
    pub id: String,
}

/// What comes from the server.
#[derive(Debug)]
pub enum SubscriberEvent {
    Event {
        text: String,
        event: Value,
        /// Whether it has an id: an event without one has overtaken others.
        is_in_order: bool,
    },
    /// The stream is open for the first time.
    Open,
    Away,
    Back,
    /// The subscription is over, and why.
    Closed(String),
    Failed(anyhow::Error),
}

impl Subscriber {
    /// Negotiates the terms.
    pub async fn open(
        client: Client,
        name: &str,
        asked: Capabilities,
        speech: Speech,
    ) -> Result<(Self, Accepted)> {
        let is_signed = asked.accept_signed_manifests_only == Some(true);
        let request = Handshake::Request(Request {
            aaep_version: VERSION.to_owned(),
            subscriber_id: name.to_owned(),
            subscriber_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            capabilities: asked,
            ..Request::default()
        });
        let body = serde_json::to_value(&request).expect("a request is plain data");
        let accepted = accepted(client.call(Call::post("/aaep/v1/subscriptions", body)).await?)?;
        let subscriber = Self { client, id: accepted.subscription_id.clone() };
        if is_signed {
            subscriber.check_manifest(&accepted, speech).await?;
        }
        Ok((subscriber, accepted))
    }

    /// The manifest must be signed by a key that the server publishes, and be about its producer.
    async fn check_manifest(&self, accepted: &Accepted, speech: Speech) -> Result<()> {
        let signed = accepted.signed_manifest.as_ref().context("the manifest is not signed")?;
        let keys = self.client.call(Call::get("/.well-known/aaep-jwks.json")).await?.success()?;
        let keys: Jwks = serde_json::from_value(keys).context("the keys cannot be read")?;
        let manifest = verify(signed, &keys, &accepted.producer.agent_id)
            .context("the manifest cannot be trusted")?;
        let name = output::clean(&manifest.agent_id);
        output::remark(&speech.say(Text::Signed, &[("name", &name)]));
        Ok(())
    }

    /// Other terms, from now on.
    pub async fn renegotiate(&self, message: &Handshake) -> Result<Accepted> {
        let body = serde_json::to_value(message).expect("a message is plain data");
        accepted(self.client.call(Call::post("/aaep/v1/replies", body)).await?)
    }

    /// Sends an answer, or closes the subscription.
    pub async fn send(&self, message: &Handshake) -> Result<()> {
        let body = serde_json::to_value(message).expect("a message is plain data");
        self.client.call(Call::post("/aaep/v1/replies", body)).await?.success().map(|_| ())
    }

    /// The server's events, until the subscription is over.
    pub fn listen(&self) -> mpsc::Receiver<SubscriberEvent> {
        let (sender, heard) = mpsc::channel(HEARD_MAX);
        let stream = EventStream {
            subscriber: self.clone(),
            heard: sender,
            cursor: None,
            known: HashSet::new(),
            order: VecDeque::new(),
        };
        tokio::spawn(stream.run());
        heard
    }
}

/// The terms that the server accepted, or its reason for rejecting them.
fn accepted(answer: Answer) -> Result<Accepted> {
    if answer.body["type"] == "subscription.rejected" {
        let text = |name: &str| answer.body[name].as_str().unwrap_or_default().to_owned();
        let (code, detail) = (text("reason_code"), text("reason_message"));
        return Err(Refused { code, detail, ..Refused::default() }.into());
    }
    serde_json::from_value(answer.success()?).context("expected a subscription.accepted")
}

struct EventStream {
    subscriber: Subscriber,
    heard: mpsc::Sender<SubscriberEvent>,
    /// The cursor to resume at.
    cursor: Option<String>,
    known: HashSet<String>,
    order: VecDeque<String>,
}

/// Why a stream is over.
enum End {
    /// It may come back.
    Break,
    Over,
}

impl EventStream {
    async fn run(mut self) {
        let (mut n_tries, mut was_open) = (0, false);
        loop {
            let followed = match self.open().await {
                Ok(body) => {
                    n_tries = 0;
                    self.tell(match std::mem::replace(&mut was_open, true) {
                        true => SubscriberEvent::Back,
                        false => SubscriberEvent::Open,
                    })
                    .await;
                    self.follow(body).await
                }
                Err(error) => Err(error),
            };
            let error = match followed {
                Ok(End::Over) => return,
                Ok(End::Break) => None,
                Err(error) => Some(error),
            };
            if let Some(error) = error
                && (n_tries >= TRIES_MAX || is_final(&error))
            {
                self.tell(SubscriberEvent::Failed(error)).await;
                return;
            }
            if n_tries == 0 {
                self.tell(SubscriberEvent::Away).await;
            }
            n_tries += 1;
            if self.heard.is_closed() {
                return;
            }
            SystemClock.sleep(TRY_AGAIN).await;
        }
    }

    async fn open(&self) -> Result<Body> {
        let path =
            format!("/aaep/v1/events?subscription_id={}", percent_encode(&self.subscriber.id));
        let cursor = self.cursor.iter().map(|cursor| ("last-event-id", cursor.clone()));
        let headers: Vec<_> = cursor.collect();
        let response = self.subscriber.client.open(&Call::get(path), &headers).await?;
        let status = response.status().as_u16();
        let body = response.into_body();
        if status != 200 {
            let bytes = body.collect().await.context("the answer broke off")?.to_bytes();
            let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
            Answer { status, body, is_json: true }.success()?;
            bail!("the server answered with status {status}");
        }
        Ok(body)
    }

    async fn follow(&mut self, mut body: Body) -> Result<End> {
        let mut waiting: Vec<u8> = Vec::new();
        while let Some(frame) = body.frame().await {
            // A broken stream is reconnected.
            let Ok(frame) = frame else { return Ok(End::Break) };
            let Ok(data) = frame.into_data() else { continue };
            waiting.extend_from_slice(&data);
            while let Some(end) = waiting.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = waiting.drain(..end + 2).collect();
                if let Some(heard) = self.read(&String::from_utf8_lossy(&block)) {
                    let is_over = matches!(heard, SubscriberEvent::Closed(_));
                    self.tell(heard).await;
                    if is_over || self.heard.is_closed() {
                        return Ok(End::Over);
                    }
                }
            }
            if waiting.len() > EVENT_BYTES_MAX {
                bail!("an event has more than {EVENT_BYTES_MAX} bytes");
            }
        }
        Ok(End::Break)
    }

    fn read(&mut self, block: &str) -> Option<SubscriberEvent> {
        let field = |name: &str| {
            let mut lines = block.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        };
        let is_in_order = field("id").is_some();
        if let Some(id) = field("id") {
            self.cursor = Some(id.to_owned());
        }
        let text = field("data")?.to_owned();
        let event: Value = serde_json::from_str(&text).ok()?;
        if field("event") == Some("aaep.close") {
            let message =
                event["reason_message"].as_str().or_else(|| event["reason_code"].as_str());
            return Some(SubscriberEvent::Closed(output::clean(
                message.unwrap_or("no reason is given"),
            )));
        }
        // Two agents may use the same event ids.
        let text_of = |name: &str| event[name].as_str().unwrap_or_default();
        let id = format!("{} {}", text_of("session_id"), text_of("event_id"));
        if !self.known.insert(id.clone()) {
            return None;
        }
        self.order.push_back(id);
        if self.order.len() > IDS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        Some(SubscriberEvent::Event { text, event, is_in_order })
    }

    async fn tell(&self, heard: SubscriberEvent) {
        // The receiver may be gone; then the event is not needed.
        let _ = self.heard.send(heard).await;
    }
}

/// Whether a retry is useless.
pub fn is_final(error: &anyhow::Error) -> bool {
    let passing = ["stopping", "overloaded", "rate_limited", "too_many_streams"];
    let refused = error.downcast_ref::<Refused>();
    refused.is_some_and(|refused| !passing.contains(&refused.code.as_str()))
}
