//! The model's questions, and which accept each call of the history has used up.

use super::model::{Model, Past, Verdict};
use crate::event::{Clarification, Confirmation, Decision, Event, Payload, Reversibility, Risk};
use crate::machine::Weak;

/// How a question of the history ended, and where.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Waits,
    Replied(usize, Decision),
    TimedOut(usize, Decision),
    Withdrawn(usize),
    Clarified,
}

/// An accepted confirmation, and how later calls have used it.
struct Accept<'a> {
    question: &'a Event<'static>,
    by_somebody: bool,
    is_spent: bool,
    /// A later call may have been the accepted one.
    is_served: bool,
    /// When it was given.
    given: u64,
}

struct Call<'a> {
    id: Option<&'a str>,
    hash: Option<&'a str>,
    irreversible: bool,
}

const CALL: &str = "tool_call_id";
const HASH: &str = "extensions.tasuki.action_hash";

impl Model {
    pub(super) fn question(&self, token: &str) -> Option<&Event<'static>> {
        self.events().find(|event| reply_token(event) == Some(token))
    }

    pub(super) fn was_accepted_by_somebody(&self, token: &str) -> bool {
        let is_it = |past: &Past| match past {
            Past::Replied(own, Decision::Accept, _) => own == token,
            Past::Replied(..) | Past::TimedOut(..) | Past::Clarified(_) | Past::Event(..) => false,
        };
        self.past.iter().any(is_it)
    }

    /// The open questions, with the time when each is due.
    pub(super) fn all_waiting(&self) -> Vec<(&Event<'static>, u64)> {
        let asked = self.past.iter().enumerate().filter_map(|(index, past)| {
            let Past::Event(event, at) = past else { return None };
            let seconds = confirmation(event).map(|it| it.timeout_seconds);
            let seconds = seconds.or(clarification(event).map(|it| it.timeout_seconds))?;
            let waits = self.fate(index) == Fate::Waits;
            waits.then_some((event.as_ref(), at + u64::from(seconds)))
        });
        asked.collect()
    }

    pub(super) fn waiting(&self, token: &str) -> Option<(&Event<'static>, u64)> {
        self.all_waiting().into_iter().find(|(event, _)| reply_token(event) == Some(token))
    }

    /// The result of the question at this place.
    fn fate(&self, index: usize) -> Fate {
        let Past::Event(question, _) = &self.past[index] else { return Fate::Clarified };
        let token = reply_token(question);
        for (place, past) in self.past.iter().enumerate().skip(index + 1) {
            match past {
                Past::Replied(own, decision, _) if Some(own.as_str()) == token => {
                    return Fate::Replied(place, *decision);
                }
                Past::TimedOut(own, decision) if Some(own.as_str()) == token => {
                    return Fate::TimedOut(place, *decision);
                }
                Past::Clarified(own) if Some(own.as_str()) == token => return Fate::Clarified,
                Past::Event(event, _) if withdraws(event) => return Fate::Withdrawn(place),
                Past::Event(..) | Past::Replied(..) | Past::TimedOut(..) | Past::Clarified(_) => {}
            }
        }
        Fate::Waits
    }

    pub(super) fn judge_question(&self, event: &Event<'_>) -> Verdict {
        if let Payload::AwaitingConfirmation(it) = &event.payload
            && it.default_decision == Decision::Accept
        {
            let is_grave = it.risk.is_some_and(|risk| risk > Risk::Low);
            let needs_effort = it.reversibility == Some(Reversibility::WithEffort) && is_grave;
            if is_irreversible(event) || needs_effort {
                return Err(("6.4.1", "default_decision"));
            }
        }
        if self
            .events()
            .any(|past| reply_token(past) == reply_token(event) && reply_token(past).is_some())
        {
            return Err(("6.2.4", "reply_token"));
        }
        if self.all_waiting().len() >= 8 {
            return Err(("limit", "type"));
        }
        if is_confirmation(event) { self.judge_confirmation(event) } else { Ok(()) }
    }

    fn judge_confirmation(&self, event: &Event<'_>) -> Verdict {
        let waiting = self.all_waiting();
        let confirmations =
            || waiting.iter().map(|(event, _)| *event).filter(|it| is_confirmation(it));
        if confirmations().any(|other| is_same_action(other, event)) {
            return Err(("4.5.3", "action"));
        }
        let (id, hash) = link(event);
        if self.is_called(id) {
            return Err(("4.4.1", "extensions.tasuki.tool_call_id"));
        }
        if self.weak == Weak::Refused && is_irreversible(event) && hash.is_none() {
            return Err(("4.3.1", HASH));
        }
        let mut accepts = self.accepts();
        replace(&mut accepts, event, self.now);
        let n_unspent = accepts.iter().filter(|accept| !accept.is_spent).count();
        if confirmations().count() + n_unspent >= 16 {
            return Err(("limit", "type"));
        }
        Ok(())
    }

    pub(super) fn judge_call(&self, event: &Event<'_>) -> Verdict {
        if self.is_called(Call::of(event).id) {
            return Err(("4.3.1", CALL));
        }
        let call = Call::of(event);
        let accepts = self.accepts();
        let unspent = || accepts.iter().filter(|accept| !accept.is_spent);
        let waiting = self.all_waiting();
        let waiting = waiting.iter().filter(|(it, _)| is_confirmation(it));
        if let Some(field) = waiting.filter_map(|(it, _)| call.shares(it)).next() {
            return Err(("4.5.3", field));
        }
        let exact = exact_of(unspent(), &call, self.now);
        if exact.is_none() {
            if let Some(field) = self.refused_name(&call) {
                return Err(("4.5.3", field));
            }
            if let Some(near) = unspent().find(|accept| call.shares(accept.question).is_some()) {
                let (_, hash) = link(near.question);
                let is_other_hash = hash.is_some() && hash != call.hash;
                return Err(("4.3.1", if is_other_hash { HASH } else { CALL }));
            }
        }
        if !call.irreversible {
            return Ok(());
        }
        let found =
            exact.or_else(|| unspent().find(|accept| accept.is_unlinked_and_covers(self.now)));
        match found {
            Some(accept) if accept.covers_irreversible_at(self.now) => {
                let is_weak = link(accept.question).1.is_none();
                match is_weak && self.weak == Weak::Refused {
                    true => Err(("4.3.1", HASH)),
                    false => Ok(()),
                }
            }
            Some(_) | None => Err(("4.3.1", "irreversible")),
        }
    }

    fn is_called(&self, id: Option<&str>) -> bool {
        let calls = |payload: &Payload<'_>| {
            let Payload::ToolInvoked { tool_call_id, .. } = payload else { return false };
            tool_call_id.as_deref() == id
        };
        id.is_some() && self.has(calls)
    }

    /// The accepts of the history, in order, as later calls have left them.
    fn accepts(&self) -> Vec<Accept<'_>> {
        let mut accepts: Vec<Accept<'_>> = Vec::new();
        for (place, past) in self.past.iter().enumerate() {
            let (token, by_somebody, given) = match past {
                Past::Replied(token, Decision::Accept, at) => (token, true, *at),
                Past::TimedOut(token, Decision::Accept) => (token, false, 0),
                Past::Replied(token, Decision::Reject, _)
                | Past::TimedOut(token, Decision::Reject) => {
                    take_back(&mut accepts, self.question(token).expect("the question was asked"));
                    continue;
                }
                Past::Event(event, at) => {
                    if let Payload::ToolInvoked { .. } = event.payload {
                        spend(&mut accepts, &Call::of(event), *at);
                    }
                    if is_confirmation(event) {
                        replace(&mut accepts, event, *at);
                    }
                    for withdrawn in self.withdrawn_at(place) {
                        take_back(&mut accepts, withdrawn);
                    }
                    continue;
                }
                Past::Clarified(_) => continue,
            };
            let question = self.question(token).expect("the question was asked");
            let accept = Accept { question, by_somebody, is_spent: false, is_served: false, given };
            accepts.push(accept);
        }
        accepts
    }

    /// The confirmations that the event at this place withdrew.
    fn withdrawn_at(&self, place: usize) -> impl Iterator<Item = &Event<'static>> {
        self.past[..place].iter().enumerate().filter_map(move |(index, past)| {
            let Past::Event(question, _) = past else { return None };
            let is_it = is_confirmation(question) && self.fate(index) == Fate::Withdrawn(place);
            is_it.then_some(question.as_ref())
        })
    }

    /// A name of the call that was refused, and not accepted since.
    fn refused_name(&self, call: &Call<'_>) -> Option<&'static str> {
        let mut latest: [Option<(usize, bool)>; 2] = [None, None];
        for (index, past) in self.past.iter().enumerate() {
            let Past::Event(event, _) = past else { continue };
            if !is_confirmation(event) {
                continue;
            }
            let (place, is_refused) = match self.fate(index) {
                Fate::Replied(place, decision) | Fate::TimedOut(place, decision) => {
                    (place, decision == Decision::Reject)
                }
                Fate::Withdrawn(place) => (place, true),
                Fate::Waits | Fate::Clarified => continue,
            };
            let (id, hash) = link(event);
            for (latest, (own, other)) in latest.iter_mut().zip([(id, call.id), (hash, call.hash)])
            {
                if own.is_some() && own == other && latest.is_none_or(|(last, _)| last < place) {
                    *latest = Some((place, is_refused));
                }
            }
        }
        let is_refused = |latest: Option<(usize, bool)>| latest.is_some_and(|(_, is)| is);
        match (is_refused(latest[0]), is_refused(latest[1])) {
            (true, _) => Some(CALL),
            (false, true) => Some(HASH),
            (false, false) => None,
        }
    }

    /// What a session must have settled before it completes.
    pub(super) fn judge_debts(&self) -> Verdict {
        let is_owed = |accept: &Accept<'_>| !accept.is_spent && !accept.is_served;
        let rejected = self.past.iter().rposition(|past| {
            matches!(
                past,
                Past::Replied(_, Decision::Reject, _) | Past::TimedOut(_, Decision::Reject)
            )
        });
        let is_told = |from: usize| self.past[from..].iter().any(tells);
        if !self.all_waiting().is_empty()
            || self.accepts().iter().any(is_owed)
            || rejected.is_some_and(|place| !is_told(place))
        {
            return Err(("4.5.3", "type"));
        }
        Ok(())
    }
}

