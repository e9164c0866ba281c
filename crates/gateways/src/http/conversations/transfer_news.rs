//! What happens to a transfer, as events that chat clients and desks know: its status for every
//! participant, and the action and its actor for subscribers that see the entry.

use engine::ports::store::Sequenced;
use protocol::caller::Caller;
use protocol::conversation::author::{self, whose};
use protocol::conversation::customer_text::PersonRequest;
use protocol::conversation::{Conversation, customer_text};
use protocol::ids::{AgentId, ConversationId};
use protocol::ledger::Stream;
use protocol::step::State;
use protocol::transfer::event::Line;
use protocol::transfer::state::{Outcome, Stage};
use protocol::transfer::status::{Action, Status, before};
use protocol::transfer::{Event, Transfer};
use protocol::visibility::details::sees_inside;
use serde_json::{Value, json};

use crate::http::conversations::access;
use crate::http::conversations::history::{add_route, earlier};
use crate::http::shared::gateway::Gateway;
use crate::http::shared::lookup::identity;
use crate::http::shared::problem::Problem;

/// How much a subscriber sees of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// The entry itself, or as much of it as the transcript shows.
    Entry,
    /// The status of its transfer, which every participant sees.
    Status,
}

/// An entry about a transfer, and the subscriber that is told.
pub struct News<'a> {
    pub gateway: &'a Gateway,
    pub caller: &'a Caller,
    pub id: ConversationId,
    pub line: &'a Sequenced,
    pub event: &'a Event,
}

impl News<'_> {
    /// In this order: the status, who answers now, what was done, and by whom.
    pub async fn announced(&self, sight: Sight) -> Result<Vec<Value>, Problem> {
        let state = self.gateway.engine.read().current(&self.line.entry.stream).await?;
        let Some(State::Conversation(conversation)) = state.as_deref() else {
            return Ok(Vec::new());
        };
        if conversation.side(self.caller).is_none() {
            return Ok(Vec::new());
        }
        let mut all = Vec::new();
        if let Some((_, status)) = self.event.moved() {
            all.push(self.status(sight, status, conversation).await?);
        }
        all.extend(self.agent_changed().await?);
        match sight {
            Sight::Status => {}
            Sight::Entry if !sees_inside(self.caller) => {}
            Sight::Entry => {
                all.extend(self.transition().await?);
                all.extend(self.cockpit_action().await?);
            }
        }
        Ok(all)
    }

    fn frame(&self, kind: &str) -> Value {
        let entry = &self.line.entry;
        json!({
            "type": kind,
            "requestId": self.event.transfer().to_string(),
            "sessionId": self.id.to_string(),
            "eventId": format!("{}/{}", self.id, entry.position),
            "timestamp": entry.at.to_string(),
            "sequence": entry.position,
        })
    }

    async fn status(
        &self,
        sight: Sight,
        status: Status,
        conversation: &Conversation,
    ) -> Result<Value, Problem> {
        let mut frame = self.frame("handoff.status");
        frame["responseId"] = frame["requestId"].clone();
        frame["status"] = json!(status);
        if let Some(agent) = self.event.person() {
            frame["targetAgent"] = json!(self.identity(agent).await?);
        }
        let is_inside = sight == Sight::Entry && sees_inside(self.caller);
        let reason = match sees_inside(self.caller) {
            // Colleagues see the reason itself.
            true => {
                let reason = Some(self.event.reason()).filter(|it| is_inside && !it.is_empty());
                reason.map(str::to_owned)
            }
            false => self.reason_for_customer(conversation).await?,
        };
        if let Some(reason) = reason {
            frame["reason"] = reason.into();
            if is_inside {
                frame["reasonBy"] = whose(&self.line.entry.actor).into();
            }
        }
        if let Some(transfer) = waits_since(conversation, self.event, status)
            && let Some((place, wait)) =
                access::place(self.gateway, self.caller, self.id, transfer).await?
        {
            frame["queuePosition"] = place.into();
            if let Some(wait) = wait {
                frame["estimatedWaitTime"] = (wait.to.as_millis() / 1_000).into();
            }
        }
        if let Event::Requested(requested) = self.event
            && is_inside
        {
            let stream = &self.line.entry.stream;
            add_route(&mut frame, self.gateway, stream, self.line, requested).await?;
        }
        Ok(frame)
    }

    /// The text meant for the customer, the customer's own reason, or a sentence of the server.
    async fn reason_for_customer(
        &self,
        conversation: &Conversation,
    ) -> Result<Option<String>, Problem> {
        let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Ok(match self.event.line() {
            Some(Line::Requested(it)) => {
                let asked = PersonRequest {
                    by: &it.by,
                    reason: &it.reason,
                    customer_text: &it.customer_text,
                };
                let queue = identity(self.gateway, &self.caller.teamspace, &it.queue).await?;
                let language = conversation.setup.customer.language.as_deref();
                Some(customer_text::of_request(asked, language, &queue.agent_name))
            }
            Some(Line::Over(it)) if it.outcome == Outcome::Failed && it.to != it.holder => {
                let to = identity(self.gateway, &self.caller.teamspace, &it.to).await?.agent_name;
                let language = conversation.setup.customer.language.as_deref();
                Some(customer_text::of_failure(language, &to))
            }
            Some(Line::Over(it)) => {
                let is_theirs = author::is_customer(&self.line.entry.actor);
                given(&it.reason).filter(|_| is_theirs)
            }
            Some(Line::PassedOn(it)) => {
                let queue = identity(self.gateway, &self.caller.teamspace, &it.queue).await?;
                let language = conversation.setup.customer.language.as_deref();
                Some(customer_text::of_passing(&it.customer_text, language, &queue.agent_name))
            }
            Some(Line::Connected(it)) => match it.passed_on_by() {
                Some(by) if !it.was_told => {
                    let teamspace = &self.caller.teamspace;
                    let from = identity(self.gateway, teamspace, by).await?.agent_name;
                    let to = identity(self.gateway, teamspace, &it.agent).await?.agent_name;
                    let language = conversation.setup.customer.language.as_deref();
                    Some(customer_text::of_passed(&it.customer_text, language, &from, &to))
                }
                Some(_) | None => None,
            },
            Some(Line::Noted(_)) | None => given(self.event.customer_text()),
        })
    }

    /// Another agent or person answers the customer now.
    async fn agent_changed(&self) -> Result<Option<Value>, Problem> {
        let (agent, kind, number) = match self.event.line() {
            Some(Line::Connected(it)) => {
                let is_from_bot = it.passed_on_by().is_none();
                let kind = if is_from_bot { "bot_to_human" } else { "human_to_human" };
                (&it.agent, kind, it.number)
            }
            // A closed conversation is not returned.
            Some(Line::Over(it)) if it.to != it.holder => (&it.to, "returned", it.number),
            Some(Line::Requested(_) | Line::PassedOn(_) | Line::Noted(_) | Line::Over(_))
            | None => return Ok(None),
        };
        Ok(Some(json!({
            "type": "agent_changed",
            "sessionId": self.id.to_string(),
            "eventId": format!("{}-{number}", self.id),
            "timestamp": self.line.entry.at.to_string(),
            "currentAgent": self.identity(agent).await?,
            "handoffType": kind,
        })))
    }

    async fn transition(&self) -> Result<Option<Value>, Problem> {
        let Some((action, to)) = self.event.moved() else { return Ok(None) };
        let from = match before(action, to) {
            // Each request begins a new transfer.
            _ if action == Action::Request => Some(Status::Idle),
            Some(from) => Some(from),
            None => self.status_before().await?,
        };
        let mut frame = self.frame("handoff_transition");
        if let Some(from) = from {
            frame["from"] = json!(from);
        }
        frame["to"] = json!(to);
        frame["action"] = action.as_str().into();
        frame["by"] = self.line.entry.actor.as_ref().into();
        Ok(Some(frame))
    }

    /// What a person did at their desk. Actions of the server are not included.
    async fn cockpit_action(&self) -> Result<Option<Value>, Problem> {
        let Some(action) = self.event.desk_action() else { return Ok(None) };
        let actor = self.line.entry.actor.as_ref();
        let agent = actor.strip_prefix("agent:").and_then(|name| name.parse::<AgentId>().ok());
        if agent.is_none() && !actor.starts_with("operator:") {
            return Ok(None);
        }
        let mut frame = self.frame("cockpit_action");
        frame["action"] = action.into();
        frame["by"] = actor.into();
        if let Some(agent) = &agent {
            frame["agent"] = json!(self.identity(agent).await?);
        }
        if let Event::LegRequested(it) = self.event {
            frame["transferType"] = json!(it.kind);
            frame["targetAgent"] = json!(self.identity(it.target.id()).await?);
        }
        Ok(Some(frame))
    }

    async fn status_before(&self) -> Result<Option<Status>, Problem> {
        let entry = &self.line.entry;
        let transfer = self.event.transfer();
        let found = earlier(self.gateway, &entry.stream, entry.position, |event| {
            (event.transfer() == transfer).then(|| event.moved()).flatten()
        });
        Ok(found.await?.map(|(_, status)| status))
    }

    async fn identity(&self, agent: &AgentId) -> Result<Value, Problem> {
        Ok(json!(identity(self.gateway, &self.caller.teamspace, agent).await?))
    }
}

