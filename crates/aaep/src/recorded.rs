//! Checks recorded sessions: events and the answers among them, in one order. The rules are those
//! of [`machine`](super::machine). A recording may lack answers, though, so an answer that must
//! have been given for the session to go on is assumed, and reported.

mod correct;
#[cfg(test)]
mod edits_tests;
mod missing;
mod one;
mod reading;
mod salvage;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use self::one::One;
pub use self::salvage::{Salvaged, salvage};
use super::event::{Decision, Event, Payload};
use super::flaw::{Flaw, Tier};
use super::handshake::Handshake;
use super::machine::rules::{self, Rule};
use super::machine::{NotSettled, Phase, Used};

/// The most sessions to which an event with a wrong `session_id` may belong.
const RECENT_MAX: usize = 8;

/// A flaw of a recording, or an assumption about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    pub weight: Weight,
    pub flaw: Flaw,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// A rule is broken.
    Broken,
    /// Missing, and assumed: it may have happened without being recorded.
    Assumed,
    /// It changes nothing.
    Idle,
}

/// All sessions of one recording. Grows with the open ones and the ids that they used.
#[derive(Debug, Default)]
pub struct Recorded {
    sessions: HashMap<String, One>,
    /// The session of each question.
    asked_in: HashMap<String, String>,
    /// The sessions of the last events that were not stray ones, the last first.
    recent: VecDeque<String>,
    /// Whether an event came after it that is a stray one.
    has_strayed: bool,
    /// Questions without a recorded answer whose call was made.
    taken_as_accepted: HashSet<String>,
    /// Documents whose session could not be read.
    n_unread: u64,
    /// A start whose `session_id` is wrong. It belongs to the next session without a start.
    unnamed_start: Option<Event<'static>>,
}

impl Recorded {
    pub fn n_sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Adds one more event.
    pub fn event(&mut self, event: &Event<'_>) -> Option<Remark> {
        let id = event.envelope.session_id.as_ref();
        let mut meant = None;
        if !self.sessions.contains_key(id) {
            meant = self.belongs_elsewhere(event);
            self.begin(id, Some(event), meant.is_some());
        } else if self.sessions.get(id).is_some_and(|it| it.is_stray) {
            let is_again = event.envelope.sequence_number.is_some() && !self.has_strayed;
            meant = is_again.then(|| self.belongs_elsewhere(event)).flatten();
            if let Some(expected) = meant {
                self.has_strayed = true;
                return Some(remark(Weight::Broken, &rules::SAME_SESSION, "session_id", expected));
            }
            self.sessions.entry(id.to_owned()).and_modify(|it| it.is_stray = false);
        }
        let one = self.sessions.get_mut(id).expect("it was just put there");
        self.has_strayed = one.is_stray;
        if one.is_given_up {
            return None;
        }
        let remark = one.event(event);
        let is_over = event.payload.is_terminal() && one.is(Phase::Over);
        self.taken_as_accepted.extend(one.taken_as_accepted.drain(..));
        if !one.is_stray {
            self.visit(id);
            if remark.as_ref().is_some_and(|it| it.weight == Weight::Broken) {
                // It may also belong to another session, where nothing is missing then.
                self.belongs_elsewhere(event);
            }
        }
        let meant = meant.as_deref().unwrap_or(id);
        if let Some(token) = event.payload.reply_token() {
            self.asked_in.insert(token.to_owned(), meant.to_owned());
        }
        if is_over {
            self.asked_in.retain(|_, session| session != meant);
        }
        remark
    }

    /// The session is the last one now.
    fn visit(&mut self, id: &str) {
        if self.recent.front().is_some_and(|last| last == id) {
            return;
        }
        self.recent.retain(|it| it != id);
        self.recent.truncate(RECENT_MAX - 1);
        self.recent.push_front(id.to_owned());
    }

    /// A session with this first event.
    fn begin(&mut self, session_id: &str, first: Option<&Event<'_>>, is_stray: bool) {
        let mut one = One::after(self.n_unread);
        one.is_stray = is_stray;
        let start = (!is_stray).then(|| self.unnamed_start_of(session_id, first)).flatten();
        if let Some(start) = start {
            // Its flaw is reported already.
            let _ = one.event(&start);
        }
        self.sessions.insert(session_id.to_owned(), one);
    }

    /// The session of which an event may be the next one, apart from its `session_id`. It may then
    /// have had its effect there, so that nothing is missing in that one.
    fn belongs_elsewhere(&mut self, event: &Event<'_>) -> Option<String> {
        if is_start(event) {
            return None;
        }
        let mut found = None;
        for id in self.recent.iter().filter(|id| **id != event.envelope.session_id) {
            let Some(one) = self.sessions.get_mut(id) else { continue };
            let mut meant = event.clone();
            meant.envelope.session_id = id.clone().into();
            if one.may_have(&meant) {
                found.get_or_insert_with(|| id.clone());
            }
        }
        found
    }

