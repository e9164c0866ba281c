//! The model: it keeps the whole history and derives everything by searching it. It shares nothing
//! with the machine but the names of its results.

use super::model_consent::is_irreversible;
use crate::event::{Chunk, Decision, Event, Payload, ResponseKind, Urgency};
use crate::machine::table_tests::script::{Answer, Step};
use crate::machine::{Audience, NotSettled, Outcome, Weak};

/// The expected result of a step.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Judgement {
    Passes,
    Settles(Outcome),
    /// The number of the rule and the field.
    Breaks(&'static str, &'static str),
    Ignores(NotSettled),
}

#[derive(Debug)]
pub(super) struct Model {
    pub(super) past: Vec<Past>,
    pub(super) now: u64,
    pub(super) weak: Weak,
}

#[derive(Debug)]
pub(super) enum Past {
    /// With our time, in seconds.
    Event(Box<Event<'static>>, u64),
    /// A person's decision, with our time.
    Replied(String, Decision, u64),
    /// The decision of a timeout.
    TimedOut(String, Decision),
    /// The end of a clarification.
    Clarified(String),
}

pub(super) type Verdict = Result<(), (&'static str, &'static str)>;

impl Model {
    pub(super) fn new(weak: Weak) -> Self {
        Self { past: Vec::new(), now: 0, weak }
    }

    pub(super) fn judge(&self, step: &Step) -> Judgement {
        match step {
            Step::Wait(_) => Judgement::Passes,
            Step::Event(event) => match self.judge_event(event) {
                Ok(()) => Judgement::Passes,
                Err((number, field)) => Judgement::Breaks(number, field),
            },
            Step::Resolve(token, decision) => self.judge_reply(token, *decision),
            Step::Automatic(token) => self.judge_automatic(token),
            Step::Answer(token, answer) => self.judge_answer(token, answer),
            Step::Elapse(token, audience) => self.judge_timeout(token, *audience),
        }
    }

    /// Adds an accepted step to the history.
    pub(super) fn record(&mut self, step: &Step, judged: &Judgement) {
        let past = match (step, judged) {
            (Step::Wait(seconds), _) => {
                self.now += u64::from(*seconds);
                return;
            }
            (Step::Event(event), _) => Past::Event(event.clone(), self.now),
            (Step::Resolve(token, decision), _) => {
                Past::Replied(token.clone(), *decision, self.now)
            }
            (Step::Automatic(token), _)
            | (Step::Elapse(token, _), Judgement::Settles(Outcome::Accepted)) => {
                Past::TimedOut(token.clone(), Decision::Accept)
            }
            (Step::Elapse(token, _), Judgement::Settles(Outcome::Rejected)) => {
                Past::TimedOut(token.clone(), Decision::Reject)
            }
            (Step::Elapse(token, _) | Step::Answer(token, _), _) => Past::Clarified(token.clone()),
        };
        self.past.push(past);
    }

    pub(super) fn events(&self) -> impl DoubleEndedIterator<Item = &Event<'static>> {
        self.past.iter().filter_map(|past| match past {
            Past::Event(event, _) => Some(event.as_ref()),
            Past::Replied(..) | Past::TimedOut(..) | Past::Clarified(_) => None,
        })
    }

    pub(super) fn has(&self, is_it: impl Fn(&Payload<'_>) -> bool) -> bool {
        self.events().any(|event| is_it(&event.payload))
    }

    fn judge_event(&self, event: &Event<'_>) -> Verdict {
        let is_start = |payload: &Payload<'_>| matches!(payload, Payload::SessionStarted { .. });
        let payload = &event.payload;
        if self.has(|past| past.is_terminal()) {
            return Err(if payload.is_terminal() { ("4.1.2", "type") } else { ("4.5.1", "type") });
        }
        if self.has(is_start) == is_start(payload) {
            return Err(("4.1.1", "type"));
        }
        self.judge_envelope(event)?;
        let must_be_critical = payload.name().contains(".awaiting.")
            || payload.name().ends_with(".errored")
            || payload.name().ends_with("handoff.requested");
        if must_be_critical && event.envelope.urgency != Some(Urgency::Critical) {
            let number = match payload.name().rsplit('.').next() {
                Some("errored") => "4.1.3",
                Some("confirmation") => "4.4.1",
                Some("clarification") => "4.4.2",
                _ => "4.4.3",
            };
            return Err((number, "urgency"));
        }
        match payload {
            Payload::StateChanged { from, to } => self.judge_state(from, to),
            Payload::ToolInvoked { .. } => self.judge_call(event),
            Payload::ToolCompleted { tool, tool_call_id, .. } => {
                self.judge_return(tool, tool_call_id.as_deref())
            }
            Payload::OutputStreaming(chunk) => self.judge_chunk(chunk),
            Payload::AwaitingConfirmation(_) | Payload::AwaitingClarification(_) => {
                self.judge_question(event)
            }
            Payload::SessionCompleted => {
                self.judge_loose_ends()?;
                self.judge_debts()
            }
            Payload::SessionErrored | Payload::SessionCancelled => self.judge_loose_ends(),
            Payload::SessionStarted { .. }
            | Payload::ProgressUpdated { .. }
            | Payload::HandoffRequested(_)
            | Payload::Extension { .. } => Ok(()),
        }
    }

    fn judge_envelope(&self, event: &Event<'_>) -> Verdict {
        let envelope = &event.envelope;
        let n_before = self.events().count() as u64;
        if let Some(first) = self.events().next() {
            if first.envelope.session_id != envelope.session_id {
                return Err(("3", "session_id"));
            }
            if first.envelope.agent_id != envelope.agent_id {
                return Err(("2.2.5", "producer.agent_id"));
            }
            if first.envelope.sequence_number.is_some() != envelope.sequence_number.is_some() {
                return Err(("3", "sequence_number"));
            }
        }
        if envelope.sequence_number.is_some_and(|number| number != n_before) {
            return Err(("3", "sequence_number"));
        }
        if self.events().any(|past| past.envelope.timestamp_micros > envelope.timestamp_micros) {
            return Err(("3", "timestamp"));
        }
        if self.events().any(|past| past.envelope.event_id == envelope.event_id) {
            return Err(("3", "event_id"));
        }
        Ok(())
    }

    /// The events since the last change of state, without that one.
    fn since_state(&self) -> Vec<&Payload<'static>> {
        let payloads = self.events().rev().map(|event| &event.payload);
        payloads.take_while(|past| !matches!(past, Payload::StateChanged { .. })).collect()
    }

