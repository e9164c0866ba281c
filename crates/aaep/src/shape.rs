//! The events as one subscription gets them: filtered, at its rate, merged where allowed, in its
//! language. Pure: events go in with [`Shaper::push`], in order; deliveries come out of
//! [`Shaper::poll`], and [`Shaper::next_at`] tells when to poll again.
//!
//! - Critical events go out at once, whatever the terms say: they overtake events that wait.
//! - The other events of each session keep their order. Text of the same output, progress, and
//!   changes of state may be merged. A merged event takes the place of its last event, and is never
//!   merged across an event of another kind.
//! - Nothing is lost: an event that passes the filters is delivered, or is part of one that says
//!   so.
//! - Memory is bounded: [`Shaper::wants_more`] says when to stop pushing. Further critical events
//!   come in with [`Shaper::push_critical`].

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use base::time::{Span, Time};

use super::capabilities::Capabilities;
pub use super::cursor::Cursor;
use super::text::n_words;

mod body;
mod bucket;
mod copy;
mod held;
mod joined;
mod lanes;
mod prepared;
mod terms;
#[cfg(test)]
mod tests;

pub use body::Body;
use bucket::Bucket;
use held::{Held, More, Readiness, output};
pub use held::{PROGRESS_WAIT_MS, STATE_LASTS_MS, TEXT_PAUSE_MS, TEXT_WAIT_MS_MAX};
pub use joined::CHUNK_CHARS_MAX;
use joined::{Arrival, Joined};
use lanes::Lane;
pub use prepared::{Kind, Output, Prepared};
use terms::Terms;

/// How many deliveries are held for a subscription. A slow one is served from the ledger, which
/// keeps everything, so only enough for merging is held.
pub const HELD_EVENTS_MAX: usize = 512;

/// How many bytes are held for a subscription: a few of the longest events, or thousands of chunks.
pub const HELD_BYTES_MAX: usize = 256 * 1024;

/// How many critical events wait for a slow subscriber. They are few: ingest limits them.
pub const CRITICAL_MAX: usize = 256;

/// How many critical events that were delivered early are remembered, so that they are not
/// delivered twice. Beyond this, the oldest are repeated.
pub const AHEAD_MAX: usize = 4_096;

/// If no more than this is held, critical events keep their order where possible: the events before
/// them are a few writes to the same connection.
pub const LEADING_EVENTS_MAX: usize = 32;

/// The longest wait for a text to be spoken, however slow the pace. A text of the longest advised
/// event is spoken in this time at a usual pace.
pub const PACE_WAIT_MS_MAX: i64 = 3_600_000;

const MS_PER_MINUTE: i64 = 60_000;

/// One event that goes out.
#[derive(Debug)]
pub struct Delivery {
    pub body: Body,
    /// The `event_id` to resume after; present if everything up to it was delivered.
    pub id: Option<Arc<str>>,
    /// Of the last event in it.
    pub cursor: Cursor,
    pub session_id: Arc<str>,
    /// How many events end with it: none if it is the first part of a text that was cut.
    pub n_events: u32,
    pub is_critical: bool,
    /// It waits for an answer: its token is the producer's, and must be replaced.
    pub is_question: bool,
}

/// What one subscription gets, and when.
#[derive(Debug)]
pub struct Shaper {
    terms: Terms,
    bucket: Option<Bucket>,
    critical: VecDeque<(Arc<Prepared>, Cursor)>,
    /// The only held event, if it may go out: most events need no lane. With the cursor before it.
    direct: Option<(Held, Cursor)>,
    lanes: Vec<Lane>,
    lane_of: HashMap<Arc<str>, usize>,
    free: Vec<usize>,
    /// Lanes whose first event may go out, in turn.
    turns: VecDeque<usize>,
    /// The earliest time at which another lane may be ready.
    wake_at: Option<Time>,
    /// The oldest undelivered event of each held delivery, with the cursor before it.
    outstanding: BTreeMap<Cursor, Cursor>,
    /// The last event that was pushed.
    pushed: Cursor,
    /// The last event that came in by `push_critical`.
    scouted: Cursor,
    /// Events that came in by `push_critical` and were not pushed since.
    ahead: BTreeSet<Cursor>,
    n_held: usize,
    n_bytes: usize,
    /// When the last text will have been spoken.
    spoken_at: Time,
}

