//! One way to read a recorded session. A recording may lack answers, and events in it may be wrong,
//! so there may be several.

use std::collections::{BTreeSet, HashSet};

use super::{Remark, Weight, digest, is_start, remark};
use crate::event::{Decision, Event, Payload};
use crate::flaw::Flaw;
use crate::handshake::{Handshake, Response as Said};
use crate::machine::rules;
use crate::machine::{
    Lasts, NotSettled, Phase, QUESTIONS_MAX, QuestionKind, Response, Session, Used, Weak,
};
use base::time::{Span, Time};

/// Any number of events may be missing.
pub(super) const ANY_NUMBER: u64 = u64::MAX;

/// The most numbers of missing events that are kept, of events that came too early, and of ids that
/// may be used again.
const SKIPPED_MAX: usize = 64;

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Reading {
    pub(super) session: Session,
    /// Fingerprints of the ids that were used in this reading.
    pub(super) used: HashSet<u128>,
    /// The session if a question that was withdrawn had been accepted before.
    otherwise: Vec<Otherwise>,
    /// Events that could not be read, or that are missing by their numbers. Each explains one
    /// missing thing.
    pub(super) n_missing: u64,
    /// Events that could not be read, and may have had a number.
    pub(super) n_unnumbered: u64,
    /// The numbers of missing events. An event that has one is only late.
    skipped: BTreeSet<u64>,
    /// The numbers of events that came too early: their effect is missing where they belong.
    early: BTreeSet<u64>,
    /// Ids that may be used again.
    reusable: BTreeSet<u128>,
    /// The session before its end, which may have come too early.
    before_end: Option<Box<Session>>,
    /// Whether the start may still come.
    pub(super) lacks_start: bool,
    /// Whether it went on after an end.
    pub(super) has_ended: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct Otherwise {
    session: Session,
    tokens: Vec<String>,
    event_ids: String,
}

/// An answer that is not recorded, and must have been given.
#[derive(Debug)]
pub(super) struct Assumed {
    pub(super) remark: Remark,
    /// The tokens of the questions that are taken as accepted.
    pub(super) tokens: Vec<String>,
}

impl Reading {
    /// A session some of whose events may be among these unreadable ones.
    pub(super) fn after(n_unread: u64) -> Self {
        Self { n_missing: n_unread, n_unnumbered: n_unread, ..Self::default() }
    }

    /// Applies one more event. Returns its flaw, and then it has no effect; otherwise the
    /// assumption that was needed, if any.
    pub(super) fn add(
        &mut self,
        event: &Event<'_>,
        used: &HashSet<u128>,
    ) -> Result<Option<Assumed>, Flaw> {
        if self.lacks_start && is_start(event) {
            self.lacks_start = false;
            self.before_end = None;
            return Ok(None);
        }
        if self.session.phase() == Phase::Over && self.is_late(event) {
            self.skipped.clear();
            return Ok(None);
        }
        if self.session.phase() != Phase::Active {
            return self.judge(event, used);
        }
        let number = event.envelope.sequence_number;
        if self.is_late(event) {
            return self.add_late(event, used);
        }
        if self.session.agent_id().is_empty() {
            self.session.suppose_agent(&event.envelope.agent_id);
        }
        if let Some((got, next)) = number.zip(self.session.next_number())
            && got > next
        {
            self.skip_known(got, next);
        }
        self.judge(event, used)
    }

    /// The reading with one more event, if it is right there or rests on a missing one.
    pub(super) fn having(mut self, event: &Event<'_>, used: &HashSet<u128>) -> Option<Self> {
        match self.add(event, used) {
            Ok(_) => Some(self),
            Err(flaw) => self.with_missing(event, &flaw, used).0.into_iter().next(),
        }
    }

    /// A recorded answer, if it is to a question of this session.
    pub(super) fn settle(
        &mut self,
        token: &str,
        reply: &Handshake,
    ) -> Option<Result<(), NotSettled>> {
        let due = self.session.pending().iter().find(|it| it.reply_token() == token)?.due();
        let at = just_before(due);
        let settled = match reply {
            Handshake::ConfirmationReply(reply) => {
                let is_other = reply.modified_action.is_some();
                let decision = if is_other { Decision::Reject } else { reply.decision };
                self.session.resolve(token, decision, at, Lasts::WithoutEnd)
            }
            Handshake::ClarificationReply(reply) => {
                let response = match &reply.response {
                    Said::Truth(yes) => Response::Flag(*yes),
                    Said::Number(number) => Response::Number(number.as_f64().unwrap_or(f64::NAN)),
                    Said::Text(text) => Response::Text(text),
                };
                self.session.answer(token, response, at)
            }
            Handshake::Request(_)
            | Handshake::Accepted(_)
            | Handshake::Rejected(_)
            | Handshake::Renegotiate(_)
            | Handshake::Close(_) => return None,
        };
        Some(settled.map(|_| ()))
    }

    /// Whether the event was missing before.
    pub(super) fn is_late(&self, event: &Event<'_>) -> bool {
        let number = event.envelope.sequence_number;
        !is_start(event) && number.is_some_and(|number| self.skipped.contains(&number))
    }

    /// Skips the numbers of events that came too early, or could not be read.
    fn skip_known(&mut self, got: u64, mut next: u64) {
        while next < got && self.early.remove(&next) {
            next += 1;
            self.skip(next - 1, next);
        }
        let n_between = got - next;
        if n_between <= self.n_unnumbered {
            self.session.suppose_number(Some(got));
            self.n_unnumbered -= n_between;
        }
    }

    /// Adds an event that was missing and comes late. It takes effect now, unless its effect was
    /// already supposed, or it does not fit here. It counts as one event that was moved: the other
    /// skipped numbers are forgotten.
    fn add_late(
        &mut self,
        event: &Event<'_>,
        used: &HashSet<u128>,
    ) -> Result<Option<Assumed>, Flaw> {
        let next = self.session.next_number();
        let mut event = event.clone();
        event.envelope.sequence_number = next;
        event.envelope.timestamp_micros = self.session.timestamp_micros();
        self.skipped.clear();
        // A state that was announced too late may have been left since.
        let is_state = matches!(event.payload, Payload::StateChanged { .. });
        if self.n_missing == 0 || is_state {
            return Ok(None);
        }
        let Ok(added) = self.judge(&event, used) else { return Ok(None) };
        self.session.suppose_number(next);
        self.miss_one_less();
        Ok(added)
    }

    /// The event with this number came too early.
    pub(super) fn came_early(&mut self, number: u64) {
        if self.early.len() < SKIPPED_MAX {
            self.early.insert(number);
        }
    }

    /// This id may be used again.
    pub(super) fn reuse(&mut self, id: &Used) {
        if self.reusable.len() < SKIPPED_MAX {
            self.reusable.insert(digest(id));
        }
    }

    /// So many events more are missing.
    pub(super) fn miss(&mut self, n_events: u64) {
        self.n_missing = self.n_missing.saturating_add(n_events);
    }

    pub(super) fn miss_one_less(&mut self) {
        if self.n_missing != ANY_NUMBER {
            self.n_missing = self.n_missing.saturating_sub(1);
        }
    }

    /// The events with these numbers are missing.
    pub(super) fn skip(&mut self, from: u64, to: u64) {
        self.miss(to.saturating_sub(from));
        let n_more = SKIPPED_MAX.saturating_sub(self.skipped.len());
        self.skipped.extend((from..to).take(n_more));
        self.session.suppose_number(Some(to));
    }

    /// The session before its end, if it may go on.
    pub(super) fn reopened(&self) -> Option<Self> {
        let session = self.before_end.as_deref()?.clone();
        Some(Self { session, before_end: None, has_ended: true, ..self.clone() })
    }

    /// Counts a wrong event as if it were right.
    pub(super) fn suppose(&mut self, event: &Event<'_>) {
        if self.session.phase() != Phase::Active {
            return;
        }
        let active = event.payload.is_terminal().then(|| self.session.clone());
        self.session.suppose(event);
        self.otherwise.iter_mut().for_each(|it| it.session.suppose(event));
        if let Some(active) = active {
            self.ended(active);
        }
    }

    fn ended(&mut self, active: Session) {
        self.before_end = Some(Box::new(active));
        self.otherwise = Vec::new();
    }

    fn judge(&mut self, event: &Event<'_>, used: &HashSet<u128>) -> Result<Option<Assumed>, Flaw> {
        let is_change = matches!(event.payload, Payload::StateChanged { .. });
        let before =
            (is_change && !self.session.pending().is_empty()).then(|| self.session.clone());
        let active = event.payload.is_terminal().then(|| self.session.clone());
        let is_used = |id: &Used| is_used(id, [used, &self.used], &self.reusable);
        let mut assumed = None;
        let mut uses = Vec::new();
        match follow(&mut self.session, event, &is_used, &mut uses) {
            Ok(is_withdrawal) => {
                self.otherwise.retain_mut(|it| it.follow(event, &is_used));
                if let Some(before) = before.filter(|_| is_withdrawal) {
                    let supposed = accepted_before(&before, event, &is_used);
                    self.otherwise.extend(supposed);
                }
            }
            Err(flaw) => {
                assumed = Some(self.assume(event, &flaw, used, &mut uses).ok_or(flaw)?);
            }
        }
        self.used.extend(uses.iter().map(digest));
        if let Some(active) = active {
            self.ended(active);
        }
        Ok(assumed)
    }

    /// A session in which this event is right, if an unrecorded answer would make it so.
    fn assume(
        &mut self,
        event: &Event<'_>,
        flaw: &Flaw,
        used: &HashSet<u128>,
        uses: &mut Vec<Used>,
    ) -> Option<Assumed> {
        let is_used = |id: &Used| is_used(id, [used, &self.used], &self.reusable);
        match &event.payload {
            Payload::ToolInvoked { .. } => {
                let asked = confirmations(&self.session);
                let now = asked.iter().map(std::slice::from_ref);
                let now = now.filter_map(|one| Otherwise::accepting(&self.session, one));
                let mut all: Vec<_> = now.chain(self.otherwise.iter().cloned()).collect();
                let is_it =
                    |it: &mut Otherwise| follow(&mut it.session, event, &is_used, uses).is_ok();
                let at = all.iter_mut().position(is_it)?;
                let Otherwise { session, tokens, event_ids } = all.swap_remove(at);
                self.session = session;
                all.retain_mut(|it| it.follow(event, &is_used));
                self.otherwise = all;
                let expected =
                    format!("an answer to {event_ids}, taken as accepted, as its call was made");
                let remark = remark(Weight::Assumed, &rules::CONSENT, "reply_token", expected);
                Some(Assumed { remark, tokens })
            }
            Payload::SessionCompleted if flaw.rule == rules::SETTLED.number => {
                // A cancelled end withdraws the open questions, and is otherwise the same.
                let open = self.session.pending().first().map(|it| it.event_id().to_owned())?;
                let other = Event { payload: Payload::SessionCancelled, ..event.clone() };
                follow(&mut self.session, &other, &is_used, uses).ok()?;
                let expected =
                    format!("an answer to {open}, taken as given, as the session is over");
                let remark = remark(Weight::Assumed, &rules::SETTLED, "reply_token", expected);
                Some(Assumed { remark, tokens: Vec::new() })
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
}

/// Whether an id was used, and may not be used again.
fn is_used(id: &Used, used: [&HashSet<u128>; 2], reusable: &BTreeSet<u128>) -> bool {
    let id = digest(id);
    used.iter().any(|used| used.contains(&id)) && !reusable.contains(&id)
}

impl Otherwise {
    fn accepting(before: &Session, questions: &[(String, String, Time)]) -> Option<Self> {
        let mut session = before.clone();
        for (token, _, due) in questions {
            let at = just_before(*due);
            session.resolve(token, Decision::Accept, at, Lasts::WithoutEnd).ok()?;
        }
        let event_ids: Vec<_> = questions.iter().map(|(_, event_id, _)| &**event_id).collect();
        let tokens = questions.iter().map(|(token, _, _)| token.clone()).collect();
        Some(Self { session, tokens, event_ids: event_ids.join(" and ") })
    }

    fn follow(&mut self, event: &Event<'_>, is_used: &dyn Fn(&Used) -> bool) -> bool {
        follow(&mut self.session, event, is_used, &mut Vec::new()).is_ok()
    }
}

/// Sessions in which one or all of the questions withdrawn by this event had been accepted.
fn accepted_before(
    before: &Session,
    event: &Event<'_>,
    is_used: &dyn Fn(&Used) -> bool,
) -> Vec<Otherwise> {
    let asked = confirmations(before);
    let each = asked.iter().map(std::slice::from_ref);
    let all = (asked.len() > 1).then_some(asked.as_slice());
    let supposed = each.chain(all).take(QUESTIONS_MAX + 1);
    let supposed = supposed.filter_map(|questions| Otherwise::accepting(before, questions));
    supposed.filter_map(|mut it| it.follow(event, is_used).then_some(it)).collect()
}

/// Whether the event withdraws a question, or its flaw.
fn follow(
    session: &mut Session,
    event: &Event<'_>,
    is_used: &dyn Fn(&Used) -> bool,
    uses: &mut Vec<Used>,
) -> Result<bool, Flaw> {
    let at = Time::from_millis(event.envelope.timestamp_micros / 1_000);
    let followed = session.follow(event, at, Weak::Allowed, is_used, uses)?;
    Ok(!followed.withdrawn.is_empty())
}

/// Token, event and due time of each open confirmation.
fn confirmations(session: &Session) -> Vec<(String, String, Time)> {
    let asked = session.pending().iter().filter(|it| it.kind() == QuestionKind::Confirmation);
    asked.map(|it| (it.reply_token().to_owned(), it.event_id().to_owned(), it.due())).collect()
}

/// Another clock decided whether an answer was in time. Here its place among the events decides.
fn just_before(due: Time) -> Time {
    Time::from_millis(due.as_millis() - Span::from_millis(1).as_millis())
}
