//! Who is connected. Connections are counted here, in memory. The ledger records when an agent
//! opens its first one and when its last one ends, and after a restart the end of those that were
//! open before. What is written always follows from the count at that moment, so the order in which
//! connections open and close does not matter.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use protocol::agent;
use protocol::agent::presence::Reach;
use protocol::caller::Caller;
use protocol::ids::{AgentId, TeamspaceId};
use protocol::ledger::{Stream, Subject};
use protocol::step::{Command, State};
use protocol::time::Span;
use tokio::sync::{Notify, watch};

use crate::Engine;
use crate::loops::Queues;
use crate::ports::store::{ListOf, StoreError, StoreReads};
use crate::read::query::LIST_ROWS_MAX;
use crate::road::submit::SubmitError;
use crate::turns::in_turn;

/// A page that is reloaded closes its connection and opens another within this time. Then nothing
/// is recorded.
const PAUSE: Span = Span::from_millis(250);

/// A store that failed may have recovered by then.
const RETRY_AFTER: Span = Span::from_millis(1_000);

/// Teamspaces are looked through in pages of this size.
const TEAMSPACES_READ: usize = 200;

type Who = (TeamspaceId, AgentId);

#[derive(Debug, Default)]
pub struct Connections {
    known: Mutex<ConnectionTable>,
    changed: Notify,
    /// The lock for recording connections, so that the last entry tells the latest state.
    settling: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct ConnectionTable {
    /// The open connections of each agent that has one. The limit on connections bounds the map.
    n_open: HashMap<Who, usize>,
    /// Agents whose change the ledger may not have yet. The teamspaces take turns.
    unsettled: BTreeMap<TeamspaceId, BTreeSet<AgentId>>,
    /// The teamspace whose turn was last.
    served: Option<TeamspaceId>,
}

/// A connection of an agent, open for as long as this lives.
#[derive(Debug)]
pub struct OpenConnection {
    connections: Arc<Connections>,
    who: Who,
}

impl Queues<'_> {
    /// Counts a connection of an agent. The gateway that serves it keeps the returned guard until
    /// the connection ends.
    pub fn connection_opened(self, teamspace: &TeamspaceId, agent: &AgentId) -> OpenConnection {
        let who = (teamspace.clone(), agent.clone());
        let mut known = self.engine.connections.known();
        let n_open = known.n_open.entry(who.clone()).or_default();
        *n_open += 1;
        if *n_open == 1 {
            known.unsettle(&who);
            self.engine.connections.changed.notify_one();
        }
        OpenConnection { connections: Arc::clone(&self.engine.connections), who }
    }

    /// Whether an agent has a connection now.
    pub fn is_connected(self, teamspace: &TeamspaceId, agent: &AgentId) -> bool {
        self.engine.connections.is_open(teamspace, agent)
    }

    /// Records which agents have connected and disconnected. Returns how many were checked. A write
    /// that failed is retried by the next call.
    pub async fn settle_connections(self) -> Result<usize, SubmitError> {
        let _settling = self.engine.connections.settling.lock().await;
        let mut n_settled = 0;
        while let Some(who) = self.engine.connections.take_unsettled() {
            let settled = self.settle_connection(&who).await;
            match settled {
                Ok(_) | Err(SubmitError::Rejected(_)) => n_settled += 1,
                Err(error) => {
                    self.engine.connections.known().unsettle(&who);
                    return Err(error);
                }
            }
        }
        Ok(n_settled)
    }

    /// A server that has just started has no connections. Records the loss for every agent that was
    /// connected to the last run and has not reconnected. Returns how many there were.
    pub async fn note_all_disconnected(self) -> Result<usize, SubmitError> {
        let (mut unread, mut after) = (VecDeque::new(), None);
        loop {
            let page = self.engine.store.teamspaces(after.as_ref(), TEAMSPACES_READ).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.clone());
            unread.extend(page.into_iter().map(|teamspace| (teamspace, None)));
        }
        let mut n_settled = 0;
        while let Some((teamspace, before)) = unread.pop_front() {
            if let Some(next) = self.find_connected(&teamspace, before).await? {
                unread.push_back((teamspace, Some(next)));
            }
            n_settled += self.settle_connections().await?;
        }
        Ok(n_settled)
    }

    /// Looks at one page of the directory. Returns where the next one begins.
    async fn find_connected(
        self,
        teamspace: &TeamspaceId,
        before: Option<u64>,
    ) -> Result<Option<u64>, StoreError> {
        let page =
            self.engine.read().list(teamspace, ListOf::Agents, before, LIST_ROWS_MAX).await?;
        for item in page.items {
            if let State::Agent(agent) = item.state.as_ref()
                && agent.attendance.reach == Reach::Connected
            {
                let who = (teamspace.clone(), agent.id.clone());
                self.engine.connections.known().unsettle(&who);
            }
        }
        Ok(page.next)
    }

    async fn settle_connection(self, (teamspace, agent): &Who) -> Result<(), SubmitError> {
        let command = match self.engine.connections.is_open(teamspace, agent) {
            true => agent::Command::Connect,
            false => agent::Command::LoseConnection,
        };
        let stream =
            Stream { teamspace: teamspace.clone(), subject: Subject::Agent(agent.clone()) };
        let caller = Caller::system(teamspace.clone());
        self.engine.submit(&caller, stream, Command::Agent(command), None).await.map(|_| ())
    }
}

pub(crate) async fn run(engine: Engine, mut stopped: watch::Receiver<bool>) {
    let settling = async {
        engine.ledger().until_not_behind().await;
        while let Err(error) = engine.queues().note_all_disconnected().await {
            tracing::error!(%error, "cannot note who is not connected any more");
            engine.clock.sleep(RETRY_AFTER).await;
        }
        loop {
            engine.connections.changed.notified().await;
            engine.clock.sleep(PAUSE).await;
            while let Err(error) = engine.queues().settle_connections().await {
                tracing::error!(%error, "cannot note who is connected");
                engine.clock.sleep(RETRY_AFTER).await;
            }
        }
    };
    tokio::select! {
        () = settling => {}
        () = async { let _ = stopped.wait_for(|stopped| *stopped).await; } => {}
    }
}

impl Connections {
    fn known(&self) -> MutexGuard<'_, ConnectionTable> {
        self.known.lock().expect("nothing panics while holding the counts")
    }

    fn take_unsettled(&self) -> Option<Who> {
        self.known().take_unsettled()
    }

    fn is_open(&self, teamspace: &TeamspaceId, agent: &AgentId) -> bool {
        self.known().n_open.contains_key(&(teamspace.clone(), agent.clone()))
    }
}

impl ConnectionTable {
    fn unsettle(&mut self, (teamspace, agent): &Who) {
        self.unsettled.entry(teamspace.clone()).or_default().insert(agent.clone());
    }

    fn take_unsettled(&mut self) -> Option<Who> {
        let (teamspace, _) = in_turn(&self.unsettled, self.served.as_ref()).next()?;
        let teamspace = teamspace.clone();
        self.served = Some(teamspace.clone());
        let agents = self.unsettled.get_mut(&teamspace)?;
        let agent = agents.pop_first()?;
        if agents.is_empty() {
            self.unsettled.remove(&teamspace);
        }
        Some((teamspace, agent))
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let mut known = self.connections.known();
        let n_open = known.n_open.get_mut(&self.who).expect("an open connection is counted");
        *n_open -= 1;
        if *n_open == 0 {
            known.n_open.remove(&self.who);
            known.unsettle(&self.who);
            self.connections.changed.notify_one();
        }
    }
}