/// A later reject of the same action takes back an unused accept.
fn take_back(accepts: &mut Vec<Accept<'_>>, refused: &Event<'_>) {
    accepts.retain(|accept| accept.is_spent || !is_same_action(accept.question, refused));
}

/// A new question replaces a lapsed accept of the same action.
fn replace(accepts: &mut Vec<Accept<'_>>, asked: &Event<'_>, at: u64) {
    accepts.retain(|accept| {
        accept.is_spent || !accept.has_lapsed(at) || !is_same_action(accept.question, asked)
    });
}

/// Marks the accept that a call of the history rested on.
fn spend(accepts: &mut [Accept<'_>], call: &Call<'_>, at: u64) {
    let mut unspent = accepts.iter_mut().filter(|accept| !accept.is_spent).collect::<Vec<_>>();
    let is_enough = |accept: &Accept<'_>| !call.irreversible || accept.covers_irreversible_at(at);
    let mut exact: Vec<_> = unspent.iter_mut().filter(|accept| accept.is_for(call)).collect();
    exact.sort_by_key(|accept| !is_enough(accept));
    if let Some(first) = exact.first_mut() {
        first.is_spent = true;
        return;
    }
    unspent.retain(|accept| link(accept.question) == (None, None));
    if call.irreversible {
        unspent.retain(|accept| accept.covers_irreversible_at(at));
        unspent.sort_by_key(|accept| !is_irreversible(accept.question));
        if let Some(first) = unspent.first_mut() {
            first.is_spent = true;
        }
        return;
    }
    unspent.sort_by_key(|accept| accept.covers_irreversible());
    let may_be =
        |accept: &&mut &mut Accept<'_>| !is_irreversible(accept.question) && !accept.is_served;
    if let Some(first) = unspent.iter_mut().find(may_be) {
        first.is_served = true;
        first.is_spent = !first.covers_irreversible();
    }
}

/// The accept that names the call; of several, the first that is enough for it.
fn exact_of<'a, 'b: 'a>(
    accepts: impl Iterator<Item = &'a Accept<'b>>,
    call: &Call<'_>,
    now: u64,
) -> Option<&'a Accept<'b>> {
    let mut exact: Vec<_> = accepts.filter(|accept| accept.is_for(call)).collect();
    exact.sort_by_key(|accept| call.irreversible && !accept.covers_irreversible_at(now));
    exact.into_iter().next()
}

