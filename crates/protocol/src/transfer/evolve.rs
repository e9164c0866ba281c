//! The state of a conversation after an event of its transfer.

use super::event::{
    Connected, Event, LegRequested, Line, Over, PassedOn, Queued, Requested, Returned, Ringing,
    WhyReturned,
};
use super::state::{
    Claim, Leg, LegStage, Outcome, PASSED_OVER_MAX, Passed, RINGS_IN_ALL_MAX, Stage, Target, Terms,
    Transfer,
};
use crate::conversation::Conversation;
use crate::ids::AgentId;
use crate::ledger::BadHistory;
use crate::queue::order_key;
use crate::time::{Span, Time};
use crate::transfer::kind::Kind;

pub fn evolve(conversation: &mut Conversation, event: &Event, at: Time) -> Result<(), BadHistory> {
    let bad = || BadHistory { event: event.name() };
    write_down(conversation, event);
    if let Event::Requested(requested) = event {
        return request(conversation, requested, at).ok_or_else(bad);
    }
    let transfer = conversation.transfer.as_deref_mut().filter(|it| it.id == event.transfer());
    let transfer = transfer.ok_or_else(bad)?;
    match event {
        Event::Requested(_) | Event::Noted(_) => {}
        Event::Queued(queued) => {
            enter(transfer, queued, at);
            let (to, epoch) = (queued.queue.clone(), queued.epoch);
            conversation.pass_to_queue(to, epoch);
        }
        Event::Ringing(ringing) => ring(transfer, ringing),
        Event::Returned(returned) => {
            put_back(transfer, returned, at);
            let (queue, epoch) = (transfer.queue.clone(), returned.epoch);
            if returned.leg == 0 && epoch != conversation.epoch {
                conversation.pass_to_queue(queue, epoch);
            }
        }
        Event::PassedOn(passed) => {
            pass_on(transfer, passed, at);
            let (queue, epoch) = (transfer.queue.clone(), passed.epoch);
            conversation.pass_to_queue(queue, epoch);
        }
        Event::Connected(connected) => {
            connect(transfer, connected).ok_or_else(bad)?;
            let target = transfer.limits.reply_target;
            conversation.pass_to(connected.agent.clone(), connected.epoch);
            conversation.wait.begins_anew();
            conversation.wait.with_person(target, at);
        }
        Event::Consulted(consulted) => {
            let leg = transfer.leg.as_mut().filter(|leg| leg.number == consulted.leg);
            let leg = leg.ok_or_else(bad)?;
            let claim = leg.claim().cloned().ok_or_else(bad)?;
            leg.stage = LegStage::Consulting { claim };
        }
        Event::Held(held) => {
            let claim = transfer.answering().cloned().ok_or_else(bad)?;
            transfer.stage = Stage::OnHold { claim, until: held.until };
        }
        Event::Resumed(_) => {
            let claim = transfer.answering().cloned().ok_or_else(bad)?;
            transfer.stage = Stage::Connected { claim };
        }
        Event::LegRequested(requested) => {
            transfer.n_legs = requested.leg;
            transfer.leg = Some(leg(requested));
        }
        Event::LegEnded(_) => transfer.leg = None,
        Event::Over(over) => {
            end(transfer, over, at);
            let known = transfer.known;
            give_back(conversation, over, known, at);
        }
        Event::Rated(_) => transfer.rated = true,
    }
    Ok(())
}

/// The previous holder has it again, and is told if it has an endpoint.
fn give_back(conversation: &mut Conversation, over: &Over, known: Option<u64>, at: Time) {
    if over.epoch != conversation.epoch {
        conversation.pass_to(over.to.clone(), over.epoch);
        let open = match over.outcome {
            Outcome::Completed | Outcome::Failed => conversation.turn.open(),
            Outcome::Cancelled | Outcome::Ended => None,
        };
        conversation.wait.handed(over.answer_within, open, at);
        conversation.reopen();
    }
    match known {
        Some(known) if over.deliver => {
            // It is told again the message that it must answer.
            let turn = conversation.turn.open().map_or(u64::MAX, |turn| turn - 1);
            conversation.told.hands_back(known.min(turn), over.number, at);
        }
        None if over.deliver => {
            conversation.told.wants(over.number, conversation.turn.number, at);
        }
        Some(_) | None => {}
    }
}

