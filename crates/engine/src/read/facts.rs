//! What a decision needs to know besides its own stream. It is read before the decision and passed
//! in.

use protocol::agent::profile::CAPACITY_MAX;
use protocol::agent::{Agent, Kind, free_slot, slot_prefix};
use protocol::caller::{Caller, Principal};
use protocol::ids::{AgentId, MessageId, TeamspaceId};
use protocol::ledger::{Stream, Subject};
use protocol::message::Message;
use protocol::message::decide::send::BROADCAST_MAX;
use protocol::queue::DEFAULT_QUEUE;
use protocol::step::{Directory, Event, Facts, Needs, QueueOf, SlotOf, State};
use protocol::time::Span;
use protocol::{subscription, webhook};

use crate::Engine;
use crate::ports::store::{List, ListOf, StoreError, StoreReads};
use crate::read::reading::recorded;

/// The recipients of the largest broadcast, its sender, and one more. If all of these exist, there
/// are too many recipients.
const DIRECTORY_ROWS_MAX: usize = BROADCAST_MAX + 2;

impl Engine {
    pub(crate) async fn facts(
        &self,
        caller: &Caller,
        stream: &Stream,
        needs: Needs,
    ) -> Result<Facts, StoreError> {
        let mut facts = Facts::default();
        self.free_slots(caller, stream, &needs, &mut facts).await?;
        if let Some(id) = needs.graph.as_ref() {
            facts.graph = self.read().graph(&stream.teamspace, id).await?;
        }
        let first = facts.graph.as_ref().and_then(|graph| graph.compiled().first().cloned());
        if let Some(id) = needs.agent.or(first) {
            facts.agent = self.agent(&stream.teamspace, id).await?;
        }
        if needs.caller
            && let Some(id) = caller.agent()
        {
            facts.caller = self.agent(&stream.teamspace, id.clone()).await?;
        }
        if let Some(hash) = needs.document {
            facts.document = self.store.document(stream, &hash).await?;
        }
        if let Some(directory) = needs.directory {
            found(&mut facts, self.directory(&stream.teamspace, directory, needs.wakes).await?);
        }
        if let Some(id) = needs.conversation {
            let subject = Subject::Conversation(id);
            let related = Stream { teamspace: stream.teamspace.clone(), subject };
            facts.conversation =
                self.read().current(&related).await?.and_then(|it| it.shared_conversation());
        }
        if !needs.unanswered.is_empty() {
            facts.audience = self.asked.audience(stream, &needs.unanswered);
        }
        if let Some(id) = needs.message {
            facts.message = self.message(&stream.teamspace, id).await?;
        }
        if let Some(queue) = needs.queue {
            facts.queue = self.agent(&stream.teamspace, queue_id(queue, &facts)).await?;
        }
        if let Some(named) = needs.fallbacks {
            let of_graph = facts.graph.iter().flat_map(|graph| graph.fallbacks()).collect();
            facts.fallbacks = self.named(stream, of_graph, named).await?;
        }
        if let Some(named) = needs.customer_queues {
            let of_graph = facts.graph.iter().flat_map(|graph| graph.customer_queues()).collect();
            facts.customer_queues = self.named(stream, of_graph, named).await?;
        }
        facts.may_read_any = self.may_read_any(caller, &needs.any_readable).await?;
        if let Some(position) = needs.entry {
            facts.entry = self.recorded_at(stream, position).await?.map(Box::new);
        }
        if let Some(number) = needs.line {
            facts.line = self.said_at(stream, number).await?.map(Box::new);
        }
        if needs.settings {
            facts.settings = self.read().settings(&stream.teamspace).await?;
        }
        if let (Some(asked), Principal::Customer(_)) = (needs.turn, &caller.principal) {
            let turn = self.read().turn(&stream.teamspace, *asked).await?;
            let queue = turn.queue().unwrap_or_else(default_queue);
            facts.queue = self.agent(&stream.teamspace, queue).await?;
            facts.turn = Some(Box::new(turn));
        }
        Ok(facts)
    }

