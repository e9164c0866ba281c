//! The state after an event.

use std::ops::Deref;

use serde_json::{Map, Value};

use super::event::{Event, Fallback, How, Opened, Routed, Said, SignalsObserved, Speaker};
use super::state::{Closed, Conversation, HELD_MAX, Transcript, Turn};
use crate::conversation::told::DeliveryProgress;
use crate::conversation::wait::CustomerWait;
use crate::ids::{AgentId, ConversationId};
use crate::ledger::BadHistory;
use crate::signal::SignalState;
use crate::time::Time;
use crate::transfer::{self, Transfer};
use crate::{callback, canonical};

pub fn evolve(
    id: ConversationId,
    state: Option<Conversation>,
    event: &Event,
    at: Time,
) -> Result<Conversation, BadHistory> {
    match (state, event) {
        (None, Event::Opened(opened)) => Ok(open(id, opened, at)),
        (Some(mut conversation), event)
            if conversation.closed.is_none() || event.may_follow_close() =>
        {
            match event {
                Event::Opened(_) => return Err(BadHistory { event: event.name() }),
                Event::Said(said) => say(&mut conversation, said, at),
                Event::NotHeard(_) => {
                    conversation.turn.refused = conversation.turn.refused.saturating_add(1);
                }
                Event::Routed(routed) => route(&mut conversation, routed, at),
                Event::Updated(it) => merge(&mut conversation.shared, &it.update),
                Event::SignalsObserved(observed) => observe(&mut conversation, observed),
                Event::Delivered(delivered) => conversation.told.reached(delivered.through, at),
                Event::Unreached(it) => {
                    conversation.told.telling = None;
                    let next = it.next.as_ref().and_then(Fallback::asked);
                    conversation.wait.was_tried(&it.holder, next);
                }
                Event::HolderSilent(silent) => {
                    conversation.transcript.add(silent.number, silent);
                    conversation.wait.was_silent(&silent.holder, silent.next.asked());
                }
                Event::Extended(extended) => {
                    if let Some(owed) = &mut conversation.wait.owed {
                        owed.until = extended.until;
                    }
                }
                Event::ReplyOverdue(_) => conversation.wait.reply_at = None,
                Event::Closed(_) => conversation.closed = Some(Closed { at }),
                Event::Transfer(event) => transfer::evolve(&mut conversation, event, at)?,
                Event::Callback(event) => callback::evolve(&mut conversation, event, at)?,
            }
            Ok(conversation)
        }
        // A promised callback is made even after the end.
        (Some(mut conversation), Event::Callback(event)) => {
            callback::evolve(&mut conversation, event, at)?;
            Ok(conversation)
        }
        (None | Some(_), event) => Err(BadHistory { event: event.name() }),
    }
}

fn open(id: ConversationId, opened: &Opened, at: Time) -> Conversation {
    Conversation {
        id,
        setup: opened.setup.clone().into(),
        opened_at: at,
        holder: opened.holder.clone(),
        epoch: 1,
        transcript: Transcript::default(),
        shared: Map::new(),
        turn: Turn { holders: vec![opened.holder.clone()], ..Turn::default() },
        held: vec![opened.holder.clone()],
        signals: SignalState::default(),
        told: DeliveryProgress::default(),
        wait: CustomerWait::default(),
        closed: None,
        transfer: None,
        callback: None,
    }
}

fn say(conversation: &mut Conversation, said: &Said, at: Time) {
    conversation.transcript.add(said.number, said);
    match &said.by {
        Speaker::Customer => {
            let (number, holders) = (said.number, vec![conversation.holder.clone()]);
            let Turn { answered, settled, refused, .. } = conversation.turn;
            conversation.turn = Turn { number, answered, settled, holders, refused };
            if conversation.remembers_signals() {
                // After an escalation the same turns do not call a person again.
                conversation.signals = match said.escalation {
                    Some(_) => SignalState::default(),
                    None => conversation.signals.after(said.number, &said.signals),
                };
            }
            if said.deliver {
                conversation.told.wants(number, number, at);
            }
            if conversation.open_transfer().is_none() {
                conversation.wait.asked_a_bot();
            }
            conversation.wait.asked(number, said.answer_within, at);
        }
        Speaker::Agent(_) if said.parting => {
            conversation.told.spoke(said.number, None, conversation.turn.number, at);
        }
        Speaker::Agent(agent) => {
            let person = conversation.open_transfer().and_then(Transfer::answering);
            if person.is_some_and(|claim| claim.agent == *agent) {
                conversation.turn.settled = conversation.turn.number;
            }
            // A promise is no answer.
            if said.answer_within.is_none() {
                let answered = conversation.turn.answered.max(said.in_reply_to.unwrap_or(0));
                conversation.turn.answered = answered;
            }
            let asked = conversation.turn.number;
            conversation.told.spoke(said.number, said.in_reply_to, asked, at);
            conversation.wait.answered(said.in_reply_to, asked, said.answer_within, at);
        }
    }
    let answering = conversation.open_transfer().filter(|it| it.answering().is_some());
    let target = answering.and_then(|transfer| transfer.limits.reply_target);
    conversation.wait.with_person(target, at);
}

