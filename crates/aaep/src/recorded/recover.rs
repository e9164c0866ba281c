//! After a wrong event the session continues: the event counts as what it was probably meant to be,
//! so that it is one error, hides no later one, and makes no later event wrong.

mod known;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use self::known::Known;
use super::{One, Remark, Salvaged, Weight, digest};
use crate::event::{Decision, Event, Payload, Urgency};
use crate::flaw::Flaw;
use crate::machine::rules::{self, Rule};
use crate::machine::{CALLS_MAX, Phase, Session, Used};

/// More than the fields of an event that can be wrong.
const PATCHES_MAX: usize = 8;

/// Any number of events may be lost.
const ANY_NUMBER: u64 = u64::MAX;

/// What a wrong event leaves open: the ways in which the session may continue without another
/// error.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    /// Events that could not be read, or that are missing by their numbers. Each excuses one
    /// missing thing.
    n_lost: u64,
    /// Events that could not be read: each excuses one missing number.
    n_unread: u64,
    /// The number that the next event has if the last one was numbered wrongly, and how many events
    /// were then not missing.
    pub(super) number: Option<(Option<u64>, u64)>,
    /// The session before the last event, if that one was wrong: it may belong elsewhere.
    before: Option<Before>,
    /// Numbers of events that came too early. They are not missing later.
    early: HashSet<u64>,
    /// How many events a session has that goes on without its start.
    n_without_start: u64,
    /// Whether an event without a number was reported, and none with a number came since.
    is_unnumbered: bool,
    /// Calls with a wrong id, or an unreadable one: the tool, and the id that they count under.
    misnamed_calls: Vec<(String, Option<String>)>,
    /// How many lost events were calls that returned.
    n_calls_lost: u64,
    /// Another producer that was reported.
    agent: Option<String>,
    /// The state before a change that did not fit.
    state: Option<String>,
    /// The length of an output if its last chunk had a wrong position.
    lengths: HashMap<Option<String>, u64>,
    /// The output that the chunks with a wrong id belong to, by that id.
    misnamed_outputs: HashMap<Option<String>, Option<String>>,
    /// Whether the id of a chunk could not be read.
    is_output_unnamed: bool,
    /// Outputs that went on after their end.
    outputs: HashSet<Option<String>>,
    /// Calls that had not returned when they should have.
    calls: Vec<(String, Option<String>)>,
    /// The session before its end, which may have come too early.
    before_end: Option<Box<Session>>,
    /// Whether it went on after an end.
    is_reopened: bool,
}

/// A session before a wrong event.
#[derive(Debug)]
struct Before {
    session: Box<Session>,
    /// The number of the wrong event.
    number: Option<u64>,
}

impl Recovery {
    pub(super) fn after(n_unread: u64) -> Self {
        Self { n_lost: n_unread, n_unread, ..Self::default() }
    }

    /// One more event could not be read.
    pub(super) fn lose(&mut self) {
        self.n_lost = self.n_lost.saturating_add(1);
        self.n_unread += 1;
    }

    /// An invalid event counted. If its number is unknown, the next event may have this one.
    pub(super) fn salvaged(
        &mut self,
        payload: &Payload<'_>,
        salvaged: &Salvaged,
        number: Option<u64>,
    ) {
        if number.is_some() {
            self.number = Some((number, 0));
        }
        match payload {
            Payload::ToolInvoked { tool, tool_call_id: None, .. } => self.misname(tool, None),
            Payload::OutputStreaming(chunk) if chunk.output_id.is_none() => {
                self.is_output_unnamed |= salvaged.is_flawed("output_id");
            }
            Payload::OutputStreaming(_)
            | Payload::SessionStarted { .. }
            | Payload::SessionCompleted
            | Payload::SessionErrored
            | Payload::SessionCancelled
            | Payload::StateChanged { .. }
            | Payload::ProgressUpdated { .. }
            | Payload::ToolInvoked { .. }
            | Payload::ToolCompleted { .. }
            | Payload::AwaitingConfirmation(_)
            | Payload::AwaitingClarification(_)
            | Payload::HandoffRequested(_)
            | Payload::Extension { .. } => {}
        }
    }

