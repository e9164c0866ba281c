//! Agents of the directory, as other subjects need them.

use protocol::agent::{Agent, AgentIdentity, Kind, Profile};
use protocol::ids::{AgentId, TeamspaceId};
use protocol::ledger::{Stream, Subject};
use protocol::step::State as Aggregate;

use crate::http::shared::gateway::Gateway;
use crate::http::shared::problem::Problem;

pub fn stream(teamspace: &TeamspaceId, id: AgentId) -> Stream {
    Stream { teamspace: teamspace.clone(), subject: Subject::Agent(id) }
}

/// How an agent is introduced; by its id if it is no longer in the directory.
pub async fn identity(
    gateway: &Gateway,
    teamspace: &TeamspaceId,
    id: &AgentId,
) -> Result<AgentIdentity, Problem> {
    let stream = stream(teamspace, id.clone());
    Ok(match gateway.engine.read().current(&stream).await?.as_deref() {
        Some(Aggregate::Agent(agent)) => agent.identity(),
        Some(_) | None => Agent::new(id.clone(), Kind::Worker, Profile::default()).identity(),
    })
}

pub async fn agent(
    gateway: &Gateway,
    teamspace: &TeamspaceId,
    id: &AgentId,
) -> Result<Option<Agent>, Problem> {
    let stream = stream(teamspace, id.clone());
    Ok(match gateway.engine.read().current(&stream).await?.as_deref() {
        Some(Aggregate::Agent(agent)) => Some(agent.clone()),
        Some(_) | None => None,
    })
}