impl Accept<'_> {
    fn covers_irreversible(&self) -> bool {
        let Payload::AwaitingConfirmation(it) = &self.question.payload else { return false };
        let is_said = it.reversibility.is_none() && it.said_reversible;
        let can_be_undone =
            matches!(it.reversibility, Some(Reversibility::Reversible | Reversibility::WithEffort));
        let is_promised = (can_be_undone || is_said) && !it.irreversible;
        self.by_somebody && !is_promised
    }

    /// An accept is valid for a minute.
    fn has_lapsed(&self, now: u64) -> bool {
        self.by_somebody && now - self.given >= 60
    }

    fn covers_irreversible_at(&self, now: u64) -> bool {
        self.covers_irreversible() && !self.has_lapsed(now)
    }

    fn is_unlinked_and_covers(&self, now: u64) -> bool {
        link(self.question) == (None, None) && self.covers_irreversible_at(now)
    }

    /// Whether the call matches everything that the question names.
    fn is_for(&self, call: &Call<'_>) -> bool {
        match link(self.question) {
            (None, None) => false,
            (Some(id), None) => call.id == Some(id),
            (None, Some(hash)) => call.hash == Some(hash),
            (Some(id), Some(hash)) => call.id == Some(id) && call.hash == Some(hash),
        }
    }
}

