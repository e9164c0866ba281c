//! The lanes of a shaper: the held deliveries of each session, in order.

use super::*;
use held::Behind;

/// The held deliveries of one session.
#[derive(Debug, Default)]
pub struct Lane {
    session_id: Option<Arc<str>>,
    held: VecDeque<Held>,
    /// Whether it is in the queue of turns.
    has_turn: bool,
}

/// Empty lanes that are kept for later sessions.
const LANES_KEPT_MAX: usize = 4;

impl Shaper {
    /// Adds an event to its session's lane, merged into a held one if allowed.
    pub(super) fn hold(&mut self, arrival: Arrival<'_>, now: Time) {
        if self.n_held == 0 && self.goes_direct(arrival.event, now) {
            let held = Held::one(arrival.event, arrival.cursor, now);
            self.n_held = 1;
            self.n_bytes += held.weight();
            self.direct = Some((held, arrival.before));
            return;
        }
        self.settle(now);
        let lane = self.lane(&arrival.event.session_id);
        match &arrival.event.kind {
            Kind::Output(chunk) => self.hold_text(lane, arrival, chunk, now),
            Kind::Progress { .. } | Kind::State { .. } => self.hold_latest(lane, arrival, now),
            Kind::Question { .. } | Kind::Other { .. } => {
                self.close(lane);
                self.add(lane, Held::one(arrival.event, arrival.cursor, now), arrival.before);
            }
        }
        self.arrange(lane, now);
    }

    /// Whether an event may go out unchanged if nothing else is held.
    fn goes_direct(&self, event: &Prepared, now: Time) -> bool {
        match &event.kind {
            Kind::Other { .. } if event.is_end() => now >= self.spoken_at || event.is_critical,
            Kind::Question { .. } | Kind::Other { .. } => true,
            Kind::Progress { .. } | Kind::State { .. } => !self.terms.is_low,
            Kind::Output(chunk) => {
                let cut = || self.terms.cut(&chunk.text, 0, chunk);
                now >= self.spoken_at && cut().is_some_and(|cut| cut.at == chunk.text.len())
            }
        }
    }

    pub(super) fn take_direct(&mut self) -> Option<Held> {
        let (held, _) = self.direct.take()?;
        self.n_held -= 1;
        self.n_bytes -= held.weight();
        Some(held)
    }

    /// Moves the direct event into its lane when another one comes.
    pub(super) fn settle(&mut self, now: Time) {
        let Some(before) = self.direct.as_ref().map(|(_, before)| *before) else { return };
        let Some(held) = self.take_direct() else { return };
        let lane = self.lane(&held.last.session_id);
        self.add(lane, held, before);
        self.arrange(lane, now);
    }

    fn hold_latest(&mut self, lane: usize, arrival: Arrival<'_>, now: Time) {
        let may_merge = self.terms.is_low || self.is_over_budget(now);
        match self.find(lane, arrival.event).filter(|_| may_merge) {
            Some(at) => {
                let mut held = self.lift(lane, at);
                held.replace(arrival.event, arrival.cursor, now);
                self.lower(lane, held);
            }
            None => self.add(lane, Held::one(arrival.event, arrival.cursor, now), arrival.before),
        }
    }

