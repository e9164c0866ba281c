//! The ways in which a session may go on after a wrong event: the event does not belong there, it
//! was meant otherwise, or an earlier event was wrong.

use std::borrow::Cow;
use std::collections::HashSet;

use super::digest;
use super::reading::{ANY_NUMBER, Reading};
use crate::event::{Chunk, Decision, Event, Payload, Urgency};
use crate::flaw::Flaw;
use crate::machine::rules;
use crate::machine::{Phase, Used};

/// More than the fields of an event that can be wrong at once.
const PATCHES_MAX: usize = 8;

/// The most ways that are tried for one event.
const WAYS_MAX: usize = 128;

/// One way to go on.
struct Way<'e> {
    reading: Reading,
    /// The event as it was meant, if it is still to be judged.
    event: Option<Event<'e>>,
}

impl<'e> Way<'e> {
    fn settled(reading: Reading) -> Self {
        Self { reading, event: None }
    }

    fn open(reading: Reading, event: Event<'e>) -> Self {
        Self { reading, event: Some(event) }
    }
}

impl Reading {
    /// The readings after this wrong event, the most likely ones first.
    pub(super) fn corrected(
        &self,
        event: &Event<'_>,
        flaw: &Flaw,
        used: &HashSet<u128>,
    ) -> Vec<Self> {
        let mut readings = Vec::new();
        let mut open = self.ways(event, flaw, used);
        for _ in 0..PATCHES_MAX {
            let mut next = Vec::new();
            for way in open.into_iter().take(WAYS_MAX) {
                let Way { mut reading, event } = way;
                let Some(event) = event else {
                    readings.push(reading);
                    continue;
                };
                match reading.add(&event, used) {
                    Ok(_) => readings.push(reading),
                    Err(flaw) => {
                        let (supposed, _) = reading.with_missing(&event, &flaw, used);
                        readings.extend(supposed);
                        next.extend(reading.ways(&event, &flaw, used));
                    }
                }
            }
            open = next;
        }
        readings.extend(self.without(event, flaw, used));
        readings
    }

    /// The readings in which the event does not belong here.
    fn without(&self, event: &Event<'_>, flaw: &Flaw, used: &HashSet<u128>) -> Vec<Self> {
        let (got, next) = (event.envelope.sequence_number, self.session.next_number());
        let mut elsewhere = self.clone();
        if let Some(number) = got.filter(|_| self.session.phase() != Phase::Over)
            && next.is_none_or(|next| number > next)
        {
            elsewhere.came_early(number);
        }
        let mut readings = Vec::new();
        if got == next && self.session.phase() == Phase::Active {
            // It is in the place of another event, or an extra one.
            let mut counted = self.clone();
            counted.session.suppose_number(next.map(|next| next.saturating_add(1)));
            readings.push(counted.clone());
            if flaw.field == "type" || self.has_made(&event.payload, used) {
                counted.miss(1);
                readings.push(counted);
            }
        }
        readings.push(elsewhere);
        readings
    }

    /// Whether a call has the id of an earlier one: it is another call, of unknown id.
    fn has_made(&self, payload: &Payload<'_>, used: &HashSet<u128>) -> bool {
        let Payload::ToolInvoked { tool_call_id: Some(id), .. } = payload else { return false };
        let id = digest(&Used::Call(id.as_ref().to_owned()));
        used.contains(&id) || self.used.contains(&id)
    }

