//! Changes in a queue, for its people: a transfer begins to wait, rings, is taken, comes back or is
//! over, and callbacks are asked for or settled. What waits, or rings for the reader, comes with
//! what is needed to pick it up, if the reader may see the transfer.

use engine::ports::store::Sequenced;
use protocol::agent::{Agent, Kind};
use protocol::callback;
use protocol::caller::Caller;
use protocol::conversation::event::ReplyOverdue;
use protocol::conversation::{Conversation, Event as ConversationEvent};
use protocol::entry_names::concerns_queue;
use protocol::ids::{AgentId, ConversationId, TeamspaceId};
use protocol::ledger::Subject;
use protocol::step::State;
use protocol::transfer::Event;
use protocol::transfer::event::QueueStep;
use protocol::transfer::state::Target;
use protocol::visibility::details::serves;
use serde_json::{Value, json};

use crate::http::conversations::history;
use crate::http::conversations::history::earlier;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::lookup;
use crate::http::shared::lookup::identity;
use crate::http::shared::problem::Problem;

/// One change of one queue.
struct Changed {
    queue: AgentId,
    status: &'static str,
    /// The person that is asked, or has it now.
    agent: Option<AgentId>,
    /// Another person who is asked in; 0 for the transfer itself.
    leg: u16,
    /// The queue to which it moves.
    to: Option<AgentId>,
    /// A person was asked by name, from outside of every queue: only they are told.
    is_personal: bool,
}

/// `queue_changed` for each queue of the caller in which this entry changed something. The people
/// of a queue are looked up each time, so that a change of teams counts at once.
pub async fn queue_changed(
    gateway: &Gateway,
    caller: &Caller,
    line: &Sequenced,
) -> Result<Vec<Value>, Problem> {
    let entry = &line.entry;
    let Subject::Conversation(id) = entry.stream.subject else { return Ok(Vec::new()) };
    let is_told = concerns_queue(&entry.name);
    if !is_told || entry.stream.teamspace != caller.teamspace {
        return Ok(Vec::new());
    }
    let Some(own) = caller.agent() else { return Ok(Vec::new()) };
    let Some(person) = of_kind(gateway, &caller.teamspace, own, Kind::Human).await? else {
        return Ok(Vec::new());
    };
    let event = match history::event(line) {
        Some(ConversationEvent::Transfer(event)) => event,
        Some(ConversationEvent::Callback(event)) => {
            return callback_changed(gateway, &person, id, line, &event).await;
        }
        Some(ConversationEvent::ReplyOverdue(overdue)) => {
            return reply_overdue(gateway, &person, id, line, &overdue).await;
        }
        Some(_) | None => return Ok(Vec::new()),
    };
    let mut told = Vec::new();
    for changed in changes(gateway, line, &event).await? {
        let queue = of_kind(gateway, &caller.teamspace, &changed.queue, Kind::Queue).await?;
        let is_asked = changed.agent.as_ref() == Some(own)
            && (changed.is_personal || changed.status == "ringing");
        let is_served = queue.is_some_and(|queue| serves(&person, &queue));
        if !is_asked && (changed.is_personal || !is_served) {
            continue;
        }
        let mut frame = json!({
            "type": "queue_changed",
            "queue": changed.queue,
            "transferId": event.transfer().to_string(),
            "sessionId": id.to_string(),
            "status": changed.status,
            "eventId": format!("{id}/{}", entry.position),
            "timestamp": entry.at.to_string(),
        });
        if let Some(agent) = &changed.agent {
            frame["targetAgent"] = json!(identity(gateway, &caller.teamspace, agent).await?);
        }
        if changed.leg != 0 {
            frame["leg"] = changed.leg.into();
        }
        if let Some(to) = &changed.to {
            frame["to"] = to.as_str().into();
        }
        if ["queued", "ringing"].contains(&changed.status) {
            add_pickup(gateway, caller, line, &event, &mut frame).await?;
        }
        told.push(frame);
    }
    Ok(told)
}