    fn hold_text(&mut self, lane: usize, arrival: Arrival<'_>, chunk: &Output, now: Time) {
        let is_over_budget = self.is_over_budget(now);
        let found = self.find(lane, arrival.event);
        let may_join = |held: &Held| is_over_budget || !held.is_whole();
        let Some(at) = found.filter(|at| may_join(&self.lanes[lane].held[*at])) else {
            return self.add_text(lane, arrival, chunk, now);
        };
        let mut held = self.lift(lane, at);
        if let (More::One, Some(first)) = (&held.more, output(&held.last)) {
            held.more =
                More::Text(Box::new(Joined::of_one(&held.last, held.oldest, first, &self.terms)));
        }
        let (More::Text(joined), Some(last)) = (&mut held.more, output(&held.last)) else {
            unreachable!("text is joined with text")
        };
        if !joined.continues_with(last, chunk) {
            held.close();
            self.lower(lane, held);
            return self.add_text(lane, arrival, chunk, now);
        }
        if !joined.has_room_for(chunk) {
            // The head makes room; a sentence that is longer than an event is cut.
            if let Some((head, rest)) = held.take_head() {
                self.outstanding.entry(rest.cursor).or_insert(rest.before);
                self.lower(lane, head);
                self.n_held += 1;
            }
            let has_room = match &held.more {
                More::Text(rest) => rest.has_room_for(chunk) && !rest.is_whole(),
                More::One | More::Several(_) => false,
            };
            if !has_room {
                held.close();
                self.lower(lane, held);
                return self.add_text(lane, arrival, chunk, now);
            }
        }
        if let More::Text(joined) = &mut held.more {
            joined.push(arrival, chunk, (&held.last, held.newest), &self.terms);
        }
        held.last = Arc::clone(arrival.event);
        held.newest = arrival.cursor;
        held.latest = now;
        self.lower(lane, held);
    }

    /// Text that is not joined yet. If all of it may go out, it is held unchanged.
    fn add_text(&mut self, lane: usize, arrival: Arrival<'_>, chunk: &Output, now: Time) {
        let mut held = Held::one(arrival.event, arrival.cursor, now);
        let cut = self.terms.cut(&chunk.text, 0, chunk);
        if cut.is_none_or(|cut| cut.at < chunk.text.len()) {
            held.more = More::Text(Box::new(Joined::new(arrival, chunk, &self.terms)));
        }
        self.add(lane, held, arrival.before);
    }

    /// The held delivery that the event may be merged into.
    fn find(&self, lane: usize, event: &Prepared) -> Option<usize> {
        let held = &self.lanes[lane].held;
        let mut open = held.iter().enumerate().rev().take_while(|(_, one)| !one.is_fence());
        let (at, newest) = open.find(|(_, one)| one.is_like(event))?;
        (!newest.is_closed).then_some(at)
    }

    fn add(&mut self, lane: usize, held: Held, before: Cursor) {
        self.outstanding.insert(held.oldest, before);
        self.n_held += 1;
        self.lower(lane, held);
    }

    /// Takes a delivery out of its lane, to be changed.
    fn lift(&mut self, lane: usize, at: usize) -> Held {
        let held = self.lanes[lane].held.remove(at).expect("it was found there");
        self.n_bytes -= held.weight();
        held
    }

    /// Puts a delivery into its place in the lane, which is mostly the end.
    fn lower(&mut self, lane: usize, held: Held) {
        self.n_bytes += held.weight();
        let lane = &mut self.lanes[lane].held;
        let n_later = lane.iter().rev().take_while(|one| one.place() > held.place()).count();
        lane.insert(lane.len() - n_later, held);
    }

    /// Closes all deliveries of a session: nothing is added, and they do not wait.
    pub(super) fn close(&mut self, lane: usize) {
        let held = &mut self.lanes[lane].held;
        for one in held.iter_mut().rev().take_while(|one| !one.is_fence()) {
            let before = one.weight();
            one.close();
            self.n_bytes = self.n_bytes + one.weight() - before;
        }
        // A text that goes out with all its events has a later place.
        if !held.iter().is_sorted_by_key(Held::place) {
            held.make_contiguous().sort_by_key(Held::place);
        }
    }

    /// Takes the first delivery of a session, or the part of it that may go out.
    pub(super) fn take_first(&mut self, lane: usize) -> Held {
        let mut held = self.lift(lane, 0);
        if let More::Text(joined) = &mut held.more
            && joined.head.is_none()
        {
            joined.release(&held.last, held.newest);
        }
        if let Some((head, rest)) = held.take_head() {
            self.outstanding.remove(&head.oldest);
            self.outstanding.insert(rest.cursor, rest.before);
            self.lower(lane, held);
            return head;
        }
        self.n_held -= 1;
        // The rest of an event that was cut begins at the same place as its first part.
        let is_rest = |one: &Held| one.oldest == held.oldest;
        if held.is_complete() || !self.lanes[lane].held.iter().any(is_rest) {
            self.outstanding.remove(&held.oldest);
        }
        held
    }

