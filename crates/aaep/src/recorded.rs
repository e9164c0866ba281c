//! Checks recorded sessions: events and the answers among them, in one order. The rules are those
//! of [`machine`](super::machine). A recording may lack answers, though, so an answer that must
//! have been given for the session to go on is assumed, and reported.

mod recover;
mod salvage;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use self::recover::Recovery;
pub use self::salvage::{Salvaged, salvage};
use super::event::{Decision, Event, Payload};
use super::flaw::{Flaw, Tier};
use super::handshake::{Handshake, Response as Said};
use super::machine::rules::{self, Rule};
use super::machine::{
    Lasts, NotSettled, Phase, QUESTIONS_MAX, QuestionKind, Response, Session, Used, Weak,
};
use base::time::{Span, Time};

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
    /// The session of the last event that was not a stray one.
    last: Option<String>,
    /// Questions without a recorded answer whose call was made.
    taken_as_accepted: HashSet<String>,
    /// Documents whose session could not be read.
    n_unread: u64,
    /// A start whose `session_id` is wrong. It belongs to the next session without a start.
    unnamed_start: Option<Event<'static>>,
}

#[derive(Debug, Default)]
struct One {
    session: Session,
    used: HashSet<u128>,
    /// The session if a question that was withdrawn had been accepted before.
    otherwise: Vec<Otherwise>,
    recovery: Recovery,
    /// Questions without a recorded answer whose call was made.
    taken_as_accepted: Vec<String>,
    /// The rest cannot be judged.
    is_given_up: bool,
    /// It consists only of one event that was meant for another session.
    is_stray: bool,
}

#[derive(Debug)]
struct Otherwise {
    session: Session,
    tokens: Vec<String>,
    event_ids: String,
}

impl Recorded {
    pub fn n_sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Adds one more event.
    pub fn event(&mut self, event: &Event<'_>) -> Option<Remark> {
        let id = event.envelope.session_id.as_ref();
        if !self.sessions.contains_key(id) {
            let is_stray = self.belongs_to_last(event);
            let recovery = Recovery::after(self.n_unread);
            let mut one = One { recovery, is_stray, ..One::default() };
            if let Some(start) = (!is_stray).then(|| self.unnamed_start_of(event)).flatten() {
                // Its flaw is reported already.
                let _ = one.event(&start);
            }
            self.sessions.insert(id.to_owned(), one);
        } else if let Some(one) = self.sessions.get_mut(id) {
            one.is_stray = false;
        }
        let one = self.sessions.get_mut(id).expect("it was just put there");
        if !one.is_stray && self.last.as_deref() != Some(id) {
            self.last = Some(id.to_owned());
        }
        if one.is_given_up {
            return None;
        }
        let remark = one.event(event);
        self.taken_as_accepted.extend(one.taken_as_accepted.drain(..));
        let meant = self.last.as_deref().filter(|_| one.is_stray).unwrap_or(id);
        if let Some(token) = event.payload.reply_token() {
            self.asked_in.insert(token.to_owned(), meant.to_owned());
        }
        if event.payload.is_terminal() && one.session.phase() == Phase::Over {
            self.asked_in.retain(|_, session| session != meant);
        }
        remark
    }

    /// Whether an event of a session that never began is, apart from its `session_id`, the next
    /// event of the session before it. It then counts there, so that nothing is missing in that
    /// one.
    fn belongs_to_last(&mut self, event: &Event<'_>) -> bool {
        if is_start(event) {
            return false;
        }
        let Some(id) = &self.last else { return false };
        let Some(one) = self.sessions.get_mut(id) else { return false };
        if one.is_given_up || one.session.phase() != Phase::Active {
            return false;
        }
        let mut meant = event.clone();
        meant.envelope.session_id = id.clone().into();
        let mut tried = one.session.clone();
        if follow(&mut tried, &meant, &one.used, &mut Vec::new()).is_err() {
            return false;
        }
        let _ = one.event(&meant);
        true
    }