/// What a person needs to pick it up, as it is now, while the transfer is open.
async fn add_pickup(
    gateway: &Gateway,
    caller: &Caller,
    line: &Sequenced,
    event: &Event,
    frame: &mut Value,
) -> Result<(), Problem> {
    let state = gateway.engine.read().current(&line.entry.stream).await?;
    let Some(State::Conversation(conversation)) = state.as_deref() else { return Ok(()) };
    let open = conversation.open_transfer().filter(|it| it.id == event.transfer());
    let Some(transfer) = open else { return Ok(()) };
    let access = gateway.engine.access();
    if !access.may_read_transfer(caller, conversation, Some(transfer)).await? {
        return Ok(());
    }
    frame["epoch"] = conversation.epoch.into();
    frame["priority"] = transfer.terms.priority.into();
    // The customer of a person who asks a colleague in does not wait.
    let row = gateway.engine.read().transfer(&caller.teamspace, transfer.id).await?;
    if let Some(since) = row.and_then(|row| row.record.waiting_since) {
        frame["waitingSince"] = since.to_string().into();
    }
    if !transfer.terms.wanted.skills.is_empty() {
        frame["skills"] = json!(transfer.terms.wanted.skills);
    }
    add_customer(conversation, frame);
    Ok(())
}

fn add_customer(conversation: &Conversation, frame: &mut Value) {
    if let Some(name) = &conversation.setup.customer.name {
        frame["customer"] = name.as_str().into();
    }
}

/// A callback of a queue of the caller: `callback_asked` or `callback_settled`.
async fn callback_changed(
    gateway: &Gateway,
    person: &Agent,
    id: ConversationId,
    line: &Sequenced,
    event: &callback::Event,
) -> Result<Vec<Value>, Problem> {
    let entry = &line.entry;
    let (queue, status) = match event {
        callback::Event::Asked(it) => (&it.queue, "callback_asked"),
        callback::Event::Settled(it) => (&it.queue, "callback_settled"),
    };
    let known = of_kind(gateway, &entry.stream.teamspace, queue, Kind::Queue).await?;
    if !known.is_some_and(|queue| serves(person, &queue)) {
        return Ok(Vec::new());
    }
    let mut frame = json!({
        "type": "queue_changed",
        "queue": queue,
        "sessionId": id.to_string(),
        "status": status,
        "eventId": format!("{id}/{}", entry.position),
        "timestamp": entry.at.to_string(),
    });
    if let callback::Event::Asked(asked) = event {
        if let Some(not_before) = asked.not_before {
            frame["notBefore"] = not_before.to_string().into();
        }
        let state = gateway.engine.read().current(&entry.stream).await?;
        if let Some(State::Conversation(conversation)) = state.as_deref() {
            add_customer(conversation, &mut frame);
        }
    }
    Ok(vec![frame])
}

/// A person of a queue of the caller left a customer without a reply: they themselves are told, and
/// the others of the queue, with who supervises it.
async fn reply_overdue(
    gateway: &Gateway,
    person: &Agent,
    id: ConversationId,
    line: &Sequenced,
    overdue: &ReplyOverdue,
) -> Result<Vec<Value>, Problem> {
    let entry = &line.entry;
    let teamspace = &entry.stream.teamspace;
    let queue = of_kind(gateway, teamspace, &overdue.queue, Kind::Queue).await?;
    let is_theirs = person.id == overdue.holder;
    if !is_theirs && !queue.is_some_and(|queue| serves(person, &queue)) {
        return Ok(Vec::new());
    }
    Ok(vec![json!({
        "type": "queue_changed",
        "queue": overdue.queue,
        "sessionId": id.to_string(),
        "status": "reply_overdue",
        "targetAgent": identity(gateway, teamspace, &overdue.holder).await?,
        "waitingSince": overdue.since.to_string(),
        "eventId": format!("{id}/{}", entry.position),
        "timestamp": entry.at.to_string(),
    })])
}

async fn changes(
    gateway: &Gateway,
    line: &Sequenced,
    event: &Event,
) -> Result<Vec<Changed>, Problem> {
    let Some(step) = event.queue_step() else { return Ok(Vec::new()) };
    let place = QueueChange { gateway, line, event };
    Ok(match step {
        QueueStep::Entered(it) => {
            let begins = changed(it.queue.clone(), "queued", None, 0);
            let leaves = changed(it.holder.clone(), "moved", None, 0);
            let leaves = Changed { to: Some(it.queue.clone()), ..leaves };
            // A new transfer begins in the queue that holds it; later it may move to another one.
            let is_elsewhere = it.holder != it.queue;
            is_elsewhere.then_some(leaves).into_iter().chain([begins]).collect()
        }
        QueueStep::WithPerson { leg, status, agent } => {
            place.of_person(leg, status.as_str(), agent).await?
        }
        QueueStep::WithoutPerson { leg, status } => {
            let mut all = place.of(leg, status.as_str(), None).await?;
            if leg == 0 {
                all.extend(place.leg_dropped().await?);
            }
            all
        }
        QueueStep::LegRequested(it) => match &it.target {
            Target::Queue(queue) => vec![changed(queue.clone(), "queued", None, it.leg)],
            Target::Human(_) => Vec::new(),
        },
        QueueStep::LegLeft { leg, status, agent } => {
            let mut all = place.of_person(leg, status.as_str(), agent).await?;
            all.iter_mut().filter(|it| !it.is_personal).for_each(|it| it.agent = None);
            all
        }
    })
}