    /// Whether the first delivery of a session comes before a place.
    pub(super) fn is_first_before(&self, lane: usize, cursor: Cursor) -> bool {
        self.lanes[lane].held.front().is_some_and(|first| first.place() < cursor)
    }

    /// The next lane whose first delivery may go out.
    pub(super) fn next_lane(&mut self, now: Time) -> Option<usize> {
        let is_stuck = self.turns.is_empty() && self.is_full();
        if is_stuck || self.wake_at.is_some_and(|at| at <= now) {
            self.wake_at = None;
            for lane in 0..self.lanes.len() {
                self.arrange(lane, now);
            }
        }
        while let Some(lane) = self.turns.pop_front() {
            self.lanes[lane].has_turn = false;
            if self.readiness(lane, now) == Readiness::Now {
                return Some(lane);
            }
            self.arrange(lane, now);
        }
        None
    }

    /// Queues a lane, or notes when it will be ready. An empty lane is released.
    pub(super) fn arrange(&mut self, lane: usize, now: Time) {
        if self.lanes[lane].held.is_empty() {
            return self.give_back(lane);
        }
        if self.lanes[lane].has_turn {
            return;
        }
        match self.readiness(lane, now) {
            Readiness::Now => {
                self.lanes[lane].has_turn = true;
                self.turns.push_back(lane);
            }
            Readiness::At(at) => self.wake_at = Some(self.wake_at.map_or(at, |wake| wake.min(at))),
            Readiness::Later => {}
        }
    }

    fn readiness(&self, lane: usize, now: Time) -> Readiness {
        let held = &self.lanes[lane].held;
        let Some(first) = held.front() else { return Readiness::Later };
        let is_end = first.last.is_end() && !first.last.is_critical;
        let is_early = now < self.spoken_at && (is_end || output(&first.last).is_some());
        // The end of a session speeds up nothing: the last text keeps its pace, and the end comes
        // after it.
        let may_wait = is_end || !first.is_closed || self.only_the_end_follows(lane);
        if is_early && !self.is_full() && may_wait {
            return Readiness::At(self.spoken_at);
        }
        if first.is_closed || self.is_full() {
            return Readiness::Now;
        }
        let behind = Behind {
            since: held.get(1).map(|one| one.since),
            has_text: self.terms.is_low && held.iter().skip(1).any(Held::has_text_to_tell),
        };
        first.readiness(&self.terms, behind, now)
    }

    /// Whether only text and the end of the session are held after the first.
    fn only_the_end_follows(&self, lane: usize) -> bool {
        let mut followers = self.lanes[lane].held.iter().skip(1);
        followers.len() > 0 && followers.all(|one| output(&one.last).is_some() || one.last.is_end())
    }

    fn lane(&mut self, session_id: &Arc<str>) -> usize {
        if let Some(lane) = self.lane_of.get(session_id) {
            return *lane;
        }
        let lane = self.free.pop().unwrap_or_else(|| {
            self.lanes.push(Lane::default());
            self.lanes.len() - 1
        });
        self.lanes[lane].session_id = Some(Arc::clone(session_id));
        self.lane_of.insert(Arc::clone(session_id), lane);
        lane
    }

    fn give_back(&mut self, lane: usize) {
        let Some(session_id) = self.lanes[lane].session_id.take() else { return };
        self.lane_of.remove(&session_id);
        self.free.push(lane);
        if self.n_held == 0 && self.lanes.len() > LANES_KEPT_MAX {
            self.lanes = Vec::new();
            self.free = Vec::new();
            self.turns = VecDeque::new();
            self.lane_of = HashMap::new();
        }
    }
}
