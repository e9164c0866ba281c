//! What the entries of the ledger say to listeners, and which entries concern them.

use std::sync::Arc;

use aaep::extension::without_marks;
use aaep::read;
use aaep::shape::Prepared;
use protocol::codec;
use protocol::entry_names::{changes_sides, is_for_listeners};
use protocol::ledger::{Entry, Subject};
use protocol::narrator::settled::{Moment, Settled};
use protocol::session;
use protocol::session::after_loss::in_our_words;
use protocol::session::event::Said;
use protocol::step;

use crate::ports::store::Sequenced;

/// An event of an entry, and its index there.
#[derive(Debug)]
pub struct Announced {
    pub index: u32,
    pub event: Arc<Prepared>,
    /// Set if the server made the event, and not an agent: it tells the other listeners that got a
    /// question that the question is settled.
    pub settled: Option<Settled>,
}

/// Whether an entry concerns listeners: announced events, changes of subscriptions, and changes of
/// who takes part in a conversation.
pub fn concerns(entry: &Entry) -> bool {
    is_for_listeners(&entry.name)
        || matches!(entry.stream.subject, Subject::Subscription(_))
        || changes_sides(&entry.name)
}

/// The events of an entry, ready for all listeners.
pub(crate) fn announced(sequenced: &Sequenced) -> Vec<Announced> {
    let entry = &sequenced.entry;
    let (Subject::Session(session), Some(text)) = (&entry.stream.subject, entry.body.text()) else {
        return Vec::new();
    };
    let decoded = codec::decode(&entry.name, entry.version, text);
    let Ok(step::Event::Session(event)) = decoded else { return Vec::new() };
    if let session::Event::Announced(announced) = &event {
        let is_from_producer = entry.actor.starts_with("agent:");
        let prepared = |(index, said): (u32, &Said)| {
            let cleaned = match (announced.after_loss, is_from_producer) {
                (true, _) => Some(in_our_words(said.text())?),
                (false, true) => without_marks(said.text()),
                (false, false) => None,
            };
            let text = cleaned.as_deref().unwrap_or(said.text());
            let event = read::read(text).ok()?;
            let event = Arc::new(Prepared::new(text.into(), &event));
            Some(Announced { index, event, settled: None })
        };
        return (0..).zip(&announced.events).filter_map(prepared).collect();
    }
    let settled = Settled::of(&event);
    let moment = Moment { session, at: entry.at, hash: &entry.hash };
    settled.and_then(|settled| settling(settled, moment)).into_iter().collect()
}

/// As urgent as the question: a slow listener would otherwise still see it as open.
fn settling(settled: Settled, moment: Moment<'_>) -> Option<Announced> {
    let text = settled.told(moment);
    let event = read::read(&text).ok()?;
    let mut prepared = Prepared::new(text.as_str().into(), &event);
    prepared.is_critical = true;
    Some(Announced { index: 0, event: Arc::new(prepared), settled: Some(settled) })
}