    /// Those of a graph, these, and the default queue, as far as they exist.
    async fn named(
        &self,
        stream: &Stream,
        of_graph: Vec<AgentId>,
        named: Vec<AgentId>,
    ) -> Result<Vec<Agent>, StoreError> {
        let mut found = Vec::new();
        for id in of_graph.into_iter().chain(named).chain([default_queue()]) {
            found.extend(self.agent(&stream.teamspace, id).await?);
        }
        Ok(found)
    }

    /// Whether the caller may read one of these things, as they are in the store. It takes no turn
    /// of their streams: the caller may hold one of them.
    pub(crate) async fn may_read_any(
        &self,
        caller: &Caller,
        subjects: &[Subject],
    ) -> Result<bool, StoreError> {
        for subject in subjects {
            let stream = Stream { teamspace: caller.teamspace.clone(), subject: subject.clone() };
            let Some(item) = self.read().item(&stream).await? else { continue };
            if self.access().may_read(caller, &stream, &item.state).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What an entry records; `None` if there is none, or it was erased.
    async fn recorded_at(
        &self,
        stream: &Stream,
        position: u64,
    ) -> Result<Option<Event>, StoreError> {
        let page = self.store.history_from(stream, position, 1).await?;
        let found = page.first().filter(|one| one.entry.position == position);
        Ok(found.and_then(|one| recorded(&one.entry)))
    }

    /// A line of the transcript; `None` if there is none, or it was erased.
    async fn said_at(&self, stream: &Stream, number: u64) -> Result<Option<Event>, StoreError> {
        let Some(before) = number.checked_sub(1) else { return Ok(None) };
        let page = self.read().transcript(stream, before, 1).await?;
        Ok(page.first().and_then(|one| recorded(&one.entry)))
    }

    async fn free_slots(
        &self,
        caller: &Caller,
        stream: &Stream,
        needs: &Needs,
        facts: &mut Facts,
    ) -> Result<(), StoreError> {
        for of in &needs.slots {
            let free = match of {
                SlotOf::Agent(id) => self.free_slot(&stream.teamspace, id.clone()).await?,
                SlotOf::Caller => match caller.agent() {
                    Some(id) => self.free_slot(&stream.teamspace, id.clone()).await?,
                    None => None,
                },
                SlotOf::Listener => {
                    let prefix = subscription::slot_prefix(&caller.principal);
                    let limit = usize::from(subscription::OPEN_MAX);
                    let occupied = self.store.held(&stream.teamspace, &prefix, limit).await?;
                    subscription::free_slot(&caller.principal, &occupied)
                }
                SlotOf::Webhook => {
                    let prefix = webhook::slot_prefix(&caller.principal);
                    let limit = usize::from(webhook::OWNED_MAX);
                    let occupied = self.store.held(&stream.teamspace, &prefix, limit).await?;
                    webhook::free_slot(&caller.principal, &occupied)
                }
            };
            facts.slots.extend(free.map(|slot| (of.clone(), slot)));
        }
        Ok(())
    }

    /// The lowest free slot of an agent; `None` if all slots are taken, or if its capacity is
    /// unlimited. Another command may take the slot meanwhile; the commit checks that.
    pub async fn free_slot(
        &self,
        teamspace: &TeamspaceId,
        id: AgentId,
    ) -> Result<Option<u16>, StoreError> {
        let agent = self.agent(teamspace, id).await?;
        let Some((agent, capacity)) = agent.and_then(|it| it.capacity().map(|n| (it, n))) else {
            return Ok(None);
        };
        let limit = usize::from(CAPACITY_MAX);
        let occupied = self.store.held(teamspace, &slot_prefix(&agent.id), limit).await?;
        Ok(free_slot(&agent.id, capacity, &occupied))
    }

    async fn message(
        &self,
        teamspace: &TeamspaceId,
        id: MessageId,
    ) -> Result<Option<Message>, StoreError> {
        let stream = Stream { teamspace: teamspace.clone(), subject: Subject::Message(id) };
        let state = self.read().current(&stream).await?;
        Ok(state.as_deref().and_then(State::as_message).cloned())
    }

    pub(crate) async fn agent(
        &self,
        teamspace: &TeamspaceId,
        id: AgentId,
    ) -> Result<Option<Agent>, StoreError> {
        let stream = Stream { teamspace: teamspace.clone(), subject: Subject::Agent(id) };
        let state = self.read().current(&stream).await?;
        Ok(state.as_deref().and_then(State::as_agent).cloned())
    }

    /// Looks up agents. For everyone, the profiles are read only if wake URLs matter (`wakes`);
    /// otherwise the ids are enough.
    async fn directory(
        &self,
        teamspace: &TeamspaceId,
        directory: Directory,
        wakes: bool,
    ) -> Result<Vec<FoundAgent>, StoreError> {
        match directory {
            Directory::Named(names) => {
                let mut found = Vec::with_capacity(names.len());
                for name in names {
                    found.extend(self.agent(teamspace, name).await?.map(FoundAgent::from));
                }
                Ok(found)
            }
            Directory::Everyone => {
                let (teamspace, limit) = (teamspace.clone(), DIRECTORY_ROWS_MAX);
                let list = List { teamspace, of: ListOf::Agents, before: None, limit };
                let mut found = Vec::new();
                for row in self.store.list(list).await? {
                    let Subject::Agent(id) = &row.stream.subject else { continue };
                    found.push(match wakes {
                        false if !self.read().is_authentic(&row) => continue,
                        false => FoundAgent::named(id.clone()),
                        true => {
                            let state = self.read().listed_state(&row).await?;
                            let Some(agent) = state.as_ref().and_then(State::as_agent) else {
                                continue;
                            };
                            FoundAgent::from(agent.clone())
                        }
                    });
                }
                Ok(found)
            }
        }
    }
}

/// Adds the facts about the agents that were found.
fn found(facts: &mut Facts, agents: Vec<FoundAgent>) {
    let can_be_called = agents.iter().filter(|agent| agent.wake_url.is_some());
    facts.wakeable = can_be_called.map(|agent| agent.id.clone()).collect();
    let at_endpoint = agents.iter().filter(|agent| agent.is_at_endpoint);
    facts.at_endpoint = at_endpoint.map(|agent| agent.id.clone()).collect();
    let limited = agents.iter().filter_map(|agent| Some((agent.id.clone(), agent.answer_within?)));
    facts.answer_within = limited.collect();
    let known = agents.iter().filter_map(|agent| Some((agent.id.clone(), agent.kind?)));
    facts.kinds = known.collect();
    facts.directory = agents.into_iter().map(|agent| agent.id).collect();
}

fn queue_id(queue: QueueOf, facts: &Facts) -> AgentId {
    let named = match queue {
        QueueOf::Named(id) => Some(id),
        QueueOf::Default => None,
        QueueOf::Graph => facts.graph.as_ref().and_then(|graph| graph.queue()),
    };
    named.unwrap_or_else(default_queue)
}

/// The queue for a caller that asks for a person and names no queue.
pub fn default_queue() -> AgentId {
    DEFAULT_QUEUE.parse().expect("a valid name")
}

/// An agent of the directory.
struct FoundAgent {
    id: AgentId,
    /// Unless only its name matters.
    kind: Option<Kind>,
    wake_url: Option<String>,
    is_at_endpoint: bool,
    /// How long it has to answer a customer, if it has a limit of its own.
    answer_within: Option<Span>,
}

impl From<Agent> for FoundAgent {
    fn from(agent: Agent) -> Self {
        let is_at_endpoint = agent.endpoint.is_some();
        let (kind, answer_within) = (Some(agent.kind), agent.profile.answer_within);
        Self { id: agent.id, kind, wake_url: agent.wake_url, is_at_endpoint, answer_within }
    }
}

impl FoundAgent {
    fn named(id: AgentId) -> Self {
        let (kind, wake_url, answer_within) = (None, None, None);
        Self { id, kind, wake_url, is_at_endpoint: false, answer_within }
    }
}
