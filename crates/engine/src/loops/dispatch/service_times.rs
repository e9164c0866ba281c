//! How long customers waited for a first answer, and how long people took, as histograms of this
//! process: the loop reads some entries again after a crash, and those count no second time. They
//! are about all teamspaces together and name none.

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
    /// The newest entry when this process began to follow. What happened up to there was counted
    /// by an earlier process.
    begins_after: Option<u64>,
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
    /// Says where this process began; what is said later does not count.
    pub fn begin_after(&mut self, newest: u64) {
        self.begins_after.get_or_insert(newest);
    }

    pub fn apply(&mut self, seq: u64, entry: &Entry) {
        let is_new = self.begins_after.is_none_or(|before| seq > before);
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
        if is_new
            && !was_answered
            && let Some(wait) = record.wait_for_answer()
        {
            self.waits.observe(wait);
        }
        if record.settled.is_some() {
            if is_new && record.answered.is_some() {
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

#[cfg(test)]
mod tests {
    use protocol::ledger::{Body, GENESIS, Stream, Subject};
    use protocol::time::Time;
    use serde_json::json;

    use super::*;

    fn entry(name: &'static str) -> Entry {
        let limits = json!({ "ring": "30s", "hold": "10m", "wait": "1h",
            "gives_up_at": "2026-01-01T01:00:00Z" });
        let body = json!({ "holder": "care", "queue": "care", "epoch": 2, "number": 1,
            "transfer": "01938c2e-0000-7000-8000-0000000000f1", "by": "agent:bob", "leg": 0,
            "kind": "bot_to_human", "priority": 0, "wanted": {}, "limits": limits,
            "agent": "hana", "outcome": "completed", "to": "bob" });
        let conversation = "01938c2e-0000-7000-8000-0000000000c1".parse().unwrap();
        Entry {
            stream: Stream {
                teamspace: protocol::ids::TeamspaceId::default_teamspace(),
                subject: Subject::Conversation(conversation),
            },
            position: 1,
            name: name.into(),
            version: 1,
            actor: "agent:hana".into(),
            at: Time::from_millis(1_000),
            body: Body::Kept { salt: Default::default(), text: body.to_string() },
            hash: GENESIS,
        }
    }

    /// The loop begins at its last cursor, before entries that an earlier process has counted.
    #[test]
    fn what_an_earlier_process_counted_does_not_count_again() {
        let story = ["transfer.requested", "transfer.connected", "transfer.over"];
        // the newest entry at the start, the answers and the ends that count
        for (newest, waits, handles) in [(0, 1, 1), (1, 1, 1), (2, 0, 1), (3, 0, 0)] {
            let mut times = ServiceTimes::default();
            times.begin_after(newest);
            // A loop that begins anew in the same process changes nothing.
            times.begin_after(9);
            for (seq, name) in (1..).zip(story) {
                times.apply(seq, &entry(name));
            }
            let counts = [times.waits, times.handles].map(|it| it.buckets.iter().sum::<u64>());
            assert_eq!(counts, [waits, handles], "after {newest}");
        }
    }
}
