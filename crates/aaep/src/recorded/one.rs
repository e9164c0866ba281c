//! One recorded session. After a wrong event, the session can be read in several ways, its
//! readings. A later event is wrong only if it is wrong in every reading. If it is right in one,
//! the readings in which it is wrong are dropped. So one wrong event is one error: it hides no
//! later error, and makes no later event wrong.

use std::borrow::Borrow;
use std::collections::HashSet;

use super::reading::{Assumed, Reading};
use super::salvage::{ENVELOPE, Salvaged};
use super::{Remark, Weight, digest, remark};
use crate::event::Event;
use crate::flaw::Flaw;
use crate::handshake::Handshake;
use crate::machine::rules;
use crate::machine::{NotSettled, Phase, Used};

/// The most readings of a session; the less likely ones are dropped.
const READINGS_MAX: usize = 32;

#[derive(Debug)]
pub(super) struct One {
    /// Never empty.
    readings: Vec<Reading>,
    /// Fingerprints of the ids that were used.
    used: HashSet<u128>,
    /// Questions without a recorded answer whose call was made.
    pub(super) taken_as_accepted: Vec<String>,
    /// The rest cannot be judged.
    pub(super) is_given_up: bool,
    /// It consists only of one event that was meant for another session.
    pub(super) is_stray: bool,
}

impl Default for One {
    fn default() -> Self {
        Self::after(0)
    }
}

impl One {
    /// A session some of whose events may be among these unreadable ones.
    pub(super) fn after(n_unread: u64) -> Self {
        Self {
            readings: vec![Reading::after(n_unread)],
            used: HashSet::new(),
            taken_as_accepted: Vec::new(),
            is_given_up: false,
            is_stray: false,
        }
    }

    pub(super) fn give_up(&mut self) {
        *self = Self { is_given_up: true, ..Self::default() };
    }

    /// Whether it is in this phase, in each reading.
    pub(super) fn is(&self, phase: Phase) -> bool {
        self.readings.iter().all(|it| it.session.phase() == phase)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.readings.iter().any(|it| it.has_ended)
    }

    /// Whether this would be a right event.
    pub(super) fn allows(&self, event: &Event<'_>) -> bool {
        let allows = |it: &Reading| it.clone().having(event, &self.used).is_some();
        self.is_open() && self.readings.iter().any(allows)
    }

    /// This event names another session, and may be one of this.
    pub(super) fn may_have(&mut self, event: &Event<'_>) -> bool {
        if !self.is_open() {
            return false;
        }
        let with = self.readings.iter().filter_map(|it| it.clone().having(event, &self.used));
        let mut with: Vec<_> = with.collect();
        let may = !with.is_empty();
        with.append(&mut self.readings);
        self.keep(with);
        may
    }

    /// Whether more events may follow.
    pub(super) fn is_open(&self) -> bool {
        let is_active = |it: &Reading| it.session.phase() == Phase::Active;
        self.readings.iter().any(is_active) && !self.is_given_up && !self.is_stray
    }

    pub(super) fn event(&mut self, event: &Event<'_>) -> Option<Remark> {
        if self.is_repeat(event) {
            let expected = "each event once; this one came before";
            return Some(remark(Weight::Broken, &rules::EVENT_ONCE, "event_id", expected));
        }
        let remark = self.add(event);
        self.use_up(Some(&event.envelope.event_id));
        remark
    }

    fn add(&mut self, event: &Event<'_>) -> Option<Remark> {
        if let [only] = &mut self.readings[..]
            && let Ok(assumed) = only.add(event, &self.used)
        {
            return assumed.and_then(|it| self.assumed(it));
        }
        let tried = std::mem::take(&mut self.readings).into_iter().map(|it| (it, event));
        let Tried { right, supposed, wrong } = self.try_all(tried.collect());
        if !right.is_empty() {
            return self.keep_right(right, supposed);
        }
        if let Some((_, flaw)) = supposed.first() {
            let remark = Remark { weight: Weight::Assumed, flaw: flaw.clone() };
            self.keep(supposed.into_iter().map(|(reading, _)| reading).collect());
            return Some(remark);
        }
        let flaw = likely_flaw(&wrong).expect("there was a reading").clone();
        self.keep(self.correct(&wrong));
        Some(Remark { weight: Weight::Broken, flaw })
    }

    /// Adds an event to readings, each time as it is meant there.
    fn try_all<'e, E: Borrow<Event<'e>> + Clone>(&self, all: Vec<(Reading, E)>) -> Tried<E> {
        let mut tried = Tried { right: Vec::new(), supposed: Vec::new(), wrong: Vec::new() };
        for (mut reading, event) in all {
            match reading.add(event.borrow(), &self.used) {
                Ok(assumed) => tried.right.push((reading, assumed)),
                Err(flaw) => {
                    let (supposed, still_wrong) =
                        reading.with_missing(event.borrow(), &flaw, &self.used);
                    tried.supposed.extend(supposed.into_iter().map(|it| (it, flaw.clone())));
                    tried.wrong.push((reading, event.clone(), flaw));
                    let still_wrong = still_wrong.into_iter();
                    tried.wrong.extend(still_wrong.map(|(it, flaw)| (it, event.clone(), flaw)));
                }
            }
        }
        tried
    }