    /// The states that may be left.
    pub(super) fn states(&self) -> Vec<String> {
        let last = self.events().rev().find_map(|event| {
            let Payload::StateChanged { to, .. } = &event.payload else { return None };
            Some(to.to_string())
        });
        let Some(last) = last else { return vec!["idle".to_owned()] };
        let implied = self.since_state().into_iter().filter_map(|past| {
            let name = past.name().strip_prefix("aaep:agent.")?;
            match name.split('.').next()? {
                "tool" => Some("calling_tool".to_owned()),
                "awaiting" => Some("awaiting_input".to_owned()),
                "output" => Some("writing_output".to_owned()),
                "handoff" => Some("handing_off".to_owned()),
                _ => None,
            }
        });
        std::iter::once(last).chain(implied).collect()
    }

    fn judge_state(&self, from: &str, to: &str) -> Verdict {
        if !self.states().iter().any(|state| state == from) {
            return Err(("4.2.1", "from_state"));
        }
        let is_return = |past: &&Payload<'static>| matches!(past, Payload::ToolCompleted { .. });
        let stays = ["calling_tool", "awaiting_input", "handing_off"].contains(&to);
        let is_over = from == "calling_tool" && !stays;
        if is_over && !self.open_calls().is_empty() && !self.since_state().iter().any(is_return) {
            return Err(("4.3.2", "from_state"));
        }
        Ok(())
    }