fn changed(queue: AgentId, status: &'static str, agent: Option<AgentId>, leg: u16) -> Changed {
    Changed { queue, status, agent, leg, to: None, is_personal: false }
}

/// An entry and its event, from which the changes of queues are derived.
struct QueueChange<'a> {
    gateway: &'a Gateway,
    line: &'a Sequenced,
    event: &'a Event,
}

impl QueueChange<'_> {
    async fn of(
        &self,
        leg: u16,
        status: &'static str,
        agent: Option<AgentId>,
    ) -> Result<Vec<Changed>, Problem> {
        let queue = match leg {
            0 => self.transfer_queue().await?,
            leg => self.leg_queue(|number| number == leg).await?.map(|(_, queue)| queue),
        };
        Ok(queue.map(|queue| changed(queue, status, agent, leg)).into_iter().collect())
    }

    /// A change for a person, also for one who was asked by name. The frame then names the queue of
    /// the transfer.
    async fn of_person(
        &self,
        leg: u16,
        status: &'static str,
        agent: &AgentId,
    ) -> Result<Vec<Changed>, Problem> {
        let of_queue = self.of(leg, status, Some(agent.clone())).await?;
        if !of_queue.is_empty() {
            return Ok(of_queue);
        }
        let queue = self.of_the_last(|transfer| Some(transfer.queue.clone())).await?;
        let personal = queue.map(|queue| {
            let change = changed(queue, status, Some(agent.clone()), leg);
            Changed { is_personal: true, ..change }
        });
        Ok(personal.into_iter().collect())
    }

    /// The queue that holds it, or from which the person has it.
    async fn transfer_queue(&self) -> Result<Option<AgentId>, Problem> {
        let holder = self.event.holder();
        let teamspace = &self.line.entry.stream.teamspace;
        if of_kind(self.gateway, teamspace, holder, Kind::Queue).await?.is_some() {
            return Ok(Some(holder.clone()));
        }
        self.of_the_last(|transfer| Some(transfer.queue.clone())).await
    }

    /// A leg is dropped when the person or the transfer is gone.
    async fn leg_dropped(&self) -> Result<Option<Changed>, Problem> {
        let has_legs = self.of_the_last(|transfer| (transfer.n_legs > 0).then_some(())).await?;
        if has_legs.is_none() {
            return Ok(None);
        }
        let open = self.leg_queue(|_| true).await?;
        Ok(open.map(|(leg, queue)| changed(queue, "cancelled", None, leg)))
    }

    /// The queue in which a leg waits or waited; none once it has ended, or if it is for one
    /// person.
    async fn leg_queue(
        &self,
        is_wanted: impl Fn(u16) -> bool,
    ) -> Result<Option<(u16, AgentId)>, Problem> {
        let entry = &self.line.entry;
        let transfer = self.event.transfer();
        let found = earlier(self.gateway, &entry.stream, entry.position, |event| {
            if event.transfer() != transfer {
                return None;
            }
            if let Event::LegRequested(it) = event {
                return is_wanted(it.leg).then(|| match &it.target {
                    Target::Queue(queue) => Some((it.leg, queue.clone())),
                    Target::Human(_) => None,
                });
            }
            let ends = if let Event::LegEnded(it) = event {
                is_wanted(it.leg)
            } else if let Event::Connected(it) = event {
                it.leg != 0
            } else {
                matches!(event, Event::Requested(_))
            };
            ends.then_some(None)
        });
        Ok(found.await?.flatten())
    }

    /// A value from the current state of the transfer, if it is still the conversation's last.
    async fn of_the_last<T>(
        &self,
        what: impl Fn(&protocol::transfer::Transfer) -> Option<T>,
    ) -> Result<Option<T>, Problem> {
        let state = self.gateway.engine.read().current(&self.line.entry.stream).await?;
        let Some(State::Conversation(conversation)) = state.as_deref() else { return Ok(None) };
        let transfer = conversation.transfer.as_deref();
        Ok(transfer.filter(|it| it.id == self.event.transfer()).and_then(what))
    }
}

async fn of_kind(
    gateway: &Gateway,
    teamspace: &TeamspaceId,
    id: &AgentId,
    kind: Kind,
) -> Result<Option<Agent>, Problem> {
    Ok(lookup::agent(gateway, teamspace, id).await?.filter(|agent| agent.kind == kind))
}