/// Replaces the scores of a turn that is remembered.
fn observe(conversation: &mut Conversation, observed: &SignalsObserved) {
    let SignalsObserved { message, signals, escalation, .. } = observed;
    let known = conversation.signals;
    conversation.signals = match escalation {
        Some(_) => SignalState::default(),
        None => known.scored(*message, signals).unwrap_or(known),
    };
}

fn route(conversation: &mut Conversation, routed: &Routed, at: Time) {
    conversation.transcript.add(routed.number, routed);
    let mut holders = match routed.how {
        How::AgentHandoff | How::SupervisorRouting | How::NoAnswer => {
            std::mem::take(&mut conversation.turn.holders)
        }
        // Neither counts towards a loop.
        How::UserSelection | How::Graph => Vec::new(),
    };
    holders.push(routed.to.clone());
    let open = match routed.how {
        How::AgentHandoff | How::SupervisorRouting | How::NoAnswer => conversation.turn.open(),
        How::UserSelection | How::Graph => None,
    };
    match routed.how {
        How::AgentHandoff | How::SupervisorRouting => {
            conversation.wait.passed_by(&routed.holder, open, at);
        }
        How::NoAnswer => conversation.wait.begins_anew(),
        How::UserSelection | How::Graph => conversation.wait.moved(at),
    }
    conversation.pass_to(routed.to.clone(), routed.epoch);
    conversation.turn.holders = holders;
    merge(&mut conversation.shared, &routed.update);
    if routed.deliver {
        conversation.told.wants(routed.number, conversation.turn.number, at);
    }
    conversation.wait.handed(routed.answer_within, open, at);
    conversation.reopen();
}

impl Conversation {
    /// The new holder may answer what waits, also if it was answered before and a promise followed.
    pub(crate) fn reopen(&mut self) {
        if let Some(unanswered) = self.wait.unanswered {
            self.turn.answered = self.turn.answered.min(unanswered.number.saturating_sub(1));
        }
    }

    /// Changes the holder, and resets the loop guard.
    pub(crate) fn pass_to(&mut self, agent: AgentId, epoch: u64) {
        self.epoch = epoch;
        self.told.begin();
        self.wait.passed_on();
        self.turn.refused = 0;
        self.turn.holders = vec![agent.clone()];
        self.held.retain(|known| *known != agent);
        self.held.push(agent.clone());
        if self.held.len() > HELD_MAX {
            self.held.remove(0);
        }
        self.holder = agent;
    }
}

/// Each name is replaced as a whole, and `null` removes it. Only the holder writes, so there are no
/// conflicts.
pub fn merge(shared: &mut Map<String, Value>, update: &Map<String, Value>) {
    for (name, value) in update {
        if value.is_null() {
            shared.remove(name);
        } else {
            shared.insert(name.clone(), value.clone());
        }
    }
}

impl Transcript {
    pub(crate) fn add(&mut self, number: u64, message: &impl serde::Serialize) {
        let message = serde_json::to_value(message).expect("our events are plain data");
        let text = canonical::canonical(&message);
        let digest = canonical::sha256(&[self.digest.as_bytes(), text.as_bytes()]);
        *self = Transcript { count: number, digest: canonical::hex(&digest) };
    }
}

/// The conversation without personal data: without the customer and its attributes, shared data,
/// signals, the texts and bundles of a transfer, and the contact and note of a callback.
pub fn without_texts(mut conversation: Conversation) -> Conversation {
    let mut setup = conversation.setup.deref().clone();
    setup.customer = Default::default();
    setup.attributes = Default::default();
    conversation.setup = setup.into();
    conversation.shared = Map::new();
    conversation.signals = SignalState::default();
    if let Some(callback) = conversation.callback.as_deref_mut() {
        callback.contact = String::new();
        callback.note = String::new();
    }
    if let Some(transfer) = &mut conversation.transfer {
        transfer.forget_texts();
    }
    conversation
}