    /// The start of a session with this first event, if a start without a session was read.
    fn unnamed_start_of(
        &mut self,
        session_id: &str,
        first: Option<&Event<'_>>,
    ) -> Option<Event<'static>> {
        if first.is_some_and(is_start) {
            return None;
        }
        let mut start = self.unnamed_start.take()?;
        start.envelope.session_id = session_id.to_owned().into();
        let agent = first.map(|it| it.envelope.agent_id.as_ref()).unwrap_or_default();
        start.envelope.agent_id = agent.to_owned().into();
        if first.is_some_and(|it| it.envelope.sequence_number.is_some()) {
            start.envelope.sequence_number.get_or_insert(0);
        }
        Some(start)
    }

    /// A document that is no valid event. Its effect is salvaged as far as it can be read, so that
    /// later events break no rule because of it. An unreadable one excuses one later flaw. Returns
    /// a flaw of the session that does not follow from those of the document.
    pub fn broken(&mut self, salvaged: &Salvaged) -> Option<Remark> {
        let Some(session_id) = &salvaged.session_id else {
            self.broken_of_no_session(salvaged);
            return None;
        };
        if !self.sessions.contains_key(session_id) {
            self.begin(session_id, salvaged.events.first(), false);
        }
        let one = self.sessions.get_mut(session_id).expect("it was just put there");
        one.is_stray = false;
        if one.is_given_up {
            return None;
        }
        let remark = one.broken(salvaged);
        self.visit(session_id);
        let tokens = salvaged.events.iter().filter_map(|it| it.payload.reply_token());
        self.asked_in.extend(tokens.map(|it| (it.to_owned(), session_id.clone())));
        remark
    }

    /// A start belongs to the next session, and another event to the only open one, if it fits.
    fn broken_of_no_session(&mut self, salvaged: &Salvaged) {
        if let Some(start) = salvaged.events.first().filter(|it| is_start(it)) {
            self.unnamed_start = Some(start.clone());
            return;
        }
        let mut open = self.sessions.iter().filter(|(_, it)| it.is_open());
        if let (Some((id, only)), None) = (open.next(), open.next()) {
            let meant = salvaged.of_session(id);
            if meant.events.iter().any(|it| only.allows(it)) {
                // Its flaw is reported already.
                let _ = self.broken(&meant);
                return;
            }
        }
        self.n_unread += 1;
        self.sessions.values_mut().for_each(One::lose);
    }

    /// The first recorded event of a session that had already begun. Without its start, the rest
    /// cannot be judged.
    pub fn joined(&mut self, session_id: &str) -> Option<Remark> {
        if self.sessions.contains_key(session_id) {
            return None;
        }
        self.sessions.entry(session_id.to_owned()).or_default().give_up();
        let expected =
            format!("the start of {session_id}, which was before the recording: its order is open");
        Some(remark(Weight::Assumed, &rules::STARTS, "type", expected))
    }

    /// A recorded answer. The first one counts; others change nothing.
    pub fn reply(&mut self, reply: &Handshake) -> Option<Remark> {
        let token = match reply {
            Handshake::ConfirmationReply(reply) => &reply.reply_token,
            Handshake::ClarificationReply(reply) => &reply.reply_token,
            Handshake::Request(_)
            | Handshake::Accepted(_)
            | Handshake::Rejected(_)
            | Handshake::Renegotiate(_)
            | Handshake::Close(_) => return None,
        };
        if self.taken_as_accepted.remove(token) && is_refusal(reply) {
            let expected = "an accept, as its call was made before";
            return Some(remark(Weight::Broken, &rules::CONSENT, "decision", expected));
        }
        let session = self.asked_in.get(token).and_then(|id| self.sessions.get_mut(id));
        let Some(one) = session else { return Some(idle(NotSettled::Unknown)) };
        if one.is_given_up {
            return None;
        }
        one.reply(token, reply).map(idle)
    }

    /// The sessions without an end, by their ids.
    pub fn unfinished(&self) -> Vec<(&str, Remark)> {
        let is_open = |one: &One| one.is_open() && one.is(Phase::Active) && !one.has_ended();
        let open = self.sessions.iter().filter(|(_, one)| is_open(one));
        let mut open: Vec<_> = open
            .map(|(id, _)| {
                let expected = format!("an end of {id}; it may have come after the recording");
                (id.as_str(), remark(Weight::Assumed, &rules::ENDS_ONCE, "type", expected))
            })
            .collect();
        open.sort_by_key(|(id, _)| *id);
        open
    }
}

fn is_start(event: &Event<'_>) -> bool {
    matches!(event.payload, Payload::SessionStarted { .. })
}

/// Proposing another action refuses the one that was asked about.
fn is_refusal(reply: &Handshake) -> bool {
    let Handshake::ConfirmationReply(reply) = reply else { return false };
    reply.modified_action.is_some() || reply.decision == Decision::Reject
}

/// Ids are many and long, so only a fingerprint of 128 bits is kept.
fn digest(used: &Used) -> u128 {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, used).hash(&mut hasher);
        hasher.finish()
    };
    u128::from(half(0)) << 64 | u128::from(half(1))
}

fn idle(why: NotSettled) -> Remark {
    let expected = match why {
        NotSettled::Unknown => "the token of a question that waits",
        NotSettled::TooLate => "an answer before the time of the question is over",
        NotSettled::NotDue => "an answer in time",
        NotSettled::WrongKind => "an answer to this kind of question",
        NotSettled::NotAllowed => "an answer that the question allows",
    };
    let flaw = Flaw {
        tier: Tier::Session,
        rule: "6.3",
        field: "reply_token".to_owned(),
        expected: expected.to_owned(),
    };
    Remark { weight: Weight::Idle, flaw }
}

fn remark(weight: Weight, rule: &Rule, field: &str, expected: impl Into<String>) -> Remark {
    let (field, expected) = (field.to_owned(), expected.into());
    Remark { weight, flaw: Flaw { tier: Tier::Session, rule: rule.number, field, expected } }
}
