//! A cache of the people of each teamspace: reading the directory for every offer would cost more
//! than the offer. A person whose entry changes is dropped and read again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use protocol::agent::{Agent, Kind, Presence, slot_prefix};
use protocol::ids::{AgentId, TeamspaceId};
use protocol::ledger::Entry;
use protocol::queue::Candidate;
use protocol::step::State;
use protocol::time::Time;
use protocol::transfer::decide::is_in_queue;
use serde::Deserialize;

use super::Shift;
use crate::loops::Queues;
use crate::ports::store::{ListOf, StoreError, StoreReads};
use crate::read::query::LIST_ROWS_MAX;

/// The most occupied slots of a teamspace that are counted. More are not in use on one shift.
const SLOTS_MAX: usize = 100_000;

#[derive(Debug, Default)]
pub struct Roster {
    teamspaces: Mutex<HashMap<TeamspaceId, Arc<Team>>>,
}

/// The people of one teamspace. What happens is noted without waiting for a large directory that is
/// being read.
#[derive(Debug, Default)]
struct Team {
    notes: Mutex<Notes>,
    people: tokio::sync::Mutex<People>,
}

#[derive(Debug, Default)]
struct Notes {
    /// People who have changed since they were read.
    changed: BTreeSet<AgentId>,
    /// When each person was last assigned a conversation, as far as it was noted or read.
    last_assigned_at: HashMap<AgentId, Time>,
}

#[derive(Debug, Default)]
struct People {
    /// The times of the last rings were read, with those before the start.
    are_rings_read: bool,
    /// `None` for a person who is to be read again.
    known: BTreeMap<AgentId, Option<Agent>>,
    is_read: bool,
}

impl Roster {
    pub fn forget(&self, teamspace: &TeamspaceId, agent: &AgentId) {
        let team = self.teamspaces().get(teamspace).cloned();
        if let Some(team) = team {
            team.notes().changed.insert(agent.clone());
        }
    }

    pub fn assigned(&self, teamspace: &TeamspaceId, agent: &AgentId, at: Time) {
        let team = self.of(teamspace);
        let mut notes = team.notes();
        let last = notes.last_assigned_at.entry(agent.clone()).or_insert(at);
        *last = at.max(*last);
    }

    /// Notes assignments that were not made by this loop, such as a person's own pick.
    pub fn apply(&self, entry: &Entry) {
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

    fn of(&self, teamspace: &TeamspaceId) -> Arc<Team> {
        Arc::clone(self.teamspaces().entry(teamspace.clone()).or_default())
    }

    fn teamspaces(&self) -> MutexGuard<'_, HashMap<TeamspaceId, Arc<Team>>> {
        self.teamspaces.lock().expect("nothing panics in here")
    }
}

impl Team {
    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().expect("nothing panics in here")
    }
}

impl Queues<'_> {
    /// The people of a queue who take conversations now.
    pub async fn shift(self, teamspace: &TeamspaceId, queue: &Agent) -> Result<Shift, StoreError> {
        let team = self.engine.roster.of(teamspace);
        let people = self.refreshed(teamspace, &team).await?;
        let mut shift = Shift { n_available: 0, slots: 0 };
        for person in people.available().filter(|person| is_in_queue(person, queue)) {
            shift.n_available += 1;
            let capacity = person.capacity().map_or(u32::MAX, u32::from);
            shift.slots = shift.slots.saturating_add(capacity);
        }
        Ok(shift)
    }

    /// The people of a queue who are not offline, in the order of their names, at most `limit`.
    pub async fn members(
        self,
        teamspace: &TeamspaceId,
        queue: &Agent,
        limit: usize,
    ) -> Result<Vec<Agent>, StoreError> {
        let team = self.engine.roster.of(teamspace);
        let people = self.refreshed(teamspace, &team).await?;
        let here = people.known.values().flatten().filter(|it| it.presence() != Presence::Offline);
        let members = here.filter(|person| is_in_queue(person, queue));
        Ok(members.take(limit).cloned().collect())
    }

    /// The people of a teamspace who can take another conversation now.
    pub(super) async fn people(
        self,
        teamspace: &TeamspaceId,
    ) -> Result<Vec<Candidate>, StoreError> {
        let occupied = self.engine.store.held(teamspace, "slot/", SLOTS_MAX).await?;
        let team = self.engine.roster.of(teamspace);
        let people = self.refreshed(teamspace, &team).await?;
        let notes = team.notes();
        let mut candidates = Vec::new();
        for agent in people.available() {
            let prefix = slot_prefix(&agent.id);
            let from = occupied.partition_point(|key| *key < prefix);
            let own = occupied[from..].iter().take_while(|key| key.starts_with(&prefix));
            let load = u32::try_from(own.count()).unwrap_or(u32::MAX);
            let last = notes.last_assigned_at.get(&agent.id).copied();
            let candidate = Candidate::of(agent, load, last.unwrap_or(Time::from_millis(0)));
            candidates.extend(Some(candidate).filter(|it| it.load < it.capacity));
        }
        Ok(candidates)
    }

    /// Reads the people who are not in the cache.
    async fn refreshed<'t>(
        self,
        teamspace: &TeamspaceId,
        team: &'t Team,
    ) -> Result<tokio::sync::MutexGuard<'t, People>, StoreError> {
        let mut people = team.people.lock().await;
        let changed = std::mem::take(&mut team.notes().changed);
        people.known.extend(changed.into_iter().map(|agent| (agent, None)));
        if !people.is_read {
            self.read_directory(teamspace, &mut people).await?;
            people.is_read = true;
        }
        if !people.are_rings_read {
            self.read_last_rings(teamspace, team).await?;
            people.are_rings_read = true;
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

    /// The person idle longest is the same one before and after a restart.
    async fn read_last_rings(self, teamspace: &TeamspaceId, team: &Team) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let store = &self.engine.store;
            let page = store.last_rings(teamspace, after.as_ref(), LIST_ROWS_MAX).await?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = Some(last.clone());
            let mut notes = team.notes();
            for (agent, at) in page {
                let known = notes.last_assigned_at.entry(agent).or_insert(at);
                *known = at.max(*known);
            }
        }
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

impl People {
    fn available(&self) -> impl Iterator<Item = &Agent> {
        self.known.values().flatten().filter(|agent| agent.is_available())
    }
}