    /// The calls that have not returned. Those without ids are found by counting.
    pub(super) fn open_calls(&self) -> Vec<(String, Option<String>)> {
        let mut open = Vec::new();
        for (index, event) in self.events().enumerate() {
            let Payload::ToolInvoked { tool, tool_call_id, .. } = &event.payload else { continue };
            let is_its = |it: &Event<'_>| match (&it.payload, tool_call_id) {
                (Payload::ToolCompleted { tool_call_id: Some(id), .. }, Some(own)) => id == own,
                (Payload::ToolCompleted { tool: name, tool_call_id: None, .. }, None) => {
                    name == tool
                }
                _ => false,
            };
            let n_returned = self.events().filter(|it| is_its(it)).count();
            let n_before = self.events().take(index).filter(|it| {
                let Payload::ToolInvoked { tool: name, tool_call_id: id, .. } = &it.payload else {
                    return false;
                };
                tool_call_id.is_none() && id.is_none() && name == tool
            });
            if n_returned <= n_before.count() {
                open.push((tool.to_string(), tool_call_id.as_deref().map(str::to_owned)));
            }
        }
        open
    }

    fn judge_return(&self, tool: &str, id: Option<&str>) -> Verdict {
        let open = self.open_calls();
        if let Some(id) = id {
            return match open.iter().find(|(_, own)| own.as_deref() == Some(id)) {
                None => Err(("4.5.2", "tool_call_id")),
                Some((name, _)) if name != tool => Err(("4.3.2", "tool")),
                Some(_) => Ok(()),
            };
        }
        let same: Vec<_> = open.iter().filter(|(name, _)| name == tool).collect();
        match same.iter().any(|(_, own)| own.is_none()) {
            true => Ok(()),
            false if same.is_empty() => Err(("4.5.2", "tool")),
            false => Err(("4.5.2", "tool_call_id")),
        }
    }

    fn chunks(&self, output_id: Option<&str>) -> Vec<&Chunk<'static>> {
        let chunks = self.events().filter_map(|event| {
            let Payload::OutputStreaming(chunk) = &event.payload else { return None };
            Some(chunk)
        });
        chunks.filter(|chunk| chunk.output_id.as_deref() == output_id).collect()
    }

    pub(super) fn length(&self, output_id: Option<&str>) -> usize {
        self.chunks(output_id).iter().flat_map(|chunk| chunk.text.chars()).count()
    }

    fn judge_chunk(&self, chunk: &Chunk<'_>) -> Verdict {
        let id = chunk.output_id.as_deref();
        if self.chunks(id).iter().any(|chunk| chunk.complete) {
            return Err(("4.5.4", "output_id"));
        }
        if chunk.position != self.length(id) as u64 {
            return Err(("4.3.3", "position"));
        }
        Ok(())
    }

    /// The outputs that are not complete.
    pub(super) fn open_outputs(&self) -> Vec<Option<String>> {
        let mut ids: Vec<Option<String>> = Vec::new();
        for event in self.events() {
            if let Payload::OutputStreaming(chunk) = &event.payload {
                let id = chunk.output_id.as_deref().map(str::to_owned);
                if !ids.contains(&id) {
                    ids.push(id);
                }
            }
        }
        ids.retain(|id| !self.chunks(id.as_deref()).iter().any(|chunk| chunk.complete));
        ids
    }

    fn judge_loose_ends(&self) -> Verdict {
        if !self.open_calls().is_empty() {
            return Err(("4.3.2", "type"));
        }
        if !self.open_outputs().is_empty() {
            return Err(("4.5.4", "type"));
        }
        Ok(())
    }

    fn judge_reply(&self, token: &str, decision: Decision) -> Judgement {
        let question = match self.in_time(token) {
            Ok(question) => question,
            Err(no) => return Judgement::Ignores(no),
        };
        let Payload::AwaitingConfirmation(confirmation) = &question.payload else {
            return Judgement::Ignores(NotSettled::WrongKind);
        };
        let replies = &confirmation.allowed_replies;
        let is_named = replies.is_empty() || replies.iter().any(|reply| reply == decision.as_str());
        if decision == Decision::Accept && !is_named {
            return Judgement::Ignores(NotSettled::NotAllowed);
        }
        Judgement::Settles(match decision {
            Decision::Accept => Outcome::Accepted,
            Decision::Reject => Outcome::Rejected,
        })
    }

    /// A rule may accept only what does not need a person.
    fn judge_automatic(&self, token: &str) -> Judgement {
        let judged = self.judge_reply(token, Decision::Accept);
        let needs_a_person = self.question(token).is_some_and(is_irreversible);
        if needs_a_person && matches!(judged, Judgement::Settles(_)) {
            return Judgement::Ignores(NotSettled::NotAllowed);
        }
        judged
    }

    fn judge_answer(&self, token: &str, answer: &Answer) -> Judgement {
        let question = match self.in_time(token) {
            Ok(question) => question,
            Err(no) => return Judgement::Ignores(no),
        };
        let Payload::AwaitingClarification(clarification) = &question.payload else {
            return Judgement::Ignores(NotSettled::WrongKind);
        };
        let kinds = &clarification.accepted_kinds;
        let takes = |kind| kinds.contains(&kind);
        let is_fit = match answer {
            Answer::Text(text) => {
                let is_free = kinds.is_empty() || takes(ResponseKind::Freetext);
                let is_choice = clarification.choices.iter().any(|choice| choice == text);
                is_free && !text.is_empty() || takes(ResponseKind::MultipleChoice) && is_choice
            }
            Answer::Flag(_) => takes(ResponseKind::YesNo),
            Answer::Number(_) => takes(ResponseKind::Numeric),
        };
        match is_fit {
            true => Judgement::Settles(Outcome::Answered),
            false => Judgement::Ignores(NotSettled::NotAllowed),
        }
    }

    fn judge_timeout(&self, token: &str, audience: Audience) -> Judgement {
        let Some((question, due)) = self.waiting(token) else {
            return Judgement::Ignores(NotSettled::Unknown);
        };
        if self.now < due {
            return Judgement::Ignores(NotSettled::NotDue);
        }
        let Payload::AwaitingConfirmation(it) = &question.payload else {
            return Judgement::Settles(Outcome::Unanswered);
        };
        let accepts = it.default_decision == Decision::Accept && audience == Audience::Able;
        Judgement::Settles(if accepts { Outcome::Accepted } else { Outcome::Rejected })
    }

    fn in_time(&self, token: &str) -> Result<&Event<'static>, NotSettled> {
        match self.waiting(token) {
            None => Err(NotSettled::Unknown),
            Some((_, due)) if self.now >= due => Err(NotSettled::TooLate),
            Some((question, _)) => Ok(question),
        }
    }
}
