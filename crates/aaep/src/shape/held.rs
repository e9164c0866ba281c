//! Events that are held for a subscription: single or merged.

use std::sync::Arc;

use base::time::{Span, Time};

use super::Cursor;
use super::joined::{Joined, Rest};
use super::prepared::{Kind, Output, Prepared};
use super::terms::Terms;

/// One or more events that go out as one.
#[derive(Debug)]
pub struct Held {
    /// The last of them, from which the copy is made.
    pub last: Arc<Prepared>,
    pub oldest: Cursor,
    pub newest: Cursor,
    /// When the first of them came.
    pub since: Time,
    /// When the last of them came.
    pub latest: Time,
    /// Nothing is added any more, and it does not wait.
    pub is_closed: bool,
    pub more: More,
}

#[derive(Debug)]
pub enum More {
    /// It is one event.
    One,
    Text(Box<Joined>),
    Several(Box<Several>),
}

/// Several progress events or changes of state.
#[derive(Debug)]
pub struct Several {
    pub n_events: u32,
    pub first_id: Arc<str>,
    /// The state before the first of them.
    pub from: Option<Box<str>>,
    pub first_percent: Option<f64>,
}

/// When a held delivery may go out, by its own waiting rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    Now,
    At(Time),
    /// Not before another event.
    Later,
}

/// How long text without a boundary waits when a producer pauses: about as long as people let each
/// other pause.
pub const TEXT_PAUSE_MS: i64 = 2_000;

/// Text that goes on without a boundary is delivered after this time.
pub const TEXT_WAIT_MS_MAX: i64 = 10_000;

/// For a listener with low load, a state counts once it has lasted this long.
pub const STATE_LASTS_MS: i64 = 2_000;

/// For a listener with low load, progress comes with each quarter of the way, or after this time.
pub const PROGRESS_WAIT_MS: i64 = 10_000;

const PERCENT_PER_STEP: f64 = 25.0;

impl Held {
    pub fn one(event: &Arc<Prepared>, cursor: Cursor, now: Time) -> Self {
        Self {
            last: Arc::clone(event),
            oldest: cursor,
            newest: cursor,
            since: now,
            latest: now,
            is_closed: false,
            more: More::One,
        }
    }

    pub fn n_events(&self) -> u32 {
        match &self.more {
            More::One => 1,
            More::Text(joined) => joined.n_events,
            More::Several(several) => several.n_events,
        }
    }

    /// Its place in the session: that of the last event that may go out with it.
    pub fn place(&self) -> Cursor {
        match &self.more {
            More::Text(joined) => joined.head.as_ref().map_or(self.newest, |head| head.newest),
            More::One | More::Several(_) => self.newest,
        }
    }

    /// Bytes that this keeps in memory, as far as they grow with the events.
    pub fn weight(&self) -> usize {
        size_of::<Self>()
            + self.last.text.len()
            + match &self.more {
                More::One => 0,
                More::Text(joined) => joined.weight(),
                More::Several(_) => size_of::<Several>(),
            }
    }

    /// Whether an event is of the same kind, so that it may be merged into this.
    pub fn is_like(&self, event: &Prepared) -> bool {
        match (&self.last.kind, &event.kind) {
            (Kind::Output(left), Kind::Output(right)) => left.output_id == right.output_id,
            (Kind::Progress { .. }, Kind::Progress { .. }) => true,
            (Kind::State { .. }, Kind::State { .. }) => true,
            (
                Kind::Output(_)
                | Kind::Progress { .. }
                | Kind::State { .. }
                | Kind::Question { .. }
                | Kind::Other { .. },
                _,
            ) => false,
        }
    }

    /// Whether events of the session after it must not be merged with events before it.
    pub fn is_fence(&self) -> bool {
        match self.last.kind {
            Kind::Question { .. } | Kind::Other { .. } => true,
            Kind::Output(_) | Kind::Progress { .. } | Kind::State { .. } => false,
        }
    }

    /// Whether this has text that may go out.
    pub fn has_text_to_tell(&self) -> bool {
        match &self.more {
            More::One => matches!(self.last.kind, Kind::Output(_)),
            More::Text(joined) => joined.head.is_some(),
            More::Several(_) => false,
        }
    }

    /// Whether all of it may go out.
    pub fn is_whole(&self) -> bool {
        match &self.more {
            More::One | More::Several(_) => true,
            More::Text(joined) => joined.is_whole(),
        }
    }