fn write_down(conversation: &mut Conversation, event: &Event) {
    match event.line() {
        Some(Line::Requested(it)) => conversation.transcript.add(it.number, it),
        Some(Line::PassedOn(it)) => conversation.transcript.add(it.number, it),
        Some(Line::Connected(it)) => conversation.transcript.add(it.number, it),
        Some(Line::Noted(it)) => conversation.transcript.add(it.number, it),
        Some(Line::Over(it)) => conversation.transcript.add(it.number, it),
        None => {}
    }
}

fn request(conversation: &mut Conversation, requested: &Requested, at: Time) -> Option<()> {
    if conversation.transfer.as_ref().is_some_and(|transfer| !transfer.is_over()) {
        return None;
    }
    let terms = Terms {
        requested_by: requested.by.clone(),
        requested_at: at,
        request_key: requested.request_key.clone(),
        kind: requested.kind,
        reason: requested.reason.clone(),
        customer_text: requested.customer_text.clone(),
        priority: requested.priority,
        wanted: requested.wanted.clone(),
        bundle: requested.bundle.clone(),
        previous: requested.holder.clone(),
    };
    let order = order_key(at, 0, Span::from_millis(0));
    let told = &conversation.told;
    conversation.transfer = Some(Box::new(Transfer {
        id: requested.transfer,
        terms: terms.into(),
        queue: requested.queue.clone(),
        order,
        limits: requested.limits,
        overflow: None,
        stage: Stage::Requested,
        leg: None,
        n_legs: 0,
        declined: Vec::new(),
        missed: Vec::new(),
        rings: 0,
        rings_in_all: 0,
        left: Vec::new(),
        rated: false,
        known: Some(told.through.max(told.spoken).max(conversation.turn.answered)),
        passed: None,
    }));
    let open = conversation.turn.open();
    conversation.wait.passed_by(&requested.holder, open, at);
    conversation.pass_to_queue(requested.queue.clone(), requested.epoch);
    Some(())
}

fn ring(transfer: &mut Transfer, ringing: &Ringing) {
    let claim = Claim { agent: ringing.agent.clone(), slot: ringing.slot };
    let until = ringing.until;
    match &mut transfer.leg {
        Some(leg) if ringing.leg != 0 => leg.stage = LegStage::Ringing { claim, until },
        Some(_) | None => transfer.stage = Stage::Ringing { claim, until },
    }
}

fn enter(transfer: &mut Transfer, queued: &Queued, at: Time) {
    let stays = transfer.queue == queued.queue && transfer.stage == Stage::Queued;
    let has_rung = stays && transfer.limits.are_last(transfer.rings);
    if transfer.overflow.as_ref().is_some_and(|overflow| overflow.to == queued.queue) {
        remember(&mut transfer.left, &transfer.queue);
    }
    transfer.queue = queued.queue.clone();
    transfer.order = queued.order;
    transfer.limits = queued.limits;
    transfer.overflow = queued.overflow.clone();
    transfer.stage = Stage::Queued;
    match has_rung {
        // It should have gone to another queue, which does not take it.
        true => hurry(transfer, at),
        false => transfer.rings = 0,
    }
}

/// No person answers here: what would happen later happens now.
fn hurry(transfer: &mut Transfer, at: Time) {
    let is_enough = transfer.rings_in_all >= RINGS_IN_ALL_MAX;
    if is_enough {
        transfer.overflow = None;
    }
    match &mut transfer.overflow {
        Some(overflow) => overflow.at = overflow.at.min(at),
        None => transfer.limits.gives_up_at = transfer.limits.gives_up_at.min(at),
    }
}

fn put_back(transfer: &mut Transfer, returned: &Returned, at: Time) {
    let was_answered = transfer.answering().is_some();
    let leg = transfer.leg.as_mut().filter(|_| returned.leg != 0);
    let (declined, missed) = match leg {
        Some(leg) => {
            leg.stage = LegStage::Queued;
            (&mut leg.declined, &mut leg.missed)
        }
        None => (&mut transfer.declined, &mut transfer.missed),
    };
    match returned.why {
        WhyReturned::Declined | WhyReturned::Blind => remember(declined, &returned.agent),
        WhyReturned::NotAnswered => remember(missed, &returned.agent),
        WhyReturned::AgentLost => {}
    }
    if returned.leg != 0 {
        count_ring(transfer, returned, at);
        return;
    }
    wait_again(transfer, was_answered, at);
    count_ring(transfer, returned, at);
    if returned.why == WhyReturned::Blind {
        transfer.forget_texts();
        transfer.passed = Some(Box::new(Passed {
            by: returned.agent.clone(),
            to: None,
            kind: Kind::Blind,
            reason: returned.reason.clone(),
            customer_text: returned.customer_text.clone(),
            bundle: None,
            was_told: false,
        }));
    }
}