impl Shaper {
    /// `start` is the cursor that all events come after.
    pub fn new(honored: &Capabilities, start: Cursor) -> Self {
        let terms = Terms::new(honored);
        Self {
            bucket: terms.rate.map(Bucket::new),
            terms,
            critical: VecDeque::new(),
            direct: None,
            lanes: Vec::new(),
            lane_of: HashMap::new(),
            free: Vec::new(),
            turns: VecDeque::new(),
            wake_at: None,
            outstanding: BTreeMap::new(),
            pushed: start,
            scouted: start,
            ahead: BTreeSet::new(),
            n_held: 0,
            n_bytes: 0,
            spoken_at: Time::from_millis(0),
        }
    }

    /// The same for a customer, who does not get what is for colleagues.
    pub fn for_customer(mut self) -> Self {
        self.terms.is_customer = true;
        self
    }

    /// Other terms, for everything that goes out from now on. Held events stay, and do not wait any
    /// more; if sequence numbers were left out, they stay out.
    pub fn retune(&mut self, honored: &Capabilities, now: Time) {
        self.settle(now);
        let Terms { keeps_numbers, is_customer, .. } = self.terms;
        self.terms = Terms { is_customer, ..Terms::new(honored) };
        self.terms.keeps_numbers &= keeps_numbers;
        self.bucket = self.terms.rate.map(Bucket::new);
        for lane in 0..self.lanes.len() {
            self.close(lane);
            self.arrange(lane, now);
        }
    }

    /// Whether another event may be pushed. Asked before each.
    pub fn wants_more(&self) -> bool {
        !self.is_full() && self.wants_critical()
    }

    /// Whether another critical event may be pushed early.
    pub fn wants_critical(&self) -> bool {
        self.critical.len() < CRITICAL_MAX
    }

    /// Everything at or before this was delivered, or did not pass the filters.
    pub fn watermark(&self) -> Cursor {
        let oldest = self.outstanding.first_key_value().map(|(_, before)| *before);
        let direct = self.direct.as_ref().map(|(_, before)| *before);
        oldest.into_iter().chain(direct).min().unwrap_or(self.pushed)
    }

    /// The last pushed event: the next one comes after it.
    pub fn pushed(&self) -> Cursor {
        self.pushed
    }

    pub fn n_held(&self) -> usize {
        self.n_held + self.critical.len()
    }

    pub fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Pushes the next event, in the order of its cursor. Earlier ones are ignored.
    pub fn push(&mut self, event: &Arc<Prepared>, cursor: Cursor, now: Time) {
        if cursor <= self.pushed {
            return;
        }
        let before = std::mem::replace(&mut self.pushed, cursor);
        if event.is_critical {
            self.settle(now);
            let is_new = !self.ahead.remove(&cursor);
            if is_new {
                self.critical.push_back((Arc::clone(event), cursor));
            }
            if is_new || self.critical.iter().any(|(_, one)| *one == cursor) {
                self.outstanding.insert(cursor, before);
            }
            // No event before it is delivered later.
            if let Some(lane) = self.lane_of.get(&event.session_id).copied() {
                self.close(lane);
                self.arrange(lane, now);
            }
        } else if self.terms.filters.pass(event.name()) {
            self.hold(Arrival { event, cursor, before }, now);
        }
    }

    /// Pushes a critical event ahead of its turn. All critical events before it must have been
    /// pushed too.
    pub fn push_critical(&mut self, event: &Arc<Prepared>, cursor: Cursor) {
        if event.is_critical && cursor > self.pushed && cursor > self.scouted {
            self.scouted = cursor;
            self.ahead.insert(cursor);
            if self.ahead.len() > AHEAD_MAX {
                // Delivered twice, rather than lost.
                self.ahead.pop_first();
            }
            self.critical.push_back((Arc::clone(event), cursor));
        }
    }