    /// Nothing is added any more, and it does not wait.
    pub fn close(&mut self) {
        self.is_closed = true;
        if let More::Text(joined) = &mut self.more {
            joined.release(&self.last, self.newest);
        }
    }

    /// The part of a text that may go out, if a rest stays, and where the rest begins.
    pub fn take_head(&mut self) -> Option<(Held, Rest)> {
        let More::Text(joined) = &mut self.more else { return None };
        let rest = joined.rest.clone()?;
        let taken = joined.take_head()?;
        let head = taken.head.as_ref()?;
        let held = Held {
            last: Arc::clone(&head.base),
            oldest: std::mem::replace(&mut self.oldest, rest.cursor),
            newest: head.newest,
            since: std::mem::replace(&mut self.since, self.latest),
            latest: self.latest,
            is_closed: true,
            more: More::Text(Box::new(taken)),
        };
        Some((held, rest))
    }

    /// Whether its last event ends with it.
    pub fn is_complete(&self) -> bool {
        match &self.more {
            More::Text(joined) => joined.head.as_ref().is_some_and(|head| head.is_whole),
            More::One | More::Several(_) => true,
        }
    }

    /// Merges one more progress event or change of state.
    pub fn replace(&mut self, event: &Arc<Prepared>, cursor: Cursor, now: Time) {
        match &mut self.more {
            More::Several(several) => several.n_events += 1,
            More::One | More::Text(_) => {
                let (from, first_percent) = match &self.last.kind {
                    Kind::State { from } => (Some(from.clone()), None),
                    Kind::Progress { percent } => (None, *percent),
                    Kind::Output(_) | Kind::Question { .. } | Kind::Other { .. } => (None, None),
                };
                let first_id = Arc::clone(&self.last.event_id);
                self.more =
                    More::Several(Box::new(Several { n_events: 2, first_id, from, first_percent }));
            }
        }
        self.last = Arc::clone(event);
        self.newest = cursor;
        self.latest = now;
    }

    /// When this may go out if it is first in its lane. `behind` describes what is held behind it.
    pub fn readiness(&self, terms: &Terms, behind: Behind, now: Time) -> Readiness {
        let wait = match &self.last.kind {
            Kind::Question { .. } | Kind::Other { .. } => None,
            Kind::Output(_) if self.has_text_to_tell() => None,
            Kind::Output(_) if terms.is_only_completion() => match behind.since {
                // Events behind it wait a while for the text, and then no more.
                Some(since) => {
                    let pause = self.latest.max(since).plus(Span::from_millis(TEXT_PAUSE_MS));
                    Some(pause.min(since.plus(Span::from_millis(TEXT_WAIT_MS_MAX))))
                }
                None => return Readiness::Later,
            },
            Kind::Output(_) => {
                let pause = self.latest.plus(Span::from_millis(TEXT_PAUSE_MS));
                Some(pause.min(self.since.plus(Span::from_millis(TEXT_WAIT_MS_MAX))))
            }
            Kind::Progress { .. } | Kind::State { .. } if !terms.is_low || behind.has_text => None,
            Kind::Progress { percent } if self.is_next_step(*percent) => None,
            Kind::Progress { .. } => Some(self.since.plus(Span::from_millis(PROGRESS_WAIT_MS))),
            Kind::State { .. } => Some(self.latest.plus(Span::from_millis(STATE_LASTS_MS))),
        };
        match wait {
            Some(at) if now < at && !self.is_closed => Readiness::At(at),
            Some(_) | None => Readiness::Now,
        }
    }

    fn is_next_step(&self, percent: Option<f64>) -> bool {
        let More::Several(several) = &self.more else { return false };
        let step = |percent: f64| (percent / PERCENT_PER_STEP) as u8;
        percent.zip(several.first_percent).is_some_and(|(last, first)| step(last) > step(first))
    }
}

/// What is held behind a delivery of the same session.
#[derive(Debug, Clone, Copy, Default)]
pub struct Behind {
    pub since: Option<Time>,
    /// Text that may go out.
    pub has_text: bool,
}

/// The output of an event that has one.
pub fn output(event: &Prepared) -> Option<&Output> {
    match &event.kind {
        Kind::Output(output) => Some(output),
        Kind::Progress { .. } | Kind::State { .. } | Kind::Question { .. } | Kind::Other { .. } => {
            None
        }
    }
}
