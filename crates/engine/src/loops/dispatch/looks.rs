//! Looking through the queues of a teamspace, and offering what waits to the people who can take
//! it. A look may be long, so the teamspaces take turns, and each goes on where it was.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use protocol::conversation::Conversation;
use protocol::ids::{AgentId, TeamspaceId};
use protocol::ledger::Stream;
use protocol::queue::{Candidate, Mode, Settings, Wanted, choose};
use protocol::step::State;
use protocol::time::Time;
use protocol::transfer::{self, Transfer};

use crate::loops::Queues;
use crate::ports::store::{Listed, Place, StoreReads};
use crate::road::submit::SubmitError;
use crate::turns::in_turn;

/// Queues are looked through in pages of this size.
const QUEUES_READ: usize = 200;

/// Conversations that are read of a queue at a time. A look considers those at its front, and as
/// many after the place to which earlier looks have come, so that it sees everyone who waits in
/// turn, and costs the same however many these are.
const WAITING_READ: usize = 256;

/// Queues and conversations that are looked at in one turn.
pub const TURN_STEPS: usize = 16;

/// The teamspaces to look at.
#[derive(Debug, Default)]
pub(super) struct Looks {
    due: BTreeMap<TeamspaceId, Look>,
    /// Teamspaces in which a conversation waited at the last look.
    waiting: BTreeSet<TeamspaceId>,
    /// The teamspace whose turn was last.
    served: Option<TeamspaceId>,
    /// How far earlier looks have come in queues that are too long for one.
    places: Places,
}

/// By queue.
type Places = BTreeMap<(TeamspaceId, AgentId), Place>;

/// How far the look at a teamspace has come.
#[derive(Debug, Default)]
struct Look {
    /// Read when the first offer is to be made, for all queues.
    people: Option<Vec<Candidate>>,
    /// Queues that follow, and the last that was read.
    queues: VecDeque<AgentId>,
    last_read: Option<AgentId>,
    queue: Option<OpenQueue>,
    /// Something has changed since it began.
    is_stale: bool,
}

#[derive(Debug)]
struct OpenQueue {
    id: AgentId,
    settings: Settings,
    waiting: VecDeque<Stream>,
    /// Where the part at the front ends, if there may be more; until the further part is read.
    front_end: Option<Place>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LookResult {
    Looked,
    Offered,
    Over,
}

impl Looks {
    pub fn is_due(&self) -> bool {
        !self.due.is_empty()
    }

    pub fn is_somebody_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub fn look_in(&mut self, teamspace: &TeamspaceId) {
        match self.due.get_mut(teamspace) {
            Some(look) => look.is_stale |= look.last_read.is_some(),
            None => drop(self.due.insert(teamspace.clone(), Look::default())),
        }
    }

    pub fn look_where_somebody_waits(&mut self) {
        for teamspace in &self.waiting {
            self.due.entry(teamspace.clone()).or_default();
        }
    }

    fn end(&mut self, teamspace: &TeamspaceId) {
        let Some(look) = self.due.remove(teamspace) else { return };
        match look.last_read {
            Some(_) => self.waiting.insert(teamspace.clone()),
            None => self.waiting.remove(teamspace),
        };
        if look.is_stale {
            self.look_in(teamspace);
        }
    }
}

impl Queues<'_> {
    /// The next turn. Returns how many offers were made.
    pub(super) async fn look_on(self, looks: &mut Looks) -> Result<usize, SubmitError> {
        let next = in_turn(&looks.due, looks.served.as_ref()).next();
        let Some(teamspace) = next.map(|(teamspace, _)| teamspace.clone()) else { return Ok(0) };
        looks.served = Some(teamspace.clone());
        let Looks { due, places, .. } = &mut *looks;
        let look = due.get_mut(&teamspace).expect("it is due");
        let (mut n_offered, mut is_over) = (0, false);
        for _ in 0..TURN_STEPS {
            match self.step(&teamspace, look, places).await? {
                LookResult::Looked => {}
                LookResult::Offered => n_offered += 1,
                LookResult::Over => {
                    is_over = true;
                    break;
                }
            }
        }
        if is_over {
            looks.end(&teamspace);
        }
        Ok(n_offered)
    }

