//! How fast each queue moves. It is measured while the process runs and not stored: the wait that
//! people are told is an estimate, and no decision depends on it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};

use protocol::ids::{AgentId, TeamspaceId, TransferId};
use protocol::ledger::Entry;
use protocol::queue::Flow;
use protocol::time::{Span, Time};
use protocol::transfer::Record;
use serde::Deserialize;

use super::service_times::{Histogram, ServiceTimes};

/// Older measurements say nothing about now.
const DURING: Span = Span::from_minutes(15);

/// Assignments that are remembered of each queue. A busier queue is measured over a shorter time.
const ASSIGNED_MAX: usize = 256;

/// Transfers whose start is remembered. Past this many they are all dropped.
const CONNECTED_MAX: usize = 10_000;

/// The weight of the newest value in the moving average.
const NEWEST_SHARE: f64 = 0.1;

#[derive(Debug, Default)]
pub struct Flows {
    known: Mutex<FlowTable>,
    times: Mutex<ServiceTimes>,
}

type Queue = (TeamspaceId, AgentId);

#[derive(Debug, Default)]
struct FlowTable {
    queues: HashMap<Queue, Measured>,
    connected: HashMap<TransferId, (Queue, Time)>,
}

#[derive(Debug, Default)]
struct Measured {
    assigned: VecDeque<Time>,
    handle_ms: Option<f64>,
}

impl Flows {
    /// Says up to which entry an earlier process has counted answers.
    pub fn begin_after(&self, newest: u64) {
        self.times().begin_after(newest);
    }

    /// The transfer whose record tells a service time with this entry.
    pub fn measured(&self, seq: u64, entry: &Entry) -> Option<TransferId> {
        self.times().measured(seq, entry)
    }

    /// Counts the service time that the record tells with this entry.
    pub fn count(&self, seq: u64, entry: &Entry, record: &Record) {
        self.times().count(seq, entry, record);
    }

    /// Updates the measurements with an entry about a transfer.
    pub fn apply(&self, entry: &Entry) {
        #[derive(Deserialize)]
        struct Body {
            transfer: TransferId,
            holder: AgentId,
            #[serde(default)]
            leg: u16,
        }
        let Some(body) = entry.body.text() else { return };
        let Ok(Body { transfer, holder, leg }) = serde_json::from_str(body) else { return };
        let mut known = self.known();
        match entry.name.as_ref() {
            // The event names the previous holder, which is the queue.
            "transfer.connected" if leg == 0 => {
                let queue = (entry.stream.teamspace.clone(), holder);
                let assigned = &mut known.queues.entry(queue.clone()).or_default().assigned;
                assigned.push_back(entry.at);
                if assigned.len() > ASSIGNED_MAX {
                    assigned.pop_front();
                }
                if known.connected.len() >= CONNECTED_MAX {
                    known.connected.clear();
                }
                known.connected.insert(transfer, (queue, entry.at));
            }
            "transfer.over" | "transfer.returned" | "transfer.passed_on" if leg == 0 => {
                let Some((queue, since)) = known.connected.remove(&transfer) else { return };
                let lasted = entry.at.since(since).as_millis() as f64;
                let handle_ms = &mut known.queues.entry(queue).or_default().handle_ms;
                let average = handle_ms.unwrap_or(lasted);
                *handle_ms = Some(average + (lasted - average) * NEWEST_SHARE);
            }
            _ => {}
        }
    }

    /// The flow of a queue whose people can take `slots` conversations at once.
    pub fn of(&self, teamspace: &TeamspaceId, queue: &AgentId, slots: u32, now: Time) -> Flow {
        let known = self.known();
        let nothing = Measured::default();
        let key = (teamspace.clone(), queue.clone());
        let Measured { assigned, handle_ms } = known.queues.get(&key).unwrap_or(&nothing);
        let is_recent = |at: &&Time| now.since(**at) < DURING;
        let n_assigned = assigned.iter().filter(is_recent).count();
        // The cast saturates, and no conversation lasts that long.
        let handle_time = handle_ms.map(|ms| Span::from_millis(ms as i64));
        let n_assigned = u32::try_from(n_assigned).unwrap_or(u32::MAX);
        Flow { slots, handle_time, n_assigned, during: DURING }
    }

    /// How long customers waited for a first answer, and how long they were with people.
    pub fn service_times(&self) -> (Histogram, Histogram) {
        let times = self.times();
        (times.waits.clone(), times.handles.clone())
    }

    fn times(&self) -> MutexGuard<'_, ServiceTimes> {
        self.times.lock().expect("nothing panics in here")
    }

    fn known(&self) -> MutexGuard<'_, FlowTable> {
        self.known.lock().expect("nothing panics in here")
    }
}
