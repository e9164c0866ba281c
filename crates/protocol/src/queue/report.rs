//! The figures of queues: how many customers asked for a person, how long they waited, and how many
//! were answered. They are counted from the records of transfers, by queue and day.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::ids::AgentId;
use crate::time::{Span, Time};
use crate::transfer::Record;
use crate::transfer::state::Outcome;

/// Days that one report covers.
pub const REPORT_DAYS_MAX: usize = 92;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// Which transfers are counted: those that were requested in this time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requested {
    pub since: Time,
    pub until: Time,
    /// Only those that count for this queue.
    pub queue: Option<AgentId>,
}

/// The figures so far.
#[derive(Debug)]
pub struct Report {
    requested: Requested,
    counted: BTreeMap<(i64, AgentId), Figures>,
}

#[derive(Debug, Default)]
struct Figures {
    counts: Counts,
    waits: Vec<Span>,
    handles: Vec<Span>,
}

/// How many transfers of a queue and a day there were, and what became of them. Each is counted
/// once among `answered`, `abandoned`, `failed` and `waiting`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    pub requested: u64,
    /// A person answered.
    pub answered: u64,
    /// A person answered within the target time of the queue.
    pub answered_in_time: u64,
    /// It was cancelled before a person answered, or the conversation was closed.
    pub abandoned: u64,
    /// No person answered until the wait was over, or a coordinator gave it up.
    pub failed: u64,
    /// It waits for its first answer still.
    pub waiting: u64,
    /// A person answered, and it is not over yet. These are also among `answered`.
    pub open: u64,
}

/// How long something took. Percentiles are nearest-rank: times that really occurred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Times {
    pub count: u64,
    pub mean: Span,
    pub median: Span,
    /// 95 of 100 took this long, or less.
    pub p95: Span,
}

/// The figures of one queue and day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The first moment of the day, in UTC.
    pub day: Time,
    pub queue: AgentId,
    pub counts: Counts,
    /// From the request to the first answer.
    pub wait: Option<Times>,
    /// With people, time on hold included; of transfers that are over.
    pub handle: Option<Times>,
}

impl Report {
    pub fn new(requested: Requested) -> Self {
        Self { requested, counted: BTreeMap::new() }
    }

    /// Counts a transfer, if it is one of those that are wanted.
    pub fn add(&mut self, record: &Record, now: Time) {
        let Requested { since, until, queue } = &self.requested;
        let in_time = (*since..*until).contains(&record.requested_at);
        let counted_in = record.counted_in();
        if !in_time || queue.as_ref().is_some_and(|queue| queue != counted_in) {
            return;
        }
        let day = record.requested_at.as_millis().div_euclid(DAY_MS);
        let figures = self.counted.entry((day, counted_in.clone())).or_default();
        let counts = &mut figures.counts;
        counts.requested += 1;
        match (&record.answered, &record.settled) {
            (Some(answer), settled) => {
                counts.answered += 1;
                counts.answered_in_time += u64::from(answer.in_time);
                figures.waits.extend(record.wait_for_answer());
                match settled {
                    Some(_) => figures.handles.push(record.handled_until(now)),
                    None => counts.open += 1,
                }
            }
            (None, None) => counts.waiting += 1,
            (None, Some(settled)) => match settled.outcome {
                Outcome::Cancelled | Outcome::Ended | Outcome::Completed => counts.abandoned += 1,
                Outcome::Failed => counts.failed += 1,
            },
        }
    }

    /// By day, then by queue.
    pub fn lines(self) -> Vec<Line> {
        let lines = self.counted.into_iter().map(|((day, queue), figures)| Line {
            day: Time::from_millis(day * DAY_MS),
            queue,
            counts: figures.counts,
            wait: times(figures.waits),
            handle: times(figures.handles),
        });
        lines.collect()
    }
}

/// `None` if there are none.
fn times(mut all: Vec<Span>) -> Option<Times> {
    all.sort_unstable();
    let sum: i128 = all.iter().map(|span| i128::from(span.as_millis())).sum();
    let count = all.len();
    let mean = sum.checked_div(count as i128)?;
    let at = |percent: usize| all[(count * percent).div_ceil(100).max(1) - 1];
    Some(Times {
        count: count as u64,
        // A mean is not longer than the longest of them.
        mean: Span::from_millis(i64::try_from(mean).unwrap_or(i64::MAX)),
        median: at(50),
        p95: at(95),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_occurred() {
        // the times in seconds, their mean in milliseconds, the median, the 95th percentile
        let cases: [(&[i64], i64, i64, i64); 5] = [
            (&[7], 7_000, 7, 7),
            (&[9, 1], 5_000, 1, 9),
            (&[1, 2, 4], 2_333, 2, 4),
            (&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 5_500, 5, 10),
            (&[0; 40], 0, 0, 0),
        ];
        for (seconds, mean, median, p95) in cases {
            let all = seconds.iter().map(|s| Span::from_millis(s * 1_000)).collect();
            let of = times(all).unwrap();
            let found = [of.median, of.p95].map(|span| span.as_millis() / 1_000);
            assert_eq!((of.mean.as_millis(), found), (mean, [median, p95]), "{seconds:?}");
        }
        assert_eq!(times(Vec::new()), None);
        let hundred = (1..=100).rev().map(|s| Span::from_millis(s * 1_000)).collect();
        assert_eq!(times(hundred).unwrap().p95.as_millis(), 95_000);
    }
}