    fn ways<'e>(&self, event: &Event<'e>, flaw: &Flaw, used: &HashSet<u128>) -> Vec<Way<'e>> {
        match (flaw.field.as_str(), self.session.phase()) {
            ("type", Phase::Unstarted) => self.started_without(event),
            ("type", Phase::Over) => self.went_on(event),
            ("sequence_number", Phase::Unstarted) => self.began_with_another_number(event),
            ("sequence_number", _) => self.renumbered(event),
            ("producer.agent_id", Phase::Unstarted) => {
                let patched = patched(event, |it| it.envelope.agent_id = Cow::Borrowed(""));
                vec![Way::open(self.clone(), patched)]
            }
            ("producer.agent_id", _) => {
                let agent = self.session.agent_id().to_owned();
                let patched = patched(event, |it| it.envelope.agent_id = agent.into());
                let mut other = self.clone();
                other.session.suppose_agent(&event.envelope.agent_id);
                vec![Way::open(self.clone(), patched), Way::open(other, event.clone())]
            }
            ("timestamp", _) => {
                let at = self.session.timestamp_micros();
                let patched = patched(event, |it| it.envelope.timestamp_micros = at);
                let mut other = self.clone();
                other.session.suppose_time(event.envelope.timestamp_micros);
                vec![Way::open(self.clone(), patched), Way::open(other, event.clone())]
            }
            ("event_id", _) => {
                let again = format!("{} again {}", event.envelope.event_id, used.len());
                let patched = patched(event, |it| it.envelope.event_id = again.into());
                vec![Way::open(self.clone(), patched)]
            }
            ("urgency", _) => {
                let patched = patched(event, |it| it.envelope.urgency = Some(Urgency::Critical));
                vec![Way::open(self.clone(), patched)]
            }
            (_, _) => self.meant_otherwise(event, flaw),
        }
    }

    /// The session began without a start: the start is missing or comes late, or this event stands
    /// in its place.
    fn started_without<'e>(&self, event: &Event<'e>) -> Vec<Way<'e>> {
        let mut started = self.clone();
        started.session.suppose_started(event);
        started.n_missing = ANY_NUMBER;
        started.lacks_start = true;
        let mut in_its_place = started.clone();
        let next = event.envelope.sequence_number.map(|number| number.saturating_add(1));
        in_its_place.session.suppose_number(next);
        in_its_place.lacks_start = false;
        vec![Way::open(started, event.clone()), Way::settled(in_its_place)]
    }

    /// The session goes on after its end, which came too early.
    fn went_on<'e>(&self, event: &Event<'e>) -> Vec<Way<'e>> {
        let reopened = self.reopened().filter(|_| !event.payload.is_terminal());
        let Some(mut reopened) = reopened else { return Vec::new() };
        reopened.session.suppose_number(event.envelope.sequence_number);
        // What comes after an end may rest on anything.
        reopened.n_missing = ANY_NUMBER;
        vec![Way::open(reopened, event.clone())]
    }

    fn began_with_another_number<'e>(&self, event: &Event<'e>) -> Vec<Way<'e>> {
        let patched = patched(event, |it| it.envelope.sequence_number = Some(0));
        let mut counted = self.clone();
        counted.session.suppose_started(event);
        let next = event.envelope.sequence_number.map(|number| number.saturating_add(1));
        counted.session.suppose_number(next);
        let unnumbered = self::patched(event, |it| it.envelope.sequence_number = None);
        let open = [patched, unnumbered].map(|it| Way::open(self.clone(), it));
        open.into_iter().chain([Way::settled(counted)]).collect()
    }

    /// Its number is wrong, or those before are, or events are missing.
    fn renumbered<'e>(&self, event: &Event<'e>) -> Vec<Way<'e>> {
        let (got, next) = (event.envelope.sequence_number, self.session.next_number());
        let patched = patched(event, |it| it.envelope.sequence_number = next);
        let mut other = self.clone();
        match (got, next) {
            (Some(got), Some(next)) if got > next => other.skip(next, got),
            (Some(_) | None, _) => other.session.suppose_number(got),
        }
        vec![Way::open(self.clone(), patched), Way::open(other, event.clone())]
    }

    /// A field of its payload is wrong, or the event before that it refers to is.
    fn meant_otherwise<'e>(&self, event: &Event<'e>, flaw: &Flaw) -> Vec<Way<'e>> {
        let repaired = repaired(event, flaw).map(|it| Way::open(self.clone(), it));
        let mut ways: Vec<_> = repaired.into_iter().collect();
        let mut counted = self.clone();
        counted.suppose(event);
        ways.push(Way::settled(counted.clone()));
        match &event.payload {
            Payload::ToolInvoked { tool, tool_call_id, .. } => {
                counted.session.suppose_done();
                counted.session.suppose_asked();
                ways.push(Way::settled(counted));
                let call = (&**tool, tool_call_id.as_deref());
                self.of_another_call(event, call, &mut ways);
            }
            Payload::ToolCompleted { .. } => {
                for call in self.session.loose_ends().calls {
                    ways.push(Way::settled(self.returned(event, call)));
                }
                // Its call is missing, and was the accepted one.
                counted.session.suppose_done();
                ways.push(Way::settled(counted));
            }
            Payload::OutputStreaming(chunk) => {
                self.of_another_output(event, chunk, flaw, &mut ways);
            }
            Payload::StateChanged { .. } => {
                counted.session.suppose_all_returned();
                ways.push(Way::settled(counted));
            }
            Payload::SessionStarted { .. }
            | Payload::SessionCompleted
            | Payload::SessionErrored
            | Payload::SessionCancelled
            | Payload::ProgressUpdated { .. }
            | Payload::AwaitingConfirmation(_)
            | Payload::AwaitingClarification(_)
            | Payload::HandoffRequested(_)
            | Payload::Extension { .. } => {}
        }
        ways
    }

    /// The ways to read a wrong call: it is another, accepted call; it is reversible; or the event
    /// is the return of an open call.
    fn of_another_call<'e>(
        &self,
        event: &Event<'e>,
        call: (&str, Option<&str>),
        ways: &mut Vec<Way<'e>>,
    ) {
        for id in self.session.accepted_calls() {
            let mut counted = self.clone();
            counted.suppose(&with_call_id(event, id));
            ways.push(Way::settled(counted));
        }
        let harmless = patched(event, |it| {
            if let Payload::ToolInvoked { irreversible, .. } = &mut it.payload {
                *irreversible = false;
            }
        });
        if harmless != *event {
            ways.push(Way::open(self.clone(), harmless));
        }
        if self.session.loose_ends().calls.contains(&call) {
            ways.push(Way::settled(self.returned(event, call)));
        }
    }

    /// The event is the return of this call.
    fn returned(&self, event: &Event<'_>, (tool, id): (&str, Option<&str>)) -> Self {
        let mut other = self.clone();
        let next = self.session.next_number().map(|next| next.saturating_add(1));
        other.session.suppose_returned(tool, id);
        other.session.suppose_number(next);
        other.session.suppose_time(event.envelope.timestamp_micros);
        other
    }

    /// The chunk belongs to another output, or to one that was not complete, or its position is
    /// wrong.
    fn of_another_output<'e>(
        &self,
        event: &Event<'e>,
        chunk: &Chunk<'e>,
        flaw: &Flaw,
        ways: &mut Vec<Way<'e>>,
    ) {
        let rewritten = |change: &dyn Fn(&mut Chunk<'e>)| {
            patched(event, |it| {
                if let Payload::OutputStreaming(chunk) = &mut it.payload {
                    change(chunk);
                }
            })
        };
        if let ("position", Ok(length)) = (flaw.field.as_str(), flaw.expected.parse()) {
            ways.push(Way::open(self.clone(), rewritten(&|it| it.position = length)));
        }
        for (id, length) in self.session.loose_ends().outputs {
            if id != chunk.output_id.as_deref() && length == chunk.position {
                let mut renamed = self.clone();
                renamed.session.suppose_renamed(id, chunk.output_id.as_deref());
                let id = id.map(str::to_owned);
                let of_it = rewritten(&|it| it.output_id = id.clone().map(Into::into));
                ways.push(Way::open(self.clone(), of_it));
                ways.push(Way::open(renamed, event.clone()));
            }
        }
        if let Some(id) = &chunk.output_id {
            let mut reused = self.clone();
            reused.reuse(&Used::Output(id.as_ref().to_owned()));
            reused.suppose(event);
            ways.push(Way::settled(reused));
        }
    }
}

