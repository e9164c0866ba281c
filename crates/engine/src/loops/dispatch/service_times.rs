//! How long customers waited for a first answer, and how long people took, as histograms of this
//! process. They are about all teamspaces together and name none.

use std::collections::HashMap;

use protocol::ids::TransferId;
use protocol::ledger::Entry;
use protocol::time::Span;
use protocol::transfer::record::recorded;
use protocol::transfer::{Event, Record};

/// The upper bounds of the buckets, in seconds: from the usual target to a day.
pub const BOUNDS: [f64; 12] =
    [5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0, 3_600.0, 14_400.0, 86_400.0];

/// Open transfers that are followed. Past this many they are all dropped, and not measured.
const OPEN_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub struct ServiceTimes {
    /// Transfers that were requested since the start and are not over.
    open: HashMap<TransferId, Record>,
    pub waits: Histogram,
    pub handles: Histogram,
}

/// How many times were within each bound and above the one before; the last are above all bounds.
#[derive(Debug, Clone, Default)]
pub struct Histogram {
    pub buckets: [u64; BOUNDS.len() + 1],
    pub sum_seconds: f64,
}

impl ServiceTimes {
    pub fn apply(&mut self, entry: &Entry) {
        let Some(event) = recorded(entry) else { return };
        if let Event::Requested(requested) = &event {
            if self.open.len() >= OPEN_MAX {
                self.open.clear();
            }
            self.open.insert(requested.transfer, Record::requested(requested, entry.at));
            return;
        }
        let id = event.transfer();
        let Some(record) = self.open.get_mut(&id) else { return };
        let was_answered = record.answered.is_some();
        record.apply(&event, &entry.actor, entry.at);
        if !was_answered && let Some(wait) = record.wait_for_answer() {
            self.waits.observe(wait);
        }
        if record.settled.is_some() {
            if record.answered.is_some() {
                self.handles.observe(record.handled);
            }
            self.open.remove(&id);
        }
    }
}

impl Histogram {
    fn observe(&mut self, span: Span) {
        let seconds = span.as_millis() as f64 / 1_000.0;
        let bucket = BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len());
        self.buckets[bucket] += 1;
        self.sum_seconds += seconds;
    }
}
