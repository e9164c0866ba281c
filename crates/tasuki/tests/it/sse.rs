//! A reader of `/v1/events` that keeps everything it was sent, in order.

use std::time::Duration;

use axum::body::Body;
use http_body_util::BodyExt;
use serde_json::Value;
use tasuki::client::{Call, Client};

use crate::hidden_places::{newest, sequence_of};

/// A stream sends something every second; one that is silent for this long has failed.
const SILENCE_MAX: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub struct Stream {
    body: Body,
    waiting: Vec<u8>,
    /// The last id that was seen: the cursor to resume at.
    pub place: Option<String>,
}

/// One block of the stream. A heartbeat has an id and no name.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub id: Option<String>,
    pub name: Option<String>,
    pub data: Value,
}

impl Stream {
    /// Opens a stream, after a given event or from now on.
    pub async fn open(client: &Client, path: &str, after: Option<&str>) -> Self {
        let headers: Vec<_> = after.iter().map(|id| ("last-event-id", (*id).to_owned())).collect();
        let response = client.open(&Call::get(path), &headers).await.expect("the server answers");
        assert_eq!(response.status().as_u16(), 200, "{path}");
        assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
        Self { body: response.into_body(), waiting: Vec::new(), place: after.map(str::to_owned) }
    }

    /// The next block that is not only a comment. `None` once the stream has ended.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.waiting.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.waiting.drain(..end + 2).collect();
                let event = read_block(std::str::from_utf8(&block).expect("a stream is text"));
                self.place = event.id.clone().or(self.place.take());
                if event.id.is_some() || event.name.is_some() {
                    return Some(event);
                }
                continue;
            }
            let frame = tokio::time::timeout(SILENCE_MAX, self.body.frame())
                .await
                .expect("a stream beats every second");
            // A broken connection ends the stream as well as a clean close.
            self.waiting.extend(frame?.ok()?.into_data().unwrap_or_default());
        }
    }

    /// The next block that is an entry of the ledger.
    pub async fn next_entry(&mut self) -> Option<Event> {
        loop {
            let event = self.next().await?;
            if event.name.as_deref().is_some_and(|name| name != "stream.closing") {
                return Some(event);
            }
        }
    }

    /// All entries up to a sequence number.
    pub async fn until(&mut self, last: u64) -> Vec<Event> {
        let mut entries = Vec::new();
        let is_before = |place: &str| place == "0" || sequence_of(place) < last;
        while self.place.as_deref().is_none_or(is_before) {
            let event = self.next().await.expect("the stream goes on");
            if event.name.is_some() {
                entries.push(event);
            }
        }
        entries
    }
}

/// Every entry that a caller may see, up to the newest.
pub async fn whole_ledger(client: &Client, filter: &str) -> Vec<Event> {
    let last = newest();
    Stream::open(client, &format!("/v1/events?after=0{filter}"), None).await.until(last).await
}

fn read_block(block: &str) -> Event {
    let field = |name: &str| {
        let mut lines = block.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    };
    Event {
        id: field("id").map(str::to_owned),
        name: field("event").map(str::to_owned),
        data: field("data").map_or(Value::Null, |data| serde_json::from_str(data).expect("JSON")),
    }
}
