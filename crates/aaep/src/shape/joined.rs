//! Text of an output, joined from its chunks and cut at the listener's boundaries.
//!
//! Only the last events are kept: a cut never lies before the last chunk, so all events before that
//! chunk are delivered whole, and their number is enough.

use std::sync::Arc;

use super::super::event::Boundary;
use super::Cursor;
use super::prepared::{Output, Prepared};
use super::terms::Terms;

/// The longest text of one event, in Unicode scalar values.
pub const CHUNK_CHARS_MAX: u64 = 16_384;

#[derive(Debug)]
pub struct Joined {
    pub text: String,
    pub n_chars: u64,
    /// Where the text begins in its output.
    pub position: u64,
    /// How many events end in it.
    pub n_events: u32,
    /// The event in which it begins.
    pub first_id: Arc<str>,
    /// The part that may go out.
    pub head: Option<Head>,
    /// The first event that is not wholly in the head.
    pub rest: Option<Rest>,
}

/// The part that may go out, up to a boundary.
#[derive(Debug, Clone)]
pub struct Head {
    /// In bytes.
    pub end: usize,
    pub n_events: u32,
    /// The event in which the head ends. `is_whole`: the head ends where that event ends.
    pub base: Arc<Prepared>,
    pub newest: Cursor,
    pub is_whole: bool,
    /// `None` if it was released without one.
    pub boundary: Option<Boundary>,
}

#[derive(Debug, Clone)]
pub struct Rest {
    pub cursor: Cursor,
    /// The cursor before it.
    pub before: Cursor,
    pub first_id: Arc<str>,
}

/// An event that is added, and its position.
#[derive(Debug, Clone, Copy)]
pub struct Arrival<'a> {
    pub event: &'a Arc<Prepared>,
    pub cursor: Cursor,
    pub before: Cursor,
}

impl Joined {
    pub fn new(first: Arrival<'_>, chunk: &Output, terms: &Terms) -> Self {
        let mut joined = Self {
            text: String::new(),
            n_chars: 0,
            position: chunk.position,
            n_events: 0,
            first_id: Arc::clone(&first.event.event_id),
            head: None,
            rest: None,
        };
        joined.push(first, chunk, (first.event, first.cursor), terms);
        joined
    }

    /// From an event that was held unchanged: all of it may go out.
    pub fn of_one(event: &Arc<Prepared>, cursor: Cursor, chunk: &Output, terms: &Terms) -> Self {
        let mut joined = Self {
            text: chunk.text.to_string(),
            n_chars: chunk.n_chars,
            position: chunk.position,
            n_events: 1,
            first_id: Arc::clone(&event.event_id),
            head: None,
            rest: None,
        };
        let cut = terms.cut(&chunk.text, 0, chunk).filter(|cut| cut.at == chunk.text.len());
        joined.head = Some(joined.all(event, cursor, cut.map(|cut| cut.boundary)));
        joined
    }

    /// Whether a chunk continues where this ends, in the same language.
    pub fn continues_with(&self, last: &Output, chunk: &Output) -> bool {
        chunk.position.checked_sub(self.position) == Some(self.n_chars)
            && chunk.language == last.language
    }

    pub fn has_room_for(&self, chunk: &Output) -> bool {
        self.n_chars + chunk.n_chars <= CHUNK_CHARS_MAX
    }

    /// Adds a chunk. `last` is the event before it.
    pub fn push(
        &mut self,
        arrival: Arrival<'_>,
        chunk: &Output,
        last: (&Arc<Prepared>, Cursor),
        terms: &Terms,
    ) {
        let from = self.text.len();
        self.text.push_str(&chunk.text);
        self.n_chars += chunk.n_chars;
        self.n_events += 1;
        let here = Rest {
            cursor: arrival.cursor,
            before: arrival.before,
            first_id: Arc::clone(&arrival.event.event_id),
        };
        self.rest.get_or_insert_with(|| here.clone());
        let Some(cut) = terms.cut(&self.text, from, chunk) else { return };
        let boundary = Some(cut.boundary);
        if cut.at == self.text.len() {
            self.head = Some(self.all(arrival.event, arrival.cursor, boundary));
            self.rest = None;
            return;
        }
        let is_whole = cut.at == from;
        let (base, newest) = if is_whole { last } else { (arrival.event, arrival.cursor) };
        self.head = Some(Head {
            end: cut.at,
            n_events: self.n_events - 1,
            base: Arc::clone(base),
            newest,
            is_whole,
            boundary,
        });
        self.rest = Some(here);
    }

    /// Whether the head is all there is.
    pub fn is_whole(&self) -> bool {
        self.head.as_ref().is_some_and(|head| head.end == self.text.len()) && self.rest.is_none()
    }

    /// Releases all of it, boundary or not.
    pub fn release(&mut self, last: &Arc<Prepared>, newest: Cursor) {
        if !self.is_whole() {
            self.head = Some(self.all(last, newest, None));
            self.rest = None;
        }
    }

    /// The head, if a rest stays.
    pub fn take_head(&mut self) -> Option<Joined> {
        let rest = self.rest.clone()?;
        let head = self.head.take()?;
        let tail = self.text.split_off(head.end);
        let text = std::mem::replace(&mut self.text, tail);
        let n_chars = text.chars().count() as u64;
        let taken = Joined {
            text,
            n_chars,
            position: self.position,
            n_events: head.n_events,
            first_id: std::mem::replace(&mut self.first_id, Arc::clone(&rest.first_id)),
            head: Some(head),
            rest: None,
        };
        self.position = self.position.saturating_add(n_chars);
        self.n_chars -= n_chars;
        self.n_events -= taken.n_events;
        Some(taken)
    }

    pub fn weight(&self) -> usize {
        size_of::<Self>()
            + self.text.capacity()
            + self.head.as_ref().map_or(0, |head| head.base.text.len())
    }

    fn all(&self, base: &Arc<Prepared>, newest: Cursor, boundary: Option<Boundary>) -> Head {
        Head {
            end: self.text.len(),
            n_events: self.n_events,
            base: Arc::clone(base),
            newest,
            is_whole: true,
            boundary,
        }
    }
}
