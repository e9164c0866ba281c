//! One delivery: a CloudEvent, signed as Standard Webhooks define it. Also for callers that test a
//! webhook or want an event again.

use std::sync::Arc;

use protocol::caller::Caller;
use protocol::ids::WebhookId;
use protocol::ledger::{Stream, Subject};
use protocol::sealed_cursor::{Purpose, Scope};
use protocol::step::Command;
use protocol::time::Time;
use protocol::webhook::{self, Settlement, Webhook};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::watch;

use super::{Attempt, Status};
use crate::Engine;
use crate::ledger::feed::Followed;
use crate::loops::Outbox;
use crate::ports::adapter::{Adapter, CallFailure, Post};
use crate::road::submit::SubmitError;

/// The type of a test delivery. No event of the ledger has this name.
pub const TEST: &str = "webhook.test";

/// An event on its way to an endpoint, in the JSON form of CloudEvents 1.0.
#[derive(Serialize)]
struct CloudEvent<'a> {
    specversion: &'static str,
    id: &'a str,
    source: String,
    #[serde(rename = "type")]
    kind: &'a str,
    subject: String,
    time: String,
    datacontenttype: &'static str,
    data: &'a RawValue,
}

/// What is posted, and for which webhook.
pub(super) struct Posting<'a> {
    stream: &'a Stream,
    webhook: &'a Webhook,
    /// The cursor of the event.
    event: String,
    name: &'a str,
    body: String,
}

impl<'a> Posting<'a> {
    pub fn of(
        engine: &Engine,
        stream: &'a Stream,
        webhook: &'a Webhook,
        followed: &'a Followed,
    ) -> Self {
        let entry = &followed.sequenced.entry;
        let event = followed.cursor(engine.cursor_key()).to_owned();
        let data = serde_json::from_slice(followed.json(engine.cursor_key()));
        let subject = entry.stream.subject.to_string();
        let body = CloudEvent {
            subject,
            kind: &entry.name,
            time: entry.at.to_string(),
            data: data.expect("an entry is JSON"),
            ..CloudEvent::of(stream, &event)
        };
        Self { stream, webhook, body: body.text(), event, name: &entry.name }
    }

    fn test(stream: &'a Stream, webhook: &'a Webhook, id: String, at: Time) -> Self {
        let time = at.to_string();
        let body = CloudEvent { time, ..CloudEvent::of(stream, &id) }.text();
        Self { stream, webhook, body, event: id, name: TEST }
    }
}

impl<'a> CloudEvent<'a> {
    /// A test, unless the fields say otherwise.
    fn of(stream: &Stream, id: &'a str) -> Self {
        Self {
            specversion: "1.0",
            id,
            source: format!("/teamspaces/{}", stream.teamspace),
            kind: TEST,
            subject: stream.subject.to_string(),
            time: String::new(),
            datacontenttype: "application/json",
            data: RawValue::NULL,
        }
    }

    fn text(&self) -> String {
        serde_json::to_string(self).expect("an event can be written")
    }
}

impl Engine {
    /// Calls the endpoint, unless it is left alone because it fails.
    pub(super) async fn post(
        &self,
        adapter: &dyn Adapter,
        posting: Posting<'_>,
    ) -> (Attempt, Result<(), CallFailure>) {
        let Posting { stream, webhook, event, name, body } = posting;
        let at = self.clock.now();
        let result = match self.destinations.begin(&stream.teamspace, &webhook.terms.url, at) {
            Err(failure) => Err(failure),
            Ok(call) => {
                let result = adapter.post(post_of(stream, webhook, &event, at, body)).await;
                call.end(&result, self.clock.now());
                result
            }
        };
        let problem = result.as_ref().err().map(|failure| failure.detail.clone());
        let took = self.clock.now().since(at);
        (Attempt { event, name: name.to_owned(), at, took, problem }, result)
    }
}