/// The status of a conversation that waits, with its place now. It belongs to no entry: others have
/// left the queue.
pub async fn place_changed(gateway: &Gateway, stream: &Stream) -> Result<Option<Value>, Problem> {
    let state = gateway.engine.read().current(stream).await?;
    let Some(State::Conversation(conversation)) = state.as_deref() else { return Ok(None) };
    let waiting = conversation.open_transfer().filter(|it| it.stage == Stage::Queued);
    let Some(transfer) = waiting else { return Ok(None) };
    let (queues, id) = (gateway.engine.queues(), conversation.id);
    let place = queues.place_in_line(&stream.teamspace, id, transfer).await?;
    let Some((place, wait)) = place else { return Ok(None) };
    let mut frame = json!({
        "type": "handoff.status",
        "requestId": transfer.id.to_string(),
        "responseId": transfer.id.to_string(),
        "sessionId": id.to_string(),
        "eventId": format!("{id}/place/{place}"),
        "timestamp": gateway.engine.clock().now().to_string(),
        "status": transfer.status(),
        "queuePosition": place,
    });
    if let Some(wait) = wait {
        frame["estimatedWaitTime"] = (wait.to.as_millis() / 1_000).into();
    }
    Ok(Some(frame))
}

/// The transfer, if it began to wait with this entry and still waits: queue positions are current
/// ones.
fn waits_since<'c>(
    conversation: &'c Conversation,
    event: &Event,
    status: Status,
) -> Option<&'c Transfer> {
    let transfer = conversation.open_transfer()?;
    let is_it = transfer.id == event.transfer() && transfer.stage == Stage::Queued;
    Some(transfer).filter(|_| is_it && status == Status::Queued)
}
