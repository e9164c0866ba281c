//! The events of a conversation, read back from its entries.

use engine::ports::store::{Sequenced, StoreError};
use protocol::conversation::Event as ConversationEvent;
use protocol::entry_names::is_of_transfer;
use protocol::ledger::Stream;
use protocol::transfer::Event;
use protocol::transfer::event::{Connected, Requested};
use protocol::transfer::kind::Kind;
use protocol::{codec, step};
use serde_json::{Value, json};

use crate::http::shared::gateway::Gateway;
use crate::http::shared::problem::Problem;

pub fn event(line: &Sequenced) -> Option<ConversationEvent> {
    let entry = &line.entry;
    match codec::decode(&entry.name, entry.version, entry.body.text()?) {
        Ok(step::Event::Conversation(event)) => Some(event),
        Ok(_) | Err(_) => None,
    }
}

/// Entries that are read at a time on the way back to what was before.
const PAGE: usize = 64;

/// How many entries are searched. A thousand messages of one person are a long chat; the event
/// about its end then does not say whether it was on hold.
const ENTRIES_MAX: usize = 1_024;

/// The newest value that `wanted` finds in the events of a transfer below a position.
pub async fn earlier<T>(
    gateway: &Gateway,
    stream: &Stream,
    position: u64,
    wanted: impl Fn(&Event) -> Option<T>,
) -> Result<Option<T>, StoreError> {
    let (mut position, mut n_read) = (position, 0);
    while n_read < ENTRIES_MAX {
        let page = gateway.engine.read().history(stream, position, PAGE).await?;
        n_read += page.len();
        for line in &page {
            if is_of_transfer(&line.entry.name)
                && let Some(ConversationEvent::Transfer(event)) = event(line)
                && let Some(found) = wanted(&event)
            {
                return Ok(Some(found));
            }
        }
        match page.last() {
            Some(oldest) => position = oldest.entry.position,
            None => break,
        }
    }
    Ok(None)
}

/// Why the person before passed the conversation on to this one.
pub async fn passed_reason(
    gateway: &Gateway,
    line: &Sequenced,
    connected: &Connected,
) -> Result<Option<String>, StoreError> {
    let entry = &line.entry;
    earlier(gateway, &entry.stream, entry.position, |event| {
        let is_same = event.transfer() == connected.transfer;
        let why = event.passed_on_because(connected.leg).filter(|_| is_same);
        why.map(str::to_owned)
    })
    .await
}

/// `routeDecision` and `graphPath`, if a graph asked for the person: the message before it has
/// them.
pub async fn add_route(
    to: &mut Value,
    gateway: &Gateway,
    stream: &Stream,
    line: &Sequenced,
    requested: &Requested,
) -> Result<(), Problem> {
    if requested.by != "system" {
        return Ok(());
    }
    let before = gateway.engine.read().history(stream, line.entry.position, 1).await?;
    let said = before.first().and_then(event);
    let Some(ConversationEvent::Said(said)) = said else { return Ok(()) };
    if let Some(route) = said.route {
        to["routeDecision"] = json!(route.decision);
        to["graphPath"] = json!(route.path);
    }
    Ok(())
}

/// The bundle that the person was given; a blind transfer has none. The first releases did not
/// record it.
pub fn bundle_id(connected: &Connected) -> Option<String> {
    let Connected { transfer, leg, kind, bundle_id, .. } = connected;
    let written_later = || (*kind != Kind::Blind).then(|| format!("{transfer}-{leg}"));
    bundle_id.clone().or_else(written_later)
}
