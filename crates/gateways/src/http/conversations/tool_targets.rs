//! The agents and queues that a model may hand over to, as tools.

use engine::ports::store::ListOf;
use engine::read::query::LIST_ROWS_MAX;
use protocol::agent::{Agent, Kind};
use protocol::caller::Caller;
use protocol::conversation::topology::{Level, Topology};
use protocol::ids::{AgentId, TeamspaceId};
use protocol::queue::DEFAULT_QUEUE;
use protocol::step::State as Aggregate;
use protocol::tools::definitions::{HandoffTools, QUEUES_MAX, TARGETS_MAX, Target};

use crate::http::shared::gateway::Gateway;
use crate::http::shared::lookup;
use crate::http::shared::problem::Problem;

fn handoff_tools(targets: Vec<Target>) -> Result<HandoffTools, Problem> {
    HandoffTools::new(targets).map_err(|_| {
        let detail = format!(
            "the agent may hand over to more than {TARGETS_MAX} agents, which no model can choose \
             from; open the conversation with a topology that names fewer"
        );
        Problem::new("schema_invalid", detail)
    })
}

/// Tools for the agents that this agent may hand over to: the other workers of the directory, or
/// the agents that the topology names.
pub async fn tools_of(
    gateway: &Gateway,
    caller: &Caller,
    topology: &Topology,
    from: &AgentId,
) -> Result<HandoffTools, Problem> {
    let teamspace = &caller.teamspace;
    let mut targets = Vec::new();
    let members: Vec<AgentId> = match topology {
        Topology::Free => {
            let is_other = |agent: &Agent| agent.is_target() && agent.id != *from;
            let others = agents(gateway, teamspace, is_other, TARGETS_MAX).await?;
            return handoff_tools(others.into_iter().map(target).collect());
        }
        Topology::Supervisor { supervisor, workers } => {
            workers.iter().chain([supervisor]).cloned().collect()
        }
        Topology::Swarm { members, .. } => members.clone(),
    };
    let may_take = |to: &AgentId| to != from && topology.allows(from, to, Level::Here);
    for member in members.iter().filter(|member| may_take(member)) {
        targets.extend(find(gateway, teamspace, member).await?.map(target));
    }
    handoff_tools(targets)
}

/// The queues of people that a model may name. No topology restricts them.
pub async fn queues(gateway: &Gateway, teamspace: &TeamspaceId) -> Result<Vec<Target>, Problem> {
    let is_queue = |agent: &Agent| agent.kind == Kind::Queue;
    let mut queues = agents(gateway, teamspace, is_queue, QUEUES_MAX).await?;
    // Of many queues only the newest were read, and the default one is often the oldest.
    let default: AgentId = DEFAULT_QUEUE.parse().expect("a valid name");
    if queues.len() > QUEUES_MAX && queues.iter().all(|queue| queue.id != default) {
        queues.extend(find(gateway, teamspace, &default).await?.filter(is_queue));
    }
    Ok(queues.into_iter().map(target).collect())
}

/// The agents of the directory that are wanted, or just enough to show that they are more than
/// this.
async fn agents(
    gateway: &Gateway,
    teamspace: &TeamspaceId,
    is_wanted: impl Fn(&Agent) -> bool,
    n_max: usize,
) -> Result<Vec<Agent>, Problem> {
    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let of = ListOf::Agents;
        let page = gateway.engine.read().list(teamspace, of, before, LIST_ROWS_MAX).await?;
        for item in &page.items {
            if let Aggregate::Agent(agent) = item.state.as_ref()
                && is_wanted(agent)
            {
                found.push(agent.clone());
            }
        }
        before = page.next;
        if before.is_none() || found.len() > n_max {
            return Ok(found);
        }
    }
}

pub async fn find(
    gateway: &Gateway,
    teamspace: &TeamspaceId,
    id: &AgentId,
) -> Result<Option<Agent>, Problem> {
    let stream = lookup::stream(teamspace, id.clone());
    Ok(match gateway.engine.read().current(&stream).await?.as_deref() {
        Some(Aggregate::Agent(agent)) => Some(agent.clone()),
        Some(_) | None => None,
    })
}

fn target(agent: Agent) -> Target {
    let Agent { id, profile, .. } = agent;
    Target { id, name: profile.name, description: profile.description }
}
