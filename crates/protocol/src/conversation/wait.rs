//! What the customer of a conversation waits for, and how that changes with what is said.

use serde::{Deserialize, Serialize};

use crate::ids::AgentId;
use crate::time::{Span, Time};

/// How many times its limit a bot has in all, however often it shows that it is working. One that
/// types for longer is stuck.
pub const EXTENDED_MAX: i64 = 10;

/// How much of its limit a bot uses at least that passes an unanswered customer on, in thousandths.
/// It bounds the lines that a customer reads: 20 changes of hands use up what all bots have.
const PASS_MIN: i64 = 500;

/// All that bots have for one unanswered message, in thousandths of their limits.
const PASSES_MAX: i64 = EXTENDED_MAX * 1_000;

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
    /// The bots that passed the unanswered message on.
    #[serde(default, skip_serializing_if = "Passes::is_empty")]
    pub passes: Passes,
}

/// The bots that passed an unanswered message on, and how much time they have used up. Time in a
/// queue does not count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passes {
    /// In thousandths of their limits.
    used: i64,
    by: Vec<AgentId>,
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
            self.passes = Passes::default();
        }
    }

    /// The customer wrote. The time for the first of several messages goes on.
    pub(super) fn asked(&mut self, number: u64, within: Option<Span>, at: Time) {
        if self.unanswered.is_none() {
            self.unanswered = Some(Unanswered { number, since: at });
            self.passes = Passes::default();
        }
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
        // Words without a number may be parting words: then the next holder goes on counting.
        if answered.is_some() {
            self.passes = Passes::default();
        }
        let owed = before.filter(|_| is_behind);
        self.owed = owed.map(|owed| Owed::new(OwedKind::Answer, owed.within, at));
    }

    /// A bot passes it on; `open` is the message that the next holder must answer.
    pub(crate) fn passed_by(&mut self, bot: &AgentId, open: Option<u64>, at: Time) {
        let used = match (self.owed, self.unanswered, open) {
            (Some(owed), Some(_), _) => owed.used(at).max(PASS_MIN),
            // It said parting words before.
            (None, None, Some(_)) => PASS_MIN,
            // It has no limit, or was silent and is on the record for it.
            (Some(_), None, _) | (None, Some(_), _) | (None, None, None) => return,
        };
        self.passes.used = (self.passes.used + used).min(PASSES_MAX);
        if !self.passes.by.contains(bot) {
            self.passes.by.push(bot.clone());
        }
    }

    /// The graph or the customer moves it from a bot: only the time counts that has passed.
    pub(super) fn moved(&mut self, at: Time) {
        let used = self.owed.filter(|_| self.unanswered.is_some()).map_or(0, |it| it.used(at));
        self.passes.used = (self.passes.used + used).min(PASSES_MAX);
    }

    /// A fallback begins with a new time: there are few of them, and each is tried once. A bot to
    /// which a person gives the customer does too.
    pub(crate) fn begins_anew(&mut self) {
        self.passes.used = 0;
    }

    /// The bots that must not get it again: those that passed it on until the time of all bots was
    /// used up.
    pub(crate) fn circle(&self, now: Time) -> &[AgentId] {
        let used = self.owed.map_or(0, |owed| owed.used(now)) + self.passes.used;
        if used >= PASSES_MAX { &self.passes.by } else { &[] }
    }

    /// Until when the holder has time if it shows now that it is working.
    pub fn extended(&self, now: Time) -> Option<Time> {
        self.owed.and_then(|owed| owed.extended(&self.passes, now))
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
        self.owed = within.map(|within| {
            let owed = Owed::new(OwedKind::Answer, within, at);
            Owed { until: owed.until.min(self.passes.end(&owed)), ..owed }
        });
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

    /// How much of its limit it has used, in thousandths.
    fn used(&self, now: Time) -> i64 {
        now.since(self.since).as_millis().max(0) * 1_000 / self.within.as_millis().max(1)
    }

    /// Until when it has time if it shows now that it is working. A sign counts once per half of
    /// the limit, so that typing every second does not fill the ledger, and only for an answer.
    fn extended(&self, passes: &Passes, now: Time) -> Option<Time> {
        let half = Span::from_millis(self.within.as_millis() / 2);
        let until = now.plus(self.within).min(passes.end(self));
        let is_half_over = self.until.since(now) <= half;
        let counts = self.what == OwedKind::Answer && now < self.until && is_half_over;
        (counts && until > self.until).then_some(until)
    }
}

impl Passes {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// When a holder has used up what all bots have in all.
    fn end(&self, owed: &Owed) -> Time {
        let rest = (PASSES_MAX - self.used).max(0);
        owed.since.plus(Span::from_millis(owed.within.as_millis() * rest / 1_000))
    }
}
