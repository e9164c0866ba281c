//! The place of a customer who waits, told again when others leave the queue: to those who follow
//! this one conversation.

use protocol::entry_names::changes_places;
use protocol::ledger::{Entry, Stream};
use protocol::time::Span;
use serde_json::Value;

use crate::http::conversations::transfer_news::place_changed;
use crate::http::shared::problem::Problem;
use crate::http::ws::state::Ws;

/// How often at most. In a long queue many leave, and each place is counted anew.
pub const PLACES_EVERY: Span = Span::from_millis(5_000);

/// What a subscription to one conversation was told of its place.
#[derive(Debug)]
pub struct Places {
    own: Stream,
    told: Option<u64>,
    /// Another conversation may have left the queue, or no place was told yet.
    is_stale: bool,
}

impl Places {
    pub fn new(own: Stream) -> Self {
        Self { own, told: None, is_stale: false }
    }

    /// Looks whether the conversation waits already: its entries are from before the subscription,
    /// so no entry tells its place.
    pub async fn look(&mut self, gateway: &Ws) -> Result<(), Problem> {
        self.is_stale = place_changed(gateway, &self.own).await?.is_some();
        Ok(())
    }

    pub fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// Takes note of an entry of the teamspace.
    pub fn note(&mut self, entry: &Entry) {
        let is_other = entry.stream != self.own;
        self.is_stale |= is_other && self.told.is_some() && changes_places(&entry.name);
    }

    /// Takes note of a frame about the own conversation.
    pub fn note_told(&mut self, frame: &Value) {
        if frame["type"] == "handoff.status" {
            self.told = frame["queuePosition"].as_u64();
        }
    }

    /// The frame with the new place, if it is another one.
    pub async fn news(&mut self, gateway: &Ws) -> Result<Option<Value>, Problem> {
        self.is_stale = false;
        let frame = place_changed(gateway, &self.own).await?;
        let place = frame.as_ref().and_then(|frame| frame["queuePosition"].as_u64());
        // One that rings has no place for a moment.
        if place.is_none() || place == self.told {
            return Ok(None);
        }
        self.told = place;
        Ok(frame)
    }
}