impl<'a> Call<'a> {
    fn of(event: &'a Event<'_>) -> Self {
        let Payload::ToolInvoked { tool_call_id, irreversible, .. } = &event.payload else {
            panic!("{event:?} is no call");
        };
        let hash = event.envelope.link.action_hash.as_deref();
        Call { id: tool_call_id.as_deref(), hash, irreversible: *irreversible }
    }

    /// The field that is the same in a question.
    fn shares(&self, question: &Event<'_>) -> Option<&'static str> {
        let (id, hash) = link(question);
        match (id.is_some() && id == self.id, hash.is_some() && hash == self.hash) {
            (true, _) => Some(CALL),
            (false, true) => Some(HASH),
            (false, false) => None,
        }
    }
}

pub(super) fn reply_token<'a>(event: &'a Event<'_>) -> Option<&'a str> {
    let asked = confirmation(event).map(|it| it.reply_token.as_ref());
    asked.or(clarification(event).map(|it| it.reply_token.as_ref()))
}

fn confirmation<'a, 'b>(event: &'a Event<'b>) -> Option<&'a Confirmation<'b>> {
    if let Payload::AwaitingConfirmation(it) = &event.payload { Some(it) } else { None }
}

fn clarification<'a, 'b>(event: &'a Event<'b>) -> Option<&'a Clarification<'b>> {
    if let Payload::AwaitingClarification(it) = &event.payload { Some(it) } else { None }
}

pub(super) fn link<'a>(event: &'a Event<'_>) -> (Option<&'a str>, Option<&'a str>) {
    let link = &event.envelope.link;
    (link.tool_call_id.as_deref(), link.action_hash.as_deref())
}

fn is_confirmation(event: &Event<'_>) -> bool {
    confirmation(event).is_some()
}

pub(super) fn is_irreversible(event: &Event<'_>) -> bool {
    confirmation(event)
        .is_some_and(|it| it.irreversible || it.reversibility == Some(Reversibility::Irreversible))
}

fn is_same_action(one: &Event<'_>, other: &Event<'_>) -> bool {
    let words = |event: &Event<'_>| confirmation(event).map(|it| it.action.to_string());
    let ((id, hash), (other_id, other_hash)) = (link(one), link(other));
    match (hash, other_hash) {
        (Some(hash), Some(other)) if hash == other => true,
        (Some(_), Some(_)) => id.is_some() && id == other_id,
        (None, _) | (_, None) => (id.is_some() && id == other_id) || words(one) == words(other),
    }
}

/// Whether this event withdraws all questions.
fn withdraws(event: &Event<'_>) -> bool {
    let Payload::StateChanged { from, to } = &event.payload else {
        return event.payload.is_terminal();
    };
    from == "awaiting_input" && (to == "thinking" || to == "deciding")
}

/// Whether this reports a reject to the user.
fn tells(past: &Past) -> bool {
    let Past::Event(event, _) = past else { return false };
    matches!(
        event.payload,
        Payload::StateChanged { .. }
            | Payload::OutputStreaming(_)
            | Payload::AwaitingConfirmation(_)
            | Payload::AwaitingClarification(_)
            | Payload::HandoffRequested(_)
    )
}