/// The event with the value that the rule expects, if there is only one.
fn repaired<'e>(event: &Event<'e>, flaw: &Flaw) -> Option<Event<'e>> {
    let repaired = match (flaw.field.as_str(), &event.payload) {
        ("default_decision", _) => patched(event, |it| {
            if let Payload::AwaitingConfirmation(asked) = &mut it.payload {
                asked.default_decision = Decision::Reject;
            }
        }),
        ("reply_token", _) => patched(event, |it| {
            if let Payload::AwaitingConfirmation(asked) = &mut it.payload {
                again(&mut asked.reply_token);
            }
            if let Payload::AwaitingClarification(asked) = &mut it.payload {
                again(&mut asked.reply_token);
            }
        }),
        ("extensions.tasuki.tool_call_id", Payload::AwaitingConfirmation(_)) => {
            patched(event, |it| it.envelope.link.tool_call_id = None)
        }
        // The rule expects the id that was confirmed; of another rule it expects a sentence.
        ("tool_call_id", Payload::ToolInvoked { .. })
            if flaw.rule == rules::BOUND.number && !flaw.expected.contains(' ') =>
        {
            with_call_id(event, &flaw.expected)
        }
        _ => return None,
    };
    Some(repaired)
}

fn with_call_id<'e>(event: &Event<'e>, id: &str) -> Event<'e> {
    patched(event, |it| {
        if let Payload::ToolInvoked { tool_call_id, .. } = &mut it.payload {
            *tool_call_id = Some(id.to_owned().into());
        }
    })
}

fn patched<'e>(event: &Event<'e>, change: impl FnOnce(&mut Event<'e>)) -> Event<'e> {
    let mut event = event.clone();
    change(&mut event);
    event
}

fn again(token: &mut Cow<'_, str>) {
    *token = format!("{token} again").into();
}
