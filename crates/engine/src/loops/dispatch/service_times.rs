//! How long customers waited for a first answer, and how long people took, as histograms of this
//! process: the loop reads some entries again after a crash, and those count no second time. They
//! are about all teamspaces together and name none.

use protocol::ids::TransferId;
use protocol::ledger::Entry;
use protocol::time::Span;
use protocol::transfer::record::recorded;
use protocol::transfer::{Event, Record};

/// The upper bounds of the buckets, in seconds: from the usual target to a day.
pub const BOUNDS: [f64; 12] =
    [5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0, 3_600.0, 14_400.0, 86_400.0];

#[derive(Debug, Default)]
pub struct ServiceTimes {
    /// Entries up to this one were counted: by this process, or before it began.
    counted_through: Option<u64>,
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
        self.counted_through.get_or_insert(newest);
    }

    /// The transfer that this entry may measure, if the entry was not counted before. Its record
    /// says the rest, also if it was requested long before this process began.
    pub fn measured(&self, seq: u64, entry: &Entry) -> Option<TransferId> {
        let is_new = self.counted_through.is_none_or(|through| seq > through);
        let measures = ["transfer.connected", "transfer.over"].contains(&entry.name.as_ref());
        if !is_new || !measures {
            return None;
        }
        recorded(entry).map(|event| event.transfer())
    }

    /// Counts an entry, with the record of its transfer: as of this entry or a later one.
    pub fn count(&mut self, seq: u64, entry: &Entry, record: &Record) {
        self.counted_through = self.counted_through.max(Some(seq));
        let (Some(event), Some(answered)) = (recorded(entry), &record.answered) else { return };
        if let Event::Connected(connected) = &event
            && (answered.at, &answered.by) == (entry.at, &connected.agent)
        {
            self.waits.observe(answered.at.since(record.requested_at));
        }
        if matches!(event, Event::Over(_)) {
            self.handles.observe(record.handled);
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

    const STORY: [&str; 3] = ["transfer.requested", "transfer.connected", "transfer.over"];

    /// What happens at this second.
    fn entry(name: &'static str, second: i64) -> Entry {
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
            at: Time::from_millis(second * 1_000),
            body: Body::Kept { salt: Default::default(), text: body.to_string() },
            hash: GENESIS,
        }
    }

    /// What the store has of these entries.
    fn record(entries: &[Entry]) -> Record {
        let mut record = None;
        for entry in entries {
            let event = recorded(entry).unwrap();
            if let Event::Requested(requested) = &event {
                record = Some(Record::requested(requested, entry.at));
            } else {
                record.as_mut().unwrap().apply(&event, &entry.actor, entry.at);
            }
        }
        record.unwrap()
    }

    fn counts(times: &ServiceTimes) -> [u64; 2] {
        [&times.waits, &times.handles].map(|it| it.buckets.iter().sum::<u64>())
    }

    /// The loop begins at its last cursor, before entries that an earlier process has counted, or
    /// behind the request of a transfer that is under way.
    #[test]
    fn each_answer_and_each_end_counts_in_one_process() {
        let entries: Vec<Entry> = (1..).zip(STORY).map(|(at, name)| entry(name, at)).collect();
        // the newest entry at the start, where the loop begins, what counts
        for (newest, cursor, expected) in [
            (0, 0, [1, 1]),
            (1, 0, [1, 1]),
            (1, 1, [1, 1]),
            (2, 0, [0, 1]),
            (2, 2, [0, 1]),
            (3, 0, [0, 0]),
        ] {
            let mut times = ServiceTimes::default();
            // A loop that begins anew in the same process counts nothing twice.
            for _ in 0..2 {
                times.begin_after(newest);
                for (seq, entry) in (1..).zip(&entries).skip(cursor) {
                    if times.measured(seq, entry).is_some() {
                        times.count(seq, entry, &record(&entries));
                    }
                }
            }
            assert_eq!(counts(&times), expected, "after {newest}, from {cursor}");
        }
    }

    #[test]
    fn only_the_first_answer_is_a_wait() {
        let story = [STORY[0], STORY[1], "transfer.returned", STORY[1], STORY[2]];
        let mut entries: Vec<Entry> =
            (1..).zip(story).map(|(at, name)| entry(name, at * at)).collect();
        if let Body::Kept { text, .. } = &mut entries[2].body {
            *text = text.replace(r#""epoch""#, r#""why":"agent_lost","epoch""#);
        }
        let mut times = ServiceTimes::default();
        for (seq, entry) in (1..).zip(&entries) {
            // The record may be ahead of the loop.
            if times.measured(seq, entry).is_some() {
                times.count(seq, entry, &record(&entries));
            }
        }
        assert_eq!(counts(&times), [1, 1]);
        // From 1 to 4, and from 4 to 9 and from 16 to 25.
        assert_eq!([times.waits.sum_seconds, times.handles.sum_seconds], [3.0, 14.0]);
    }

    #[test]
    fn a_transfer_that_no_person_answered_is_not_measured() {
        let entries = [entry(STORY[0], 1), entry(STORY[2], 2)];
        let mut times = ServiceTimes::default();
        times.count(2, &entries[1], &record(&entries));
        assert_eq!(counts(&times), [0, 0]);
    }
}