    /// The start of the session of this first event, if a start without a session was read.
    fn unnamed_start_of(&mut self, event: &Event<'_>) -> Option<Event<'static>> {
        if is_start(event) {
            return None;
        }
        let mut start = self.unnamed_start.take()?;
        start.envelope.session_id = event.envelope.session_id.as_ref().to_owned().into();
        start.envelope.agent_id = event.envelope.agent_id.as_ref().to_owned().into();
        if event.envelope.sequence_number.is_some() {
            start.envelope.sequence_number.get_or_insert(0);
        }
        Some(start)
    }

    /// A document that is no valid event. Its effect is salvaged as far as it can be read, so that
    /// later events break no rule because of it. An unreadable one excuses one later flaw. Returns
    /// a flaw of the session that does not follow from those of the document.
    pub fn broken(&mut self, salvaged: &Salvaged) -> Option<Remark> {
        let Some(session_id) = &salvaged.session_id else {
            match &salvaged.event {
                Some(event) if is_start(event) => self.unnamed_start = Some(event.clone()),
                Some(_) | None => {
                    self.n_unread += 1;
                    self.sessions.values_mut().for_each(|one| one.recovery.lose());
                }
            }
            return None;
        };
        let Some(event) = &salvaged.event else {
            let one = self.sessions.entry(session_id.clone()).or_default();
            one.recovery.lose();
            one.used.extend(salvaged.event_id.clone().map(|id| digest(&Used::Event(id))));
            return None;
        };
        let mut event = event.clone();
        let mut number = is_start(&event).then_some(1);
        if let Some(one) = self.sessions.get(session_id).filter(|_| !is_start(&event)) {
            number = one.complete(&mut event, salvaged);
        }
        let is_numbered = event.envelope.sequence_number.is_some();
        let remark = self.event(&event);
        if let Some(one) = self.sessions.get_mut(session_id) {
            one.recovery.salvaged(&event.payload, salvaged, number.filter(|_| !is_numbered));
        }
        remark.filter(|it| it.weight == Weight::Broken && !salvaged.explains(&it.flaw))
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
        let due = one.session.pending().iter().find(|it| it.reply_token() == token)?.due();
        // Another clock decided whether it was in time. Here its place among the events decides.
        let at = before(due);
        let settled = match reply {
            Handshake::ConfirmationReply(reply) => {
                let is_other = reply.modified_action.is_some();
                let decision = if is_other { Decision::Reject } else { reply.decision };
                one.session.resolve(token, decision, at, Lasts::WithoutEnd)
            }
            Handshake::ClarificationReply(reply) => {
                let response = match &reply.response {
                    Said::Truth(yes) => Response::Flag(*yes),
                    Said::Number(number) => Response::Number(number.as_f64().unwrap_or(f64::NAN)),
                    Said::Text(text) => Response::Text(text),
                };
                one.session.answer(token, response, at)
            }
            Handshake::Request(_)
            | Handshake::Accepted(_)
            | Handshake::Rejected(_)
            | Handshake::Renegotiate(_)
            | Handshake::Close(_) => return None,
        };
        settled.err().map(idle)
    }

    /// The sessions without an end, by their ids.
    pub fn unfinished(&self) -> Vec<(&str, Remark)> {
        let is_open = |one: &One| {
            one.session.phase() == Phase::Active
                && !one.is_given_up
                && !one.is_stray
                && !one.recovery.has_ended()
        };
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

impl One {
    fn event(&mut self, event: &Event<'_>) -> Option<Remark> {
        if self.is_repeat(event) {
            let expected = "each event once; this one came before";
            return Some(remark(Weight::Broken, &rules::EVENT_ONCE, "event_id", expected));
        }
        self.recovery.count_without_start(&event.payload);
        match self.judge(event) {
            Ok(assumed) => {
                self.recovery.passed(&event.payload);
                assumed
            }
            Err(flaw) => self.go_on(event, flaw),
        }
    }

    /// Fills in the fields of an invalid event that could not be read. If the number stays unknown,
    /// returns the one that the next event may have.
    fn complete(&self, event: &mut Event<'static>, salvaged: &Salvaged) -> Option<u64> {
        let Event { envelope, payload } = event;
        if envelope.agent_id.is_empty() {
            envelope.agent_id = self.session.agent_id().to_owned().into();
        }
        if envelope.sequence_number.is_none() {
            envelope.sequence_number = self.session.next_number();
        }
        let open = self.session.loose_ends();
        if let Payload::ToolCompleted { tool, tool_call_id, .. } = payload
            && salvaged.is_flawed("tool_call_id")
        {
            let call = open.calls.iter().find(|(open, _)| *open == &**tool);
            *tool_call_id = call.and_then(|(_, id)| *id).map(|id| id.to_owned().into());
        }
        if let (Payload::OutputStreaming(chunk), [(output, _)]) = (payload, &open.outputs[..])
            && salvaged.is_flawed("output_id")
            && chunk.position > 0
        {
            chunk.output_id = output.map(|id| id.to_owned().into());
        }
        let (next, _) = self.recovery.number?;
        next.map(|next| next.saturating_add(1))
    }

    /// Whether the same event, with its number, came before.
    fn is_repeat(&self, event: &Event<'_>) -> bool {
        let id = Used::Event(event.envelope.event_id.as_ref().to_owned());
        let number = event.envelope.sequence_number;
        let is_old = number.zip(self.session.next_number()).is_some_and(|(got, next)| got < next);
        is_old && self.used.contains(&digest(&id))
    }

    /// The flaw of an event; otherwise the assumption that was needed, if any.
    fn judge(&mut self, event: &Event<'_>) -> Result<Option<Remark>, Flaw> {
        let is_change = matches!(event.payload, Payload::StateChanged { .. });
        let before =
            (is_change && !self.session.pending().is_empty()).then(|| self.session.clone());
        let active = event.payload.is_terminal().then(|| self.session.clone());
        let mut uses = Vec::new();
        let followed = follow(&mut self.session, event, &self.used, &mut uses);
        let assumed = match followed {
            Ok(is_withdrawal) => {
                self.otherwise.retain_mut(|it| it.follow(event, &self.used));
                if let Some(before) = before.filter(|_| is_withdrawal) {
                    self.suppose(&before, event);
                }
                None
            }
            Err(flaw) => match self.assume(event, &flaw, &mut uses) {
                Some(remark) => Some(remark),
                None => return Err(flaw),
            },
        };
        self.used.extend(uses.iter().map(digest));
        if let Some(active) = active {
            self.ended(active);
        }
        Ok(assumed)
    }

    /// Keeps alternatives in which one or all of the questions withdrawn here had been accepted.
    fn suppose(&mut self, before: &Session, event: &Event<'_>) {
        let asked = confirmations(before);
        let each = asked.iter().map(std::slice::from_ref);
        let all = (asked.len() > 1).then_some(asked.as_slice());
        for questions in each.chain(all).take(QUESTIONS_MAX + 1) {
            let Some(mut supposed) = Otherwise::accepting(before, questions) else { continue };
            if supposed.follow(event, &self.used) {
                self.otherwise.push(supposed);
            }
        }
    }

    /// A session in which this event is right, if an unrecorded answer would make it so.
    fn assume(&mut self, event: &Event<'_>, flaw: &Flaw, uses: &mut Vec<Used>) -> Option<Remark> {
        match &event.payload {
            Payload::ToolInvoked { .. } => {
                let asked = confirmations(&self.session);
                let now = asked.iter().map(std::slice::from_ref);
                let now = now.filter_map(|one| Otherwise::accepting(&self.session, one));
                let mut all: Vec<_> = now.collect();
                all.append(&mut self.otherwise);
                let is_it =
                    |it: &mut Otherwise| follow(&mut it.session, event, &self.used, uses).is_ok();
                let at = all.iter_mut().position(is_it)?;
                let Otherwise { session, tokens, event_ids } = all.swap_remove(at);
                self.session = session;
                self.taken_as_accepted.extend(tokens);
                all.retain_mut(|it| it.follow(event, &self.used));
                self.otherwise = all;
                let expected =
                    format!("an answer to {event_ids}, taken as accepted, as its call was made");
                Some(remark(Weight::Assumed, &rules::CONSENT, "reply_token", expected))
            }
            Payload::SessionCompleted if flaw.rule == rules::SETTLED.number => {
                // A cancelled end withdraws the open questions, and is otherwise the same.
                let open = self.session.pending().first().map(|it| it.event_id().to_owned())?;
                let other = Event { payload: Payload::SessionCancelled, ..event.clone() };
                follow(&mut self.session, &other, &self.used, uses).ok()?;
                let expected =
                    format!("an answer to {open}, taken as given, as the session is over");
                Some(remark(Weight::Assumed, &rules::SETTLED, "reply_token", expected))
            }
            Payload::SessionStarted { .. }
            | Payload::SessionCompleted
            | Payload::SessionErrored
            | Payload::SessionCancelled
            | Payload::StateChanged { .. }
            | Payload::ProgressUpdated { .. }
            | Payload::ToolCompleted { .. }
            | Payload::OutputStreaming(_)
            | Payload::AwaitingConfirmation(_)
            | Payload::AwaitingClarification(_)
            | Payload::HandoffRequested(_)
            | Payload::Extension { .. } => None,
        }
    }

    fn give_up(&mut self) {
        *self = Self { is_given_up: true, ..Self::default() };
    }
}

impl Otherwise {
    fn accepting(before: &Session, questions: &[(String, String, Time)]) -> Option<Self> {
        let mut session = before.clone();
        for (token, _, due) in questions {
            let at = self::before(*due);
            session.resolve(token, Decision::Accept, at, Lasts::WithoutEnd).ok()?;
        }
        let event_ids: Vec<_> = questions.iter().map(|(_, event_id, _)| &**event_id).collect();
        let tokens = questions.iter().map(|(token, _, _)| token.clone()).collect();
        Some(Self { session, tokens, event_ids: event_ids.join(" and ") })
    }

    fn follow(&mut self, event: &Event<'_>, used: &HashSet<u128>) -> bool {
        follow(&mut self.session, event, used, &mut Vec::new()).is_ok()
    }
}

fn is_start(event: &Event<'_>) -> bool {
    matches!(event.payload, Payload::SessionStarted { .. })
}

/// Whether the event withdraws a question, or its flaw.
fn follow(
    session: &mut Session,
    event: &Event<'_>,
    used: &HashSet<u128>,
    uses: &mut Vec<Used>,
) -> Result<bool, Flaw> {
    let at = Time::from_millis(event.envelope.timestamp_micros / 1_000);
    let is_used = |id: &Used| used.contains(&digest(id));
    let followed = session.follow(event, at, Weak::Allowed, &is_used, uses)?;
    Ok(!followed.withdrawn.is_empty())
}

/// Proposing another action refuses the one that was asked about.
fn is_refusal(reply: &Handshake) -> bool {
    let Handshake::ConfirmationReply(reply) = reply else { return false };
    reply.modified_action.is_some() || reply.decision == Decision::Reject
}

/// Token, event and due time of each open confirmation.
fn confirmations(session: &Session) -> Vec<(String, String, Time)> {
    let asked = session.pending().iter().filter(|it| it.kind() == QuestionKind::Confirmation);
    asked.map(|it| (it.reply_token().to_owned(), it.event_id().to_owned(), it.due())).collect()
}

fn before(due: Time) -> Time {
    Time::from_millis(due.as_millis() - Span::from_millis(1).as_millis())
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
