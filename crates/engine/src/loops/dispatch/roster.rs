//! A cache of the people of each teamspace: reading the directory for every offer would cost more
//! than the offer. A person whose entry changes is dropped and read again.

use std::collections::{BTreeMap, HashMap};

use protocol::agent::{Agent, Kind, slot_prefix};
use protocol::ids::{AgentId, TeamspaceId};
use protocol::ledger::Entry;
use protocol::queue::Candidate;
use protocol::step::State;
use protocol::time::Time;
use serde::Deserialize;

use crate::loops::Queues;
use crate::ports::store::{ListOf, StoreError};
use crate::read::query::LIST_ROWS_MAX;

/// The most occupied slots of a teamspace that are counted. More are not in use on one shift.
const SLOTS_MAX: usize = 100_000;

#[derive(Debug, Default)]
pub struct Roster {
    teamspaces: HashMap<TeamspaceId, People>,
}

#[derive(Debug, Default)]
struct People {
    /// `None` for a person who has changed since.
    known: BTreeMap<AgentId, Option<Agent>>,
    is_read: bool,
    /// When each person was last assigned a conversation, since the start.
    last_assigned_at: HashMap<AgentId, Time>,
}

impl Roster {
    pub fn forget(&mut self, teamspace: &TeamspaceId, agent: &AgentId) {
        if let Some(people) = self.teamspaces.get_mut(teamspace) {
            people.known.insert(agent.clone(), None);
        }
    }

    pub fn assigned(&mut self, teamspace: &TeamspaceId, agent: &AgentId, at: Time) {
        let people = self.teamspaces.entry(teamspace.clone()).or_default();
        people.last_assigned_at.insert(agent.clone(), at);
    }

    /// Notes assignments that were not made by this loop, such as a person's own pick.
    pub fn apply(&mut self, entry: &Entry) {
        #[derive(Deserialize)]
        struct Body {
            agent: AgentId,
        }
        if entry.name.as_ref() == "transfer.ringing"
            && let Some(body) = entry.body.text()
            && let Ok(Body { agent }) = serde_json::from_str(body)
        {
            self.assigned(&entry.stream.teamspace, &agent, entry.at);
        }
    }
}

impl Queues<'_> {
    /// The people of a teamspace who take conversations now.
    pub(super) async fn available(self, teamspace: &TeamspaceId) -> Result<Vec<Agent>, StoreError> {
        let mut roster = self.engine.roster.lock().await;
        let people = self.refreshed(teamspace, &mut roster).await?;
        let known = people.known.values().flatten();
        Ok(known.filter(|agent| agent.is_available()).cloned().collect())
    }

    /// The people of a teamspace with their current load.
    pub(super) async fn people(
        self,
        teamspace: &TeamspaceId,
    ) -> Result<Vec<Candidate>, StoreError> {
        let occupied = self.engine.store.held(teamspace, "slot/", SLOTS_MAX).await?;
        let mut roster = self.engine.roster.lock().await;
        let people = self.refreshed(teamspace, &mut roster).await?;
        let mut candidates = Vec::with_capacity(people.known.len());
        for agent in people.known.values().flatten() {
            let prefix = slot_prefix(&agent.id);
            let from = occupied.partition_point(|key| *key < prefix);
            let own = occupied[from..].iter().take_while(|key| key.starts_with(&prefix));
            let load = u32::try_from(own.count()).unwrap_or(u32::MAX);
            let last = people.last_assigned_at.get(&agent.id).copied();
            candidates.push(Candidate::of(agent, load, last.unwrap_or(Time::from_millis(0))));
        }
        Ok(candidates)
    }

    /// Reads the people who are not in the cache.
    async fn refreshed<'r>(
        self,
        teamspace: &TeamspaceId,
        roster: &'r mut Roster,
    ) -> Result<&'r People, StoreError> {
        let people = roster.teamspaces.entry(teamspace.clone()).or_default();
        if !people.is_read {
            self.read_directory(teamspace, people).await?;
            people.is_read = true;
        }
        let changed: Vec<_> = people.known.iter().filter(|(_, known)| known.is_none()).collect();
        let changed: Vec<AgentId> = changed.into_iter().map(|(id, _)| id.clone()).collect();
        for id in changed {
            match self.engine.agent(teamspace, id.clone()).await? {
                Some(agent) if agent.kind == Kind::Human => people.known.insert(id, Some(agent)),
                Some(_) | None => people.known.remove(&id),
            };
        }
        Ok(people)
    }

    async fn read_directory(
        self,
        teamspace: &TeamspaceId,
        people: &mut People,
    ) -> Result<(), StoreError> {
        let mut before = None;
        loop {
            let page =
                self.engine.read().list(teamspace, ListOf::Agents, before, LIST_ROWS_MAX).await?;
            for item in page.items {
                if let State::Agent(agent) = item.state.as_ref()
                    && agent.kind == Kind::Human
                {
                    people.known.insert(agent.id.clone(), Some(agent.clone()));
                }
            }
            match page.next {
                Some(next) => before = Some(next),
                None => return Ok(()),
            }
        }
    }
}