    async fn step(
        self,
        teamspace: &TeamspaceId,
        look: &mut Look,
        places: &mut Places,
    ) -> Result<LookResult, SubmitError> {
        let Look { people, queues, last_read, queue, .. } = look;
        if let (Some(open), Some(people)) = (&mut *queue, &mut *people) {
            return match open.waiting.pop_front() {
                // Nobody can take more, in any queue.
                _ if people.is_empty() => Ok(LookResult::Over),
                Some(stream) => self.offer(stream, &open.settings, people).await,
                None => {
                    if !self.read_further(teamspace, open, places).await? {
                        *queue = None;
                    }
                    Ok(LookResult::Looked)
                }
            };
        }
        let Some(next) = queues.pop_front() else {
            let store = &self.engine.store;
            let page = store.waiting_queues(teamspace, last_read.as_ref(), QUEUES_READ).await?;
            let Some(last) = page.last() else { return Ok(LookResult::Over) };
            *last_read = Some(last.clone());
            queues.extend(page);
            return Ok(LookResult::Looked);
        };
        let Some(known) = self.engine.agent(teamspace, next.clone()).await? else {
            return Ok(LookResult::Looked);
        };
        let settings = known.queue_settings();
        if settings.mode == Mode::Pick {
            return Ok(LookResult::Looked);
        }
        if people.is_none() {
            *people = Some(self.people(teamspace).await?);
        }
        let rows = self.engine.store.waiting(teamspace, &next, None, WAITING_READ).await?;
        let front_end = end_of(&rows);
        if front_end.is_none() {
            places.remove(&(teamspace.clone(), next.clone()));
        }
        let waiting = rows.into_iter().map(|row| row.stream).collect();
        *queue = Some(OpenQueue { id: next, settings, waiting, front_end });
        Ok(LookResult::Looked)
    }

    /// Reads the part of a long queue whose turn it is, after the part at the front. Returns
    /// whether there is one.
    async fn read_further(
        self,
        teamspace: &TeamspaceId,
        open: &mut OpenQueue,
        places: &mut Places,
    ) -> Result<bool, SubmitError> {
        let Some(front) = open.front_end.take() else { return Ok(false) };
        let key = (teamspace.clone(), open.id.clone());
        let after = places.remove(&key).filter(|place| *place > front).unwrap_or(front);
        let store = &self.engine.store;
        let rows = store.waiting(teamspace, &open.id, Some(after), WAITING_READ).await?;
        if let Some(end) = end_of(&rows) {
            places.insert(key, end);
        }
        open.waiting = rows.into_iter().map(|row| row.stream).collect();
        Ok(true)
    }

    async fn offer(
        self,
        stream: Stream,
        settings: &Settings,
        people: &mut Vec<Candidate>,
    ) -> Result<LookResult, SubmitError> {
        let state = self.engine.read().current(&stream).await?;
        let Some(State::Conversation(conversation)) = state.as_deref() else {
            return Ok(LookResult::Looked);
        };
        let Some(transfer) = conversation.open_transfer() else { return Ok(LookResult::Looked) };
        let now = self.engine.clock.now();
        let Some(chosen) = whom(conversation, transfer, settings, people, now) else {
            return Ok(LookResult::Looked);
        };
        let ring = transfer::Command::Ring { transfer: transfer.id, agent: chosen.clone() };
        let teamspace = stream.teamspace.clone();
        let has_rung = self.submit_transfer(stream, ring).await?;
        let at = people.iter().position(|person| person.agent == chosen);
        let at = at.expect("the chosen person is one of them");
        people[at].load += 1;
        if people[at].load >= people[at].capacity {
            people.swap_remove(at);
        } else if has_rung {
            people[at].last_assigned_at = now;
        }
        if !has_rung {
            return Ok(LookResult::Looked);
        }
        self.engine.roster.assigned(&teamspace, &chosen, now);
        Ok(LookResult::Offered)
    }
}

/// The place of the last conversation of a full page: there may be more after it.
fn end_of(rows: &[Listed]) -> Option<Place> {
    let last = rows.last().filter(|_| rows.len() == WAITING_READ)?;
    let state = State::from_text(&last.state_text).ok()?;
    let conversation = state.as_conversation()?;
    Some((conversation.open_transfer()?.waiting()?.order, conversation.id))
}

/// The person to offer a transfer to: never one who declined it or takes part in it, and one who
/// missed an earlier offer only if there is no other.
fn whom(
    conversation: &Conversation,
    transfer: &Transfer,
    settings: &Settings,
    people: &[Candidate],
    now: Time,
) -> Option<AgentId> {
    let terms = &transfer.terms;
    // The queue's requirements are those of the queue in which it waits now.
    let own = if transfer.leg.is_some() { &Wanted::default() } else { &terms.wanted };
    let language = conversation.setup.customer.language.as_deref();
    let wanted = settings.wanted_for(own, language);
    let wanted = settings.patience.relaxed(&wanted, now.since(terms.requested_at));
    let (declined, missed) = match &transfer.leg {
        Some(leg) => (&leg.declined, &leg.missed),
        None => (&transfer.declined, &transfer.missed),
    };
    let mut not_again: BTreeSet<AgentId> = declined.iter().cloned().collect();
    not_again.extend(transfer.people().cloned());
    let mut not_yet = not_again.clone();
    not_yet.extend(missed.iter().cloned());
    let chosen = choose(people, &wanted, &not_yet).or_else(|| choose(people, &wanted, &not_again));
    chosen.map(|person| person.agent.clone())
}