    fn misname(&mut self, tool: &str, id: Option<&str>) {
        if self.misnamed_calls.len() < CALLS_MAX {
            self.misnamed_calls.push((tool.to_owned(), id.map(str::to_owned)));
        }
    }

    /// An event was right.
    pub(super) fn passed(&mut self, payload: &Payload<'_>) {
        self.number = None;
        self.is_unnumbered = false;
        self.before = None;
        self.agent = None;
        match payload {
            // The unreadable events were before it.
            Payload::SessionStarted { .. } => *self = Self::default(),
            Payload::StateChanged { .. } => self.state = None,
            Payload::OutputStreaming(chunk) if !self.lengths.is_empty() => {
                self.lengths.remove(&chunk.output_id.as_deref().map(str::to_owned));
            }
            Payload::ToolCompleted { tool, .. } => {
                self.misnamed_calls.retain(|(misnamed, _)| *misnamed != **tool);
            }
            Payload::OutputStreaming(_)
            | Payload::SessionCompleted
            | Payload::SessionErrored
            | Payload::SessionCancelled
            | Payload::ProgressUpdated { .. }
            | Payload::ToolInvoked { .. }
            | Payload::AwaitingConfirmation(_)
            | Payload::AwaitingClarification(_)
            | Payload::HandoffRequested(_)
            | Payload::Extension { .. } => {}
        }
    }

    /// Counts one more event of a session that goes on without its start.
    pub(super) fn count_without_start(&mut self, payload: &Payload<'_>) {
        let is_start = matches!(payload, Payload::SessionStarted { .. });
        self.n_without_start += u64::from(self.n_without_start > 0 && !is_start);
    }

    pub(super) fn has_ended(&self) -> bool {
        self.is_reopened
    }

    /// Whether a lost event may be the cause of a broken rule. It excuses one flaw.
    fn explains(&mut self, flaw: &Flaw, phase: Phase) -> bool {
        const MISSING: &[(&Rule, &str)] = &[
            (&rules::STARTS, "type"),
            (&rules::FIRST_STATE, "from_state"),
            (&rules::CHAINED_STATE, "from_state"),
            (&rules::CONSENT, "irreversible"),
            (&rules::RETURN_BEFORE_STATE, "from_state"),
            (&rules::CALLS_CLOSED, "type"),
            (&rules::POSITION, "position"),
            (&rules::PAIRED, "tool"),
            (&rules::PAIRED, "tool_call_id"),
            (&rules::SETTLED, "type"),
            (&rules::OUTPUT_COMPLETE, "type"),
        ];
        // What comes after an end may also go on with an output that was complete.
        let is_output = self.is_reopened && flaw.field == "output_id";
        let is_missing = is_output
            || MISSING.iter().any(|(rule, field)| rule.number == flaw.rule && *field == flaw.field);
        let is_second_start = flaw.rule == rules::STARTS.number && phase != Phase::Unstarted;
        if !is_missing || is_second_start {
            return false;
        }
        if self.n_lost == 0 {
            // The lost call that returned may be the accepted one.
            let is_call = flaw.rule == rules::DONE.number && self.n_calls_lost > 0;
            self.n_calls_lost -= u64::from(is_call);
            return is_call;
        }
        self.n_calls_lost += u64::from(flaw.rule == rules::PAIRED.number);
        if self.n_lost != ANY_NUMBER {
            self.n_lost -= 1;
        }
        true
    }

    /// Whether a number is this one, but for events that could not be read.
    fn continues(&mut self, number: Option<u64>, got: Option<u64>) -> bool {
        let n_between = number.zip(got).map_or(0, |(number, got)| got.saturating_sub(number));
        let continues = n_between <= self.n_unread
            && got == number.map(|number| number.saturating_add(n_between));
        self.n_unread -= if continues { n_between } else { 0 };
        continues
    }