fn post_of(stream: &Stream, webhook: &Webhook, event: &str, at: Time, body: String) -> Post {
    let id = webhook_id(stream);
    let previous = webhook.previous_key_until.filter(|until| at < *until);
    let mut keys = vec![webhook.key];
    keys.extend(previous.map(|_| webhook.key - 1));
    Post {
        url: webhook.terms.url.clone(),
        teamspace: stream.teamspace.clone(),
        webhook: id,
        keys,
        // Two webhooks may have the same URL.
        id: format!("{id}_{event}"),
        at,
        body,
    }
}

fn webhook_id(stream: &Stream) -> WebhookId {
    match stream.subject {
        Subject::Webhook(id) => id,
        Subject::Handoff(_)
        | Subject::Agent(_)
        | Subject::Token(_)
        | Subject::Ledger
        | Subject::Message(_)
        | Subject::Conversation(_)
        | Subject::Teamspace
        | Subject::Graph(_)
        | Subject::Subscription(_)
        | Subject::File(_)
        | Subject::Question(_)
        | Subject::Session(_) => unreachable!("only webhooks are posted to"),
    }
}

impl Outbox<'_> {
    /// Serves all webhooks until it is stopped. For programs without loops, and for tests.
    pub async fn serve_webhooks(self, adapter: Arc<dyn Adapter>, stopped: watch::Receiver<bool>) {
        super::run(self.engine.clone(), adapter, stopped).await;
    }

    /// How a webhook does; `None` on an engine without loops, and while it is being made.
    pub fn webhook_status(self, stream: &Stream) -> Option<Status> {
        self.engine.webhooks.status(stream)
    }

    /// Posts a test to a webhook, whether or not it is paused. `None` on an engine without loops.
    pub async fn test_webhook(self, stream: &Stream, webhook: &Webhook) -> Option<Attempt> {
        let id = self.engine.new_key_text();
        let posting = Posting::test(stream, webhook, id, self.engine.clock.now());
        let adapter = self.engine.outside.adapter.get()?;
        let _place = self.engine.webhooks.places.acquire().await.ok()?;
        let attempt = self.engine.post(&**adapter, posting).await.0;
        self.engine.webhooks.note(stream, &attempt);
        Some(attempt)
    }

    /// Posts an event once more, out of its order. `None` if the webhook does not get that event.
    /// One that was set aside is settled by it.
    pub async fn redeliver(
        self,
        stream: &Stream,
        webhook: &Webhook,
        event: &str,
    ) -> Result<Option<Attempt>, SubmitError> {
        let engine = self.engine;
        let scope = Scope { teamspace: &stream.teamspace, purpose: Purpose::Events };
        let Some(cursor) = engine.cursor_key().open(scope, event) else { return Ok(None) };
        let Some(entry) = engine.read().entry(cursor.sequence).await? else { return Ok(None) };
        let followed = Followed::new(entry);
        let (entry, recorded) = (&followed.sequenced.entry, followed.event());
        let reader = engine.access().webhook_reader(stream, webhook).await?;
        let (Some(reader), Some(adapter)) = (reader, engine.outside.adapter.get()) else {
            return Ok(None);
        };
        let is_wanted = entry.stream.teamspace == stream.teamspace
            && webhook.terms.wants(entry, recorded)
            && engine.access().may_read_event(&reader, entry, recorded).await?;
        if !is_wanted {
            return Ok(None);
        }
        let place = engine.webhooks.places.acquire().await;
        let posting = Posting::of(engine, stream, webhook, &followed);
        let (attempt, result) = engine.post(&**adapter, posting).await;
        drop(place);
        engine.webhooks.note(stream, &attempt);
        if result.is_ok() {
            let how = Settlement::Delivered;
            let settle = webhook::Command::Settle { event: attempt.event.clone(), how };
            let caller = Caller::system(stream.teamspace.clone());
            engine.submit(&caller, stream.clone(), Command::Webhook(settle), None).await?;
        }
        Ok(Some(attempt))
    }
}