    fn correct<'e, E: Borrow<Event<'e>>>(&self, wrong: &[(Reading, E, Flaw)]) -> Vec<Reading> {
        let corrected = wrong
            .iter()
            .flat_map(|(reading, event, flaw)| reading.corrected(event.borrow(), flaw, &self.used));
        corrected.collect()
    }

    fn keep_right(
        &mut self,
        mut right: Vec<(Reading, Option<Assumed>)>,
        supposed: Vec<(Reading, Flaw)>,
    ) -> Option<Remark> {
        // A reading that needs no assumption is more likely.
        right.sort_by_key(|(_, assumed)| assumed.is_some());
        let assumed = right[0].1.take();
        let right = right.into_iter().map(|(reading, _)| reading);
        let supposed = supposed.into_iter().map(|(reading, _)| reading);
        self.keep(right.chain(supposed).collect());
        assumed.and_then(|it| self.assumed(it))
    }

    fn assumed(&mut self, assumed: Assumed) -> Option<Remark> {
        self.taken_as_accepted.extend(assumed.tokens);
        Some(assumed.remark)
    }

    /// Keeps each of these readings once.
    fn keep(&mut self, readings: Vec<Reading>) {
        self.readings.clear();
        for reading in readings {
            if self.readings.len() == READINGS_MAX {
                break;
            }
            if !self.readings.contains(&reading) {
                self.readings.push(reading);
            }
        }
    }

    /// The id of an event is used in each reading. Other ids are, once only one reading is left.
    fn use_up(&mut self, event_id: Option<&str>) {
        self.used.extend(event_id.map(|id| digest(&Used::Event(id.to_owned()))));
        if let [only] = &mut self.readings[..] {
            self.used.extend(only.used.drain());
        } else if let [first, others @ ..] = &mut self.readings[..] {
            // What is used in all of them is kept once.
            let is_common = |id: &u128| others.iter().all(|it| it.used.contains(id));
            let common: Vec<_> = first.used.iter().copied().filter(is_common).collect();
            for id in &common {
                self.readings.iter_mut().for_each(|it| {
                    it.used.remove(id);
                });
            }
            self.used.extend(common);
        }
        if self.is(Phase::Over) {
            self.used = HashSet::new();
        }
    }

    /// Whether the same event, with its number, came before.
    fn is_repeat(&self, event: &Event<'_>) -> bool {
        let Some(number) = event.envelope.sequence_number else { return false };
        let id = Used::Event(event.envelope.event_id.as_ref().to_owned());
        let is_old = |it: &Reading| it.session.next_number().is_some_and(|next| number < next);
        self.readings.iter().all(is_old) && self.used.contains(&digest(&id))
    }

    /// One more event could not be read at all, and may be of this session.
    pub(super) fn lose(&mut self) {
        for reading in &mut self.readings {
            reading.miss(1);
            reading.n_unnumbered += 1;
        }
    }

    /// An invalid event. Returns a flaw of the session that does not follow from those of the
    /// document.
    pub(super) fn broken(&mut self, salvaged: &Salvaged) -> Option<Remark> {
        let remark = if salvaged.events.is_empty() {
            self.lose();
            None
        } else {
            self.salvage(salvaged)
        };
        self.use_up(salvaged.event_id.as_deref());
        remark
    }

    fn salvage(&mut self, salvaged: &Salvaged) -> Option<Remark> {
        let before = std::mem::take(&mut self.readings);
        let mut tried = Vec::new();
        for reading in &before {
            let events = salvaged.events.iter();
            tried.extend(events.map(|it| (reading.clone(), reading.completed(it, salvaged))));
        }
        let Tried { right, supposed, wrong } = self.try_all(tried);
        let mut remark = None;
        let mut readings: Vec<_> = right.into_iter().map(|(reading, _)| reading).collect();
        readings.extend(supposed.into_iter().map(|(reading, _)| reading));
        if readings.is_empty() {
            let flaw = likely_flaw(&wrong).filter(|flaw| !salvaged.explains(flaw)).cloned();
            remark = flaw.map(|flaw| Remark { weight: Weight::Broken, flaw });
            readings = self.correct(&wrong);
        }
        if salvaged.may_be_another {
            let lost = before.into_iter().map(|mut it| {
                it.lose_one(salvaged);
                it
            });
            readings.extend(lost);
        }
        self.keep(readings);
        remark
    }

    /// A recorded answer to a question of this session. The first one counts.
    pub(super) fn reply(&mut self, token: &str, reply: &Handshake) -> Option<NotSettled> {
        let settled = self.readings.iter_mut().filter_map(|it| it.settle(token, reply));
        let all: Vec<_> = settled.collect();
        if all.iter().any(Result::is_ok) {
            return None;
        }
        all.into_iter().find_map(Result::err)
    }
}

/// How an event fits into readings.
struct Tried<E> {
    right: Vec<(Reading, Option<Assumed>)>,
    /// Readings in which missing events make the event right, each with the flaw that the event has
    /// without them.
    supposed: Vec<(Reading, Flaw)>,
    wrong: Vec<(Reading, E, Flaw)>,
}

/// The flaw in the reading that fits best: one in which the envelope is right, if there is one.
fn likely_flaw<E>(wrong: &[(Reading, E, Flaw)]) -> Option<&Flaw> {
    let flaws = || wrong.iter().map(|(_, _, flaw)| flaw);
    let is_inside = |flaw: &&Flaw| !ENVELOPE.contains(&flaw.field.as_str());
    flaws().find(is_inside).or_else(|| flaws().next())
}