    /// The delivery that goes out now.
    pub fn poll(&mut self, now: Time) -> Option<Delivery> {
        let leading = self.lane_before_critical(now);
        if leading.is_none()
            && let Some((event, cursor)) = self.critical.pop_front()
        {
            self.outstanding.remove(&cursor);
            let body = copy::single(&event, &self.terms);
            return Some(self.delivery(body, &Held::one(&event, cursor, now)));
        }
        if self.n_held == 0 || !self.is_allowed(now) {
            return None;
        }
        let held = self.take_direct().or_else(|| {
            let lane = leading.or_else(|| self.next_lane(now))?;
            let held = self.take_first(lane);
            self.arrange(lane, now);
            Some(held)
        })?;
        if let Some(bucket) = &mut self.bucket {
            bucket.take(now);
        }
        self.speak(&held, now);
        Some(self.delivery(copy::body(&held, &self.terms), &held))
    }

    /// When to poll again, if nothing is pushed before.
    pub fn next_at(&self, now: Time) -> Option<Time> {
        if !self.critical.is_empty() {
            return Some(now);
        }
        if self.n_held == 0 {
            return None;
        }
        let is_ready = self.direct.is_some() || !self.turns.is_empty() || self.is_full();
        let at = if is_ready { now } else { self.wake_at?.max(now) };
        Some(self.bucket.as_ref().map_or(at, |bucket| bucket.next_at().max(at)))
    }

    fn is_full(&self) -> bool {
        self.n_held >= HELD_EVENTS_MAX || self.n_bytes >= HELD_BYTES_MAX
    }

    /// Whether the rate allows another delivery.
    fn is_allowed(&self, now: Time) -> bool {
        self.bucket.as_ref().is_none_or(|bucket| bucket.allows(now))
    }

    /// The lane of the events before the next critical one, if all of them can go out at once: then
    /// the order is kept without a delay.
    fn lane_before_critical(&self, now: Time) -> Option<usize> {
        let (event, cursor) = self.critical.front()?;
        if self.n_held > LEADING_EVENTS_MAX || !self.is_allowed(now) {
            return None;
        }
        let lane = *self.lane_of.get(&event.session_id)?;
        self.is_first_before(lane, *cursor).then_some(lane)
    }

    /// Whether more is held than may go out now.
    fn is_over_budget(&self, now: Time) -> bool {
        self.bucket.as_ref().is_some_and(|bucket| bucket.available(now) <= self.n_held)
            || now < self.spoken_at
    }

    fn delivery(&self, body: Body, held: &Held) -> Delivery {
        let is_all_before = held.newest <= self.pushed
            && self.outstanding.first_key_value().is_none_or(|(oldest, _)| *oldest > held.newest);
        let event = &held.last;
        Delivery {
            body,
            id: is_all_before.then(|| Arc::clone(&event.event_id)),
            cursor: held.newest,
            session_id: Arc::clone(&event.session_id),
            n_events: held.n_events(),
            is_critical: event.is_critical,
            is_question: event.is_question(),
        }
    }

    /// The next text waits until this one is spoken.
    fn speak(&mut self, held: &Held, now: Time) {
        let Some(pace) = self.terms.pace_wpm else { return };
        let text = match (&held.more, output(&held.last)) {
            (More::Text(joined), _) => &joined.text,
            (More::One | More::Several(_), Some(chunk)) => &*chunk.text,
            (More::One | More::Several(_), None) => return,
        };
        let millis = n_words(text) as i64 * MS_PER_MINUTE / i64::from(pace.max(1));
        let at_most = now.plus(Span::from_millis(PACE_WAIT_MS_MAX));
        self.spoken_at = self.spoken_at.max(now).plus(Span::from_millis(millis)).min(at_most);
    }
}