    /// Whether the missing numbers are those of events that could not be read, or came too early.
    fn explains_gap(&mut self, next: u64, got: u64) -> bool {
        let is_missing = |number: &&u64| (next..got).contains(*number);
        let n_early = self.early.iter().filter(is_missing).count() as u64;
        let n_missing = got.saturating_sub(next).saturating_sub(n_early);
        if got < next || n_missing > self.n_unread {
            return false;
        }
        self.n_unread -= n_missing;
        self.early.retain(|number| *number >= got);
        true
    }
}

impl One {
    /// Reports the flaw, and takes the event as what it was meant to be.
    pub(super) fn go_on(&mut self, event: &Event<'_>, flaw: Flaw) -> Option<Remark> {
        let before = (self.session.phase() != Phase::Over).then(|| Before {
            session: Box::new(self.session.clone()),
            number: event.envelope.sequence_number,
        });
        let told = self.correct(event.clone(), flaw);
        let is_broken = told.as_ref().is_some_and(|it| it.weight == Weight::Broken);
        self.recovery.before = before.filter(|_| is_broken);
        told
    }

    fn correct(&mut self, mut event: Event<'_>, mut flaw: Flaw) -> Option<Remark> {
        let mut told = None;
        for _ in 0..PATCHES_MAX {
            match self.known(&mut event, &flaw) {
                Known::Patched => {}
                Known::Excused => break,
                Known::No => {
                    told = told.or_else(|| Some(self.weigh(&flaw)));
                    if !self.patch(&mut event, &flaw) {
                        break;
                    }
                }
            }
            match self.judge(&event) {
                Ok(assumed) => return told.or(assumed),
                Err(next) => flaw = next,
            }
        }
        self.leave_open(&event, &flaw);
        let is_end = event.payload.is_terminal() && self.session.phase() == Phase::Active;
        let active = is_end.then(|| self.session.clone());
        if self.session.phase() == Phase::Active {
            self.session.suppose(&event);
            self.otherwise.iter_mut().for_each(|it| it.session.suppose(&event));
        }
        self.used.insert(digest(&Used::Event(event.envelope.event_id.into_owned())));
        if let Some(active) = active {
            self.ended(active);
        }
        told
    }

    /// Keeps the session from before its end, in case it goes on.
    pub(super) fn ended(&mut self, active: Session) {
        self.recovery.before_end = Some(Box::new(active));
        self.used = HashSet::new();
        self.otherwise = Vec::new();
    }

    fn weigh(&mut self, flaw: &Flaw) -> Remark {
        let is_explained = self.recovery.explains(flaw, self.session.phase());
        let weight = if is_explained { Weight::Assumed } else { Weight::Broken };
        Remark { weight, flaw: flaw.clone() }
    }