/// It leaves its queue with the next event, unless that is the one it is passed on to.
fn pass_on(transfer: &mut Transfer, passed: &PassedOn, at: Time) {
    remember(&mut transfer.declined, &passed.holder);
    wait_again(transfer, true, at);
    transfer.forget_texts();
    transfer.passed = Some(Box::new(Passed {
        by: passed.holder.clone(),
        to: None,
        kind: Kind::Blind,
        reason: passed.reason.clone(),
        customer_text: passed.customer_text.clone(),
        bundle: None,
        was_told: true,
    }));
}

fn wait_again(transfer: &mut Transfer, was_answered: bool, at: Time) {
    // A person who was asked in by the person before is not needed any more.
    transfer.leg = None;
    transfer.stage = Stage::Queued;
    if was_answered {
        // The place in the queue is the old one, the maximum wait starts anew.
        transfer.limits.gives_up_at = at.plus(transfer.limits.wait);
        transfer.overflow = None;
        transfer.rings = 0;
        transfer.left.clear();
    }
}

/// A ring that no person answered counts, and the last one ends the wait in this queue.
fn count_ring(transfer: &mut Transfer, returned: &Returned, at: Time) {
    match returned.why {
        WhyReturned::NotAnswered | WhyReturned::Declined => {}
        WhyReturned::AgentLost | WhyReturned::Blind => return,
    }
    if let Some(leg) = transfer.leg.as_mut().filter(|_| returned.leg != 0) {
        leg.rings = leg.rings.saturating_add(u16::from(leg.limits.rings.is_some()));
        if leg.limits.are_last(leg.rings) {
            leg.limits.gives_up_at = leg.limits.gives_up_at.min(at);
        }
        return;
    }
    let one = u16::from(transfer.limits.rings.is_some());
    transfer.rings = transfer.rings.saturating_add(one);
    transfer.rings_in_all = transfer.rings_in_all.saturating_add(one);
    let is_enough = transfer.rings_in_all >= RINGS_IN_ALL_MAX;
    if transfer.limits.are_last(transfer.rings) || is_enough {
        hurry(transfer, at);
    }
}

fn remember(list: &mut Vec<AgentId>, agent: &AgentId) {
    list.retain(|known| known != agent);
    list.push(agent.clone());
    if list.len() > PASSED_OVER_MAX {
        list.remove(0);
    }
}

fn connect(transfer: &mut Transfer, connected: &Connected) -> Option<()> {
    if connected.leg == 0 {
        let claim = transfer.claim().filter(|claim| claim.agent == connected.agent)?.clone();
        transfer.stage = Stage::Connected { claim };
        return Some(());
    }
    let leg = transfer.leg.take()?;
    let claim = leg.claim().filter(|claim| claim.agent == connected.agent)?.clone();
    if let Target::Queue(queue) = &leg.target {
        transfer.queue = queue.clone();
    }
    transfer.stage = Stage::Connected { claim };
    transfer.passed = Some(Box::new(Passed {
        by: connected.holder.clone(),
        to: Some(connected.agent.clone()),
        kind: leg.kind,
        reason: leg.reason,
        customer_text: leg.customer_text,
        bundle: leg.bundle,
        was_told: false,
    }));
    Some(())
}

fn leg(requested: &LegRequested) -> Leg {
    Leg {
        number: requested.leg,
        kind: requested.kind,
        target: requested.target.clone(),
        order: requested.order,
        limits: requested.limits,
        reason: requested.reason.clone(),
        bundle: requested.bundle.clone().map(Into::into),
        customer_text: requested.customer_text.clone(),
        stage: LegStage::Queued,
        declined: Vec::new(),
        missed: Vec::new(),
        rings: 0,
    }
}

fn end(transfer: &mut Transfer, over: &Over, at: Time) {
    transfer.leg = None;
    transfer.overflow = None;
    transfer.declined.clear();
    transfer.missed.clear();
    transfer.left.clear();
    transfer.stage = Stage::Over { outcome: over.outcome, at, number: over.number };
}

impl Conversation {
    /// A queue holds it. No agent may speak, and the queue does not count as a past holder.
    fn pass_to_queue(&mut self, queue: AgentId, epoch: u64) {
        self.epoch = epoch;
        self.told.begin();
        self.wait.passed_on();
        self.turn.refused = 0;
        self.turn.holders = vec![queue.clone()];
        self.holder = queue;
    }
}
