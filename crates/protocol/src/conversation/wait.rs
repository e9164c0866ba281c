//! What the customer of a conversation waits for, and how that changes with what is said.

use serde::{Deserialize, Serialize};

use crate::ids::AgentId;
use crate::time::{Span, Time};

/// How many times its limit a bot has in all, however often it shows that it is working. One that
/// types for longer is stuck.
pub const EXTENDED_MAX: i64 = 10;

/// What the customer of a conversation waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomerWait {
    /// The customer's first message after which no agent has spoken, or only to promise a
    /// transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<Unanswered>,
    /// What the bot that holds the conversation must do, and until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owed: Option<Owed>,
    /// When the person who answers is reminded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_at: Option<Time>,
    /// The bots that were silent or out of reach and the fallbacks that were tried since the last
    /// answer. None of them is tried again, so the fallbacks come to an end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<AgentId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unanswered {
    /// Its number in the transcript.
    pub number: u64,
    pub since: Time,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owed {
    pub what: OwedKind,
    pub since: Time,
    pub until: Time,
    pub within: Span,
}

/// What a holder owes the customer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwedKind {
    Answer,
    /// It told the customer that it transfers them.
    Transfer,
}

impl OwedKind {
    pub fn as_str(self) -> &'static str {
        match self {
            OwedKind::Answer => "answer",
            OwedKind::Transfer => "transfer",
        }
    }
}

impl CustomerWait {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The customer wrote to a bot. If it owes nothing yet, all fallbacks may be tried again.
    pub(super) fn asked_a_bot(&mut self) {
        if self.owed.is_none() {
            self.tried.clear();
        }
    }

    /// The customer wrote. The time for the first of several messages goes on.
    pub(super) fn asked(&mut self, number: u64, within: Option<Span>, at: Time) {
        self.unanswered.get_or_insert(Unanswered { number, since: at });
        if let (None, Some(within)) = (self.owed, within) {
            self.owed = Some(Owed::new(OwedKind::Answer, within, at));
        }
    }

    /// The holder spoke: to `answered`, when the customer's last message was `asked`. `promised` is
    /// its limit if it said that it transfers the customer.
    pub(super) fn answered(
        &mut self,
        answered: Option<u64>,
        asked: u64,
        promised: Option<Span>,
        at: Time,
    ) {
        self.reply_at = None;
        let before = self.owed.take();
        // Later words do not keep an earlier promise.
        let earlier = before.filter(|owed| owed.what == OwedKind::Transfer);
        let promise = promised.map(|within| Owed::new(OwedKind::Transfer, within, at));
        if let Some(promise) = earlier.or(promise) {
            // It is no answer: the next holder must speak, and no fallback is tried again.
            self.owed = Some(promise);
            let asked = Unanswered { number: asked, since: at };
            self.unanswered = self.unanswered.or(Some(asked).filter(|asked| asked.number > 0));
            return;
        }
        let is_behind = answered.is_some_and(|answered| answered < asked);
        self.unanswered = is_behind.then_some(Unanswered { number: asked, since: at });
        self.tried.clear();
        let owed = before.filter(|_| is_behind);
        self.owed = owed.map(|owed| Owed::new(OwedKind::Answer, owed.within, at));
    }

    /// Another holder has it.
    pub(crate) fn passed_on(&mut self) {
        self.owed = None;
        self.reply_at = None;
    }

    /// A bot has it now, and must answer what is unanswered. `open` is a message that the new
    /// holder must answer although an agent has spoken after it, as with parting words.
    pub(crate) fn handed(&mut self, within: Option<Span>, open: Option<u64>, at: Time) {
        let open = open.map(|number| Unanswered { number, since: at });
        self.unanswered = self.unanswered.or(open);
        let within = within.filter(|_| self.unanswered.is_some());
        self.owed = within.map(|within| Owed::new(OwedKind::Answer, within, at));
    }

    /// A person answers now, and is reminded of what is unanswered.
    pub(crate) fn with_person(&mut self, target: Option<Span>, at: Time) {
        let target = target.filter(|_| self.unanswered.is_some() && self.reply_at.is_none());
        self.reply_at = target.map(|target| at.plus(target)).or(self.reply_at);
    }

    /// The holder was silent, and `next` is tried.
    pub(super) fn was_silent(&mut self, holder: &AgentId, next: Option<&AgentId>) {
        self.owed = None;
        self.was_tried(holder, next);
    }

    /// The holder did not answer or could not be reached, and `next` is tried.
    pub(super) fn was_tried(&mut self, holder: &AgentId, next: Option<&AgentId>) {
        for one in std::iter::once(holder).chain(next) {
            if !self.tried.contains(one) {
                self.tried.push(one.clone());
            }
        }
    }
}

impl Owed {
    fn new(what: OwedKind, within: Span, at: Time) -> Self {
        Self { what, since: at, until: at.plus(within), within }
    }

    /// Until when it has time if it shows now that it is working. A sign counts once per half of
    /// the limit, so that typing every second does not fill the ledger, and only for an answer.
    pub fn extended(&self, now: Time) -> Option<Time> {
        let half = Span::from_millis(self.within.as_millis() / 2);
        let last = self.since.plus(Span::from_millis(self.within.as_millis() * EXTENDED_MAX));
        let until = now.plus(self.within).min(last);
        let is_half_over = self.until.since(now) <= half;
        let counts = self.what == OwedKind::Answer && now < self.until && is_half_over;
        (counts && until > self.until).then_some(until)
    }
}