    /// Corrects the flaw; false if the right value is unknown.
    fn patch(&mut self, event: &mut Event<'_>, flaw: &Flaw) -> bool {
        if flaw.field == "type" {
            return self.reopen(event);
        }
        let (session, recovery) = (&mut self.session, &mut self.recovery);
        let envelope = &mut event.envelope;
        match (flaw.field.as_str(), &mut event.payload) {
            ("sequence_number", _) => {
                let (got, next) = (envelope.sequence_number, session.next_number());
                if session.phase() == Phase::Unstarted {
                    envelope.sequence_number = Some(0);
                    return true;
                }
                if got.is_none() {
                    // The session numbers its events.
                    recovery.is_unnumbered = true;
                    envelope.sequence_number = next;
                    return true;
                }
                let n_skipped = got.zip(next).and_then(|(got, next)| got.checked_sub(next));
                let n_skipped = n_skipped.unwrap_or_default();
                recovery.n_lost = recovery.n_lost.saturating_add(n_skipped);
                recovery.number = Some((next.map(|next| next.saturating_add(1)), n_skipped));
                session.suppose_number(got);
            }
            ("producer.agent_id", _) if session.phase() == Phase::Unstarted => {
                envelope.agent_id = Cow::Borrowed("");
            }
            ("producer.agent_id", _) => {
                recovery.agent = Some(envelope.agent_id.as_ref().to_owned());
                envelope.agent_id = session.agent_id().to_owned().into();
            }
            ("timestamp", _) => session.suppose_time(envelope.timestamp_micros),
            ("event_id", _) => {
                let again = format!("{} again {}", envelope.event_id, self.used.len());
                envelope.event_id = again.into();
            }
            ("urgency", _) => envelope.urgency = Some(Urgency::Critical),
            ("default_decision", Payload::AwaitingConfirmation(asked)) => {
                asked.default_decision = Decision::Reject;
            }
            ("reply_token", Payload::AwaitingConfirmation(asked)) => {
                asked.reply_token = format!("{} again", asked.reply_token).into();
            }
            ("reply_token", Payload::AwaitingClarification(asked)) => {
                asked.reply_token = format!("{} again", asked.reply_token).into();
            }
            ("extensions.tasuki.tool_call_id", Payload::AwaitingConfirmation(_)) => {
                envelope.link.tool_call_id = None;
            }
            // The rule expects the id that was confirmed; of another rule it expects a sentence.
            ("tool_call_id", Payload::ToolInvoked { tool, tool_call_id, .. })
                if flaw.rule == rules::BOUND.number && !flaw.expected.contains(' ') =>
            {
                recovery.misname(tool, Some(&flaw.expected));
                *tool_call_id = Some(flaw.expected.clone().into());
            }
            ("position", Payload::OutputStreaming(chunk)) => {
                let open = session.loose_ends().outputs;
                let meant = open.iter().find(|(_, length)| *length == chunk.position);
                let Some((meant, _)) = meant else { return false };
                let meant = meant.map(str::to_owned);
                let said = chunk.output_id.take().map(Cow::into_owned);
                chunk.output_id = meant.clone().map(Into::into);
                recovery.misnamed_outputs.insert(said, meant);
            }
            _ => return false,
        }
        true
    }

    /// A session that was not begun, or is over, and goes on nevertheless.
    fn reopen(&mut self, event: &Event<'_>) -> bool {
        let is_end = event.payload.is_terminal();
        match self.session.phase() {
            Phase::Unstarted => {
                self.session.suppose_started(event);
                self.recovery.n_lost = ANY_NUMBER;
                self.recovery.n_without_start = 1;
                true
            }
            Phase::Over if !is_end => {
                let Some(before) = self.recovery.before_end.take() else { return false };
                self.session = *before;
                self.session.suppose_number(event.envelope.sequence_number);
                self.recovery.is_reopened = true;
                // What comes after an end may rest on anything.
                self.recovery.n_lost = ANY_NUMBER;
                true
            }
            Phase::Over | Phase::Active => false,
        }
    }

    /// What may follow a wrong event without being wrong itself.
    fn leave_open(&mut self, event: &Event<'_>, flaw: &Flaw) {
        let (session, recovery) = (&mut self.session, &mut self.recovery);
        match (flaw.field.as_str(), &event.payload) {
            ("from_state", Payload::StateChanged { .. }) => {
                recovery.state = Some(session.state().to_owned());
                if flaw.rule == rules::RETURN_BEFORE_STATE.number {
                    let calls = session.loose_ends().calls.into_iter();
                    recovery
                        .calls
                        .extend(calls.map(|(tool, id)| (tool.into(), id.map(Into::into))));
                    session.suppose_returned();
                }
            }
            ("position", Payload::OutputStreaming(chunk)) => {
                let output = chunk.output_id.as_deref();
                let open = session.loose_ends().outputs;
                let length =
                    open.iter().find(|(id, _)| *id == output).map_or(0, |(_, length)| *length);
                let n_chars = chunk.text.chars().count() as u64;
                recovery.lengths.insert(output.map(str::to_owned), length.saturating_add(n_chars));
            }
            ("output_id", Payload::OutputStreaming(chunk)) => {
                recovery.outputs.insert(chunk.output_id.as_deref().map(str::to_owned));
            }
            // Its return may name it rightly.
            (_, Payload::ToolInvoked { tool, tool_call_id, .. }) => {
                recovery.misname(tool, tool_call_id.as_deref());
            }
            _ => {}
        }
    }
}
